"""A table of different tests as gaps: ascending by feature, by threshold code, and by where missing values go.

For each feature in use, how many tests ask for it, less 1 unless a model has projections, of which a feature may be
with no test of its own, and then the gap before each test: how many codes (twice
as many where each test says where missing values go) lie between it and the one before. A number of k bits or more
is written as ones, as many as its bits above the lowest k say, a zero, and these k bits, highest first. For the
numbers of tests k is `many_bits`; for the gaps of a feature with n tests, `gap_bits` less the bits of n, or 0.

A reader that goes through the table once finds the answers of a row to all tests.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Bytes, Int64Array

MOST_GAP_BITS, MOST_MANY_BITS = 18, 12


class Gaps(NamedTuple):
    """Different tests, and how they are written: in `bits` bits, with `gap_bits` and `many_bits`."""

    many: Int64Array
    gap: Int64Array
    bits: int
    gap_bits: int
    many_bits: int
    least: int


def find_gaps(feature: Int64Array, key: Int64Array, n_used: int, least: int = 1) -> Gaps:
    """Return how tests, ascending by feature and key, are written in the fewest bits.

    Each feature has so many tests at `least`: 0 or 1.
    """
    is_first = np.diff(feature, prepend=-1) > 0
    gap = np.diff(key, prepend=0) - 1
    gap[is_first] = key[is_first]
    many = np.bincount(feature, minlength=n_used)
    length = bit_lengths(many)[feature]
    of_many = [int((many - least >> k).sum()) + n_used * (k + 1) for k in range(MOST_MANY_BITS + 1)]
    # With more than these, no gap has a one.
    most = min(int(gap.max(initial=0)).bit_length() + int(length.max(initial=0)), MOST_GAP_BITS)
    of_gaps = []
    for gap_bits in range(most + 1):
        k = np.maximum(gap_bits - length, 0)
        of_gaps.append(int((gap >> k).sum() + k.sum()) + gap.size)
    gap_bits, many_bits = int(np.argmin(of_gaps)), int(np.argmin(of_many))
    return Gaps(many, gap, of_gaps[gap_bits] + of_many[many_bits], gap_bits, many_bits, least)


def pack_gaps(gaps: Gaps) -> Bytes:
    """Return the table as bytes; the last byte is filled up with zeros."""
    first = np.cumsum(gaps.many) - gaps.many
    numbers = np.insert(gaps.gap, first, gaps.many - gaps.least)
    k = np.insert(np.repeat(np.maximum(gaps.gap_bits - bit_lengths(gaps.many), 0), gaps.many), first, gaps.many_bits)
    high = numbers >> k
    stream = np.zeros(gaps.bits, np.uint8)
    end = np.cumsum(high + 1 + k)
    # The bit after each number's ones.
    zero = end - k - 1
    at = np.repeat(zero - high, high)
    stream[at + np.arange(at.size) - np.repeat(np.cumsum(high) - high, high)] = 1
    for bit in range(int(k.max(initial=0))):
        has = k > bit
        stream[end[has] - 1 - bit] = numbers[has] >> bit & 1
    return np.packbits(stream, bitorder="little")


def unpack_gaps(
    data: Bytes, n_bits: int, n_used: int, gap_bits: int, many_bits: int, least: int = 1
) -> tuple[Int64Array, Int64Array]:
    """Return the feature and the key of each test of a table of so many bits."""
    stream = np.unpackbits(data, count=n_bits, bitorder="little").tolist()
    at = 0

    def number(k: int) -> int:
        nonlocal at
        high = stream.index(0, at) - at
        at += high + 1 + k
        if at > n_bits:
            raise ValueError("the table of tests ends too soon")
        for bit in stream[at - k : at]:
            high = 2 * high + bit
        return high

    feature: list[int] = []
    key: list[int] = []
    for k in range(n_used):
        before, many = -1, number(many_bits) + least
        for _ in range(many):
            before += number(max(gap_bits - many.bit_length(), 0)) + 1
            feature.append(k)
            key.append(before)
    return np.array(feature, np.int64), np.array(key, np.int64)


def bit_lengths(numbers: Int64Array) -> NDArray[np.int64]:
    """Return how many bits each of these whole numbers takes."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
