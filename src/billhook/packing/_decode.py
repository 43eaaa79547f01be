"""What the bytes that `encode` makes say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Bytes, Int64Array
from billhook.forest import Forest
from billhook.packing._bits import unpack_bits
from billhook.packing._gaps import unpack_gaps
from billhook.packing._groups import Group, unpack_groups
from billhook.packing._layout import ByteLayout
from billhook.packing._leaf_values import by_leaf
from billhook.packing._projections import Projections, unpack_projections
from billhook.packing._quantizers import (
    NO_SHIFT,
    CategoryQuantizer,
    Quantizer,
    RankQuantizer,
    UniformQuantizer,
    from_ordered_keys,
)
from billhook.packing._symmetric import check_levels, with_splits


def _section(layout: ByteLayout, data: Bytes, name: str) -> Bytes:
    """Return the bytes of a section, and those behind it."""
    return data[layout.sections[name] :]


def _decode_nodes(layout: ByteLayout, data: Bytes) -> dict[str, Any]:
    """Return what the bytes say about trees, splits and leaves, level by level; values are times their factors."""
    trees = unpack_bits(_section(layout, data, "trees"), layout.tree_bits + layout.column_bits, layout.n_trees)
    shape = unpack_bits(_section(layout, data, "shapes"), 1, 0 if layout.is_symmetric else 2 * layout.n_inner)
    test = _tests(layout, data)
    value = _leaf_values(layout, data)
    feature_mask, code_mask = (1 << layout.feature_bits) - 1, (1 << layout.code_bits) - 1
    n_inner, column = (trees & ((1 << layout.tree_bits) - 1)) + layout.least_inner, trees >> layout.tree_bits
    if layout.is_symmetric:
        check_levels(n_inner, layout)
    if int(column.max(initial=0)) >= layout.n_columns:
        raise ValueError(f"a tree adds to column {column.max()} of {layout.n_columns}")
    base = layout.base + unpack_bits(_section(layout, data, "base"), 8 * layout.base_bytes, layout.n_columns)
    each = np.bincount(column, minlength=layout.n_columns) if layout.column_bits else layout.n_trees
    value -= layout.bias
    factor = decode_factors(layout, data)
    if factor is not None:
        if not factor.all():
            raise ValueError("the factor of a column is 0")
        n_leaves = 1 << n_inner if layout.is_symmetric else n_inner + 1
        value *= by_leaf(factor, column, n_leaves, layout.n_values)
    nodes = {
        "n_inner": n_inner,
        "column": column,
        "goes_on": shape.astype(np.bool_).reshape(-1, 2),
        "feature": test >> layout.code_bits & feature_mask,
        "code": test & code_mask,
        "missing_left": (test >> (layout.feature_bits + layout.code_bits)).astype(np.bool_),
        "value": value,
        "base": base + layout.bias * each * (1 if factor is None else factor),
    }
    return with_splits(nodes) if layout.is_symmetric else nodes


def _tests(layout: ByteLayout, data: Bytes) -> Int64Array:
    """Return what each split asks, as one number."""
    group = Group(layout.group, layout.radix)
    numbers = unpack_groups(_section(layout, data, "tests"), layout.pair_bits, layout.n_inner, group)
    if not layout.n_pairs:
        return numbers
    if layout.ask_bits:
        pairs = _tests_of_gaps(layout, data)
    else:
        pairs = unpack_bits(_section(layout, data, "pairs"), layout.test_bits, layout.n_pairs)
    return pairs[numbers]


def _tests_of_gaps(layout: ByteLayout, data: Bytes) -> Int64Array:
    stream = _section(layout, data, "pairs")
    feature, key = unpack_gaps(
        stream, layout.ask_bits, layout.n_tested, layout.gap_bits, layout.many_bits, layout.least_tests
    )
    if feature.size != layout.n_pairs or int(key.max(initial=0)) >> layout.key_bits:
        raise ValueError(f"the table has {feature.size} tests, not {layout.n_pairs}, or codes that are too large")
    if layout.missing == "split":
        feature, key = feature | (key & 1) << layout.feature_bits, key >> 1
    return feature << layout.code_bits | key


def _leaf_values(layout: ByteLayout, data: Bytes) -> Int64Array:
    """Return the numbers of each leaf."""
    bits, n_values = layout.leaf_bits, layout.n_values
    leaves = _section(layout, data, "leaves")
    if layout.n_entries == 0:
        return unpack_bits(leaves, bits, layout.n_leaves * n_values).reshape(layout.n_leaves, n_values)
    entries = unpack_bits(_section(layout, data, "table"), bits, layout.n_entries * n_values)
    return entries.reshape(layout.n_entries, n_values)[unpack_bits(leaves, layout.entry_bits, layout.n_leaves)]


def decode_factors(layout: ByteLayout, data: Bytes) -> Int64Array | None:
    """Return what the numbers of each column are multiples of, if not of 1."""
    if not layout.factor_bits:
        return None
    return unpack_bits(_section(layout, data, "factors"), layout.factor_bits, layout.n_columns)


def decode_projections(layout: ByteLayout, data: Bytes) -> Projections | None:
    """Return the weighted sums of codes that splits test, if there are any."""
    return unpack_projections(_section(layout, data, "projections"), layout)


def decode_quantizers(layout: ByteLayout, data: Bytes) -> list[Quantizer]:
    """Return how the values of each feature in use become codes."""
    return [*_ordered_quantizers(layout, data), *_category_quantizers(layout, data)]


def _category_quantizers(layout: ByteLayout, data: Bytes) -> list[CategoryQuantizer]:
    sizes = unpack_bits(_section(layout, data, "sizes"), layout.size_bits, layout.n_categorical)
    if int(sizes.sum()) != layout.n_categories:
        raise ValueError(f"the features have {sizes.sum()} categories, not {layout.n_categories}")
    codes = unpack_bits(_section(layout, data, "categories"), layout.category_bits, layout.n_categories)
    tables = np.split(codes, np.cumsum(sizes)[:-1]) if sizes.size else []
    return [CategoryQuantizer(table, 1 << layout.category_bits) for table in tables]


def _ordered_quantizers(layout: ByteLayout, data: Bytes) -> list[Quantizer]:
    raw = _section(layout, data, "grids")
    if layout.grid == "ranks":
        counts = unpack_bits(raw, layout.count_bits, layout.n_ordered)
        begin = -(-layout.count_bits * layout.n_ordered // 8)
        if int(counts.sum()) != layout.n_thresholds:
            raise ValueError(f"the features have {counts.sum()} thresholds, not {layout.n_thresholds}")
        keys = raw[begin : begin + 4 * layout.n_thresholds].copy().view("<u4")
        return [RankQuantizer(part) for part in np.split(from_ordered_keys(keys), np.cumsum(counts)[:-1])]
    joined = unpack_bits(raw, 8 * layout.step_bytes, layout.n_grids or layout.n_ordered)
    if layout.n_grids:
        joined = joined[unpack_bits(_section(layout, data, "steps"), layout.grid_bits, layout.n_ordered)]
    shift_bits, offset_bits = 8 * layout.shift_bytes, 8 * layout.offset_bytes
    shift = layout.shift + (joined & ((1 << shift_bits) - 1))
    offset = layout.offset + (joined >> shift_bits & ((1 << offset_bits) - 1))
    scale = layout.scale + (joined >> (shift_bits + offset_bits))
    return [
        UniformQuantizer(NO_SHIFT - s, o, c, layout.code_bits)
        for s, o, c in zip(shift.tolist(), offset.tolist(), scale.tolist(), strict=True)
    ]


def decode_features(layout: ByteLayout, data: Bytes) -> Int64Array:
    """Return the numbers of the features in use."""
    if layout.id_bits == 0:
        return np.arange(layout.n_used)
    if layout.has_map:
        return np.flatnonzero(unpack_bits(_section(layout, data, "features"), 1, layout.n_features))
    return unpack_bits(_section(layout, data, "features"), layout.id_bits, layout.n_used)


def _places_of_splits(n_inner: Int64Array, goes_on: NDArray[np.bool_]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return where splits stand among all nodes, the number of their left child in its tree, and where trees begin.

    Nodes of a tree are numbered level by level: the children of its k-th split are the nodes 2 k + 1 and 2 k + 2.
    """
    offset = np.concatenate([[0], np.cumsum(2 * n_inner + 1)])
    is_split = np.zeros(int(offset[-1]), np.bool_)
    is_root = np.zeros_like(is_split)
    is_root[offset[:-1]] = True
    is_split[offset[:-1]] = n_inner > 0
    is_split[~is_root] = goes_on.ravel()
    inner_at = np.flatnonzero(is_split)
    tree = np.repeat(np.arange(n_inner.size), n_inner)
    number = np.arange(tree.size) - np.repeat(np.cumsum(n_inner) - n_inner, n_inner)
    # Each tree has as many splits as it says, and each of them is a child of one before it.
    if inner_at.size != tree.size or ((inner_at < offset[tree]) | (inner_at > offset[tree] + 2 * number)).any():
        raise ValueError("the shapes of the splits do not make trees")
    return inner_at, 2 * number + 1, offset


