"""The sections of a blob: numbers of a few bits each, and what they say about a model.

A reader has one way to read and one to compute: all that a packed model may be written in to save bytes is resolved
when the blob is written. A section is so many numbers of so many bits, of 25 at most or of 32, so that four bytes
hold any; the highest bit comes first, and a section begins with a byte. Two of them say how many bits the numbers of
each other section take, in 6 bits each, and how many there are, in as many bits as the header says. Then come, in
this order and without gaps:

    features    how much higher the number of each feature in use is than the one before; ascending, since a reader
                goes through a row once
    kinds       for each feature in use, which entry of the next three sections says how its values become codes
    shifts      0 for ranks among thresholds, 1 for categories; for steps what `UniformQuantizer` calls the fine shift
    begins      the offset of steps, modulo 2^32; or the first threshold, or category, that belongs to the feature
    scales      the scale of steps; or how many thresholds, or categories, belong to the feature
    keys        thresholds of ranks, as whole numbers in the order of the floats; or lows
    categories  codes of categories; or weights
    trees       how many splits each tree has
    columns     the first score that each tree adds to
    sizes       for each split, how many splits are on its left; those follow it, and then those on its right. No bits
                for symmetric trees, where half of them are on the left
    numbers     for each split, or level of symmetric trees, the number of a test; none if tests are in their order
    tested      for each test, which of the features in use it is of; from their number on, which projection
    codes       for each test the highest code that goes left
    missing     for each test whether a missing value goes right; none if all do; or turns
    leaves      for each leaf, from left to right, the number of its values; none if these are in the same order
    values      of leaves, counted from the least that their bits can say
    factors     for each score 1 less than what the sum of its values is times
    bases       for each score what it begins with, modulo 2^32; then the number of features, and the bits of two
                floats: what one unit of a score is worth, and what is added to that

Projections are only of steps, and where there are no missing values. So three sections are free for them, and other
blobs have none of their bytes: where there are no missing values and still a section of that name, it has

    turns       for each projection by how many bits the sum of codes times weights is shifted down; of 5 bits at most
    lows        for each what is taken off then, 2^(bits - 1) higher
    weights     for each that of each feature in use, 2^(bits - 1) higher; of 8 bits at most
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from billhook._files import ModelFileError
from billhook._types import Bytes, Int64Array
from billhook.packing._bits import bits_for

SECTIONS = (
    "features",
    "kinds",
    "shifts",
    "begins",
    "scales",
    "keys",
    "categories",
    "trees",
    "columns",
    "sizes",
    "numbers",
    "tested",
    "codes",
    "missing",
    "leaves",
    "values",
    "factors",
    "bases",
)
# Those of projections are where their names are here.
LOWS, WEIGHTS, TURNS = "keys", "categories", "missing"
WIDTH_BITS = 6
# Four bytes hold a number of so many bits wherever it begins.
MOST_ANYWHERE = 25
WORD = 32
# Readers count the bits of a section in 32 bits.
MOST_COUNT = 2**26 - 1


class Section(NamedTuple):
    """Numbers, and the bits of each."""

    numbers: Int64Array
    width: int


def section(numbers: Any, width: int | None = None) -> Section:
    """Return a section of these numbers, with as many bits as the largest takes if not told."""
    array = np.asarray(numbers, np.int64).ravel()
    if width is None:
        width = bits_for(int(array.max(initial=0)) + 1)
    return Section(array, width if width <= MOST_ANYWHERE else WORD)


def signed_section(numbers: Int64Array) -> Section:
    """Return a section of numbers that may be negative, as many higher as its highest bit says."""
    largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)) - 1)
    width = bits_for(largest + 1) + 1
    width = width if width <= MOST_ANYWHERE else WORD
    return Section(numbers.astype(np.int64).ravel() + (1 << (width - 1)), width)


def signed_numbers(part: Section) -> Int64Array:
    """Return the numbers of a section that may be negative."""
    return part.numbers - (1 << part.width >> 1)


def _write(part: Section) -> bytes:
    if not part.width or not part.numbers.size:
        return b""
    places = np.arange(part.width - 1, -1, -1)
    return np.packbits((part.numbers[:, None] >> places & 1).astype(np.uint8).ravel()).tobytes()


def _read(data: Bytes, width: int, count: int) -> Int64Array:
    if not width:
        return np.zeros(count, np.int64)
    bits = np.unpackbits(data, count=count * width).reshape(count, width).astype(np.int64)
    return np.asarray(bits @ (np.int64(1) << np.arange(width - 1, -1, -1)))


def write_sections(sections: Mapping[str, Section]) -> tuple[int, bytes]:
    """Return the bits that say how many numbers a section has, and all sections as bytes."""
    parts = [sections[name] for name in SECTIONS]
    widths = section([part.width for part in parts], WIDTH_BITS)
    counts = section([part.numbers.size for part in parts])
    return counts.width, b"".join(map(_write, (widths, counts, *parts)))


def read_sections(data: Bytes, count_bits: int) -> dict[str, Section]:
    """Return the sections that bytes behind a header are; ModelFileError if they are none."""
    begin = 0

    def next_section(name: str, width: int, count: int) -> Section:
        nonlocal begin
        end = begin + -(-count * width // 8)
        # A number without bits stands beside others that have some.
        if width > WORD or MOST_ANYWHERE < width < WORD or end > data.size or count > min(8 * data.size, MOST_COUNT):
            raise ModelFileError(f"its section of {name} cannot have {count:,} numbers of {width} bits")
        numbers = _read(data[begin:end], width, count)
        begin = end
        return Section(numbers, width)

    widths = next_section("widths", WIDTH_BITS, len(SECTIONS)).numbers.tolist()
    counts = next_section("counts", count_bits, len(SECTIONS)).numbers.tolist()
    found = {name: next_section(name, *shape) for name, *shape in zip(SECTIONS, widths, counts, strict=True)}
    if begin != data.size:
        raise ModelFileError(f"its sections take {begin:,} bytes; there are {data.size:,}")
    return found
