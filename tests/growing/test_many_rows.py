"""Gradients are as fine among millions of rows as among a few: sums are exact, and of as many bits as they need."""

import numpy as np
import pytest

from billhook.growing import BinnedRows, Boosting

N_ROWS, N_FEATURES, N_BINS = 5_000_000, 3, 16
L2, RATE = 1.0, 0.5


def best_split(codes, g):
    """Return (gain, feature, bin) of the best split of rows that weigh 1 each; sums are of float64."""
    best = (0.0, -1, -1)
    for f, column in enumerate(codes.T):
        left_g, left_n = np.bincount(column, g, N_BINS).cumsum(), np.bincount(column, minlength=N_BINS).cumsum()
        g_all, n_all = left_g[-1], left_n[-1]
        gain = left_g**2 / (left_n + L2) + (g_all - left_g) ** 2 / (n_all - left_n + L2) - g_all**2 / (n_all + L2)
        b = int(gain[:-1].argmax())
        best = max(best, (float(gain[b]), f, b))
    return best


def test_a_small_effect_is_found_among_five_million_rows():
    """A mean that moves by a hundredth, among rows of which ten are a hundred thousand times as far off."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_BINS, (N_ROWS, N_FEATURES), dtype=np.uint8)
    target = rng.normal(size=N_ROWS).astype(np.float32) * np.float32(0.1)
    target += np.float32(0.01) * (codes[:, 1] > 9)
    target[rng.choice(N_ROWS, 10, replace=False)] = np.repeat(np.float32([1000.0, -1000.0]), 5)
    rows = BinnedRows.of(codes, np.full(N_FEATURES, N_BINS), np.zeros(N_FEATURES, bool))
    weight = np.ones(N_ROWS, np.float32)
    boosting = Boosting(rows, target, weight, loss="squared", max_leaves=2, learning_rate=RATE, l2=L2)
    g = boosting.base[0] - target.astype(np.float64)
    # Whole numbers whose sums had 32 bits would not tell these rows from each other.
    unit = np.abs(g).max() * N_ROWS / 2.0**31
    assert best_split(codes, np.rint(g / unit))[1:] != (1, 9)
    for _ in range(2):
        gain, feature, at = best_split(codes, g)
        tree = boosting.grow()
        assert (feature, at) == (1, 9)
        assert (tree.feature[0], tree.bin[0]) == (1, 9)
        assert tree.gain[0] == pytest.approx(gain, rel=1e-5)
        is_left = codes[:, 1] <= 9
        for node, side in ((1, is_left), (2, ~is_left)):
            value = -RATE * g[side].sum() / (side.sum() + L2)
            assert tree.n_rows[node] == side.sum()
            assert tree.value[node, 0] == pytest.approx(value, rel=1e-5)
            g[side] += value


@pytest.mark.parametrize(("n_classes", "times"), [(1, 700), (3, 700), (3, 20_000), (40, 700)])
def test_many_rows_are_summed_as_finely_as_few(n_classes, times):
    """Rows repeated so often that sums pass 32 bits give the tree of a few rows with so much weight each."""
    rng = np.random.default_rng(10)
    n_bins = rng.integers(2, 10, 4)
    codes = np.stack([rng.integers(0, count, 100) for count in n_bins], axis=1).astype(np.uint8)
    score = codes[:, 0] * 0.7 - codes[:, 1] * (codes[:, 2] > 2) + rng.normal(size=100)
    target = (
        np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
        if n_classes > 1
        else score.astype(np.float32)
    )
    options = {"loss": "softmax" if n_classes > 1 else "squared", "n_classes": n_classes, "max_leaves": 8}
    no_missing = np.zeros(4, bool)
    few = Boosting(BinnedRows.of(codes, n_bins, no_missing), target, np.full(100, float(times)), **options)
    many = Boosting(
        BinnedRows.of(np.tile(codes, (times, 1)), n_bins, no_missing), np.tile(target, times),
        np.ones(100 * times, np.float32), **options,
    )  # fmt: skip
    for _ in range(3 if times < 1000 else 1):
        a, b = few.grow(), many.grow()
        assert (a.feature == b.feature).all()
        assert (a.bin == b.bin).all()
        assert (a.n_rows * times == b.n_rows).all()
        assert b.value == pytest.approx(a.value, rel=1e-6, abs=1e-7)  # the root of all is about 0
