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
    left, right = forest.left.tolist(), forest.right.tolist()
    inner: list[int] = []
    leaf: list[int] = []
    n_inner = []
    for first in forest.offset[:-1].tolist():
        before = len(inner)
        (inner if left[first] >= 0 else leaf).append(first)
        at = before
        while at < len(inner):
            node = inner[at]
            at += 1
            for child in (left[node] + first, right[node] + first):
                (inner if left[child] >= 0 else leaf).append(child)
        n_inner.append(len(inner) - before)
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    splits = np.array(inner, np.int64)
    is_split = forest.feature >= 0
    sides = [is_split[child[splits] + root[splits]] for child in (forest.left, forest.right)]
    return LevelOrder(splits, np.array(leaf, np.int64), np.stack(sides, axis=1), np.array(n_inner, np.int64))


def splits_by_feature(forest: Forest) -> tuple[Int64Array, list[Int64Array]]:
    """Return the features that are split by thresholds, and for each the nodes that do."""
    splits = np.flatnonzero((forest.feature >= 0) & (forest.category_set < 0))
    ordered = splits[np.argsort(forest.feature[splits], kind="stable")]
    used, first = np.unique(forest.feature[ordered], return_index=True)
    return used.astype(np.int64), np.split(ordered, first[1:]) if used.size else []
