"""A forest of whole numbers as bytes, and back.

All sections stand one after the other in one string of bytes, each at the beginning of a byte:

    features    the number of each feature in use, unless all are, in order; or a bit for each feature if shorter
    grids       how values of a feature become codes: see `_quantizer_bytes`
    steps       the number of each feature's steps, if equal steps are written once
    sizes       how many categories each categorical feature has; such features come last
    categories  the codes of all their categories: see `_category_codes`
    projections the weights of all weighted sums of codes, 2^(bits - 1) higher, then of each how far its lowest and
                its turn are above the least: see `_projections`
    trees       how many splits, or levels, each tree has more than the smallest, and the column it adds to if leaves
                have one number and rows several
    shapes      2 bits a split: is the left side a split too, is the right
    tests       threshold code and feature of each split (and where missing values go), or the number of such a pair;
                several together, if that is shorter: see `_groups`
    pairs       the pairs, if that is shorter; as they are, or as gaps in their order: see `_gaps`
    leaves      the numbers of each leaf, or the number of an entry of the table
    table       different leaves, if that is shorter
    factors     8 bits for each column, if columns have scales of their own: a leaf's number counts so many times
    base        up to 4 bytes for each column: what a score begins with, since the numbers of leaves are written from
                0 up; counted from the least. At least 3 bytes, so that 4 can be read wherever a number is

A number that is counted from the least takes the bits of the largest difference; the least is part of the layout.

Splits and leaves stand tree after tree, level by level. Where the sides of a split are is not written: the k-th bit
that is 1 among a tree's shapes leads to its split k + 1, the k-th that is 0 to its leaf k, and a walk down the tree
counts them once from the front.

Symmetric trees have one test for each level instead, and no shapes: the answers on the way down, a 1 for the right,
are the bits of the number of a leaf, the first the highest.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from billhook._types import Bytes, Int64Array
from billhook.forest import Forest
from billhook.packing._bits import bits_for, pack_bits
from billhook.packing._layout import FACTOR_BITS, ByteLayout
from billhook.packing._leaf_values import by_leaf
from billhook.packing._order import level_order
from billhook.packing._projections import Projections, pack_projections, projection_shape
from billhook.packing._quantizers import CategoryQuantizer, Quantizer, RankQuantizer, UniformQuantizer
from billhook.packing._symmetric import first_of_levels, with_levels
from billhook.packing._tests import Tests, pack_tests, with_shortest_tests


def encode(
    walked: Forest,
    used: Int64Array,
    quantizers: list[Quantizer],
    n_features: int,
    leaf_bits: int,
    factor: Int64Array | None,
    *,
    missing_values: bool = True,
    is_symmetric: bool = False,
    projections: Projections | None = None,
) -> tuple[ByteLayout, Bytes]:
    """Return a forest whose features are those in use, thresholds codes and values whole numbers, as bytes.

    Features beyond those in use are the `projections`. `factor` is what the values of each column are multiples of,
    if not of 1.
    """
    order = level_order(walked)
    plain = layout_without_tables(
        walked,
        used.size,
        quantizers,
        n_features,
        leaf_bits,
        factor,
        missing_values=missing_values,
        projections=projections,
    )
    asking, n_tests = order.inner, order.n_inner
    if is_symmetric:
        asking, n_tests = first_of_levels(order)
        plain = with_levels(plain, n_tests)
    tests = _tests(walked, asking)
    table = with_shortest_tests(plain, tests)
    numbers, pairs = pack_tests(table, tests)
    values = walked.value[order.leaf].astype(np.int64)
    if factor is not None:
        values //= by_leaf(factor, walked.tree_column, order.n_inner + 1, plain.n_values)
    leaves = _shortest(values + plain.bias, leaf_bits)
    trees = n_tests - plain.least_inner
    trees |= walked.tree_column.astype(np.int64) << plain.tree_bits if plain.column_bits else 0
    parts = {
        "features": pack_bits(np.isin(np.arange(n_features), used).astype(np.int64), 1)
        if plain.has_map
        else pack_bits(used, plain.id_bits),
        **_quantizer_bytes(quantizers, plain),
        "projections": pack_projections(projections, plain),
        "trees": pack_bits(trees, plain.tree_bits + plain.column_bits),
        "shapes": pack_bits(order.goes_on.ravel().astype(np.int64), 0 if is_symmetric else 1),
        "tests": numbers,
        "pairs": pairs,
        "leaves": leaves.numbers,
        "table": leaves.table,
        "factors": np.zeros(0, np.uint8) if factor is None else factor.astype(np.uint8),
        "base": _base_bytes(_base(walked, leaf_bits, factor) - plain.base, plain.base_bytes),
    }
    layout = replace(table.layout, n_entries=leaves.n_different)
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
    projections: Projections | None = None,
) -> ByteLayout:
    """Return the layout of a forest as `encode` takes it, without tables of pairs and of leaves."""
    is_split = walked.feature >= 0
    left = walked.missing_left[is_split]
    steps = [quantizer for quantizer in quantizers if isinstance(quantizer, UniformQuantizer)]
    ranks = [quantizer for quantizer in quantizers if isinstance(quantizer, RankQuantizer)]
    tables = [quantizer for quantizer in quantizers if isinstance(quantizer, CategoryQuantizer)]
    sizes = [table.of_category.size for table in tables]
    base = _base(walked, leaf_bits, factor)
    n_inner = np.diff(walked.offset) // 2
    highest = int(walked.threshold[is_split].max(initial=0.0))
    return ByteLayout(
        n_trees=walked.n_trees,
        n_inner=left.size,
        n_leaves=left.size + walked.n_trees,
        n_used=n_used,
        n_features=n_features,
        n_columns=walked.base.size,
        n_values=walked.value.shape[1],
        grid="ranks" if ranks else "steps",
        code_bits=max((quantizer.bits for quantizer in steps), default=bits_for(highest + 1)),
        count_bits=bits_for(max((quantizer.n_codes for quantizer in ranks), default=1)),
        **_step_shape(steps),
        # In order, and each once, they are known by a bit each.
        has_map=not tables and n_used < n_features and n_features < n_used * bits_for(n_features),
        missing="none" if not missing_values else "right" if not left.any() else "left" if left.all() else "split",
        tree_bits=bits_for(int(n_inner.max() - n_inner.min()) + 1),
        least_inner=int(n_inner.min()),
        leaf_bits=leaf_bits,
        factor_bits=0 if factor is None else FACTOR_BITS,
        n_pairs=0,
        n_entries=0,
        ask_bits=0,
        gap_bits=0,
        many_bits=0,
        group=0,
        radix=0,
        n_thresholds=sum(quantizer.n_codes - 1 for quantizer in ranks),
        base_bytes=-(-bits_for(int(base.max() - base.min()) + 1) // 8),
        base=int(base.min()),
        n_categorical=len(tables),
        n_categories=sum(sizes),
        category_bits=bits_for(max((table.n_codes for table in tables), default=1)),
        size_bits=bits_for(max(sizes, default=0) + 1),
        **projection_shape(projections),
    )


def _base(walked: Forest, leaf_bits: int, factor: Int64Array | None) -> Int64Array:
    """Return what scores begin with, since the numbers of leaves are written from 0 up."""
    times = 1 if factor is None else factor
    return np.asarray(walked.base.astype(np.int64) - (n_trees_of_columns(walked) * times << (leaf_bits - 1)))


def _tests(walked: Forest, splits: Int64Array) -> Tests:
    """Return what these nodes ask."""
    feature, code = (of_node[splits].astype(np.int64) for of_node in (walked.feature, walked.threshold))
    return Tests(feature, code, walked.missing_left[splits])


def with_table_of_pairs(plain: ByteLayout, walked: Forest) -> ByteLayout:
    """Return the layout in which the tests of a forest, as `encode` takes it, take the fewest bytes."""
    return with_shortest_tests(plain, _tests(walked, np.flatnonzero(walked.feature >= 0))).layout


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
    packed = pack_bits(base, 8 * n_bytes)
    return np.concatenate([packed, np.zeros(max(3 - packed.size, 0), np.uint8)])


def n_trees_of_columns(forest: Forest) -> Int64Array:
    """Return how many trees add to each column."""
    if forest.value.shape[1] == forest.base.size:
        return np.full(forest.base.size, forest.n_trees)
    return np.bincount(forest.tree_column, minlength=forest.base.size)


def _step_shape(steps: list[UniformQuantizer]) -> dict[str, Any]:
    """Return what is least of features' steps, the bytes of what is more, and how many are written."""
    numbers = steps_of(steps)
    least, most = (numbers.min(axis=0), numbers.max(axis=0)) if steps else np.zeros((2, 3), np.int64)
    # From 0, where that takes no more bytes, a reader has less to add.
    least = np.where((least >= 0) & (_bytes_for(most) == _bytes_for(most - least)), 0, least)
    shape = dict(zip(("shift", "offset", "scale"), least.tolist(), strict=True))
    n_bytes = _bytes_for(most - least).tolist()
    n_different = len(set(map(tuple, numbers.tolist())))
    n_bits = len(steps) * bits_for(n_different)
    is_shorter = 8 * n_different * sum(n_bytes) + n_bits < 8 * len(steps) * sum(n_bytes)
    names = ("shift_bytes", "offset_bytes", "scale_bytes")
    return shape | dict(zip(names, n_bytes, strict=True)) | {"n_grids": n_different if is_shorter else 0}


