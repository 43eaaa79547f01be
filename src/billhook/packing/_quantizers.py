"""From the values of a feature to small whole numbers that compare with thresholds as the values do.

A row goes left at a split where the code of its value is at most the code of the threshold. Three kinds:

`RankQuantizer` is exact. The code is the number of the feature's thresholds that lie below the value, found by a
search in a table of them.

`UniformQuantizer` takes no table, and is exact for thresholds that are multiples of a power of two, such as those
between whole numbers. The code is floor((ceil(x 2^p) - offset) scale / 2^(31 - bits)), or without the scale if it is
0, in whole numbers all the way: nothing in it depends on how a target rounds. Where thresholds crowd together at one
end, as those of sizes and times often do, steps of as many floats each serve better than steps of the same length:
then floor(key / 2^v) stands for ceil(x 2^p), where the key is a whole number in the order of the floats.

`CategoryQuantizer` is for categorical splits: `_category_codes` says how sets become codes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import round_down

# Of a value that is not a number. It goes where the split says, or right.
MISSING = -1
FINE_BITS = 16
N_FINE = 1 << FINE_BITS
LARGEST_BITS = 27
# The exponent of a float32 whose last bit is worth 1. A target shifts by the difference to it, and has a byte for it.
NO_SHIFT = 150
POWERS = (NO_SHIFT - 255, 116)
# Shifts that no steps of equal length have are those of keys.
KEY_SHIFTS = (5, 33)


@dataclass(frozen=True)
class RankQuantizer:
    """Codes that are ranks among the thresholds of a feature, which are ascending, each once."""

    thresholds: Float32Array

    @property
    def n_codes(self) -> int:
        """How many codes a value can have."""
        return self.thresholds.size + 1

    def codes(self, x: Float32Array) -> Int64Array:
        """Return the codes of values."""
        rank = np.searchsorted(self.thresholds, x, side="left").astype(np.int64)
        return np.where(np.isnan(x), MISSING, rank)

    def threshold_codes(self, threshold: Float32Array, values: Vector) -> Int64Array:  # noqa: ARG002 - as in UniformQuantizer
        """Return the codes of thresholds: a value goes left if its code is at most that, whatever the values."""
        return np.searchsorted(self.thresholds, threshold, side="left").astype(np.int64)

    def bounds(self, code: Int64Array) -> Float32Array:
        """Return the largest float32 with a code, or a smaller one; no value has a code above the last."""
        return np.append(self.thresholds, np.float32(np.inf))[np.minimum(code, self.thresholds.size)]

    @property
    def keys(self) -> NDArray[np.uint32]:
        """The thresholds as whole numbers of the same order."""
        return ordered_keys(self.thresholds)


@dataclass(frozen=True)
class UniformQuantizer:
    """Codes of steps of equal length: `power` p, `offset` and `scale` of the formula above, and bits of a code."""

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

    def codes(self, x: Float32Array) -> Int64Array:
        """Return the codes of values."""
        if self.is_by_keys:
            fixed = ordered_keys(x).astype(np.int64) >> self.fine_shift
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                scaled = np.ceil(np.ldexp(x.astype(np.float64), self.power))
            fixed = np.clip(np.nan_to_num(scaled, nan=0.0), -(2.0**31), 2.0**31 - 1).astype(np.int64)
        fine = np.clip(fixed - self.offset, 0, N_FINE - 1)
        code = fine * self.scale >> self.shift if self.scale else fine
        return np.where(np.isnan(x), MISSING, np.minimum(code, self.n_codes - 1))

    def threshold_codes(self, threshold: Float32Array, values: Vector) -> Int64Array:
        """Return the codes that send the fewest of these values, ascending, another way than the thresholds.

        Of those on either side of a threshold, or else the nearer; beyond the steps, that of all values.
        """
        return self.code_thresholds(threshold, values)[0]

    def code_thresholds(self, threshold: Float32Array, values: Vector) -> tuple[Int64Array, Int64Array]:
        """Return the codes of thresholds, as `threshold_codes`, and how many values go another way at each."""
        code = self.codes(threshold)
        below = np.searchsorted(values, threshold, side="right")

        def side(code: Int64Array) -> tuple[Vector, Int64Array]:
            """Return the largest number with a code, and how many values go another way if a threshold has it."""
            largest = self.largest(code)
            bound = round_down(np.where(code < self._highest, largest, np.inf))
            return largest, np.abs(np.searchsorted(values, bound, side="right") - below)

        down, up = np.clip(code - 1, 0, self.n_codes - 2), np.clip(code, 0, self.n_codes - 2)
        (below_it, off_down), (above_it, off_up) = side(down), side(up)
        with np.errstate(invalid="ignore"):  # steps by keys may end at infinity
            is_nearer = threshold - below_it < above_it - threshold
        is_down = (off_down < off_up) | (is_nearer & (off_down == off_up))
        is_beyond = (threshold > self.largest(np.array([self.n_codes - 1]))) | np.isposinf(threshold)
        codes = np.where(is_beyond, self.n_codes - 1, np.where(is_down, down, up))
        return codes, np.where(is_beyond, values.size - below, np.where(is_down, off_down, off_up))

    @cached_property
    def _highest(self) -> int:
        """The code of infinity."""
        return int(self.codes(np.array([np.inf], np.float32))[0])

    def largest(self, code: Int64Array) -> Vector:
        """Return the largest number with a code, or a smaller one, if codes went on for ever."""
        fine = -((-(code + 1) << self.shift) // self.scale) - 1 if self.scale else code
        if self.is_by_keys:
            return floats_of_keys(((fine + self.offset + 1) << self.fine_shift) - 1).astype(np.float64)
        return np.ldexp((fine + self.offset).astype(np.float64), -self.power)

    def bounds(self, code: Int64Array) -> Float32Array:
        """Return the largest float32 with a code, or a smaller one."""
        largest = np.where(code < self._highest, self.largest(code), np.inf)
        return round_down(largest)


@dataclass(frozen=True)
class CategoryQuantizer:
    """Codes by a table: the category of a value is the value cut off towards zero.

    Attributes
    ----------
    of_category : int64 array
        The code of each category from 0 on.
    n_codes : int
        How many codes there are; what has no entry in the table has the last.
    """

    of_category: Int64Array
    n_codes: int

    def codes(self, x: Float32Array) -> Int64Array:
        """Return the codes of values."""
        is_known = (x > -1.0) & (x < self.of_category.size)
        category = np.where(is_known, x, 0.0).astype(np.int64)
        padded = np.append(self.of_category, self.n_codes - 1)
        code = padded[np.where(is_known, category, self.of_category.size)]
        return np.where(np.isnan(x), MISSING, code)

    def categories_up_to(self, code: int) -> Int64Array:
        """Return the categories whose code is at most this."""
        return np.flatnonzero(self.of_category <= code)


Quantizer = RankQuantizer | UniformQuantizer | CategoryQuantizer


def ordered_keys(x: Float32Array) -> NDArray[np.uint32]:
    """Return unsigned whole numbers in the order of the floats; -0.0 counts as 0.0."""
    bits = (x + np.float32(0.0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000)).astype(np.uint32)


def floats_of_keys(keys: Int64Array) -> Float32Array:
    """Return the floats of whole numbers in their order, and infinities for those beyond."""
    lowest, highest = (int(key) for key in ordered_keys(np.array([-np.inf, np.inf], np.float32)))
    kept = np.clip(keys, lowest, highest).astype(np.uint32)
    kept = np.where(kept == 0x7FFFFFFF, np.uint32(0x7FFFFFFE), kept)  # -0.0 is no other number than 0.0
    return from_ordered_keys(kept)


def from_ordered_keys(keys: NDArray[np.uint32]) -> Float32Array:
    """Return the floats that `ordered_keys` were made of."""
    return np.where(keys >> 31, keys & np.uint32(0x7FFFFFFF), ~keys).astype(np.uint32).view(np.float32)
