"""A forest of whole numbers as bytes, and back.

All sections stand one after the other in one string of bytes, each at the beginning of a byte:

    features    the number of each feature in use, unless all are, in order
    grids       how values of a feature become codes: see `_grids`
    trees       how many splits each tree has, and the column it adds to if leaves have one number and rows several
    shapes      2 bits a split: is the left side a split too, is the right
    tests       threshold code and feature of each split (and where missing values go), or the number of such a pair
    pairs       the pairs, if that is shorter
    leaves      the numbers of each leaf, or the number of an entry of the table
    table       different leaves, if that is shorter
    factors     8 bits for each column, if columns have scales of their own: a leaf's number counts so many times
    base        1, 2 or 4 bytes for each column: what a score begins with, since the numbers of leaves are written
                from 0 up; nothing if all begin alike. At least 3 bytes, so that 4 can be read wherever a number is

Splits and leaves stand tree after tree, level by level. Where the sides of a split are is not written: the k-th bit
that is 1 among a tree's shapes leads to its split k + 1, the k-th that is 0 to its leaf k, and a walk down the tree
counts them once from the front.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.packing._bits import bits_for, pack_bits, unpack_bits
from billhook.packing._leaves import by_leaf
from billhook.packing._order import level_order
from billhook.packing._quantizers import NO_SHIFT, RankQuantizer, UniformQuantizer, from_ordered_keys

Grid = RankQuantizer | UniformQuantizer
Bytes = NDArray[np.uint8]
FACTOR_BITS = 8


@dataclass(frozen=True)
class Layout:
    """Widths and counts that a reader of the bytes needs; nothing else about the model is outside of them.

    Attributes
    ----------
    n_trees, n_inner, n_leaves, n_used, n_features, n_columns, n_values : int
        Features in use and in all; columns of the scores; numbers a leaf.
    grid : {"ranks", "steps"}
    code_bits, count_bits : int
        Of a threshold code; of the number of thresholds of a feature (ranks).
    shift_bytes, offset_bytes, scale_bytes : int
        Of what each feature's steps have of their own.
    shift, offset : int
        What all features' steps have in common, where they have no bytes of their own; the shift is 150 - `power`.
    missing : {"none", "right", "left", "split"}
        Where rows with a missing value go: each split may have a bit of its own. With "none" there are no missing
        values: what is not a number counts as an infinity of its sign.
    tree_bits : int
        Of the number of splits of a tree.
    leaf_bits : int
        Of one number of a leaf.
    factor_bits : int
        Of what the numbers of a column are times; 0 if that is 1 for all.
    n_pairs, n_entries : int
        0 where there is no table.
    n_thresholds : int
        Of all features (ranks).
    base_bytes, base : int
        Of what the score of a column begins with; what all begin with if there are no bytes for each.
    """

    n_trees: int
    n_inner: int
    n_leaves: int
    n_used: int
    n_features: int
    n_columns: int
    n_values: int
    grid: str
    code_bits: int
    count_bits: int
    shift_bytes: int
    offset_bytes: int
    scale_bytes: int
    shift: int
    offset: int
    missing: str
    tree_bits: int
    leaf_bits: int
    factor_bits: int
    n_pairs: int
    n_entries: int
    n_thresholds: int
    base_bytes: int
    base: int

    @property
    def feature_bits(self) -> int:
        """Bits of the number of a feature in use."""
        return bits_for(self.n_used)

    @property
    def test_bits(self) -> int:
        """Bits of a feature, a threshold code and where missing values go."""
        return self.feature_bits + self.code_bits + (self.missing == "split")

    @property
    def pair_bits(self) -> int:
        """Bits of what a split has: the number of a pair, or its test."""
        return bits_for(self.n_pairs) if self.n_pairs else self.test_bits

    @property
    def entry_bits(self) -> int:
        """Bits of what a leaf has: the number of an entry, or its numbers."""
        return bits_for(self.n_entries) if self.n_entries else self.n_values * self.leaf_bits

    @property
    def step_bytes(self) -> int:
        """Bytes of a feature's steps."""
        return self.shift_bytes + self.offset_bytes + self.scale_bytes

    @property
    def bias(self) -> int:
        """What is added to the numbers of leaves so that none is negative."""
        return 1 << (self.leaf_bits - 1)

    @property
    def column_bits(self) -> int:
        """Bits of the column that a tree adds to."""
        return bits_for(self.n_columns) if self.n_values < self.n_columns else 0

    @property
    def id_bits(self) -> int:
        """Bits of the number of a feature, among all; 0 where all are in use."""
        return bits_for(self.n_features) if self.n_used < self.n_features else 0

    @cached_property
    def sections(self) -> dict[str, int]:
        """Where each section begins, and at last where the bytes end."""
        n_used, n_tests = self.n_used, self.n_inner
        sizes = {
            "features": -(-n_used * self.id_bits // 8),
            "grids": -(-n_used * self.count_bits // 8) + 4 * self.n_thresholds
            if self.grid == "ranks"
            else n_used * self.step_bytes,
            "trees": -(-self.n_trees * (self.tree_bits + self.column_bits) // 8),
            "shapes": -(-n_tests * 2 // 8),
            "tests": -(-n_tests * self.pair_bits // 8),
            "pairs": -(-self.n_pairs * self.test_bits // 8),
            "leaves": -(-self.n_leaves * self.entry_bits // 8),
            "table": -(-self.n_entries * self.n_values * self.leaf_bits // 8),
            "factors": -(-self.n_columns * self.factor_bits // 8),
            "base": max(self.base_bytes * self.n_columns, 3),
            "end": 0,
        }
        starts = accumulate(sizes.values(), initial=0)
        return dict(zip(sizes, starts, strict=False))


def encode(
    walked: Forest,
    used: NDArray[np.int64],
    grids: list[Grid],
    n_features: int,
    leaf_bits: int,
    factor: NDArray[np.int64] | None,
    *,
    missing_values: bool = True,
) -> tuple[Layout, Bytes]:
    """Return a forest whose features are those in use, thresholds codes and values whole numbers, as bytes.

    `factor` is what the values of each column are multiples of, if not of 1.
    """
    order = level_order(walked)
    plain = layout_without_tables(
        walked, used.size, grids, n_features, leaf_bits, factor, missing_values=missing_values
    )
    base = _base(walked, leaf_bits, factor)
    feature = walked.feature[order.inner].astype(np.int64)
    code = walked.threshold[order.inner].astype(np.int64)
    left = walked.missing_left[order.inner]
    test = _tests(plain, feature, code, left)
    values = walked.value[order.leaf].astype(np.int64)
    if factor is not None:
        values //= by_leaf(factor, walked.tree_column, order.n_inner + 1, plain.n_values)
    tests = _shortest(test[:, None], plain.test_bits)
    leaves = _shortest(values + plain.bias, leaf_bits)
    trees = order.n_inner.copy()
    trees |= walked.tree_column.astype(np.int64) << plain.tree_bits if plain.column_bits else 0
    parts = {
        "features": pack_bits(used, plain.id_bits),
        "grids": _grid_bytes(grids, plain),
        "trees": pack_bits(trees, plain.tree_bits + plain.column_bits),
        "shapes": pack_bits(order.goes_on.ravel().astype(np.int64), 1),
        "tests": tests.numbers,
        "pairs": tests.table,
        "leaves": leaves.numbers,
        "table": leaves.table,
        "factors": np.zeros(0, np.uint8) if factor is None else factor.astype(np.uint8),
        "base": _base_bytes(base, plain.base_bytes),
    }
    layout = replace(plain, n_pairs=tests.n_different, n_entries=leaves.n_different)
    data = np.concatenate(list(parts.values()))
    assert data.size == layout.sections["end"]
    return layout, data


def layout_without_tables(
    walked: Forest,
    n_used: int,
    grids: list[Grid],
    n_features: int,
    leaf_bits: int,
    factor: NDArray[np.int64] | None,
    *,
    missing_values: bool = True,
) -> Layout:
    """Return the layout of a forest as `encode` takes it, without tables of pairs and of leaves."""
    is_split = walked.feature >= 0
    left = walked.missing_left[is_split]
    steps = [grid for grid in grids if isinstance(grid, UniformQuantizer)]
    is_ranks = len(steps) < len(grids)
    base = _base(walked, leaf_bits, factor)
    base_bytes = (
        0 if (base == base[0]).all() else next(n for n in (1, 2, 4) if (np.abs(base) < 1 << (8 * n - 1)).all())
    )
    highest = int(walked.threshold[is_split].max(initial=0.0))
    return Layout(
        n_trees=walked.n_trees,
        n_inner=left.size,
        n_leaves=left.size + walked.n_trees,
        n_used=n_used,
        n_features=n_features,
        n_columns=walked.base.size,
        n_values=walked.value.shape[1],
        grid="ranks" if is_ranks else "steps",
        code_bits=bits_for(highest + 1) if is_ranks else max((g.bits for g in steps), default=0),
        count_bits=bits_for(max(grid.n_codes for grid in grids)) if is_ranks else 0,
        **_step_shape(steps),
        missing="none" if not missing_values else "right" if not left.any() else "left" if left.all() else "split",
        tree_bits=bits_for(int(np.diff(walked.offset).max()) // 2 + 1),
        leaf_bits=leaf_bits,
        factor_bits=0 if factor is None else FACTOR_BITS,
        n_pairs=0,
        n_entries=0,
        n_thresholds=sum(grid.n_codes - 1 for grid in grids) if is_ranks else 0,
        base_bytes=base_bytes,
        base=0 if base_bytes else int(base[0]),
    )


def _base(walked: Forest, leaf_bits: int, factor: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return what scores begin with, since the numbers of leaves are written from 0 up."""
    times = 1 if factor is None else factor
    return np.asarray(walked.base.astype(np.int64) - (n_trees_of_columns(walked) * times << (leaf_bits - 1)))


def _tests(
    plain: Layout, feature: NDArray[np.int64], code: NDArray[np.int64], left: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return what each split asks, as one number."""
    test = code | feature << plain.code_bits
    if plain.missing == "split":
        test |= left.astype(np.int64) << (plain.feature_bits + plain.code_bits)
    return test


def with_table_of_pairs(plain: Layout, walked: Forest) -> Layout:
    """Return the layout with a table of pairs, if that is shorter, of a forest as `encode` takes it."""
    splits = np.flatnonzero(walked.feature >= 0)
    code = walked.threshold[splits].astype(np.int64)
    test = _tests(plain, walked.feature[splits].astype(np.int64), code, walked.missing_left[splits])
    n_pairs = np.unique(test).size
    return replace(plain, n_pairs=n_pairs) if _is_table_shorter(test.size, n_pairs, plain.test_bits) else plain


def _is_table_shorter(n_rows: int, n_different: int, row_bits: int) -> bool:
    with_table = -(-n_rows * bits_for(n_different) // 8) - (-n_different * row_bits // 8)
    return with_table < -(-n_rows * row_bits // 8)


class Shortest(NamedTuple):
    """Rows of numbers as they are, or as numbers of rows of a table; `n_different` is 0 where there is no table."""

    numbers: Bytes
    n_different: int
    table: Bytes


def _shortest(rows: NDArray[np.int64], bits: int) -> Shortest:
    different, number = np.unique(rows, axis=0, return_inverse=True)
    if not _is_table_shorter(len(rows), len(different), rows.shape[1] * bits):
        return Shortest(pack_bits(rows.ravel(), bits), 0, np.zeros(0, np.uint8))
    table = pack_bits(different.ravel(), bits)
    return Shortest(pack_bits(number.ravel(), bits_for(len(different))), len(different), table)


def _base_bytes(base: NDArray[np.int64], n_bytes: int) -> Bytes:
    raw = base.astype(f"<i{n_bytes}").tobytes() if n_bytes else b""
    return np.frombuffer(raw.ljust(3, b"\0"), np.uint8)


def n_trees_of_columns(forest: Forest) -> NDArray[np.int64]:
    """Return how many trees add to each column."""
    if forest.value.shape[1] == forest.base.size:
        return np.full(forest.base.size, forest.n_trees)
    return np.bincount(forest.tree_column, minlength=forest.base.size)


def _step_shape(steps: list[UniformQuantizer]) -> dict[str, int]:
    """Return what features' steps have in common, and the bytes of what they have not."""
    if not steps:
        return dict.fromkeys(("shift_bytes", "offset_bytes", "scale_bytes", "shift", "offset"), 0)
    shifts, offsets = {grid.fine_shift for grid in steps}, {grid.offset for grid in steps}
    return {
        "shift_bytes": int(len(shifts) > 1),
        "offset_bytes": _bytes_for(offsets) if len(offsets) > 1 else 0,
        "scale_bytes": 2 * any(grid.scale for grid in steps),
        "shift": shifts.pop() if len(shifts) == 1 else 0,
        "offset": offsets.pop() if len(offsets) == 1 else 0,
    }


def _bytes_for(numbers: set[int]) -> int:
    return max((number if number >= 0 else ~number).bit_length() // 8 + 1 for number in numbers)


def offset_bias(n_bytes: int) -> int:
    """Return what is added to offsets so that none is negative; it fits a signed number of 32 bits."""
    return 1 << min(8 * n_bytes - 1, 30)


def _grid_bytes(grids: list[Grid], layout: Layout) -> Bytes:
    """Ranks: how many thresholds each feature has, then all of them. Steps: shift, offset, scale of each feature."""
    if not grids:
        return np.zeros(0, np.uint8)
    if isinstance(grids[0], RankQuantizer):
        counts = np.array([grid.n_codes - 1 for grid in grids], np.int64)
        keys = np.concatenate([grid.keys for grid in grids if isinstance(grid, RankQuantizer)])
        return np.concatenate([pack_bits(counts, layout.count_bits), keys.astype("<u4").view(np.uint8)])
    raw = bytearray()
    for grid in grids:
        assert isinstance(grid, UniformQuantizer)
        raw += grid.fine_shift.to_bytes(1, "little")[: layout.shift_bytes]
        n_bytes = layout.offset_bytes
        raw += (grid.offset + offset_bias(n_bytes)).to_bytes(n_bytes, "little") if n_bytes else b""
        raw += grid.scale.to_bytes(2, "little")[: layout.scale_bytes]
    return np.frombuffer(bytes(raw), np.uint8)


def section(layout: Layout, data: Bytes, name: str) -> Bytes:
    """Return the bytes of a section, and those behind it."""
    return data[layout.sections[name] :]


def decode_nodes(layout: Layout, data: Bytes) -> dict[str, Any]:
    """Return what the bytes say about trees, splits and leaves, level by level; values are times their factors."""
    trees = unpack_bits(section(layout, data, "trees"), layout.tree_bits + layout.column_bits, layout.n_trees)
    shape = unpack_bits(section(layout, data, "shapes"), 1, 2 * layout.n_inner)
    test = _numbers(layout, data, "tests", "pairs", layout.n_inner, layout.n_pairs, layout.test_bits, 1)[:, 0]
    value = _numbers(
        layout, data, "leaves", "table", layout.n_leaves, layout.n_entries, layout.leaf_bits, layout.n_values
    )
    feature_mask, code_mask = (1 << layout.feature_bits) - 1, (1 << layout.code_bits) - 1
    n_inner, column = trees & ((1 << layout.tree_bits) - 1), trees >> layout.tree_bits
    if int(column.max(initial=0)) >= layout.n_columns:
        raise ValueError(f"a tree adds to column {column.max()} of {layout.n_columns}")
    base = np.full(layout.n_columns, layout.base)
    if layout.base_bytes:
        raw = section(layout, data, "base")[: layout.base_bytes * layout.n_columns]
        base = raw.copy().view(f"<i{layout.base_bytes}").astype(np.int64)
    each = np.bincount(column, minlength=layout.n_columns) if layout.column_bits else layout.n_trees
    value -= layout.bias
    factor = np.ones(layout.n_columns, np.int64)
    if layout.factor_bits:
        factor = unpack_bits(section(layout, data, "factors"), layout.factor_bits, layout.n_columns)
        if not factor.all():
            raise ValueError("the factor of a column is 0")
        value *= by_leaf(factor, column, n_inner + 1, layout.n_values)
    return {
        "n_inner": n_inner,
        "column": column,
        "goes_on": shape.astype(np.bool_).reshape(-1, 2),
        "feature": test >> layout.code_bits & feature_mask,
        "code": test & code_mask,
        "missing_left": (test >> (layout.feature_bits + layout.code_bits)).astype(np.bool_),
        "value": value,
        "base": base + layout.bias * each * factor,
    }


def _numbers(
    layout: Layout, data: Bytes, name: str, table: str, count: int, n_entries: int, bits: int, n_values: int
) -> NDArray[np.int64]:
    if n_entries == 0:
        return unpack_bits(section(layout, data, name), bits, count * n_values).reshape(count, n_values)
    entries = unpack_bits(section(layout, data, table), bits, n_entries * n_values).reshape(n_entries, n_values)
    return entries[unpack_bits(section(layout, data, name), bits_for(n_entries), count)]


def decode_grids(layout: Layout, data: Bytes) -> list[Grid]:
    """Return how the values of each feature in use become codes."""
    raw = section(layout, data, "grids")
    if layout.grid == "ranks":
        counts = unpack_bits(raw, layout.count_bits, layout.n_used)
        begin = -(-layout.count_bits * layout.n_used // 8)
        if int(counts.sum()) != layout.n_thresholds:
            raise ValueError(f"the features have {counts.sum()} thresholds, not {layout.n_thresholds}")
        keys = raw[begin : begin + 4 * layout.n_thresholds].copy().view("<u4")
        return [RankQuantizer(part) for part in np.split(from_ordered_keys(keys), np.cumsum(counts)[:-1])]
    grids: list[Grid] = []
    for k in range(layout.n_used):
        one = raw[k * layout.step_bytes : (k + 1) * layout.step_bytes].tobytes()
        at = layout.shift_bytes
        shift = one[0] if at else layout.shift
        offset, scale = layout.offset, int.from_bytes(one[at + layout.offset_bytes :], "little")
        if layout.offset_bytes:
            biased = int.from_bytes(one[at : at + layout.offset_bytes], "little")
            offset = biased - offset_bias(layout.offset_bytes)
        grids.append(UniformQuantizer(NO_SHIFT - shift, offset, scale, layout.code_bits))
    return grids


def decode_features(layout: Layout, data: Bytes) -> NDArray[np.int64]:
    """Return the numbers of the features in use."""
    if layout.id_bits == 0:
        return np.arange(layout.n_used)
    return unpack_bits(section(layout, data, "features"), layout.id_bits, layout.n_used)
