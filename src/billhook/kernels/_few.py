"""From rows to leaves, one row at a time but eight trees abreast: where there are few rows."""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled
from billhook.kernels._walk import MISSING_LEFT, MISSING_RIGHT, order_bits, step


@compiled
def find_eight_leaves(
    x: NDArray[np.int32],
    words: NDArray[np.int64],
    offset: NDArray[np.int64],
    position_bits: int,
    first: int,
    at: NDArray[np.uint64],
) -> None:
    """Find the positions of a row's leaves in eight trees from `first` on; past the last tree, in the last again."""
    last = offset.size - 2
    w0, w1 = words[offset[first] :], words[offset[min(first + 1, last)] :]
    w2, w3 = words[offset[min(first + 2, last)] :], words[offset[min(first + 3, last)] :]
    w4, w5 = words[offset[min(first + 4, last)] :], words[offset[min(first + 5, last)] :]
    w6, w7 = words[offset[min(first + 6, last)] :], words[offset[min(first + 7, last)] :]
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = row = np.uint64(0)
    while True:
        n0, n1 = step(x, row, 0, w0, position_bits, a0), step(x, row, 0, w1, position_bits, a1)
        n2, n3 = step(x, row, 0, w2, position_bits, a2), step(x, row, 0, w3, position_bits, a3)
        n4, n5 = step(x, row, 0, w4, position_bits, a4), step(x, row, 0, w5, position_bits, a5)
        n6, n7 = step(x, row, 0, w6, position_bits, a6), step(x, row, 0, w7, position_bits, a7)
        moved = (n0 ^ a0) | (n1 ^ a1) | (n2 ^ a2) | (n3 ^ a3) | (n4 ^ a4) | (n5 ^ a5) | (n6 ^ a6) | (n7 ^ a7)
        a0, a1, a2, a3, a4, a5, a6, a7 = n0, n1, n2, n3, n4, n5, n6, n7
        if moved == 0:
            break
    at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7] = a0, a1, a2, a3, a4, a5, a6, a7


@compiled
def sum_values_of_few(
    bits: NDArray[np.int32],
    offset: NDArray[np.int64],
    column_feature: NDArray[np.int32],
    column_missing_right: NDArray[np.bool_],
    position_bits: int,
    words: NDArray[np.int64],
    value: NDArray[np.float64],
    tree_column: NDArray[np.int32],
    start: NDArray[np.float64],
    divisor: float,
    end: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Do what `sum_values` does, with the same result to the last bit."""
    n_trees = offset.size - 1
    x = np.empty(column_feature.size, np.int32)
    at = np.empty(8, np.uint64)
    for row in range(bits.shape[0]):
        for c in range(x.size):
            missing = MISSING_RIGHT if column_missing_right[c] else MISSING_LEFT
            x[c] = order_bits(bits[row, column_feature[c]], missing)
        for c in range(total.shape[1]):
            total[row, c] = start[c]
        for first in range(0, n_trees, 8):
            find_eight_leaves(x, words, offset, position_bits, first, at)
            for k in range(min(8, n_trees - first)):
                leaf = offset[first + k] + np.int64(at[k])
                for c in range(value.shape[1]):
                    total[row, tree_column[first + k] + c] += value[leaf, c]
        for c in range(total.shape[1]):
            total[row, c] = total[row, c] / divisor + end[c]
