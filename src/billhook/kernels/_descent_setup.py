"""What a descent on leaf values begins with: the scores of the rows, and the leaves that have rows."""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled


@compiled
def add_leaf_values(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    table: NDArray[np.float64],
    skip: NDArray[np.bool_],
    score: NDArray[np.float64],
) -> None:
    """Add the leaf values of every tree to the scores (rows, columns), but where `skip` (trees, rows) says not to."""
    for tree in range(leaf.shape[0]):
        k = np.uint64(tree)
        for row in range(leaf.shape[1]):
            n = np.uint64(row)
            if skip.size > 0 and skip[k, n]:
                continue
            at = first[k] + leaf[k, n]
            for value in range(table.shape[1]):
                v = np.uint64(value)
                score[n, column[k] + v] += table[at, v]


@compiled
def reached_leaves(
    leaf: NDArray[np.uint16], first: NDArray[np.uint64], weight: NDArray[np.float64], skip: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which leaves have rows of some weight that their tree does not skip."""
    reached = np.zeros(first[-1], np.bool_)
    for tree in range(leaf.shape[0]):
        for row in range(leaf.shape[1]):
            if weight[row] > 0.0 and (skip.size == 0 or not skip[tree, row]):
                reached[first[tree] + leaf[tree, row]] = True
    return reached
