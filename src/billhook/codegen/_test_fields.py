"""Where the parts of a test stand in the balanced layout."""

from typing import NamedTuple

from billhook._types import Int64Array

# Bits that a reader finds in four bytes wherever a number begins.
LARGEST_READ = 25


def up_to(bits: int, unit: int) -> int:
    """Return the multiple of the unit that holds so many bits."""
    return -(-bits // unit) * unit


class TestFields(NamedTuple):
    """Bits of a test's code, of its feature, of where missing values go, and of its flags, in multiples of a unit."""

    code_bits: int
    feature_bits: int
    missing_bits: int
    flag_bits: int
    unit: int

    @property
    def _beside(self) -> int:
        return self.feature_bits + self.missing_bits + self.flag_bits

    @property
    def is_apart(self) -> bool:
        """Whether the code is read first, and then the rest: where that takes no more bits, or there are too many."""
        together = self.code_bits + self._beside
        if self.unit == 1:
            return together > LARGEST_READ
        apart = up_to(self.code_bits, self.unit) + up_to(self._beside, self.unit)
        return self._beside > 0 and (apart == up_to(together, self.unit) or together > 4 * self.unit)

    @property
    def first_bits(self) -> int:
        """Bits of what is read first: the code, or all."""
        return up_to(self.code_bits + (0 if self.is_apart else self._beside), self.unit)

    @property
    def rest_bits(self) -> int:
        """Bits of what is read then; 0 if all is read at once."""
        return up_to(self._beside, self.unit) if self.is_apart else 0

    @property
    def bits(self) -> int:
        """Bits of all."""
        return self.first_bits + self.rest_bits

    @property
    def feature_at(self) -> int:
        """Where the feature begins, in what it is read with."""
        return 0 if self.is_apart else self.code_bits

    @property
    def missing_at(self) -> int:
        """Where the bit for missing values stands, in what it is read with."""
        return self.feature_at + self.feature_bits

    @property
    def flags_at(self) -> int:
        """Where the flags begin, in what they are read with: at its end."""
        return (self.rest_bits if self.is_apart else self.first_bits) - self.flag_bits

    def number(self, code: Int64Array, feature: Int64Array, missing: Int64Array) -> Int64Array:
        """Return tests, but for their flags, as whole numbers."""
        rest = feature << self.feature_at | missing << self.missing_at
        return code | rest << (self.first_bits if self.is_apart else 0)

    def flags(self, flags: Int64Array) -> Int64Array:
        """Return what flags add to the number of a test."""
        return flags << (self.flags_at + (self.first_bits if self.is_apart else 0))
