from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from billhook._checks import as_int
from billhook.forest._check import PER_NODE
from billhook.forest._derive import AnyForest, derive
from billhook.forest._sets import without_unused_sets

if TYPE_CHECKING:
    from billhook.forest._forest import Forest


def truncate(forest: AnyForest, max_leaves: int) -> AnyForest:
    """Keep the first `max_leaves` - 1 splits of every tree; what they lead to becomes a leaf."""
    max_leaves = as_int(max_leaves, "max_leaves")
    if max_leaves < 1:
        raise ValueError(f"max_leaves must be at least 1, not {max_leaves}")
    if forest.refined:
        raise ValueError(
            "the leaves of this forest are refined, and no inner node has a value for a tree cut back to it; "
            "truncate first and refine after, or shrink it with billhook.merge"
        )
    return cut_back(forest, (forest.growth_rank >= 0) & (forest.growth_rank < max_leaves - 1))


def cut_back(forest: AnyForest, is_split: NDArray[np.bool_]) -> AnyForest:
    """Return the forest in which only these splits are left; a split can stay only if the one above it does."""
    if np.array_equal(is_split, forest.growth_rank >= 0):
        return forest
    first = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    stays = np.zeros(forest.n_nodes, np.bool_)
    stays[forest.offset[:-1]] = True
    stays[(forest.left + first)[is_split]] = True
    stays[(forest.right + first)[is_split]] = True
    # A node's new number is how many of its tree's nodes before it stay.
    before = np.concatenate([[0], np.cumsum(stays)])
    new_number = (before[:-1] - before[first]).astype(np.int32)
    is_leaf = ~is_split
    new = {name: getattr(forest, name).copy() for name in PER_NODE}
    for name in ("left", "right"):
        new[name][is_split] = new_number[(new[name] + first)[is_split]]
    for name, of_leaf in (
        ("feature", -1),
        ("threshold", 0),
        ("left", -1),
        ("right", -1),
        ("growth_rank", -1),
        ("category_set", -1),
    ):
        new[name][is_leaf] = of_leaf
    new["missing_left"][is_leaf] = False
    splits = np.flatnonzero(is_split)
    in_order = splits[np.lexsort((forest.growth_rank[splits], first[splits]))]
    n_before: NDArray[np.int64] = np.cumsum(is_split) - is_split
    new["growth_rank"][in_order] = np.arange(splits.size) - n_before[first[in_order]]
    kept = {name: array[stays] for name, array in new.items()}
    return derive(forest, offset=before[forest.offset], **(kept | without_unused_sets(forest, kept["category_set"])))


def select(forest: AnyForest, trees: Sequence[int] | NDArray[np.integer[Any]]) -> AnyForest:
    """Put the chosen trees one after the other, repeated ones too."""
    chosen = _as_tree_indices(trees, forest.n_trees)
    length = np.diff(forest.offset)[chosen]
    offset = np.concatenate([[0], np.cumsum(length)])
    nodes = np.arange(offset[-1]) + np.repeat(forest.offset[chosen] - offset[:-1], length)
    weight = forest.tree_weight[chosen]
    if forest.averages and weight.sum() != 0.0:
        whole = forest.tree_weight.sum()
        if (forest.tree_weight == 1.0 / forest.n_trees).all():
            weight = np.full(chosen.size, 1.0 / chosen.size)  # 1/n exactly, however the sum is rounded
        else:
            weight = weight * (whole / weight.sum())
    kept = {name: getattr(forest, name)[nodes] for name in PER_NODE}
    return derive(
        forest,
        offset=offset,
        tree_weight=weight,
        tree_column=forest.tree_column[chosen],
        **(kept | without_unused_sets(forest, kept["category_set"])),
    )


def drop(forest: AnyForest, gone: NDArray[np.bool_]) -> AnyForest:
    """Return the forest without the trees marked, which add nothing to the scores; the others add what they did."""
    kept = np.flatnonzero(~gone)
    if kept.size == forest.tree_weight.size:
        return forest
    fewer = select(forest, kept)
    # An average has new weights: the values make up for that.
    scale = np.ones(kept.size)
    np.divide(forest.tree_weight[kept], fewer.tree_weight, where=fewer.tree_weight != 0.0, out=scale)
    return fewer if (scale == 1.0).all() else fewer.with_values(_per_node(fewer, scale) * fewer.value)


def constant_trees(forest: "Forest") -> NDArray[np.bool_]:
    """Return which trees are a single leaf and can be left out: all such but one, if there are no others."""
    single: NDArray[np.bool_] = np.diff(forest.offset) == 1
    if single.all():
        single[0] = False
    return single


def without_constants(forest: AnyForest) -> AnyForest:
    """Return the forest with its `constant_trees` in the base scores instead."""
    single = constant_trees(forest)
    base = forest.base.copy()
    for tree in np.flatnonzero(single):
        value = forest.value[forest.offset[tree]]
        base[forest.tree_column[tree] :][: value.size] += forest.tree_weight[tree] * value
    return drop(derive(forest, base=base), single) if single.any() else forest


def _per_node(forest: "Forest", of_tree: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.repeat(of_tree, np.diff(forest.offset))[:, None]


def _as_tree_indices(trees: Any, n_trees: int) -> NDArray[np.int64]:
    indices = np.asarray(trees)
    if indices.ndim != 1 or indices.size == 0:
        raise ValueError(f"select needs a list of one or more tree indices, not {trees!r}")
    if indices.dtype.kind not in "iu":
        hint = "; for a mask use numpy.flatnonzero(mask)" if indices.dtype.kind == "b" else ""
        raise TypeError(f"tree indices must be whole numbers, not {indices.dtype}{hint}")
    indices = indices.astype(np.int64)
    bad = indices[(indices >= n_trees) | (indices < -n_trees)]
    if bad.size:
        raise ValueError(f"tree index {bad[0]} is out of range for {n_trees} trees (0 to {n_trees - 1})")
    return np.where(indices < 0, indices + n_trees, indices)
