"""Numbers of any width one after the other in bytes, lowest bit first."""

from typing import NamedTuple

import numpy as np

from billhook._types import Bytes, Int64Array


class Numbers(NamedTuple):
    """How whole numbers are written: in `bits` bits; from `limit` on, in `more` bits more.

    The `n_long` highest numbers of the first bits say that there are more.
    """

    bits: int
    n_long: int = 0
    more: int = 0

    @property
    def limit(self) -> int:
        """The first number that takes more bits."""
        return (1 << self.bits) - self.n_long

    @property
    def largest(self) -> int:
        """The largest number that can be written."""
        return self.limit + (self.n_long << self.more) - 1

    def length(self, number: int) -> int:
        """Return how many bits a number takes."""
        return self.bits if number < self.limit else self.bits + self.more

    def coded(self, number: int) -> int:
        """Return a number as it is written."""
        beyond = number - self.limit
        if beyond < 0:
            return number
        return self.limit + (beyond >> self.more) | (beyond & ((1 << self.more) - 1)) << self.bits


# In whole bytes: one, one or two, one or three, and as many as it takes.
IN_BYTES = (
    Numbers(8),
    *(Numbers(8, 1 << k, more) for more in (8, 16) for k in range(7)),
    Numbers(16),
    Numbers(24),
    Numbers(32),
)
IN_BITS = (
    *(Numbers(bits, 1 << k, more) for bits, more in ((6, 6), (8, 8), (8, 12)) for k in range(bits - 2)),
    *(Numbers(bits) for bits in range(4, 26)),
)


def codings(unit: int) -> tuple[Numbers, ...]:
    """Return the ways to write numbers of so many bits, or of a multiple of them."""
    return IN_BYTES if unit == 8 else IN_BITS


def fixed(largest: int, unit: int) -> Numbers:
    """Return how numbers up to this are written in the same bits each."""
    return Numbers(max(-(-largest.bit_length() // unit), 1) * unit)


def shortest(numbers: Int64Array, unit: int) -> Numbers:
    """Return how these numbers are written in the fewest bits."""
    largest = int(numbers.max(initial=0))
    suited = [coding for coding in codings(unit) if coding.largest >= largest]
    return min(
        suited, key=lambda coding: coding.bits * numbers.size + coding.more * int((numbers >= coding.limit).sum())
    )


class BitStream:
    """Numbers that are written one after the other.

    Attributes
    ----------
    n_bits : int
        How many bits are written.
    marks : list of int
        The bytes that were marked.
    """

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._bits: list[int] = []
        self.n_bits = 0
        self.marks: list[int] = []

    def mark(self) -> None:
        """Mark the byte that is written next."""
        self.marks.append(self.n_bits // 8)

    def add(self, number: int, bits: int) -> None:
        """Write a number of so many bits."""
        self._numbers.append(number)
        self._bits.append(bits)
        self.n_bits += bits

    def add_coded(self, number: int, coding: Numbers) -> None:
        """Write a number in a coding."""
        self.add(coding.coded(number), coding.length(number))

    def as_bytes(self) -> Bytes:
        """Return all, the last byte filled up with zeros."""
        numbers, bits = np.array(self._numbers, np.int64), np.array(self._bits, np.int64)
        start = np.cumsum(bits) - bits
        stream = np.zeros(int(bits.sum()), np.uint8)
        for bit in range(int(bits.max(initial=0))):
            has = bits > bit
            stream[start[has] + bit] = numbers[has] >> bit & 1
        return np.packbits(stream, bitorder="little")
