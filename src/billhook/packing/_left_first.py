"""Splits and leaves of trees from left to right: each split before those on its left, and these before the others."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Int64Array
from billhook.forest import Forest
from billhook.packing._order import level_order
from billhook.packing._symmetric import first_of_levels


class LeftFirst(NamedTuple):
    """The nodes of a forest, tree after tree.

    Attributes
    ----------
    inner, leaf : array
        Splits, and leaves.
    on_left : array (splits,)
        How many splits are on the left of each.
    """

    inner: Int64Array
    leaf: Int64Array
    on_left: Int64Array


def left_first(forest: Forest) -> LeftFirst:
    """Return the nodes from left to right."""
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    is_split = forest.feature >= 0
    left, right = forest.left + root, forest.right + root
    levels = []
    level: Int64Array = forest.offset[:-1]
    while level.size:  # of all trees at once
        levels.append(level[is_split[level]])
        level = np.stack([left[levels[-1]], right[levels[-1]]], axis=1).ravel()
    n_splits, before = np.zeros((2, forest.n_nodes), np.int64)
    for splits in reversed(levels):
        n_splits[splits] = 1 + n_splits[left[splits]] + n_splits[right[splits]]
    # Of the splits, and of the leaves, that come before a node.
    before_leaf = np.zeros_like(before)
    roots = forest.offset[:-1]
    before[roots] = np.cumsum(n_splits[roots]) - n_splits[roots]
    before_leaf[roots] = before[roots] + np.arange(roots.size)
    for splits in levels:
        on_left = n_splits[left[splits]]
        before[left[splits]] = before[splits] + 1
        before[right[splits]] = before[splits] + 1 + on_left
        before_leaf[left[splits]] = before_leaf[splits]
        before_leaf[right[splits]] = before_leaf[splits] + on_left + 1
    inner, leaf = np.flatnonzero(is_split), np.flatnonzero(~is_split)
    inner = inner[np.argsort(before[inner])]
    return LeftFirst(inner, leaf[np.argsort(before_leaf[leaf])], n_splits[left[inner]])


def levels_of(forest: Forest) -> Int64Array:
    """Return the first split of each level of symmetric trees."""
    return first_of_levels(level_order(forest))[0]


class Places(NamedTuple):
    """Where the splits and leaves of trees, level by level, are from left to right; `goes_on` as in LevelOrder."""

    inner: Int64Array
    leaf: Int64Array
    goes_on: NDArray[np.bool_]


def level_by_level(n_inner: Int64Array, on_left: Int64Array) -> Places:
    """Return the order by levels of trees with so many splits, of which so many are on the left of each.

    Raises ValueError if there cannot be so many.
    """
    first = np.cumsum(n_inner) - n_inner
    tree = np.arange(n_inner.size)
    level = np.stack([tree, first, first + tree, n_inner], axis=1)
    levels, sides = [level], []
    while level.size:
        tree, split, leaf, size = level[level[:, 3] > 0].T
        left = on_left[split]
        if (left >= size).any():
            raise ValueError("there are more splits on the left of a split than below it")
        a = np.stack([tree, split + 1, leaf, left], axis=1)
        b = np.stack([tree, split + 1 + left, leaf + left + 1, size - 1 - left], axis=1)
        level = np.stack([a, b], axis=1).reshape(-1, 4)
        sides.append(np.stack([tree, left, size - 1 - left], axis=1))
        levels.append(level)
    nodes = np.concatenate(levels)
    nodes = nodes[np.argsort(nodes[:, 0], kind="stable")]
    below = np.concatenate(sides)
    below = below[np.argsort(below[:, 0], kind="stable")]
    is_split = nodes[:, 3] > 0
    return Places(nodes[is_split, 1], nodes[~is_split, 2], below[:, 1:] > 0)
