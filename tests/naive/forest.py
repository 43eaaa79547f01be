"""A forest walked row by row and tree by tree."""

import heapq
import math

import numpy as np


def categories_of(forest, number):
    """Return a set of categories as Python's."""
    words = forest.set_bits[forest.set_offset[number] : forest.set_offset[number + 1]]
    return {32 * w + bit for w, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1}


def goes_left(forest, node, row):
    """Return whether a row goes left at a split, nodes being counted through all trees."""
    x = float(row[forest.feature[node]])
    if math.isnan(x):
        return bool(forest.missing_left[node])
    if forest.category_set[node] >= 0:
        return math.isfinite(x) and math.trunc(x) in categories_of(forest, forest.category_set[node])
    return x <= float(forest.threshold[node])


def leaf_of(forest, tree, row):
    """Walk one row down one tree."""
    first = int(forest.offset[tree])
    node = 0
    while forest.feature[first + node] >= 0:
        is_left = goes_left(forest, first + node, row)
        node = int(forest.left[first + node] if is_left else forest.right[first + node])
    return node


def apply(forest, X):
    return np.array([[leaf_of(forest, tree, row) for tree in range(forest.n_trees)] for row in X])


def raw_scores(forest, X):
    """Base plus weight times value, tree by tree."""
    scores = []
    for row in X:
        raw = [float(b) for b in forest.base]
        for tree in range(forest.n_trees):
            value = forest.value[forest.offset[tree] + leaf_of(forest, tree, row)]
            for c, v in enumerate(value):
                raw[forest.tree_column[tree] + c] += float(forest.tree_weight[tree]) * float(v)
        scores.append(raw)
    return np.array(scores).reshape(len(X), forest.base.size)


def best_first_order(left, right, gain):
    """Return the splits of one tree in the order of best-first growth; ties to the lower node."""
    frontier = [(-gain[0], 0)] if left[0] >= 0 else []
    order = []
    while frontier:
        _, node = heapq.heappop(frontier)
        order.append(node)
        for child in (int(left[node]), int(right[node])):
            if left[child] >= 0:
                heapq.heappush(frontier, (-gain[child], child))
    return order


def leaf_of_truncated(forest, tree, row, max_leaves):
    """Walk one row through the first `max_leaves` - 1 splits of one tree; return where it stops."""
    first = int(forest.offset[tree])
    node = 0
    while 0 <= forest.growth_rank[first + node] < max_leaves - 1:
        is_left = goes_left(forest, first + node, row)
        node = int(forest.left[first + node] if is_left else forest.right[first + node])
    return node
