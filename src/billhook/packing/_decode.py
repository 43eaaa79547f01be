"""What the bytes that `encode` makes say."""

from typing import Any

import numpy as np

from billhook._types import Bytes, Int64Array
from billhook.forest import Forest
from billhook.packing._bits import bits_for, unpack_bits
from billhook.packing._layout import ByteLayout, offset_bias
from billhook.packing._leaf_values import by_leaf
from billhook.packing._quantizers import NO_SHIFT, Quantizer, RankQuantizer, UniformQuantizer, from_ordered_keys


def _section(layout: ByteLayout, data: Bytes, name: str) -> Bytes:
    """Return the bytes of a section, and those behind it."""
    return data[layout.sections[name] :]


def _decode_nodes(layout: ByteLayout, data: Bytes) -> dict[str, Any]:
    """Return what the bytes say about trees, splits and leaves, level by level; values are times their factors."""
    trees = unpack_bits(_section(layout, data, "trees"), layout.tree_bits + layout.column_bits, layout.n_trees)
    shape = unpack_bits(_section(layout, data, "shapes"), 1, 2 * layout.n_inner)
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
        raw = _section(layout, data, "base")[: layout.base_bytes * layout.n_columns]
        base = raw.copy().view(f"<i{layout.base_bytes}").astype(np.int64)
    each = np.bincount(column, minlength=layout.n_columns) if layout.column_bits else layout.n_trees
    value -= layout.bias
    factor = np.ones(layout.n_columns, np.int64)
    if layout.factor_bits:
        factor = unpack_bits(_section(layout, data, "factors"), layout.factor_bits, layout.n_columns)
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
    layout: ByteLayout, data: Bytes, name: str, table: str, count: int, n_entries: int, bits: int, n_values: int
) -> Int64Array:
    if n_entries == 0:
        return unpack_bits(_section(layout, data, name), bits, count * n_values).reshape(count, n_values)
    entries = unpack_bits(_section(layout, data, table), bits, n_entries * n_values).reshape(n_entries, n_values)
    return entries[unpack_bits(_section(layout, data, name), bits_for(n_entries), count)]


def decode_quantizers(layout: ByteLayout, data: Bytes) -> list[Quantizer]:
    """Return how the values of each feature in use become codes."""
    raw = _section(layout, data, "grids")
    if layout.grid == "ranks":
        counts = unpack_bits(raw, layout.count_bits, layout.n_used)
        begin = -(-layout.count_bits * layout.n_used // 8)
        if int(counts.sum()) != layout.n_thresholds:
            raise ValueError(f"the features have {counts.sum()} thresholds, not {layout.n_thresholds}")
        keys = raw[begin : begin + 4 * layout.n_thresholds].copy().view("<u4")
        return [RankQuantizer(part) for part in np.split(from_ordered_keys(keys), np.cumsum(counts)[:-1])]
    quantizers: list[Quantizer] = []
    for k in range(layout.n_used):
        step = raw[k * layout.step_bytes : (k + 1) * layout.step_bytes].tobytes()
        at = layout.shift_bytes
        shift = step[0] if at else layout.shift
        offset, scale = layout.offset, int.from_bytes(step[at + layout.offset_bytes :], "little")
        if layout.offset_bytes:
            biased = int.from_bytes(step[at : at + layout.offset_bytes], "little")
            offset = biased - offset_bias(layout.offset_bytes)
        quantizers.append(UniformQuantizer(NO_SHIFT - shift, offset, scale, layout.code_bits))
    return quantizers


def decode_features(layout: ByteLayout, data: Bytes) -> Int64Array:
    """Return the numbers of the features in use."""
    if layout.id_bits == 0:
        return np.arange(layout.n_used)
    return unpack_bits(_section(layout, data, "features"), layout.id_bits, layout.n_used)


def decode_forest(layout: ByteLayout, data: Bytes) -> Forest:
    """Return the forest: features numbered among those in use, codes for thresholds, whole numbers for values."""
    nodes = _decode_nodes(layout, data)
    if int(nodes["n_inner"].sum()) != layout.n_inner:
        raise ValueError(f"the trees have {nodes['n_inner'].sum()} splits, not {layout.n_inner}")
    left: list[int] = []
    right: list[int] = []
    inner_at: list[int] = []
    leaf_at: list[int] = []
    lengths: list[int] = []
    goes_on = nodes["goes_on"].tolist()
    i = 0
    for n_inner in nodes["n_inner"].tolist():
        first, n_reached, n_splits = len(left), 1, min(n_inner, 1)
        splits = [True] if n_inner else [False]  # of the nodes reached so far, by number
        for node in range(2 * n_inner + 1):
            if node >= len(splits):
                raise ValueError("the shapes of the splits do not make trees")
            if not splits[node]:
                leaf_at.append(first + node)
                left.append(-1)
                right.append(-1)
                continue
            inner_at.append(first + node)
            left.append(n_reached)
            right.append(n_reached + 1)
            n_reached += 2
            splits += goes_on[i]
            i += 1
            n_splits += sum(goes_on[i - 1])
            if n_splits > n_inner:
                raise ValueError("the shapes of the splits do not make trees")
        lengths.append(2 * n_inner + 1)
    n_nodes = len(left)
    feature = np.full(n_nodes, -1, np.int32)
    threshold, missing_left = np.zeros(n_nodes, np.float32), np.zeros(n_nodes, np.bool_)
    value, rank = np.zeros((n_nodes, layout.n_values)), np.full(n_nodes, -1, np.int32)
    feature[inner_at], threshold[inner_at] = nodes["feature"], nodes["code"]
    missing_left[inner_at] = nodes["missing_left"] if layout.missing == "split" else layout.missing == "left"
    value[leaf_at] = nodes["value"]
    rank[inner_at] = np.concatenate([np.arange(n) for n in nodes["n_inner"]]) if inner_at else []
    return Forest(
        feature=feature,
        threshold=threshold,
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        missing_left=missing_left,
        value=value,
        n_rows=np.zeros(n_nodes, np.int64),
        row_weight=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        growth_rank=rank,
        offset=np.concatenate([[0], np.cumsum(lengths)]),
        tree_weight=np.ones(layout.n_trees),
        tree_column=nodes["column"].astype(np.int32),
        averages=False,
        base=nodes["base"].astype(np.float64),
        link="identity",
        task="regression" if layout.n_columns == 1 else "classification",
        n_features=max(layout.n_used, 1),
        classes=None if layout.n_columns == 1 else np.arange(layout.n_columns),
    )
