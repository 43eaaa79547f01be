"""Whole numbers below n in groups, where n is no power of two: less than a whole number of bits each.

The low bits of a number stand as they are. What is above them is a digit below `radix`, and the digits of a group
are one number of a byte at most: three digits below 5 take 7 bits, not 9. A group is that number, lowest digit first,
and then the low bits of each of its numbers.
"""

from typing import NamedTuple

import numpy as np

from billhook._types import Bytes, Int64Array
from billhook.packing._bits import bits_for, unpack_bits

# Numbers of fewer bits are all digit.
FEWEST_BITS = 4


class Group(NamedTuple):
    """So many numbers stand together, with digits below `radix`; 0 and 0 for numbers of whole bits."""

    size: int
    radix: int

    @property
    def digit_bits(self) -> int:
        """Bits of the digits of a group."""
        return bits_for(self.radix**self.size)

    def low_bits(self, bits: int) -> int:
        """Return how many bits of each number are as they are, if it has so many alone."""
        return bits - bits_for(self.radix)

    def section_bits(self, count: int, bits: int) -> int:
        """Return how many bits so many numbers take that have so many alone."""
        if self.size == 0:
            return count * bits
        return -(-count // self.size) * self.digit_bits + count * self.low_bits(bits)


ALONE = Group(0, 0)
# From the fewest bits on.
GROUPS = (Group(3, 5), Group(2, 11), Group(3, 6))


def group_for(n_values: int) -> Group:
    """Return the group in which numbers below this take the fewest bits."""
    bits = bits_for(n_values)
    if bits < FEWEST_BITS:
        return ALONE
    return next((group for group in GROUPS if n_values <= group.radix << group.low_bits(bits)), ALONE)


def pack_groups(numbers: Int64Array, bits: int, group: Group) -> Bytes:
    """Return whole numbers, each of so many bits alone, as bytes; the last byte is filled up with zeros."""
    size, low_bits = group.size or 1, group.low_bits(bits) if group.size else bits
    padded = np.zeros((-(-numbers.size // size), size), np.int64)
    padded.ravel()[: numbers.size] = numbers
    digits = (padded >> low_bits) @ group.radix ** np.arange(size) if group.size else np.zeros(len(padded), np.int64)
    low = padded & ((1 << low_bits) - 1)
    both = ((digits, group.digit_bits), (low.ravel(), low_bits))
    parts = [number[:, None] >> np.arange(width) & 1 for number, width in both]
    stream = np.concatenate([parts[0], parts[1].reshape(len(padded), size * low_bits)], axis=1).ravel()
    return np.packbits(stream[: group.section_bits(numbers.size, bits)].astype(np.uint8), bitorder="little")


def unpack_groups(data: Bytes, bits: int, count: int, group: Group) -> Int64Array:
    """Return the numbers that `pack_groups` packed."""
    if group.size == 0:
        return unpack_bits(data, bits, count)
    low_bits, n_groups = group.low_bits(bits), -(-count // group.size)
    width = group.digit_bits + group.size * low_bits
    # The last group may have fewer numbers than the others.
    stream = np.zeros(n_groups * width, np.uint8)
    n_bits = group.section_bits(count, bits)
    stream[:n_bits] = np.unpackbits(data, count=n_bits, bitorder="little")
    rows = stream.reshape(n_groups, width).astype(np.int64)
    digits = rows[:, : group.digit_bits] @ (np.int64(1) << np.arange(group.digit_bits))
    digit = digits[:, None] // group.radix ** np.arange(group.size) % group.radix
    low = rows[:, group.digit_bits :].reshape(n_groups, group.size, low_bits) @ (np.int64(1) << np.arange(low_bits))
    return np.asarray((digit << low_bits | low).ravel()[:count])
