"""Trees as LightGBM numbers and tests them, to those of a Forest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.interop._stack import Tree, mean_of_leaves
from billhook.interop.lightgbm._zero import ABOVE_ALL_NEGATIVE, ZERO, Missing, with_zero_apart

CATEGORICAL, DEFAULT_LEFT = 1, 2
# What LightGBM has in the place of infinities.
INFINITY = 1e300
MOST_ROWS = 2**31 - 1


class FlatTrees(NamedTuple):
    """Some trees, their splits one after the other and their leaves one after the other.

    Attributes
    ----------
    n_leaves : int64 array (trees)
        A tree has one split fewer.
    split_feature : array (splits)
    threshold : array (splits)
        Of a categorical split it does not matter.
    decision_type : array (splits)
        Bit 0: categorical; bit 1: missing values go left; bits 2 and 3: what is missing, see `Missing`.
    left_child, right_child : array (splits)
        The number of a split of the same tree, or -1 - the number of a leaf.
    leaf_value, leaf_weight, leaf_count : array (leaves)
    category_sets : mapping
        From the place of a categorical split to the categories that go left, rising.
    """

    n_leaves: NDArray[np.int64]
    split_feature: NDArray[Any]
    threshold: NDArray[np.float64]
    decision_type: NDArray[Any]
    left_child: NDArray[Any]
    right_child: NDArray[Any]
    leaf_value: NDArray[np.float64]
    leaf_weight: NDArray[np.float64]
    leaf_count: NDArray[np.int64]
    category_sets: Mapping[int, NDArray[np.int64]]


def trees_of(flat: FlatTrees, n_features: int) -> list[Tree]:
    """Return the trees; the nodes of each are its splits in LightGBM's order, and then its leaves.

    LightGBM numbers splits in the order in which they grew.
    """
    n_splits = flat.n_leaves - 1
    first_split, first_leaf = np.cumsum(n_splits) - n_splits, np.cumsum(flat.n_leaves) - flat.n_leaves
    first_node = first_split + first_leaf
    number = np.arange(n_splits.sum()) - np.repeat(first_split, n_splits)
    split = number + np.repeat(first_node, n_splits)
    leaf = np.arange(flat.n_leaves.sum()) + np.repeat(first_split + n_splits, flat.n_leaves)
    _check_numbers(flat, n_features)
    left, right = (_children(child, number, flat.n_leaves) for child in (flat.left_child, flat.right_child))
    threshold, missing_left = _tests(flat)
    n_nodes = split.size + leaf.size
    # All trees as one, whose nodes count through: then sums and means are of all at once.
    root = np.repeat(first_node, n_splits)
    forest = Tree(
        feature=_placed(np.int32, -1, n_nodes, split, flat.split_feature),
        threshold=_placed(np.float64, 0.0, n_nodes, split, threshold),
        left=_placed(np.int32, -1, n_nodes, split, left + root),
        right=_placed(np.int32, -1, n_nodes, split, right + root),
        missing_left=_placed(np.bool_, False, n_nodes, split, missing_left),
        value=_placed(np.float64, 0.0, n_nodes, leaf, flat.leaf_value)[:, None],
        n_rows=_placed(np.int64, 0, n_nodes, leaf, flat.leaf_count),
        row_weight=_placed(np.float64, 0.0, n_nodes, leaf, flat.leaf_weight),
        impurity=np.zeros(n_nodes),
        growth_rank=_placed(np.int32, -1, n_nodes, split, number),
    )
    _sum_upwards(forest, first_node)
    value = mean_of_leaves(forest, forest.value)
    left, right = _placed(np.int32, -1, n_nodes, split, left), _placed(np.int32, -1, n_nodes, split, right)
    default_left = _placed(np.bool_, False, n_nodes, split, (flat.decision_type & DEFAULT_LEFT) > 0)
    is_apart = _placed(np.bool_, False, n_nodes, split, _needs_zero_apart(flat))
    sets = [(int(split[place]), categories) for place, categories in flat.category_sets.items()]
    of_tree = np.searchsorted(first_node, [node for node, _ in sets], side="right") - 1
    sets_of: list[dict[int, NDArray[np.int64]]] = [{} for _ in first_node]
    for (node, categories), tree in zip(sets, of_tree.tolist(), strict=True):
        sets_of[tree][node - int(first_node[tree])] = categories
    trees = []
    for first, n, category_sets in zip(first_node.tolist(), flat.n_leaves.tolist(), sets_of, strict=True):
        nodes = slice(first, first + 2 * n - 1)
        tree = Tree(
            feature=forest.feature[nodes],
            threshold=forest.threshold[nodes],
            left=left[nodes],
            right=right[nodes],
            missing_left=forest.missing_left[nodes],
            value=value[nodes],
            n_rows=forest.n_rows[nodes],
            row_weight=forest.row_weight[nodes],
            impurity=forest.impurity[nodes],
            growth_rank=forest.growth_rank[nodes],
            category_sets=category_sets,
        )
        trees.append(with_zero_apart(tree, is_apart[nodes], default_left[nodes]) if is_apart[nodes].any() else tree)
    return trees


def _placed(dtype: Any, default: Any, n_nodes: int, nodes: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return an array of all nodes, with these values for some."""
    array = np.full(n_nodes, default, dtype)
    array[nodes] = values
    return array


