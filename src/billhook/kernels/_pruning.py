"""What a sub-ensemble gets right and wrong, and what one more tree, or one for another, would change.

Row weights are whole numbers, so that sums are exact and the compiler may add several at once.
"""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled


@compiled
def add_tree(leaf: NDArray[np.uint16], value: NDArray[np.float64], score: NDArray[np.float64]) -> None:
    """Add one tree's leaf values to the scores of all rows."""
    for n in range(leaf.size):
        for c in range(value.shape[1]):
            score[n, c] += value[leaf[n], c]


@compiled
def winner(score: NDArray[np.float64]) -> int:
    """Return the first class with the largest score."""
    best = 0
    for c in range(1, score.size):
        if score[c] > score[best]:
            best = c
    return best


@compiled
def unsettled_rows(
    score: NDArray[np.float64],
    y: NDArray[np.int64],
    weight: NDArray[np.int64],
    swing: float,
    rows: NDArray[np.int64],
) -> tuple[int, int]:
    """List the rows whose class one more tree may change; return how many, and the weight of the others' errors.

    `swing` is how much a tree can change the difference of two classes: a row whose winner leads by more is settled.
    """
    n_open = 0
    errors = weight[0] * 0
    for n in range(y.size):
        best = winner(score[n])
        settled = True
        for c in range(score.shape[1]):
            if c != best and score[n, best] - score[n, c] <= swing:
                settled = False
        if settled:
            if best != y[n]:
                errors += weight[n]
        else:
            rows[n_open] = n
            n_open += 1
    return n_open, errors


@compiled
def best_addition(
    score: NDArray[np.float64],
    y: NDArray[np.int64],
    weight: NDArray[np.int64],
    swing: float,
    candidates: NDArray[np.int64],
    leaf: NDArray[np.uint16],
    offset: NDArray[np.int64],
    value: NDArray[np.float64],
) -> int:
    """Return the candidate that, added to the scores, leaves the smallest error; the first of equal ones."""
    rows = np.empty(y.size, np.int64)
    n_open, settled_errors = unsettled_rows(score, y, weight, swing, rows)
    rows = rows[:n_open]
    n_classes = score.shape[1]
    open_score, open_y, open_weight = score[rows], y[rows], weight[rows]
    best = candidates[0]
    fewest = settled_errors
    for i in range(candidates.size):
        tree = candidates[i]
        table = value[offset[tree] : offset[tree + 1]]
        errors = settled_errors
        for block in range(0, n_open, 256):
            for n in range(block, min(block + 256, n_open)):
                at = leaf[tree, rows[n]]
                if n_classes == 2:
                    predicted = np.int64(open_score[n, 1] + table[at, 1] > open_score[n, 0] + table[at, 0])
                else:
                    predicted = np.int64(0)
                    highest = open_score[n, 0] + table[at, 0]
                    for c in range(1, n_classes):
                        s = open_score[n, c] + table[at, c]
                        if s > highest:
                            highest = s
                            predicted = np.int64(c)
                errors += open_weight[n] if predicted != open_y[n] else 0
            if i > 0 and errors >= fewest:
                break  # it cannot become fewer
        if i == 0 or errors < fewest:
            best, fewest = tree, errors
    return int(best)


