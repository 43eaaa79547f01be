"""The nodes of a forest in the order in which they are packed: each tree level by level, left before right."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Int64Array
from billhook.forest import Forest


class LevelOrder(NamedTuple):
    """Where the packed nodes stand in the forest.

    Attributes
    ----------
    inner, leaf : array
        Nodes of the forest: splits, and leaves, each level by level, tree after tree.
    goes_on : array (splits, 2)
        Whether the left, and the right, side of a split is a split.
    n_inner : array
        Of each tree.
    """

    inner: Int64Array
    leaf: Int64Array
    goes_on: NDArray[np.bool_]
    n_inner: Int64Array


def level_order(forest: Forest) -> LevelOrder:
    """Return the nodes level by level."""
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    is_split = forest.feature >= 0
    level: Int64Array = forest.offset[:-1]
    levels = []
    while level.size:  # of all trees at once
        levels.append(level)
        splits = level[is_split[level]]
        children = np.stack([forest.left[splits], forest.right[splits]], axis=1)
        level = (children + root[splits, None]).ravel()
    nodes = np.concatenate(levels)
    nodes = nodes[np.argsort(tree[nodes], kind="stable")].astype(np.int64)
    splits = nodes[is_split[nodes]]
    sides = [is_split[child[splits] + root[splits]] for child in (forest.left, forest.right)]
    n_inner = np.bincount(tree[splits], minlength=forest.n_trees).astype(np.int64)
    return LevelOrder(splits, nodes[~is_split[nodes]], np.stack(sides, axis=1), n_inner)


def splits_by_feature(forest: Forest) -> tuple[Int64Array, list[Int64Array]]:
    """Return the features that are split by thresholds, and for each the nodes that do."""
    splits = np.flatnonzero((forest.feature >= 0) & (forest.category_set < 0))
    ordered = splits[np.argsort(forest.feature[splits], kind="stable")]
    used, first = np.unique(forest.feature[ordered], return_index=True)
    return used.astype(np.int64), np.split(ordered, first[1:]) if used.size else []
