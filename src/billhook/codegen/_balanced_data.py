"""The bytes of the balanced layout, made of a Packed: a little more of them than its own, read in fewer steps.

Trees lie one after the other, each behind its length. A split is its test and two flags, whether its left and its
right side are splits too, and then

    both     the length of its left side, its left side, its right side
    one      the leaf that the other side is, and then the split
    neither  its left leaf, its right leaf

so that a row that goes down reads only what it asks for, and never counts. Symmetric trees have the tests of their
levels, and then all their leaves. All this is in whole bytes where that takes little more, else in bits. Where each
tree adds to a column of its own, trees stand in the order of columns, with a length of 0 before each next column.

What turns features into codes, and what scores begin with, is as in the Packed.
"""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from billhook._types import Bytes, Int64Array
from billhook.codegen._bit_stream import BitStream, Numbers, codings, fixed, shortest
from billhook.codegen._steps import code_type
from billhook.codegen._test_fields import TestFields, fields_in_bits, fields_in_bytes, up_to
from billhook.packing import Packed

# Times the bytes of the compact layout: up to which the quickest form is taken, and up to which whole bytes are.
LITTLE_MORE, MUCH_MORE = 1.15, 1.5


class BalancedForm(NamedTuple):
    """How a model is written.

    Attributes
    ----------
    unit : {8, 1}
        Bits: everything begins at a multiple of them.
    value_bits : int
        Of one number of a leaf.
    has_table : bool
        Whether leaves have numbers of entries of a table.
    has_pairs : bool
        Whether splits have numbers of tests, which are a table.
    has_features : bool
        Whether the numbers of the features in use are bytes behind the codes, beside their map of bits.
    """

    unit: int
    value_bits: int
    has_table: bool
    has_pairs: bool
    has_features: bool = False


@dataclass(frozen=True)
class BalancedData:
    """The bytes of a model, and what a program needs to know to read them.

    Attributes
    ----------
    form : BalancedForm
    data : uint8 array
    sections : dict of str to int
        Where "features", "table", "pairs", "trees", "factors" and "base" begin, in bytes; "factors" is where the
        trees end.
    head, test : TestFields
        What a split begins with; an entry of the table of tests, or the same.
    length, skip, entry : Numbers
        How the lengths of trees (or their levels), those of left sides, and the numbers of entries are written.
    row_bits : int
        Of all numbers of a leaf, in a tree or in the table.
    cuts : list of int
        Bytes where trees and entries of tables begin.
    end : int
        Where the trees end, in bits.
    """

    form: BalancedForm
    data: Bytes
    sections: dict[str, int]
    head: TestFields
    test: TestFields
    length: Numbers
    skip: Numbers
    entry: Numbers
    row_bits: int
    cuts: list[int]
    end: int

    @property
    def leaf_bits(self) -> int:
        """Bits of a leaf in a tree; if its entry has a long number, more."""
        return self.entry.bits if self.form.has_table else self.row_bits


def balanced_data(packed: Packed) -> BalancedData:
    """Return a model in the quickest form that takes little more than the compact layout.

    If there is none, in the shortest one of whole bytes; or of bits, where bytes would take much more.
    """
    tables = (False, True) if packed.layout.n_entries else (False,)
    narrow = packed.layout.leaf_bits
    shortest_yet: BalancedData | None = None
    # A map of features is read bit by bit for every row.
    n_more = packed.layout.n_used if packed.layout.has_map and packed.n_features <= 2**8 else 0
    # From the quickest on.
    for unit in (8, 1):
        widths = dict.fromkeys((up_to(narrow, unit), narrow))
        for width, has_table, has_pairs in product(widths, tables, (False, True)):
            form = BalancedForm(unit, width, has_table, has_pairs)
            made = _Writer(packed, form).written()
            if n_more and made.data.size + n_more <= LITTLE_MORE * packed.nbytes:
                return _Writer(packed, form._replace(has_features=True)).written()
            if made.data.size <= LITTLE_MORE * packed.nbytes:
                return made
            if shortest_yet is None or made.data.size < shortest_yet.data.size:
                shortest_yet = made
        if shortest_yet is not None and shortest_yet.data.size <= MUCH_MORE * packed.nbytes:
            break
    assert shortest_yet is not None
    return shortest_yet


def _can_shift(packed: Packed) -> bool:
    """Return whether codes can be shifted up: none has more bits, and none is taken for that of missing values."""
    highest = max((int(quantizer.n_codes) - 1 for quantizer in packed.quantizers), default=0)
    if packed.layout.missing in ("right", "split"):
        highest = max(highest, int(packed.coded.threshold.max(initial=0))) + 1
    return highest < 1 << packed.layout.code_bits


