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

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Bytes, Int64Array
from billhook.forest import Forest
from billhook.packing._bits import bits_for, pack_bits
from billhook.packing._layout import FACTOR_BITS, ByteLayout, offset_bias
from billhook.packing._leaf_values import by_leaf
from billhook.packing._order import level_order
from billhook.packing._quantizers import Quantizer, RankQuantizer, UniformQuantizer


def encode(
    walked: Forest,
    used: Int64Array,
    quantizers: list[Quantizer],
    n_features: int,
    leaf_bits: int,
    factor: Int64Array | None,
    *,
    missing_values: bool = True,
) -> tuple[ByteLayout, Bytes]:
    """Return a forest whose features are those in use, thresholds codes and values whole numbers, as bytes.

    `factor` is what the values of each column are multiples of, if not of 1.
    """
    order = level_order(walked)
    plain = layout_without_tables(
        walked, used.size, quantizers, n_features, leaf_bits, factor, missing_values=missing_values
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
        "grids": _quantizer_bytes(quantizers, plain),
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
    quantizers: list[Quantizer],
    n_features: int,
    leaf_bits: int,
    factor: Int64Array | None,
    *,
    missing_values: bool = True,
) -> ByteLayout:
    """Return the layout of a forest as `encode` takes it, without tables of pairs and of leaves."""
    is_split = walked.feature >= 0
    left = walked.missing_left[is_split]
    steps = [quantizer for quantizer in quantizers if isinstance(quantizer, UniformQuantizer)]
    is_ranks = len(steps) < len(quantizers)
    base = _base(walked, leaf_bits, factor)
    base_bytes = (
        0 if (base == base[0]).all() else next(n for n in (1, 2, 4) if (np.abs(base) < 1 << (8 * n - 1)).all())
    )
    highest = int(walked.threshold[is_split].max(initial=0.0))
    return ByteLayout(
        n_trees=walked.n_trees,
        n_inner=left.size,
        n_leaves=left.size + walked.n_trees,
        n_used=n_used,
        n_features=n_features,
        n_columns=walked.base.size,
        n_values=walked.value.shape[1],
        grid="ranks" if is_ranks else "steps",
        code_bits=bits_for(highest + 1) if is_ranks else max((quantizer.bits for quantizer in steps), default=0),
        count_bits=bits_for(max(quantizer.n_codes for quantizer in quantizers)) if is_ranks else 0,
        **_step_shape(steps),
        missing="none" if not missing_values else "right" if not left.any() else "left" if left.all() else "split",
        tree_bits=bits_for(int(np.diff(walked.offset).max()) // 2 + 1),
        leaf_bits=leaf_bits,
        factor_bits=0 if factor is None else FACTOR_BITS,
        n_pairs=0,
        n_entries=0,
        n_thresholds=sum(quantizer.n_codes - 1 for quantizer in quantizers) if is_ranks else 0,
        base_bytes=base_bytes,
        base=0 if base_bytes else int(base[0]),
    )


def _base(walked: Forest, leaf_bits: int, factor: Int64Array | None) -> Int64Array:
    """Return what scores begin with, since the numbers of leaves are written from 0 up."""
    times = 1 if factor is None else factor
    return np.asarray(walked.base.astype(np.int64) - (n_trees_of_columns(walked) * times << (leaf_bits - 1)))


def _tests(plain: ByteLayout, feature: Int64Array, code: Int64Array, left: NDArray[np.bool_]) -> Int64Array:
    """Return what each split asks, as one number."""
    test = code | feature << plain.code_bits
    if plain.missing == "split":
        test |= left.astype(np.int64) << (plain.feature_bits + plain.code_bits)
    return test


def with_table_of_pairs(plain: ByteLayout, walked: Forest) -> ByteLayout:
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


def _shortest(rows: Int64Array, bits: int) -> Shortest:
    different, number = np.unique(rows, axis=0, return_inverse=True)
    if not _is_table_shorter(len(rows), len(different), rows.shape[1] * bits):
        return Shortest(pack_bits(rows.ravel(), bits), 0, np.zeros(0, np.uint8))
    table = pack_bits(different.ravel(), bits)
    return Shortest(pack_bits(number.ravel(), bits_for(len(different))), len(different), table)


def _base_bytes(base: Int64Array, n_bytes: int) -> Bytes:
    raw = base.astype(f"<i{n_bytes}").tobytes() if n_bytes else b""
    return np.frombuffer(raw.ljust(3, b"\0"), np.uint8)


def n_trees_of_columns(forest: Forest) -> Int64Array:
    """Return how many trees add to each column."""
    if forest.value.shape[1] == forest.base.size:
        return np.full(forest.base.size, forest.n_trees)
    return np.bincount(forest.tree_column, minlength=forest.base.size)


def _step_shape(steps: list[UniformQuantizer]) -> dict[str, int]:
    """Return what features' steps have in common, and the bytes of what they have not."""
    if not steps:
        return dict.fromkeys(("shift_bytes", "offset_bytes", "scale_bytes", "shift", "offset"), 0)
    shifts, offsets = {step.fine_shift for step in steps}, {step.offset for step in steps}
    return {
        "shift_bytes": int(len(shifts) > 1),
        "offset_bytes": _bytes_for(offsets) if len(offsets) > 1 else 0,
        "scale_bytes": 2 * any(step.scale for step in steps),
        "shift": shifts.pop() if len(shifts) == 1 else 0,
        "offset": offsets.pop() if len(offsets) == 1 else 0,
    }


def _bytes_for(numbers: set[int]) -> int:
    return max((number if number >= 0 else ~number).bit_length() // 8 + 1 for number in numbers)


def _quantizer_bytes(quantizers: list[Quantizer], layout: ByteLayout) -> Bytes:
    """Ranks: how many thresholds each feature has, then all of them. Steps: shift, offset, scale of each feature."""
    if not quantizers:
        return np.zeros(0, np.uint8)
    if isinstance(quantizers[0], RankQuantizer):
        counts = np.array([quantizer.n_codes - 1 for quantizer in quantizers], np.int64)
        keys = np.concatenate([ranks.keys for ranks in quantizers if isinstance(ranks, RankQuantizer)])
        return np.concatenate([pack_bits(counts, layout.count_bits), keys.astype("<u4").view(np.uint8)])
    raw = bytearray()
    for quantizer in quantizers:
        assert isinstance(quantizer, UniformQuantizer)
        raw += quantizer.fine_shift.to_bytes(1, "little")[: layout.shift_bytes]
        n_bytes = layout.offset_bytes
        raw += (quantizer.offset + offset_bias(n_bytes)).to_bytes(n_bytes, "little") if n_bytes else b""
        raw += quantizer.scale.to_bytes(2, "little")[: layout.scale_bytes]
    return np.frombuffer(bytes(raw), np.uint8)
