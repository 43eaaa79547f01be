"""How much the splits of a forest tell apart, by feature."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest

# What stands for the rows of a node: those of X, those it was trained on, or half of its parent's.
Basis = Literal["rows", "training rows", "halves"]


class TreeLevels(NamedTuple):
    """The nodes of all trees by depth, roots first, as numbers among all nodes; and the children of each node."""

    nodes: list[NDArray[np.int64]]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


def levels_of(forest: Forest) -> TreeLevels:
    """Return the nodes of all trees by depth."""
    first = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    left, right = forest.left + first, forest.right + first
    nodes, levels = forest.offset[:-1], []
    while nodes.size:
        levels.append(nodes)
        splits = nodes[forest.feature[nodes] >= 0]
        nodes = np.concatenate([left[splits], right[splits]])
    return TreeLevels(levels, left, right)


def feature_gains(forest: Forest, X: NDArray[np.float32] | None = None) -> tuple[NDArray[np.float64], Basis]:
    """Return the share of each feature in what all splits tell apart, and what stood for the rows of a node.

    A split tells apart what its two sides predict: the variance between their mean values, times their rows. For
    trees grown by squared error or Gini impurity that is the decrease of the impurity (Breiman 1984, 2001), so for
    these the shares are scikit-learn's `feature_importances_`; but it is defined for trees of any origin. Trees that
    are averaged count the same, as there; those of a sum count by how much they move it.

    The rows are those of X; without it, those of the training where the forest knows them; else each side of a split
    is taken to have half of its rows.
    """
    levels = levels_of(forest)
    weight, basis = _leaf_weights(forest, X, levels)
    of_tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    mean = forest.value * forest.tree_weight[of_tree, None]
    gain = np.zeros(forest.n_nodes)
    for nodes in reversed(levels.nodes):
        splits = nodes[forest.feature[nodes] >= 0]
        left, right = levels.left[splits], levels.right[splits]
        of_left, of_right = weight[left], weight[right]
        both = of_left + of_right
        weight[splits] = both
        safe = np.where(both > 0.0, both, 1.0)
        mean[splits] = (of_left[:, None] * mean[left] + of_right[:, None] * mean[right]) / safe[:, None]
        gain[splits] = of_left * of_right / safe * np.square(mean[left] - mean[right]).sum(axis=1)
    is_split = forest.feature >= 0
    if forest.averages:
        total = np.bincount(of_tree, gain, forest.n_trees)[of_tree]
        gain = np.divide(gain, total, out=np.zeros_like(gain), where=total > 0.0)
    gains = np.bincount(forest.feature[is_split], gain[is_split], forest.n_features)
    return gains / max(gains.sum(), np.finfo(np.float64).tiny), basis


def _leaf_weights(
    forest: Forest, X: NDArray[np.float32] | None, levels: TreeLevels
) -> tuple[NDArray[np.float64], Basis]:
    """Return the rows of each leaf; those of other nodes do not matter."""
    if X is not None and len(X):
        leaves = forest.apply(X).astype(np.int64) + forest.offset[:-1]
        return np.bincount(leaves.ravel(), minlength=forest.n_nodes).astype(np.float64), "rows"
    if (forest.row_weight[forest.feature < 0] > 0.0).any():
        return forest.row_weight.copy(), "training rows"
    weight = np.ones(forest.n_nodes)
    for nodes in levels.nodes:
        splits = nodes[forest.feature[nodes] >= 0]
        weight[levels.left[splits]] = weight[levels.right[splits]] = weight[splits] / 2.0
    return weight, "halves"
