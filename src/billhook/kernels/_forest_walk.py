"""From rows to leaves: many rows together, tree by tree; or a few, one by one, through eight trees abreast."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled

# Rows that go through a tree together; a power of two, so that a column is a shift away.
BLOCK = 256
BLOCK_BITS = 8
# Numbers read before the trees are gone through once: a tree in the cache should serve many blocks, but those must
# stay in the second-level cache themselves.
READ_AT_ONCE = 2**17
# What a missing value is read as: larger, or not larger, than every threshold.
MISSING_RIGHT = np.int32(0x7FFFFFFF)
MISSING_LEFT = np.int32(-0x80000000)


@compiled
def order_bits(x: np.int32, missing: np.int32) -> np.int32:
    """Return the bits of a float32 as an integer that compares as the float does; NaN becomes `missing`."""
    x ^= (x >> np.int32(31)) & np.int32(0x7FFFFFFF)
    # Beyond the infinities on either side there are only NaNs.
    return missing if (x > np.int32(0x7F800000)) | (x < np.int32(-0x7F800001)) else x


@compiled
def load_columns(
    bits: NDArray[np.int32],
    first: int,
    feature: NDArray[np.int32],
    missing_right: NDArray[np.bool_],
    columns: NDArray[np.int32],
) -> None:
    """Turn up to BLOCK rows of float32 bits, from row `first` on, into columns of ordered integers.

    First the columns, then the integers: of numbers that stand together, the processor turns several at once.
    """
    n_rows = min(BLOCK, bits.shape[0] - first)
    for c in range(feature.size):
        source = feature[c]
        for row in range(n_rows):
            columns[c, row] = bits[first + row, source]
    for c in range(feature.size):
        missing = MISSING_RIGHT if missing_right[c] else MISSING_LEFT
        for row in range(BLOCK):
            columns[c, row] = order_bits(columns[c, row], missing)


@compiled
def strike_out(
    exits_left: NDArray[np.uint64],
    columns: NDArray[np.int32],
    column: NDArray[np.int32],
    threshold: NDArray[np.int32],
    keeps: NDArray[np.uint64],
    k: int,
) -> None:
    """Let four splits of a crown, from number k on, strike out the exits that each row passes by.

    Four at a time: the exits of a row are loaded and stored once for all of them.
    """
    x0, x1, x2, x3 = (
        columns[column[k]],
        columns[column[k + 1]],
        columns[column[k + 2]],
        columns[column[k + 3]],
    )
    t0, t1, t2, t3 = threshold[k], threshold[k + 1], threshold[k + 2], threshold[k + 3]
    k0, k1, k2, k3 = keeps[k], keeps[k + 1], keeps[k + 2], keeps[k + 3]
    for row in range(BLOCK):
        left = exits_left[row]
        left = left & k0 if x0[row] > t0 else left
        left = left & k1 if x1[row] > t1 else left
        left = left & k2 if x2[row] > t2 else left
        left = left & k3 if x3[row] > t3 else left
        exits_left[row] = left


@compiled
def step(
    x: NDArray[np.int32],
    row: np.uint64,
    stride_bits: int,
    words: NDArray[np.int64],
    position_bits: int,
    at: np.uint64,
) -> np.uint64:
    """Return the position after `at` on a row's way down; a leaf's is its own."""
    word = words[at]
    bits = np.uint64(position_bits)
    column = np.uint64(np.uint32(word)) >> bits
    left = np.uint64(word) & ((np.uint64(1) << bits) - np.uint64(1))
    return left + np.uint64(x[row + (column << np.uint64(stride_bits))] > np.int32(word >> 32))


@compiled
def walk_down(
    columns: NDArray[np.int32], words: NDArray[np.int64], position_bits: int, at: NDArray[np.uint64]
) -> None:
    """Move every row of a block from its position to its leaf, eight rows abreast.

    Eight independent chains of loads keep the processor busy where one would wait for the cache;
    rows that have arrived stand still until the last of the eight has.
    """
    x = columns.ravel()
    for row in range(0, BLOCK, 8):
        r0 = np.uint64(row)
        r1, r2, r3 = r0 + np.uint64(1), r0 + np.uint64(2), r0 + np.uint64(3)
        r4, r5, r6, r7 = r0 + np.uint64(4), r0 + np.uint64(5), r0 + np.uint64(6), r0 + np.uint64(7)
        a0, a1, a2, a3 = at[row], at[row + 1], at[row + 2], at[row + 3]
        a4, a5, a6, a7 = at[row + 4], at[row + 5], at[row + 6], at[row + 7]
        while True:
            n0 = step(x, r0, BLOCK_BITS, words, position_bits, a0)
            n1 = step(x, r1, BLOCK_BITS, words, position_bits, a1)
            n2 = step(x, r2, BLOCK_BITS, words, position_bits, a2)
            n3 = step(x, r3, BLOCK_BITS, words, position_bits, a3)
            n4 = step(x, r4, BLOCK_BITS, words, position_bits, a4)
            n5 = step(x, r5, BLOCK_BITS, words, position_bits, a5)
            n6 = step(x, r6, BLOCK_BITS, words, position_bits, a6)
            n7 = step(x, r7, BLOCK_BITS, words, position_bits, a7)
            moved = (n0 ^ a0) | (n1 ^ a1) | (n2 ^ a2) | (n3 ^ a3)
            moved |= (n4 ^ a4) | (n5 ^ a5) | (n6 ^ a6) | (n7 ^ a7)
            a0, a1, a2, a3, a4, a5, a6, a7 = n0, n1, n2, n3, n4, n5, n6, n7
            if moved == 0:
                break
        at[row], at[row + 1], at[row + 2], at[row + 3] = a0, a1, a2, a3
        at[row + 4], at[row + 5], at[row + 6], at[row + 7] = a4, a5, a6, a7


class Tables(NamedTuple):
    """A forest laid out for the walk; the arrays are those of `_layout.lay_out`."""

    offset: NDArray[np.int64]
    column_feature: NDArray[np.int32]
    column_missing_right: NDArray[np.bool_]
    position_bits: int
    words: NDArray[np.int64]
    node_at: NDArray[np.int32]
    crown_size: NDArray[np.int32]
    crown_column: NDArray[np.int32]
    crown_threshold: NDArray[np.int32]
    crown_keeps: NDArray[np.uint64]
    exits: NDArray[np.int32]
    goes_deeper: NDArray[np.bool_]


TreeParts = tuple[
    NDArray[np.int64],
    int,
    np.int32,
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint64],
    NDArray[np.int32],
    np.bool_,
]


@compiled
def parts_of(tables: Tables, tree: int) -> TreeParts:
    """Return what `find_leaves` needs of one tree: taken out of the tables once for many blocks."""
    return (
        tables.words[tables.offset[tree] : tables.offset[tree + 1]],
        tables.position_bits,
        tables.crown_size[tree],
        tables.crown_column[tree],
        tables.crown_threshold[tree],
        tables.crown_keeps[tree],
        tables.exits[tree],
        tables.goes_deeper[tree],
    )


@compiled
def find_leaves(
    columns: NDArray[np.int32],
    parts: TreeParts,
    exits_left: NDArray[np.uint64],
    lowest: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> None:
    """Find the position of each row's leaf, for one block of rows and one tree; the last three are work space."""
    words, position_bits, crown_size, crown_column, crown_threshold, crown_keeps, exits, goes_deeper = parts
    exits_left[:] = ~np.uint64(0)
    for k in range(0, crown_size, 4):
        strike_out(exits_left, columns, crown_column, crown_threshold, crown_keeps, k)
    # The number of the lowest bit is the exponent of its value as a float, which the processor finds for
    # several rows at once.
    for row in range(BLOCK):
        lowest[row] = np.float64(exits_left[row] & (~exits_left[row] + np.uint64(1)))
    exponent = lowest.view(np.uint64)
    for row in range(BLOCK):
        at[row] = exits[(exponent[row] >> np.uint64(52)) - np.uint64(1023)]
    if goes_deeper:
        walk_down(columns, words, position_bits, at)


