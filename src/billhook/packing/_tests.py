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

# Bits that a reader finds in four bytes wherever a number begins.
LARGEST_READ = 25
# Cycles of an AVR, about, for a row: a step down a tree, a number of a leaf, the code of a feature.
STEP, LEAF_NUMBER, CODE = 340, 110, 170
# More of them: a bit and a test of a table of gaps, all of which a reader goes through, and a step with groups.
GAP_BIT, GAP_TEST, GROUP_STEP = 11, 25, 140
# What takes more time than this, compared with all else, is not done.
MOST_EXTRA_TIME = 0.55
# Gaps and groups take some 200 bytes more of code: they are not used for next to nothing.
LEAST_SAVED = 32


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
    """Return the layout in which the tests take the fewest bytes, without much more time for a row."""
    different = np.unique(tests.in_order(plain))
    feature, key = different >> plain.key_bits, different & ((1 << plain.key_bits) - 1)
    gaps = find_gaps(feature, key, plain.n_tested, plain.least_tests)
    paired = replace(plain, n_pairs=different.size)
    as_gaps = replace(paired, ask_bits=gaps.bits, gap_bits=gaps.gap_bits, many_bits=gaps.many_bits)
    forms = [form for form in (plain, paired, as_gaps, _grouped(plain), _grouped(paired)) if _is_quick(form)]
    return TestTable(min(forms, key=_cost) if plain.n_inner else plain, different, gaps)


def _grouped(layout: ByteLayout) -> ByteLayout:
    """Return the layout with tests, or numbers of pairs, in groups, if that takes fewer bits."""
    if layout.pair_bits > LARGEST_READ:
        return layout
    n_values = 1 << layout.test_bits if layout.missing == "split" else layout.n_tested << layout.code_bits
    group = group_for(layout.n_pairs or n_values)
    return replace(layout, group=group.size, radix=group.radix)


def _cost(layout: ByteLayout) -> int:
    """Return the bytes of the tests, and how many fewer they must be to make up for a longer reader."""
    n_bytes = layout.sections["leaves"] - layout.sections["tests"]
    return n_bytes + (LEAST_SAVED if layout.group or layout.ask_bits else 0)


def _is_quick(layout: ByteLayout) -> bool:
    """Whether a row takes little more time than with tests as they are."""
    n_trees = layout.n_trees
    steps = n_trees * log2(max(layout.n_leaves / n_trees, 2.0))
    usual = steps * STEP + n_trees * layout.n_values * LEAF_NUMBER + layout.n_tested * CODE
    more = steps * GROUP_STEP if layout.group else 0.0
    more += layout.ask_bits * GAP_BIT + layout.n_pairs * GAP_TEST if layout.ask_bits else 0.0
    return more <= MOST_EXTRA_TIME * usual


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
