"""Trees grown best-first on bins, one row and one split at a time, in float64."""

import numpy as np

LEAST_GAIN = 1e-6


def sums_gain(g, h, l2, least, whole_leaf):
    """Return what a side with these sums (outputs) is worth; None if a split may not make it."""
    if whole_leaf and h[0] < least:
        return None
    return float(np.where(h >= least, g**2 / np.maximum(h + l2, 1e-300), 0.0).sum())


def splits_of(codes, rows, g, h, n_bins, has_missing, *, l2, min_weight, whole_leaf):
    """Yield (gain, feature, bin, missing_left) of every split of these rows that puts some on both sides."""
    own = sums_gain(g[rows].sum(0), h[rows].sum(0), l2, 0.0 if whole_leaf else min_weight, whole_leaf)
    for f in range(codes.shape[1]):
        missing = n_bins[f] - 1 if has_missing[f] else None
        for b in range(n_bins[f] - 1):
            for missing_left in (False, True) if missing is not None else (False,):
                left = codes[rows, f] <= b
                if missing_left:
                    left |= codes[rows, f] == missing
                if left.all() or not left.any():
                    continue
                parts = [
                    sums_gain(g[rows[side]].sum(0), h[rows[side]].sum(0), l2, min_weight, whole_leaf)
                    for side in (left, ~left)
                ]
                if None not in parts and sum(parts) - own > LEAST_GAIN:
                    yield sum(parts) - own, f, b, missing_left


def goes_left(code, at, missing_left, missing):
    """Return whether rows with these codes go left."""
    return (code <= at) | (missing_left & (code == missing))


def leaf_value(g, h, *, l2, learning_rate, min_weight, n_outputs):
    """Return the Newton step of a leaf."""
    counts = np.full(n_outputs, True) if n_outputs == 1 else h >= min_weight
    return np.where(counts, -learning_rate * g / np.maximum(h + l2, 1e-300), 0.0)


def is_drawn(codes, share, seed, tree):
    """Return which rows (of codes) are drawn for a tree: by the bits of a number that is made of what is in them."""

    def mixed(number):  # SplitMix64
        number = (number + 0x9E3779B97F4A7C15) % 2**64
        number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
        return number ^ number >> 31

    factors = [mixed(feature + 1) | 1 for feature in range(codes.shape[1])]
    start = mixed((mixed(seed) + tree) % 2**64)
    keys = [sum(int(code) * factor for code, factor in zip(row, factors, strict=True)) % 2**64 for row in codes]
    return np.array([mixed(key ^ start) < share * 2**64 for key in keys])