@compiled
def weigh_matches(
    label: NDArray[np.uint8],
    expected: NDArray[np.uint8],
    weight: NDArray[np.int64],
    unweighted: bool,
    trees: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return, for each of these trees, the weight of the rows on which its label is the expected one."""
    matches = np.zeros(trees.size, np.int64)
    for i in range(trees.size):
        row = label[trees[i]]
        total = np.int64(0)
        if unweighted:  # without reading the weights, many labels are compared at once
            for n in range(row.size):
                total += np.int64(row[n] == expected[n])
        else:
            for n in range(row.size):
                total += weight[n] if row[n] == expected[n] else 0
        matches[i] = total
    return matches


@compiled
def sum_by_leaf_and_class(
    leaf: NDArray[np.uint16], y: NDArray[np.int64], weight: NDArray[np.int64], table: NDArray[np.float64]
) -> float:
    """Return the weighted sum over the rows of the table's entry for their leaf and class."""
    total = 0.0
    for n in range(y.size):
        total += weight[n] * table[leaf[n], y[n]]
    return total


@compiled
def sum_of_products(
    leaf: NDArray[np.uint16],
    value: NDArray[np.float64],
    other: NDArray[np.float64],
    weight: NDArray[np.int64],
) -> float:
    """Return the weighted sum, over rows and classes, of a tree's leaf values times another (rows, classes) table."""
    total = 0.0
    for n in range(leaf.size):
        for c in range(value.shape[1]):
            total += weight[n] * value[leaf[n], c] * other[n, c]
    return total


@compiled
def largest_area(
    score: NDArray[np.float64],
    y: NDArray[np.int64],
    weight: NDArray[np.int64],
    n_bins: int,
    candidates: NDArray[np.int64],
    leaf: NDArray[np.uint16],
    offset: NDArray[np.int64],
    value: NDArray[np.float64],
) -> int:
    """Return the candidate that, added to the scores, gives the largest mean area under the ROC curves.

    Scores are counted in equal bins, and those of one bin count as equal. Areas that differ by rounding only are the
    same, and the first of those is returned.
    """
    n_rows, n_classes = score.shape
    by_class = score.T.copy()
    lowest, highest = np.empty(n_classes), np.empty(n_classes)
    for c in range(n_classes):
        lowest[c], highest[c] = by_class[c].min(), by_class[c].max()
    in_class, elsewhere = np.empty(n_bins), np.empty(n_bins)
    best, largest = candidates[0], -1.0
    for i in range(candidates.size):
        tree = candidates[i]
        table = value[offset[tree] : offset[tree + 1]]
        total, n_areas = 0.0, 0
        for c in range(n_classes):
            of_leaf = table[:, c].copy()
            low, high = lowest[c] + of_leaf.min(), highest[c] + of_leaf.max()
            scale = (n_bins - 1) / (high - low) if high > low else 0.0
            in_class[:] = 0.0
            elsewhere[:] = 0.0
            for n in range(n_rows):
                b = int((by_class[c, n] + of_leaf[leaf[tree, n]] - low) * scale + 0.5)
                if y[n] == c:
                    in_class[b] += weight[n]
                else:
                    elsewhere[b] += weight[n]
            pairs = in_class.sum() * elsewhere.sum()
            if pairs > 0.0:
                below, won = 0.0, 0.0
                for b in range(n_bins):
                    won += in_class[b] * (below + 0.5 * elsewhere[b])
                    below += elsewhere[b]
                total += won / pairs
                n_areas += 1
        area = total / n_areas if n_areas > 0 else 0.5
        if area > largest + 1e-12:
            best, largest = tree, area
    return int(best)


@compiled
def improve_by_swaps(single: NDArray[np.float64], pair: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
    """Swap a chosen tree for another, the best such swap each time, until none lowers the objective; return it.

    The objective is the sum of `single` over the chosen trees plus that of the symmetric `pair` over their pairs,
    each pair both ways and each tree with itself.
    """
    n = single.size
    load = np.zeros(n)
    objective = 0.0
    for i in range(n):
        for j in range(n):
            if chosen[j]:
                load[i] += pair[i, j]
    for i in range(n):
        if chosen[i]:
            objective += single[i] + load[i]
    while True:
        best_change, out, new = -1e-12 * (1.0 + abs(objective)), -1, -1
        for i in range(n):
            if not chosen[i]:
                continue
            without_i = -single[i] - 2.0 * load[i] + pair[i, i]
            for j in range(n):
                if not chosen[j]:
                    change = without_i + single[j] + 2.0 * (load[j] - pair[i, j]) + pair[j, j]
                    if change < best_change:
                        best_change, out, new = change, i, j
        if out < 0:
            return objective
        chosen[out], chosen[new] = False, True
        for i in range(n):
            load[i] += pair[i, new] - pair[i, out]
        objective += best_change
