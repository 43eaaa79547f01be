"""From rows to leaves, one row and one tree at a time: for forests too large for the words of `_forest_layout`."""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled


@compiled
def find_leaf(
    row: NDArray[np.float32],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    root: int,
) -> int:
    """Return the number of the leaf that the row reaches in the tree whose root is node `root`."""
    node = np.int64(0)
    while feature[root + node] >= 0:
        x = row[feature[root + node]]
        goes_left = missing_left[root + node] if np.isnan(x) else x <= threshold[root + node]
        node = np.int64(left[root + node] if goes_left else right[root + node])
    return node  # type: ignore[return-value]  # an int to Python


@compiled
def sum_values_plainly(
    X: NDArray[np.float32],
    offset: NDArray[np.int64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    value: NDArray[np.float64],
    tree_column: NDArray[np.int32],
    start: NDArray[np.float64],
    divisor: float,
    end: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Fill `total` with (start + leaf values, tree after tree) / divisor + end; values are by node."""
    total[:] = start
    for n in range(X.shape[0]):
        row = X[n]
        for tree in range(offset.size - 1):
            root = offset[tree]
            leaf = root + find_leaf(row, feature, threshold, left, right, missing_left, root)
            for c in range(value.shape[1]):
                total[n, tree_column[tree] + c] += value[leaf, c]
        for c in range(total.shape[1]):
            total[n, c] = total[n, c] / divisor + end[c]


@compiled
def leaf_ids_plainly(
    X: NDArray[np.float32],
    offset: NDArray[np.int64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    leaf: NDArray[np.uint16],
) -> None:
    """Write the node number of every row's leaf to `leaf`, of shape (trees, rows)."""
    for n in range(X.shape[0]):
        row = X[n]
        for tree in range(offset.size - 1):
            leaf[tree, n] = find_leaf(row, feature, threshold, left, right, missing_left, offset[tree])
