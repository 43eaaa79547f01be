"""From a forest's arrays to the tables that the walk over many rows reads.

A row is read as *columns* of ordered integers: the bits of a float32, turned so that integers compare
as the floats do. A missing value is the smallest or the largest integer, by the way it goes at the
split; so a column is a pair (feature, way of missing values), and a split is one integer comparison.

Nodes are laid out with siblings side by side: the next position is `left + (x > threshold)`. A leaf
points to itself and can never be left. One node is one 64-bit word:

    threshold (32 bits) | column | left position (`position_bits` bits)

The *crown* of a tree is its most visited splits, at most 63 of them. They are not walked but tested
all at once for many rows, as in QuickScorer (Lucchese et al. 2015): every split that a row passes on the
right strikes out the exits on its left, and the first exit that is left is the row's.
"""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled

CROWN_SPLITS = 63
NEVER_RIGHT = 0x7FFFFFFF


@compiled
def lay_out_tree(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    column: NDArray[np.int64],
    threshold: NDArray[np.int32],
    position_bits: int,
    words: NDArray[np.int64],
    node_at: NDArray[np.int32],
    position_of: NDArray[np.int32],
) -> None:
    """Fill `words` (one a node, in breadth-first order), `node_at[position]` and its inverse."""
    node_at[0] = 0
    filled = 1
    for position in range(left.size):
        node = node_at[position]
        position_of[node] = position
        first = position
        test = np.int64(NEVER_RIGHT)
        if left[node] >= 0:
            node_at[filled] = left[node]
            node_at[filled + 1] = right[node]
            first = filled
            test = np.int64(threshold[node])
            filled += 2
        words[position] = (test << 32) | (np.int64(column[node]) << position_bits) | first


@compiled
def choose_crown(
    left: NDArray[np.int32], right: NDArray[np.int32], visits: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return the nodes of the crown's splits, the nodes at its exits, and the exits each split keeps.

    The crown grows by the most visited open split until it has `most` splits or none is open.
    """
    in_crown = np.zeros(left.size, np.bool_)
    open_nodes = np.empty(most + 2, np.int64)
    open_nodes[0] = 0
    n_open = 1
    n_splits = 0
    while n_splits < most:
        best = -1
        for k in range(n_open):
            node = open_nodes[k]
            if left[node] >= 0 and (best < 0 or visits[node] > visits[open_nodes[best]]):
                best = k
        if best < 0:
            break
        node = open_nodes[best]
        in_crown[node] = True
        n_splits += 1
        open_nodes[best] = left[node]
        open_nodes[n_open] = right[node]
        n_open += 1

    # In-order walk: exits are numbered from left to right, so a split's left side is a range of bits.
    splits = np.empty(n_splits, np.int64)
    exits = np.empty(n_splits + 1, np.int64)
    keeps = np.empty(n_splits, np.uint64)
    path = np.empty(n_splits + 1, np.int64)
    exits_before = np.empty(n_splits + 1, np.int64)
    depth = 0
    n_exits = 0
    done = 0
    node = np.int64(0)
    while True:
        while in_crown[node]:
            path[depth] = node
            exits_before[depth] = n_exits
            depth += 1
            node = np.int64(left[node])
        exits[n_exits] = node
        n_exits += 1
        if depth == 0:
            break
        depth -= 1
        node = path[depth]
        below = (np.uint64(1) << np.uint64(n_exits)) - (np.uint64(1) << np.uint64(exits_before[depth]))
        splits[done] = node
        keeps[done] = ~below
        done += 1
        node = np.int64(right[node])
    return splits, exits, keeps


@compiled
def lay_out(
    offset: NDArray[np.int64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    column: NDArray[np.int64],
    threshold: NDArray[np.int32],
    visits: NDArray[np.int64],
    position_bits: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint64],
    NDArray[np.int32],
    NDArray[np.bool_],
]:
    """Return the tables of a whole forest, in the order in which `_forest_walk` takes them.

    Words, node at each position, and for each tree: number of crown splits (a multiple of 4, filled up with splits
    that strike out nothing), their columns, thresholds and kept exits, the positions of the exits,
    and whether any exit leads further down.
    """
    n_trees = offset.size - 1
    words = np.empty(left.size, np.int64)
    node_at = np.empty(left.size, np.int32)
    position_of = np.empty(left.size, np.int32)
    crown_size = np.empty(n_trees, np.int32)
    crown_column = np.zeros((n_trees, CROWN_SPLITS + 1), np.int32)
    crown_threshold = np.full((n_trees, CROWN_SPLITS + 1), NEVER_RIGHT, np.int32)
    crown_keeps = np.full((n_trees, CROWN_SPLITS + 1), ~np.uint64(0), np.uint64)
    exits = np.zeros((n_trees, CROWN_SPLITS + 1), np.int32)
    goes_deeper = np.zeros(n_trees, np.bool_)
    for tree in range(n_trees):
        nodes = slice(offset[tree], offset[tree + 1])
        left_of, right_of, positions = left[nodes], right[nodes], position_of[nodes]
        lay_out_tree(
            left_of,
            right_of,
            column[nodes],
            threshold[nodes],
            position_bits,
            words[nodes],
            node_at[nodes],
            positions,
        )
        # A small tree is all crown. Of a large one only the first levels pay for testing every split.
        most = CROWN_SPLITS if left_of.size <= 2 * CROWN_SPLITS + 1 else 15
        splits, exit_nodes, keeps = choose_crown(left_of, right_of, visits[nodes], most)
        crown_size[tree] = (splits.size + 3) // 4 * 4
        for k in range(splits.size):
            node = offset[tree] + splits[k]
            crown_column[tree, k] = column[node]
            crown_threshold[tree, k] = threshold[node]
            crown_keeps[tree, k] = keeps[k]
        for k in range(exit_nodes.size):
            exits[tree, k] = positions[exit_nodes[k]]
            goes_deeper[tree] |= left_of[exit_nodes[k]] >= 0
    return words, node_at, crown_size, crown_column, crown_threshold, crown_keeps, exits, goes_deeper
