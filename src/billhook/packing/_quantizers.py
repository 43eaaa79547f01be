"""From the values of a feature to small whole numbers that compare with thresholds as the values do.

A row goes left at a split where the code of its value is at most the code of the threshold. Two kinds:

*Ranks* are exact. The code is the number of the feature's thresholds that lie below the value, found by a search in a
table of them.

*Steps* take no table, and are exact for thresholds that are multiples of a power of two, such as those between whole
numbers. The code is floor((ceil(x 2^p) - offset) scale / 2^(31 - bits)), or without the scale if that is 0, in whole
numbers all the way: nothing in it depends on how a device rounds. Where thresholds crowd together at one end, as
those of sizes and times often do, steps of as many floats each serve better than steps of the same length: then
floor(key / 2^v) stands for ceil(x 2^p), where the key is a whole number in the order of the floats.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import round_down

Codes = NDArray[np.int64]
Values = NDArray[np.float64]
FEWER_DIGITS = 3
# Of a value that is not a number. It goes where the split says, or right.
MISSING = -1
FINE_BITS = 16
N_FINE = 1 << FINE_BITS
LARGEST_BITS = 27
N_LENGTHS = 65
# How many thresholds are tried at once.
BLOCK = 1 << 18
LARGE_GAIN = 4.0
# By how much fewer rows go another way: a device takes some more code for steps by keys.
KEY_GAIN = 1.5
# The exponent of a float32 whose last bit is worth 1. A device shifts by the difference to it, and has a byte for it.
NO_SHIFT = 150
POWERS = (NO_SHIFT - 255, 116)
# Shifts that no steps of equal length have are those of keys.
KEY_SHIFTS = (5, 33)


@dataclass(frozen=True)
class RankQuantizer:
    """The thresholds of a feature, ascending, each once."""

    thresholds: NDArray[np.float32]

    @property
    def n_codes(self) -> int:
        """How many codes a value can have."""
        return self.thresholds.size + 1

    def codes(self, x: NDArray[np.float32]) -> Codes:
        """Return the codes of values."""
        found = np.searchsorted(self.thresholds, x, side="left").astype(np.int64)
        return np.where(np.isnan(x), MISSING, found)

    def threshold_codes(self, threshold: NDArray[np.float32], values: Values) -> Codes:  # noqa: ARG002 - as of Steps
        """Return the codes of thresholds: a value goes left if its code is at most that, whatever the values."""
        return np.searchsorted(self.thresholds, threshold, side="left").astype(np.int64)

    def bounds(self, code: Codes) -> NDArray[np.float32]:
        """Return the largest float32 with a code, or a smaller one."""
        return np.append(self.thresholds, np.float32(np.inf))[code]

    @property
    def keys(self) -> NDArray[np.uint32]:
        """The thresholds as whole numbers of the same order."""
        return ordered_keys(self.thresholds)


@dataclass(frozen=True)
class UniformQuantizer:
    """Steps of equal length: `power` p, `offset` and `scale` of the formula above, and how many bits a code has.

    What is computed with a column of offsets and of scales is computed for each.
    """

    power: int
    offset: int
    scale: int
    bits: int

    @property
    def n_codes(self) -> int:
        """How many codes a value can have; the highest 16-bit number is left for missing values."""
        return min(1 << self.bits, N_FINE - 1)

    @property
    def fine_shift(self) -> int:
        """Which exponent of a float32 makes its last bit worth 1 / 2^p."""
        return NO_SHIFT - self.power

    @property
    def is_by_keys(self) -> bool:
        """Whether steps have the same number of floats, not the same length."""
        return self.power > POWERS[1]

    @property
    def shift(self) -> int:
        """By how many bits a product with the scale is too large."""
        return 31 - self.bits

    def codes(self, x: NDArray[np.float32]) -> Codes:
        """Return the codes of values."""
        if self.is_by_keys:
            fixed = ordered_keys(x).astype(np.int64) >> self.fine_shift
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                scaled = np.ceil(np.ldexp(x.astype(np.float64), self.power))
            fixed = np.clip(np.nan_to_num(scaled, nan=0.0), -(2.0**31), 2.0**31 - 1).astype(np.int64)
        fine = np.clip(fixed - self.offset, 0, N_FINE - 1)
        code = np.where(self.scale, fine * self.scale >> self.shift, fine)
        return np.where(np.isnan(x), MISSING, np.minimum(code, self.n_codes - 1))

    def threshold_codes(self, threshold: NDArray[np.float32], values: Values) -> Codes:
        """Return the codes that send the fewest of these values, ascending, another way than the thresholds.

        Of those on either side of a threshold, or else the nearer; beyond the steps, that of all values.
        """
        code = self.codes(threshold)
        down, up = np.clip(code - 1, 0, self.n_codes - 2), np.clip(code, 0, self.n_codes - 2)
        below = np.searchsorted(values, threshold, side="right")
        off_down, off_up = (np.abs(np.searchsorted(values, self.bounds(c), side="right") - below) for c in (down, up))
        with np.errstate(invalid="ignore"):  # steps by keys may end at infinity
            is_nearer = threshold - self.largest(down) < self.largest(up) - threshold
        chosen = np.where((off_down < off_up) | (is_nearer & (off_down == off_up)), down, up)
        is_beyond = (threshold > self.largest(np.array([self.n_codes - 1]))) | np.isposinf(threshold)
        return np.where(is_beyond, self.n_codes - 1, chosen)

    def largest(self, code: Codes) -> NDArray[np.float64]:
        """Return the largest number with a code, or a smaller one, if codes went on for ever."""
        scaled = -((-(code + 1) << self.shift) // np.maximum(self.scale, 1)) - 1
        fine = np.where(self.scale, scaled, code)
        if self.is_by_keys:
            return of_keys(((fine + self.offset + 1) << self.fine_shift) - 1).astype(np.float64)
        return np.ldexp((fine + self.offset).astype(np.float64), -self.power)

    def bounds(self, code: Codes) -> NDArray[np.float32]:
        """Return the largest float32 with a code, or a smaller one."""
        highest = self.codes(np.array([np.inf], np.float32))
        largest = np.where(code < highest, self.largest(code), np.inf)
        return round_down(largest)


def even_steps(threshold: NDArray[np.float32], bits: int) -> UniformQuantizer:
    """Return steps from one below the lowest to the highest of a feature's thresholds, with codes of so many bits."""
    finite = threshold[np.isfinite(threshold)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    low -= (high - low) / ((1 << bits) - 2)
    width = max(high - low, abs(low) * 2.0**-20, 2.0**-100)
    # As fine as 16 bits allow, and so that ceil(x 2^p) is small for a device with 32 bits.
    power = int(np.floor(np.log2((N_FINE - 4) / width)))
    power = min(power, int(np.floor(LARGEST_BITS - np.log2(max(abs(low), abs(high), 2.0**-90)))))
    power = min(max(power, POWERS[0]), POWERS[1])
    offset = int(np.ceil(np.ldexp(low, power))) - 1
    n_fine = int(np.ceil(np.ldexp(high, power))) - offset + 2
    scale = 0 if n_fine < 1 << bits else min((((1 << bits) - 1) << (31 - bits)) // n_fine, N_FINE - 1)
    return UniformQuantizer(power, offset, scale, bits)


def values_of(threshold: NDArray[np.float32], x: NDArray[np.float32] | None) -> Values:
    """Return the finite values of a feature, ascending; without rows, what these may be.

    That is the thresholds and the middles between them. Some libraries ask whether a value lies below another of the
    values: instead of thresholds right below much rounder numbers, these are taken.
    """
    if x is not None:
        return np.sort(x[np.isfinite(x)]).astype(np.float64)
    ordered = np.unique(threshold[np.isfinite(threshold)])
    above = np.nextafter(ordered, np.float32(np.inf))
    is_below = _n_digits(above) <= _n_digits(ordered) - FEWER_DIGITS
    middles = (ordered[1:].astype(np.float64) + ordered[:-1]) / 2.0
    return np.sort(np.concatenate([np.where(is_below, above, ordered), middles]))


def _n_digits(x: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return how many decimal digits it takes to tell each number from all others."""
    texts = (np.format_float_scientific(number).partition("e")[0] for number in x)
    return np.array([len(text.strip("-0.").replace(".", "")) for text in texts], np.int64)


def fitted_steps(threshold: NDArray[np.float32], bits: int, values: Values) -> UniformQuantizer:
    """Return even steps of the beginning and the length by which the fewest of the values go another way.

    Few thresholds far away from all others would make all steps long: the steps may leave them out. Measured values
    often are multiples of something: steps of about that length find all gaps between them.
    """
    first = even_steps(threshold, bits)
    if first.scale == 0:
        return first
    ordered = np.sort(threshold[np.isfinite(threshold)])
    below = np.searchsorted(values, threshold, side="right")

    def wrong(steps: UniformQuantizer) -> NDArray[np.int64]:
        ends = steps.bounds(steps.threshold_codes(threshold, values))
        return np.asarray(np.abs(np.searchsorted(values, ends, side="right") - below).sum(axis=-1))

    def best_of(steps: UniformQuantizer, scales: list[int], offsets: list[int]) -> UniformQuantizer:
        """Return the steps with the best scale and offset, of all pairs; the first of equals."""
        pairs = [(scale, offset) for scale in scales for offset in offsets]
        columns: Any = np.array(pairs)[:, :, None]
        at_once = max(1, BLOCK // threshold.size)
        blocks = [columns[start : start + at_once] for start in range(0, len(pairs), at_once)]
        counts = [wrong(replace(steps, scale=block[:, 0], offset=block[:, 1])) for block in blocks]
        scale, offset = pairs[int(np.concatenate(counts).argmin())]
        return replace(steps, scale=scale, offset=offset)

    first_wrong = int(wrong(first))
    if first_wrong == 0:
        return first
    cuts = [0, *(1 << k for k in range(16) if 1 << k <= ordered.size // 8)]
    trimmed = [ordered[low : ordered.size - high] for low in cuts for high in cuts]
    shorter = min((even_steps(some, bits) for some in trimmed), key=lambda steps: int(wrong(steps)))
    # What lies beyond the last step is lost for good, for other values too: only for a large gain.
    first = shorter if wrong(shorter) < first_wrong / LARGE_GAIN else first
    if first.scale == 0:
        return first
    best = best_of(first, _between(first.scale / 2, first.scale), [first.offset])
    # Nearby lengths, and beginnings within a step.
    near = first.scale / N_LENGTHS
    scales = _between(max(best.scale - near, 1), min(best.scale + near, first.scale))
    length = (1 << best.shift) // best.scale
    near_by = best_of(best, scales, [best.offset - shift for shift in sorted({length * k // 4 for k in range(4)})])
    best = near_by if wrong(near_by) < wrong(best) else best
    by_keys = key_steps(threshold, bits)
    if by_keys.scale:
        by_keys = best_of(by_keys, _between(by_keys.scale / 2, by_keys.scale), [by_keys.offset])
    return by_keys if wrong(by_keys) < wrong(best) / KEY_GAIN else best


def key_steps(threshold: NDArray[np.float32], bits: int) -> UniformQuantizer:
    """Return steps of as many floats each, from one below the lowest to the highest of a feature's thresholds."""
    keys = ordered_keys(threshold[np.isfinite(threshold)]).astype(np.int64)
    low, high = int(keys.min()), int(keys.max())
    step = (high - low) // ((1 << bits) - 2) + 1
    shift = max(KEY_SHIFTS[0], ((high - low + step) // (N_FINE - 4)).bit_length())
    offset = ((low - step) >> shift) - 1
    n_fine = (high >> shift) - offset + 2
    scale = 0 if n_fine < 1 << bits else min((((1 << bits) - 1) << (31 - bits)) // n_fine, N_FINE - 1)
    return UniformQuantizer(NO_SHIFT - shift, offset, scale, bits)


def _between(low: float, high: float) -> list[int]:
    """Return whole numbers from one to another, the highest first."""
    return sorted({max(round(number), 1) for number in np.linspace(low, high, N_LENGTHS)}, reverse=True)


def exact_steps(thresholds: list[NDArray[np.float32]], n_splits: int) -> list[UniformQuantizer] | None:
    """Return the longest steps that have all thresholds of each feature at their ends; None if 16 bits do not do.

    Features may share a step length, and a beginning too: what is alike is written once, codes may be longer.
    """
    powers = [_power(threshold) for threshold in thresholds]
    finest = max((power for power in powers if power is not None), default=None)
    if finest is None or None in powers:
        return None
    alone = [_steps_of(t, t, p) for t, p in zip(thresholds, powers, strict=True) if p is not None]
    even = [_steps_of(t, t, finest) for t in thresholds]
    together = [_steps_of(np.concatenate(thresholds), t, finest) for t in thresholds]
    found: list[tuple[int, list[UniformQuantizer]]] = []
    for many, bytes_a_feature in ((together, 0), (even, 2), (alone, 3)):
        steps = [one for one in many if one is not None]
        if len(steps) == len(thresholds):
            most = max(one.bits for one in steps)
            cost = n_splits * most + 8 * bytes_a_feature * len(steps)
            found.append((cost, [replace(one, bits=most) for one in steps]))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _power(threshold: NDArray[np.float32]) -> int | None:
    """Return the lowest power of two by which all thresholds are whole numbers."""
    if not np.isfinite(threshold).all():
        return None
    for power in range(-8, 17):
        scaled = np.ldexp(threshold.astype(np.float64), power)
        if (scaled == np.floor(scaled)).all():
            return power
    return None


def _steps_of(
    all_of_them: NDArray[np.float32], threshold: NDArray[np.float32], power: int
) -> UniformQuantizer | None:
    """Return steps that begin at the lowest of some thresholds and reach the highest of a feature."""
    low, high = float(all_of_them.min()), float(threshold.max())
    offset = int(np.ldexp(low, power)) - 1
    n_fine = int(np.ldexp(high, power)) - offset + 2
    fits = n_fine < N_FINE and abs(np.ldexp(max(abs(low), abs(high)), power)) < 1 << LARGEST_BITS
    return UniformQuantizer(power, offset, 0, max(n_fine - 1, 1).bit_length()) if fits else None


def ordered_keys(x: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return unsigned whole numbers in the order of the floats; -0.0 counts as 0.0."""
    bits = (x + np.float32(0.0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000)).astype(np.uint32)


def of_keys(keys: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the floats of whole numbers in their order, and infinities for those beyond."""
    lowest, highest = (int(key) for key in ordered_keys(np.array([-np.inf, np.inf], np.float32)))
    kept = np.clip(keys, lowest, highest).astype(np.uint32)
    kept = np.where(kept == 0x7FFFFFFF, np.uint32(0x7FFFFFFE), kept)  # -0.0 is no other number than 0.0
    return from_ordered_keys(kept)


def from_ordered_keys(keys: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Return the floats that `ordered_keys` were made of."""
    return np.where(keys >> 31, keys & np.uint32(0x7FFFFFFF), ~keys).astype(np.uint32).view(np.float32)