def _check_numbers(flat: FlatTrees, n_features: int) -> None:
    feature, kind = flat.split_feature, flat.decision_type
    if ((feature < 0) | (feature >= n_features)).any():
        raise ValueError(f"a split tests a feature that is not between 0 and {n_features - 1}")
    unknown = kind[(kind < 0) | (kind >> 2 > max(Missing))]
    if unknown.size:
        raise ValueError(f"a split has the decision type {unknown[0]}, which is not known")
    if ((flat.leaf_count < 0) | (flat.leaf_count > MOST_ROWS)).any():
        raise ValueError(f"a leaf has a number of rows that is not between 0 and {MOST_ROWS:,}")


def _children(child: NDArray[Any], number: NDArray[np.int64], n_leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the node that follows each split, within its tree."""
    n_leaves = np.repeat(n_leaves, n_leaves - 1)
    is_leaf = child < 0
    if np.where(is_leaf, ~child >= n_leaves, (child <= number) | (child >= n_leaves - 1)).any():
        raise ValueError("a split has a child that is not a later split, or a leaf, of its tree")
    return np.where(is_leaf, n_leaves - 1 + ~child, child)


def _tests(flat: FlatTrees) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the threshold of each split and whether NaN goes left.

    LightGBM reads numbers around zero as zero, whatever it takes for missing: of a threshold among them it is the
    side of zero that counts.
    """
    threshold, kind = flat.threshold, flat.decision_type
    missing, default_left = kind >> 2, (kind & DEFAULT_LEFT) > 0
    is_categorical = (kind & CATEGORICAL) > 0
    zero_left = np.where(missing == Missing.ZERO, default_left, threshold >= 0.0)
    missing_left = np.where(missing == Missing.NAN, default_left, zero_left) & ~is_categorical
    is_around_zero = np.where(zero_left, threshold >= -ZERO, threshold <= ZERO) & (
        (missing == Missing.ZERO) | (np.abs(threshold) <= ZERO)
    )
    beside_zero = np.where(zero_left, np.maximum(threshold, ZERO), np.minimum(threshold, ABOVE_ALL_NEGATIVE))
    threshold = np.where(is_around_zero, beside_zero, threshold)
    # Finite float32 numbers are below one and above the other.
    threshold = np.where(threshold >= INFINITY, float(np.finfo(np.float32).max), threshold)
    return np.where(threshold <= -INFINITY, -np.inf, threshold), missing_left


def _needs_zero_apart(flat: FlatTrees) -> NDArray[np.bool_]:
    """Return the splits at which zero goes another way than the numbers on either side of it."""
    kind, threshold = flat.decision_type, flat.threshold
    default_left = (kind & DEFAULT_LEFT) > 0
    is_of_zero = (kind >> 2 == Missing.ZERO) & (kind & CATEGORICAL == 0)
    return is_of_zero & np.where(default_left, threshold < -ZERO, threshold > ZERO)


def _sum_upwards(forest: Tree, roots: NDArray[np.int64]) -> None:
    """Fill in the rows and weights of splits, from those of the leaves below."""
    left, right = forest.left, forest.right
    children = np.concatenate([left[left >= 0], right[right >= 0], roots])
    if (np.bincount(children, minlength=left.size) != 1).any():
        raise ValueError("a node is the child of no split, or of more than one")
    levels = []
    nodes = roots
    while nodes.size:
        nodes = nodes[left[nodes] >= 0]
        levels.append(nodes)
        nodes = np.concatenate([left[nodes], right[nodes]])
    for nodes in reversed(levels):
        for numbers in (forest.n_rows, forest.row_weight):
            numbers[nodes] = numbers[left[nodes]] + numbers[right[nodes]]