@compiled
def sum_values(
    bits: NDArray[np.int32],
    tables: Tables,
    value: NDArray[np.float64],
    tree_column: NDArray[np.int32],
    start: NDArray[np.float64],
    divisor: float,
    end: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Fill `total` with (start + leaf values, tree after tree) / divisor + end; values are by position."""
    total[:] = start
    n_rows, n_values = bits.shape[0], value.shape[1]
    blocks_at_once = max(1, READ_AT_ONCE // (tables.column_feature.size * BLOCK))
    blocks_at_once = min(blocks_at_once, (n_rows + BLOCK - 1) // BLOCK)
    columns = np.zeros((blocks_at_once, tables.column_feature.size, BLOCK), np.int32)
    exits_left, lowest = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.float64)
    at = np.empty(BLOCK, np.uint64)
    for batch in range(0, n_rows, blocks_at_once * BLOCK):
        n_blocks = min(blocks_at_once, (n_rows - batch + BLOCK - 1) // BLOCK)
        for b in range(n_blocks):
            load_columns(bits, batch + b * BLOCK, tables.column_feature, tables.column_missing_right, columns[b])
        for tree in range(tables.offset.size - 1):
            parts = parts_of(tables, tree)
            leaf_value = value[tables.offset[tree] : tables.offset[tree + 1]]
            to = tree_column[tree]
            for b in range(n_blocks):
                find_leaves(columns[b], parts, exits_left, lowest, at)
                first = batch + b * BLOCK
                in_block = min(BLOCK, n_rows - first)
                # The number of values as a constant lets the compiler unroll.
                if n_values == 1:
                    for row in range(in_block):
                        total[first + row, to] += leaf_value[at[row], 0]
                elif n_values == 2:
                    for row in range(in_block):
                        total[first + row, 0] += leaf_value[at[row], 0]
                        total[first + row, 1] += leaf_value[at[row], 1]
                else:
                    for row in range(in_block):
                        for c in range(n_values):
                            total[first + row, c] += leaf_value[at[row], c]
    for row in range(n_rows):
        for c in range(total.shape[1]):
            total[row, c] = total[row, c] / divisor + end[c]


@compiled
def leaf_ids(bits: NDArray[np.int32], tables: Tables, leaf: NDArray[np.uint16]) -> None:
    """Write the node number of every row's leaf to `leaf`, of shape (trees, rows)."""
    n_rows = bits.shape[0]
    columns = np.zeros((tables.column_feature.size, BLOCK), np.int32)
    exits_left, lowest = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.float64)
    at = np.empty(BLOCK, np.uint64)
    for first in range(0, n_rows, BLOCK):
        load_columns(bits, first, tables.column_feature, tables.column_missing_right, columns)
        for tree in range(tables.offset.size - 1):
            find_leaves(columns, parts_of(tables, tree), exits_left, lowest, at)
            node_at = tables.node_at[tables.offset[tree] : tables.offset[tree + 1]]
            for row in range(min(BLOCK, n_rows - first)):
                leaf[tree, first + row] = node_at[at[row]]


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
def load_row(
    bits: NDArray[np.int32],
    row: int,
    feature: NDArray[np.int32],
    missing_right: NDArray[np.bool_],
    x: NDArray[np.int32],
) -> None:
    """Turn one row of float32 bits into columns of ordered integers."""
    for c in range(x.size):
        x[c] = order_bits(bits[row, feature[c]], MISSING_RIGHT if missing_right[c] else MISSING_LEFT)


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
        load_row(bits, row, column_feature, column_missing_right, x)
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


@compiled
def leaf_ids_of_few(
    bits: NDArray[np.int32],
    offset: NDArray[np.int64],
    column_feature: NDArray[np.int32],
    column_missing_right: NDArray[np.bool_],
    position_bits: int,
    words: NDArray[np.int64],
    node_at: NDArray[np.int32],
    leaf: NDArray[np.uint16],
) -> None:
    """Do what `leaf_ids` does."""
    n_trees = offset.size - 1
    x = np.empty(column_feature.size, np.int32)
    at = np.empty(8, np.uint64)
    for row in range(bits.shape[0]):
        load_row(bits, row, column_feature, column_missing_right, x)
        for first in range(0, n_trees, 8):
            find_eight_leaves(x, words, offset, position_bits, first, at)
            for k in range(min(8, n_trees - first)):
                leaf[first + k, row] = node_at[offset[first + k] + np.int64(at[k])]
