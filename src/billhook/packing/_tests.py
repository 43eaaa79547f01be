"""What splits ask, in the fewest bytes: as it is, as numbers of a table, or as numbers of a table of gaps."""

from dataclasses import replace
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Bytes, Int64Array
from billhook.packing._bits import pack_bits
from billhook.packing._gaps import Gaps, find_gaps, pack_gaps
from billhook.packing._groups import Group, group_for, pack_groups
from billhook.packing._layout import ByteLayout

# Cycles of an AVR, about: a step down a tree, a bit of its shape, a leaf's number, a feature's code; and a bit and a
# test of a table of gaps, all of which a reader goes through for each row.
STEP, SHAPE, LEAF_NUMBER, CODE = 250, 8, 70, 150
GAP_BIT, GAP_TEST = 9, 20
# Bits that a reader finds in four bytes wherever a number begins.
LARGEST_READ = 25
# Where going through a table would take more than this of what all else takes, it is not written as gaps.
MOST_EXTRA_TIME = 0.5


class Tests(NamedTuple):
    """Feature, threshold code and where missing values go, of each split."""

    feature: Int64Array
    code: Int64Array
    left: NDArray[np.bool_]

    def as_numbers(self, layout: ByteLayout) -> Int64Array:
        """Return each test as one number."""
        test = self.code | self.feature << layout.code_bits
        if layout.missing == "split":
            test |= self.left.astype(np.int64) << (layout.feature_bits + layout.code_bits)
        return test

    def in_order(self, layout: ByteLayout) -> Int64Array:
        """Return each test as a number by which they are ordered: the feature, then its key."""
        key = self.code << 1 | self.left if layout.missing == "split" else self.code
        return self.feature << layout.key_bits | key


class TestTable(NamedTuple):
    """A layout, the different tests in order, and their gaps."""

    layout: ByteLayout
    different: Int64Array
    gaps: Gaps


def with_shortest_tests(plain: ByteLayout, tests: Tests) -> TestTable:
    """Return the layout in which the tests take the fewest bytes."""
    different = np.unique(tests.in_order(plain))
    gaps = find_gaps(different >> plain.key_bits, different & ((1 << plain.key_bits) - 1), plain.n_used)
    forms = [plain, replace(plain, n_pairs=different.size)]
    if is_quick(plain, gaps):
        gap_bits = {"ask_bits": gaps.bits, "gap_bits": gaps.gap_bits, "many_bits": gaps.many_bits}
        forms.append(replace(forms[1], **gap_bits))
    forms += [grouped for form in forms if (grouped := _grouped(form)) is not form]
    shortest = min(forms, key=_section_bytes) if tests.feature.size else plain
    return TestTable(shortest, different, gaps)


def _grouped(layout: ByteLayout) -> ByteLayout:
    n_values = 1 << layout.pair_bits if layout.missing == "split" else layout.n_used << layout.code_bits
    group = group_for(layout.n_pairs or n_values)
    is_read_at_once = layout.pair_bits <= LARGEST_READ
    return replace(layout, group=group.size, radix=group.radix) if group.size and is_read_at_once else layout


def _section_bytes(layout: ByteLayout) -> int:
    return layout.sections["leaves"] - layout.sections["tests"]


def is_quick(layout: ByteLayout, gaps: Gaps) -> bool:
    """Whether going through a table of gaps takes little time, compared with what a row takes without."""
    n_trees, n_leaves = layout.n_trees, layout.n_leaves
    steps = n_trees * log2(max(n_leaves / n_trees, 2.0)) * STEP
    rest = 2 * layout.n_inner * SHAPE + n_trees * layout.n_values * LEAF_NUMBER + layout.n_used * CODE
    return gaps.bits * GAP_BIT + gaps.gap.size * GAP_TEST <= MOST_EXTRA_TIME * (steps + rest)


def pack_tests(table: TestTable, tests: Tests) -> tuple[Bytes, Bytes]:
    """Return what the splits have, and the table of pairs."""
    layout = table.layout
    group = Group(layout.group, layout.radix)
    if not layout.n_pairs:
        return pack_groups(tests.as_numbers(layout), layout.pair_bits, group), np.zeros(0, np.uint8)
    number = np.searchsorted(table.different, tests.in_order(layout))
    numbers = pack_groups(number, layout.pair_bits, group)
    if layout.ask_bits:
        return numbers, pack_gaps(table.gaps)
    _, first = np.unique(number, return_index=True)
    return numbers, pack_bits(tests.as_numbers(layout)[first], layout.test_bits)
