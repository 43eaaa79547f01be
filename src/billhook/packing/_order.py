"""The nodes of a forest in the order in which they are packed: each tree from its root, left before right."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest


class Preorder(NamedTuple):
    """Where the packed nodes stand in the forest.

    Attributes
    ----------
    inner, leaf : array
        Nodes of the forest: splits, and leaves, each in preorder, tree after tree.
    left_is_leaf, right_is_leaf : array
        Of each split.
    n_inner : array
        Of each tree.
    """

    inner: NDArray[np.int64]
    leaf: NDArray[np.int64]
    left_is_leaf: NDArray[np.bool_]
    right_is_leaf: NDArray[np.bool_]
    n_inner: NDArray[np.int64]


def preorder(forest: Forest) -> Preorder:
    """Return the nodes in preorder."""
    left, right = forest.left.tolist(), forest.right.tolist()
    inner: list[int] = []
    leaf: list[int] = []
    n_inner = []
    for first in forest.offset[:-1].tolist():
        before = len(inner)
        waiting = [first]
        while waiting:
            node = waiting.pop()
            if left[node] < 0:
                leaf.append(node)
            else:
                inner.append(node)
                waiting.append(right[node] + first)
                waiting.append(left[node] + first)
        n_inner.append(len(inner) - before)
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    splits = np.array(inner, np.int64)
    is_leaf = forest.feature < 0
    return Preorder(
        splits,
        np.array(leaf, np.int64),
        is_leaf[forest.left[splits] + root[splits]],
        is_leaf[forest.right[splits] + root[splits]],
        np.array(n_inner, np.int64),
    )
