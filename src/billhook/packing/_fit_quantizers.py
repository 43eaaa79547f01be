"""Quantizers chosen for the thresholds of a feature and, if there are rows, for its values."""

from dataclasses import replace

import numpy as np

from billhook._deadline import check_time
from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import round_down
from billhook.kernels import count_astray
from billhook.packing._quantizers import (
    KEY_SHIFTS,
    LARGEST_BITS,
    N_FINE,
    NO_SHIFT,
    POWERS,
    UniformQuantizer,
    ordered_keys,
)

# Thresholds right below a number with so many digits fewer stand for that number.
FEWER_DIGITS = 3
# How many scales are tried.
N_SCALES = 65
# Of minus infinity.
LOWEST_KEY = int(ordered_keys(np.array([-np.inf], np.float32))[0])
NO_SHIFTS = np.zeros(1, np.int64)
# How many times fewer rows must go another way: for steps that leave thresholds out, and for steps by the order of
# floats, for which a target takes some more code.
LARGE_GAIN = 4.0
KEY_GAIN = 1.5


def uniform_quantizer(threshold: Float32Array, bits: int) -> UniformQuantizer:
    """Return equal steps from below the lowest to the highest threshold of a feature, with codes of so many bits."""
    finite = threshold[np.isfinite(threshold)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    low -= (high - low) / ((1 << bits) - 2)
    width = max(high - low, abs(low) * 2.0**-20, 2.0**-100)
    # As fine as 16 bits allow, and so that ceil(x 2^p) is small for a target with 32 bits.
    power = int(np.floor(np.log2((N_FINE - 4) / width)))
    power = min(power, int(np.floor(LARGEST_BITS - np.log2(max(abs(low), abs(high), 2.0**-90)))))
    power = min(max(power, POWERS[0]), POWERS[1])
    offset = int(np.ceil(np.ldexp(low, power))) - 1
    n_fine = int(np.ceil(np.ldexp(high, power))) - offset + 2
    scale = 0 if n_fine < 1 << bits else min((((1 << bits) - 1) << (31 - bits)) // n_fine, N_FINE - 1)
    return UniformQuantizer(power, offset, scale, bits)


def feature_values(threshold: Float32Array, x: Float32Array | None) -> Vector:
    """Return the finite values of a feature, ascending; without rows, what these may be.

    That is the thresholds and the middles between them. Some libraries ask whether a value lies below another of the
    values: instead of thresholds right below much rounder numbers, these are taken.
    """
    if x is not None:
        return finite_ascending(x).astype(np.float64)
    ordered = np.unique(threshold[np.isfinite(threshold)])
    above = np.nextafter(ordered, np.float32(np.inf))
    is_below = _n_digits(above) <= _n_digits(ordered) - FEWER_DIGITS
    middles = (ordered[1:].astype(np.float64) + ordered[:-1]) / 2.0
    return np.sort(np.concatenate([np.where(is_below, above, ordered), middles]))


def finite_ascending(x: Float32Array) -> Float32Array:
    """Return the finite values, ascending; those that are so already are not sorted again."""
    finite = x[np.isfinite(x)]
    return finite if (finite[1:] >= finite[:-1]).all() else np.sort(finite)


def _n_digits(x: Float32Array) -> Int64Array:
    """Return how many decimal digits it takes to tell each number from all others."""
    texts = (np.format_float_scientific(number).partition("e")[0] for number in x)
    return np.array([len(text.strip("-0.").replace(".", "")) for text in texts], np.int64)


def fitted_quantizer(threshold: Float32Array, bits: int, values: Vector) -> UniformQuantizer:
    """Return the uniform quantizer, of all offsets and scales tried, by which the fewest values go another way.

    Few thresholds far away from all others would make all steps long: the steps may leave them out. Measured values
    often are multiples of something: steps of about that length find all gaps between them.
    """
    check_time()
    first = uniform_quantizer(threshold, bits)
    if first.scale == 0:
        return first
    ordered = np.sort(threshold[np.isfinite(threshold)])
    # A value lies up to a float where the float that it is rounded up to does.
    rounded_up = -round_down(-values)

    def best_of(quantizer: UniformQuantizer, scales: Int64Array, shifts: Int64Array) -> tuple[UniformQuantizer, int]:
        """Return the best quantizer with one of these scales that begins so much lower, and how many go another way.

        Of all pairs; the first of equals.
        """
        scale, offset = np.repeat(scales, shifts.size), np.tile(quantizer.offset - shifts, scales.size)
        counts = n_astray(threshold, rounded_up, np.full(scale.size, quantizer.power), offset, scale, bits)
        best = int(counts.argmin())
        return replace(quantizer, scale=int(scale[best]), offset=int(offset[best])), int(counts[best])

    _, first_wrong = best_of(first, np.array([first.scale]), NO_SHIFTS)
    if first_wrong == 0:
        return first
    n_left_out = [0, *(1 << k for k in range(16) if 1 << k <= ordered.size // 8)]
    trimmed = [ordered[low : ordered.size - high] for low in n_left_out for high in n_left_out]
    shorter = [uniform_quantizer(inner, bits) for inner in trimmed]
    power, offset, scale = np.array([(tried.power, tried.offset, tried.scale) for tried in shorter]).T.copy()
    counts = n_astray(threshold, rounded_up, power, offset, scale, bits)
    # What lies beyond the last step is lost for good, for other values too: only for a large gain.
    first = shorter[int(counts.argmin())] if counts.min() < first_wrong / LARGE_GAIN else first
    if first.scale == 0:
        return first
    best, n_wrong = best_of(first, _between(first.scale / 2, first.scale), NO_SHIFTS)
    # Nearby lengths, and beginnings within a step.
    near = first.scale / N_SCALES
    scales = _between(max(best.scale - near, 1), min(best.scale + near, first.scale))
    length = (1 << best.shift) // best.scale
    near_by, n_near_by = best_of(best, scales, np.unique(length * np.arange(4) // 4))
    best, n_wrong = (near_by, n_near_by) if n_near_by < n_wrong else (best, n_wrong)
    by_keys = key_quantizer(threshold, bits)
    scales = _between(by_keys.scale / 2, by_keys.scale) if by_keys.scale else np.zeros(1, np.int64)
    by_keys, n_by_keys = best_of(by_keys, scales, NO_SHIFTS)
    return by_keys if n_by_keys < n_wrong / KEY_GAIN else best


def n_astray(
    threshold: Float32Array, values: Float32Array, power: Int64Array, offset: Int64Array, scale: Int64Array, bits: int
) -> Int64Array:
    """Return how many of these values, ascending, go another way than thresholds that become codes.

    Of all thresholds together, for each quantizer: the sums of `UniformQuantizer.code_thresholds`.
    """
    counts = np.empty(power.size, np.int64)
    count_astray(np.ascontiguousarray(threshold), values, power, offset, scale, bits, counts)
    return counts


def key_quantizer(threshold: Float32Array, bits: int) -> UniformQuantizer:
    """Return steps of equally many floats, from below the lowest to the highest of a feature's thresholds."""
    keys = ordered_keys(threshold[np.isfinite(threshold)]).astype(np.int64)
    low, high = int(keys.min()), int(keys.max())
    step = (high - low) // ((1 << bits) - 2) + 1
    shift = max(KEY_SHIFTS[0], ((high - low + step) // (N_FINE - 4)).bit_length())
    # Minus infinity has the first code: no float could be the bound of one below it.
    offset = max(((low - step) >> shift) - 1, LOWEST_KEY >> shift)
    n_fine = (high >> shift) - offset + 2
    scale = 0 if n_fine < 1 << bits else min((((1 << bits) - 1) << (31 - bits)) // n_fine, N_FINE - 1)
    return UniformQuantizer(NO_SHIFT - shift, offset, scale, bits)


def _between(low: float, high: float) -> Int64Array:
    """Return whole numbers from one to another, the highest first."""
    return np.unique(np.maximum(np.rint(np.linspace(low, high, N_SCALES)), 1.0).astype(np.int64))[::-1]


def exact_quantizers(thresholds: list[Float32Array], n_splits: int) -> list[UniformQuantizer] | None:
    """Return quantizers with all thresholds of each feature at the ends of their steps; None if 16 bits do not do.

    Features may share a step length, and a beginning too: what is alike is written once, codes may be longer.
    """
    powers = [_power(threshold) for threshold in thresholds]
    finest = max((power for power in powers if power is not None), default=None)
    if finest is None or None in powers:
        return None
    alone = [_exact_quantizer(float(t.min()), t, p) for t, p in zip(thresholds, powers, strict=True) if p is not None]
    even = [_exact_quantizer(float(t.min()), t, finest) for t in thresholds]
    lowest = min((float(t.min()) for t in thresholds), default=0.0)
    together = [_exact_quantizer(lowest, t, finest) for t in thresholds]
    candidates: list[tuple[int, list[UniformQuantizer]]] = []
    for attempts, bytes_a_feature in ((together, 0), (even, 2), (alone, 3)):
        quantizers = [quantizer for quantizer in attempts if quantizer is not None]
        if len(quantizers) == len(thresholds):
            most = max(quantizer.bits for quantizer in quantizers)
            cost = n_splits * most + 8 * bytes_a_feature * len(quantizers)
            candidates.append((cost, [replace(quantizer, bits=most) for quantizer in quantizers]))
    return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def _power(threshold: Float32Array) -> int | None:
    """Return the lowest power of two by which all thresholds are whole numbers."""
    if not np.isfinite(threshold).all():
        return None
    for power in range(-8, 17):
        scaled = np.ldexp(threshold.astype(np.float64), power)
        if (scaled == np.floor(scaled)).all():
            return power
    return None


def _exact_quantizer(low: float, threshold: Float32Array, power: int) -> UniformQuantizer | None:
    """Return steps from the lowest of the thresholds that share a beginning to the highest of a feature."""
    high = float(threshold.max())
    offset = int(np.ldexp(low, power)) - 1
    n_fine = int(np.ldexp(high, power)) - offset + 2
    fits = n_fine < N_FINE and abs(np.ldexp(max(abs(low), abs(high)), power)) < 1 << LARGEST_BITS
    return UniformQuantizer(power, offset, 0, max(n_fine - 1, 1).bit_length()) if fits else None