class _Writer:
    """Writes a model in a form."""

    def __init__(self, packed: Packed, form: BalancedForm) -> None:
        self.packed, self.form = packed, form
        layout = packed.layout
        unit, coded = form.unit, packed.coded
        self.is_leaf = coded.feature < 0
        n_flags = 0 if layout.is_symmetric else 2
        missing_bits = int(layout.missing == "split")
        self.test = self._fields(
            layout.code_bits, layout.feature_bits, missing_bits, 0 if form.has_pairs else n_flags, _can_shift(packed)
        )
        parts = (coded.threshold, np.maximum(coded.feature, 0), coded.missing_left if missing_bits else 0)
        tests = np.stack([np.broadcast_to(part, coded.n_nodes).astype(np.int64) for part in parts], axis=1)
        self.different, number = np.unique(tests, axis=0, return_inverse=True)
        pair_bits = int(len(self.different) - 1).bit_length()
        self.head = self._fields(pair_bits, 0, 0, n_flags, False) if form.has_pairs else self.test
        # What a test is, but for its flags.
        self.asked = number.ravel() if form.has_pairs else self.test.number(*tests.T)
        self.rows, self.number = self._leaves()
        self.row_bits = up_to(layout.n_values * form.value_bits, unit)
        frequent = self.number[self.is_leaf]
        is_fixed = layout.is_symmetric or unit == 1
        largest = int(frequent.max(initial=0))
        self.entry = fixed(largest, unit) if is_fixed else shortest(frequent, unit)

    def _fields(self, code: int, feature: int, missing: int, flags: int, can_shift: bool) -> TestFields:
        if self.form.unit == 1:
            return fields_in_bits(code, feature, missing, flags)
        in_halves = code_type(self.packed) == "uint16_t"
        return fields_in_bytes(code, feature, missing, flags, can_shift=can_shift, in_halves=in_halves)

    def _leaves(self) -> tuple[list[list[int]], Int64Array]:
        """Return the different leaves, from the most common on, and for each node the number of its own."""
        packed, layout = self.packed, self.packed.layout
        coded, begin = packed.coded, layout.sections["factors"]
        factor = np.ones(layout.n_values, np.int64)
        if layout.factor_bits:
            factor = packed.data[begin : begin + layout.n_columns].astype(np.int64)
        if layout.n_values == 1 and factor.size > 1:
            factor = np.repeat(factor[coded.tree_column], np.diff(coded.offset))[:, None]
        value = np.where(self.is_leaf[:, None], coded.value.astype(np.int64) // factor + layout.bias, 0)
        rows, number, counts = np.unique(value[self.is_leaf], axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        numbers = np.zeros(coded.n_nodes, np.int64)
        numbers[self.is_leaf] = place[number.ravel()]
        return rows[order].tolist(), numbers

    def written(self) -> BalancedData:
        """Return the bytes."""
        packed, layout = self.packed, self.packed.layout
        table, pairs = BitStream(), BitStream()
        if self.form.has_table:
            for row in self.rows:
                table.mark()
                self._add_row(table, row)
        if self.form.has_pairs:
            for number in self.test.number(*self.different.T).tolist():
                pairs.mark()
                pairs.add(number, self.test.bits)
        trees, length, skip = self._symmetric() if layout.is_symmetric else self._trees()
        parts = {
            "codes": packed.data[: layout.sections["trees"]],
            "features": packed.used.astype(np.uint8) if self.form.has_features else packed.data[:0],
            "table": table.as_bytes(),
            "pairs": pairs.as_bytes(),
            "trees": trees.as_bytes(),
            "factors": packed.data[layout.sections["factors"] : layout.sections["base"]],
            "base": packed.data[layout.sections["base"] :],
        }
        starts = np.cumsum([0, *(part.size for part in parts.values())]).tolist()
        return BalancedData(
            self.form,
            np.concatenate(list(parts.values())),
            dict(zip(parts, starts, strict=False)),
            self.head,
            self.test,
            length,
            skip,
            self.entry,
            self.row_bits,
            [starts[k] + cut for k, stream in ((2, table), (3, pairs), (4, trees)) for cut in stream.marks],
            8 * starts[4] + trees.n_bits,
        )

    def _add_row(self, stream: BitStream, row: list[int]) -> None:
        for number in row:
            stream.add(number, self.form.value_bits)
        stream.add(0, self.row_bits - len(row) * self.form.value_bits)

    def _add_leaf(self, stream: BitStream, node: int) -> None:
        if self.form.has_table:
            stream.add_coded(int(self.number[node]), self.entry)
        else:
            self._add_row(stream, self.rows[self.number[node]])

    def _symmetric(self) -> tuple[BitStream, Numbers, Numbers]:
        """Return symmetric trees, and how their numbers of levels are written."""
        coded, stream = self.packed.coded, BitStream()
        sizes = np.diff(coded.offset).tolist()
        length = fixed(max(sizes).bit_length() - 1, self.form.unit)
        asked = self.asked.tolist()
        for tree, n_before in self._in_order():
            for _ in range(n_before):
                stream.mark()
                stream.add_coded(0, length)
            stream.mark()
            n_levels = sizes[tree].bit_length() - 1
            stream.add_coded(n_levels, length)
            root = int(coded.offset[tree])
            for level in range(n_levels):
                stream.add(asked[root + (1 << level) - 1], self.head.bits)
            for leaf in range((1 << n_levels) - 1, sizes[tree]):
                self._add_leaf(stream, root + leaf)
        return stream, length, Numbers(0)

    def _trees(self) -> tuple[BitStream, Numbers, Numbers]:
        """Return the trees, how their lengths are written, and those of left sides."""
        coded, unit, stream = self.packed.coded, self.form.unit, BitStream()
        first = np.repeat(coded.offset[:-1], np.diff(coded.offset))
        left = np.where(self.is_leaf, -1, coded.left + first).tolist()
        right = np.where(self.is_leaf, -1, coded.right + first).tolist()
        skip, size = self._skips(left, right)
        roots = coded.offset[:-1].tolist()
        # A tree without splits gets one with two equal sides.
        sizes = [size[root] + (self.head.bits + size[root] if left[root] < 0 else 0) for root in roots]
        length = fixed(max(sizes) // unit, unit)
        asked = self.asked.tolist()
        for tree, n_before in self._in_order():
            for _ in range(n_before):
                stream.mark()
                stream.add_coded(0, length)
            stream.mark()
            stream.add_coded(sizes[tree] // unit, length)
            if left[roots[tree]] < 0:
                stream.add(0, self.head.bits)
                self._add_leaf(stream, roots[tree])
                self._add_leaf(stream, roots[tree])
                continue
            ahead = [roots[tree]]
            while ahead:
                node = ahead.pop()
                sides = [side for side in (left[node], right[node]) if left[side] >= 0]
                flags = self.head.flags(left[left[node]] >= 0, left[right[node]] >= 0)
                stream.add(asked[node] | flags, self.head.bits)
                if len(sides) == 2:
                    stream.add_coded(size[left[node]] // unit, skip)
                for side in (left[node], right[node]):
                    if left[side] < 0:
                        self._add_leaf(stream, side)
                ahead += reversed(sides)
        return stream, length, skip

    def _skips(self, left: list[int], right: list[int]) -> tuple[Numbers, list[int]]:
        """Return the shortest way to write how long left sides are, and the bits of each node and all below it."""
        roots = self.packed.coded.offset[:-1].tolist()
        best: tuple[int, Numbers, list[int]] | None = None
        done: set[tuple[int, int]] = set()
        for skip in codings(self.form.unit):
            if skip.n_long and (skip.bits, skip.more) in done:  # with fewer long ones, it is shorter
                continue
            size = self._sizes(left, right, skip)
            if size is None:
                continue
            done.add((skip.bits, skip.more))
            total = sum(size[root] for root in roots)
            if best is None or total < best[0]:
                best = total, skip, size
            if not skip.n_long:
                break
        assert best is not None
        return best[1], best[2]

    def _sizes(self, left: list[int], right: list[int], skip: Numbers) -> list[int] | None:
        """Return the bits of each node and all below it; None if a left side is too long."""
        unit, head = self.form.unit, self.head.bits
        size = [self.row_bits] * len(left)
        if self.form.has_table:
            size = [self.entry.length(number) for number in self.number.tolist()]
        for node in reversed(range(len(left))):
            if left[node] < 0:
                continue
            a, b = left[node], right[node]
            size[node] = head + size[a] + size[b]
            if left[a] >= 0 and left[b] >= 0:
                length = size[a] // unit
                if length > skip.largest:
                    return None
                size[node] += skip.length(length)
        return size

    def _in_order(self) -> list[tuple[int, int]]:
        """Return the trees in the order in which they are written, and how many next columns begin before each."""
        if not self.packed.layout.column_bits:
            return [(tree, 0) for tree in range(self.packed.layout.n_trees)]
        column = self.packed.coded.tree_column
        order = np.argsort(column, kind="stable")
        return list(zip(order.tolist(), np.diff(column[order], prepend=0).tolist(), strict=True))