def _bytes_for(numbers: Int64Array) -> Int64Array:
    return np.array([-(-bits_for(number + 1) // 8) for number in numbers.tolist()], np.int64)


def steps_of(steps: list[UniformQuantizer]) -> Int64Array:
    """Return shift, offset and scale of features' steps, (features, 3)."""
    return np.array([(step.fine_shift, step.offset, step.scale) for step in steps], np.int64).reshape(-1, 3)


def _quantizer_bytes(quantizers: list[Quantizer], layout: ByteLayout) -> dict[str, Bytes]:
    """Ranks: how many thresholds each feature has, then all of them. Steps: shift, offset, scale of each feature."""
    tables = [quantizer.of_category for quantizer in quantizers if isinstance(quantizer, CategoryQuantizer)]
    parts = {
        "grids": np.zeros(0, np.uint8),
        "steps": np.zeros(0, np.uint8),
        "sizes": pack_bits(np.array([table.size for table in tables], np.int64), layout.size_bits),
        "categories": pack_bits(np.concatenate([np.zeros(0, np.int64), *tables]), layout.category_bits),
    }
    ranks = [quantizer for quantizer in quantizers if isinstance(quantizer, RankQuantizer)]
    steps = [quantizer for quantizer in quantizers if isinstance(quantizer, UniformQuantizer)]
    if ranks:
        counts = np.array([quantizer.n_codes - 1 for quantizer in ranks], np.int64)
        keys = np.concatenate([quantizer.keys for quantizer in ranks])
        parts["grids"] = np.concatenate([pack_bits(counts, layout.count_bits), keys.astype("<u4").view(np.uint8)])
    elif steps:
        more = steps_of(steps) - np.array([layout.shift, layout.offset, layout.scale], np.int64)
        joined = more[:, 0] | more[:, 1] << 8 * layout.shift_bytes
        joined |= more[:, 2] << 8 * (layout.shift_bytes + layout.offset_bytes)
        if layout.n_grids:
            joined, number = np.unique(joined, return_inverse=True)
            parts["steps"] = pack_bits(number, layout.grid_bits)
        parts["grids"] = pack_bits(joined, 8 * layout.step_bytes)
    return parts