def decode_forest(layout: ByteLayout, data: Bytes) -> Forest:
    """Return the forest: features numbered among those in use, codes for thresholds, whole numbers for values."""
    nodes = _decode_nodes(layout, data)
    if int(nodes["n_inner"].sum()) != layout.n_splits:
        raise ValueError(f"the trees have {nodes['n_inner'].sum()} splits, not {layout.n_splits}")
    if layout.missing != "split":
        nodes["missing_left"] = np.full(layout.n_splits, layout.missing == "left")
    return forest_of_nodes(nodes, layout.n_tested, layout.n_columns)


def forest_of_nodes(nodes: dict[str, Any], n_used: int, n_columns: int) -> Forest:
    """Return the forest of trees, splits and leaves that stand level by level, tree after tree."""
    inner_at, left, offset = _places_of_splits(nodes["n_inner"], nodes["goes_on"])
    n_nodes = int(offset[-1])
    is_leaf = np.ones(n_nodes, np.bool_)
    is_leaf[inner_at] = False
    children = np.full((2, n_nodes), -1, np.int32)
    children[:, inner_at] = left, left + 1
    feature = np.full(n_nodes, -1, np.int32)
    threshold, missing_left = np.zeros(n_nodes, np.float32), np.zeros(n_nodes, np.bool_)
    value, rank = np.zeros((n_nodes, nodes["value"].shape[1])), np.full(n_nodes, -1, np.int32)
    feature[inner_at], threshold[inner_at] = nodes["feature"], nodes["code"]
    missing_left[inner_at] = nodes["missing_left"]
    value[is_leaf] = nodes["value"]
    rank[inner_at] = (left - 1) // 2
    return Forest(
        feature=feature,
        threshold=threshold,
        left=children[0],
        right=children[1],
        missing_left=missing_left,
        value=value,
        n_rows=np.zeros(n_nodes, np.int64),
        row_weight=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        growth_rank=rank,
        offset=offset,
        tree_weight=np.ones(nodes["n_inner"].size),
        tree_column=nodes["column"].astype(np.int32),
        averages=False,
        base=nodes["base"].astype(np.float64),
        link="identity",
        task="regression" if n_columns == 1 else "classification",
        n_features=max(n_used, 1),
        classes=None if n_columns == 1 else np.arange(n_columns),
    )
