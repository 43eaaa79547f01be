"""Leaves that share vectors: each takes the best of a few entries in its turn, and each entry steps for all of its.

Rows have a number for each class, and so have leaves. The state of a row is its scores, or for cross-entropy its
class probabilities; a step then multiplies by exp(step), which is taken once and not once a row.
"""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled

SQUARED, LOGISTIC = 0, 1
TINY = 1e-290
FLOOR = 1e-10
FAR = 600.0
# How often a step of an entry is tried, each time half as long, until the loss does not rise.
HALVINGS = 4


@compiled
def as_probabilities(state: NDArray[np.float64], row: int) -> None:
    """Bring the state of one row to the sum 1."""
    total = 0.0
    for c in range(state.shape[1]):
        total += state[row, c]
    share = 1.0 / total
    for c in range(state.shape[1]):
        state[row, c] = max(state[row, c] * share, TINY)


@compiled
def slope_and_curvature(loss: int, state: float, is_label: bool) -> tuple[float, float]:
    """Return minus the slope of a row's loss by its score for one class, and its curvature."""
    if loss == LOGISTIC:
        return (1.0 if is_label else 0.0) - state, state - state * state
    if loss == SQUARED:
        return (1.0 if is_label else 0.0) - state, 1.0
    sign = 1.0 if is_label else -1.0
    gap = max(1.0 - sign * state, 0.0)
    return sign * gap, 1.0 if gap > 0.0 else 0.0


@compiled
def class_loss(loss: int, score: float, is_label: bool) -> float:
    """Return what one class adds to a row's loss, other than cross-entropy."""
    if loss == SQUARED:
        return 0.5 * (score - (1.0 if is_label else 0.0)) ** 2
    return 0.5 * max(1.0 - (score if is_label else -score), 0.0) ** 2


@compiled
def nearest_entries(
    target: NDArray[np.float64],
    curvature: NDArray[np.float64],
    entries: NDArray[np.float64],
    distance: NDArray[np.float64],
    nearest: NDArray[np.int64],
) -> None:
    """Write the entries with the least sum of curvature times squared distance to the target, the nearest first."""
    distance[:] = np.inf
    nearest[:] = 0
    last = nearest.size - 1
    for e in range(entries.shape[0]):
        total = 0.0
        for c in range(target.size):
            total += curvature[c] * (target[c] - entries[e, c]) ** 2
        if total < distance[last]:
            at = last
            while at > 0 and total < distance[at - 1]:
                distance[at], nearest[at] = distance[at - 1], nearest[at - 1]
                at -= 1
            distance[at], nearest[at] = total, e


@compiled
def choose_entries(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    state: NDArray[np.float64],
    label: NDArray[np.uint64],
    weight: NDArray[np.float64],
    used: NDArray[np.bool_],
    anchor: NDArray[np.float64],
    chosen: NDArray[np.int64],
    entries: NDArray[np.float64],
    table: NDArray[np.float64],
    loss: int,
    l2: float,
    largest: float,
    n_tried: int,
) -> None:
    """Make one pass over the trees: each leaf takes an entry; change `chosen`, `table` and `state`.

    Of the entries nearest to where the step leads, by the curvature, and the one it has (`chosen`, -1 for none), that
    with the lowest loss on the leaf's rows: then the loss does not rise. A leaf without rows takes the entry nearest
    to its anchor.
    """
    n_trees, n_rows = leaf.shape
    n_classes = state.shape[1]
    most = int(np.diff(first).max())
    slope, bend = np.empty((most, n_classes)), np.empty((most, n_classes))
    target, distance = np.empty(n_classes), np.empty(n_tried)
    # Of each leaf, by what is tried: entries, losses and, class by class, steps and what they do to the state.
    tried, losses = np.empty((most, n_tried + 1), np.int64), np.empty((most, n_tried + 1))
    step, move = np.empty((most, n_classes, n_tried + 1)), np.empty((most, n_classes, n_tried + 1))
    total, best = np.empty(n_tried + 1), np.empty(most, np.int64)
    factor = n_classes / (n_classes - 1.0) if loss == LOGISTIC else 1.0
    for k in range(n_trees):
        begin = int(first[k])
        size = int(first[k + 1]) - begin
        slope[:] = 0.0
        bend[:] = 0.0
        for n in range(n_rows):
            at_leaf, w = np.uint64(leaf[k, n]), weight[n]
            for c in range(n_classes):
                g, h = slope_and_curvature(loss, state[n, c], c == label[n])
                slope[at_leaf, c] += w * g
                bend[at_leaf, c] += w * h
        for i in range(size):
            at = begin + i
            for c in range(n_classes):
                target[c] = anchor[at, c]
                if used[at]:
                    bend[i, c] = bend[i, c] * factor + l2 + FLOOR
                    wanted = (slope[i, c] - l2 * (table[at, c] - anchor[at, c])) / bend[i, c]
                    target[c] = table[at, c] + min(max(wanted, -largest), largest)
                else:
                    bend[i, c] = 1.0
            nearest_entries(target, bend[i], entries, distance, tried[i, :n_tried])
            if not used[at]:
                tried[i, 1:] = tried[i, 0]
            elif chosen[at] >= 0:
                tried[i, n_tried] = chosen[at]
            else:
                tried[i, n_tried] = tried[i, 0]
            for j in range(n_tried + 1):
                e = tried[i, j]
                losses[i, j] = 0.0
                for c in range(n_classes):
                    step[i, c, j] = entries[e, c] - table[at, c]
                    if loss == LOGISTIC:
                        step[i, c, j] = min(max(step[i, c, j], -FAR), FAR)
                    move[i, c, j] = np.exp(step[i, c, j]) if loss == LOGISTIC else step[i, c, j]
                    losses[i, j] += 0.5 * l2 * (entries[e, c] - anchor[at, c]) ** 2
        for n in range(n_rows):
            at_leaf, w, y = np.uint64(leaf[k, n]), weight[n], label[n]
            total[:] = 0.0
            for c in range(n_classes):
                s = state[n, c]
                for j in range(n_tried + 1):
                    if loss == LOGISTIC:
                        total[j] += s * move[at_leaf, c, j]
                    else:
                        total[j] += class_loss(loss, s + move[at_leaf, c, j], c == y)
            for j in range(n_tried + 1):
                losses[at_leaf, j] += w * (np.log(total[j]) - step[at_leaf, y, j] if loss == LOGISTIC else total[j])
        for i in range(size):
            best[i] = np.argmin(losses[i])
            chosen[begin + i] = tried[i, best[i]]
            table[begin + i] = entries[tried[i, best[i]]]
        for n in range(n_rows):
            at_leaf = np.uint64(leaf[k, n])
            for c in range(n_classes):
                by = move[at_leaf, c, best[at_leaf]]
                state[n, c] = state[n, c] * by if loss == LOGISTIC else state[n, c] + by
            if loss == LOGISTIC:
                as_probabilities(state, n)


@compiled
def rows_by_entry(
    leaf: NDArray[np.uint16], first: NDArray[np.uint64], chosen: NDArray[np.int64], n_entries: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return where the rows of each entry begin, the rows one entry after the other, and how often each meets it."""
    n_trees, n_rows = leaf.shape
    times = np.zeros(n_entries, np.int32)
    begin = np.zeros(n_entries + 1, np.int64)
    row, often = np.empty(0, np.int32), np.empty(0, np.int32)
    for is_written in (False, True):
        if is_written:
            begin[1:] = np.cumsum(begin[1:])
            row, often = np.empty(begin[-1], np.int32), np.empty(begin[-1], np.int32)
            end = begin.copy()
        for n in range(n_rows):
            for k in range(n_trees):
                times[chosen[int(first[k]) + leaf[k, n]]] += 1
            for k in range(n_trees):
                e = chosen[int(first[k]) + leaf[k, n]]
                if times[e] > 0:
                    if is_written:
                        row[end[e]], often[end[e]] = n, times[e]
                        end[e] += 1
                    else:
                        begin[e + 1] += 1
                    times[e] = 0
    return begin, row, often


@compiled
def move_entries(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    state: NDArray[np.float64],
    label: NDArray[np.uint64],
    weight: NDArray[np.float64],
    used: NDArray[np.bool_],
    anchor: NDArray[np.float64],
    chosen: NDArray[np.int64],
    entries: NDArray[np.float64],
    grid: NDArray[np.float64],
    loss: int,
    l2: float,
    largest: float,
    n_passes: int,
) -> None:
    """Let each entry in its turn take a Newton step for all leaves that chose it; change `entries` and `state`.

    `grid` is empty, or for each class a unit and the lowest and highest number of it that an entry is rounded to. A
    step that would raise the loss is halved, or not taken if entries are rounded and this one already is.
    """
    n_entries, n_classes = entries.shape
    begin, row, often = rows_by_entry(leaf, first, chosen, n_entries)
    n_leaves, anchor_sum = np.zeros(n_entries), np.zeros((n_entries, n_classes))
    for i in range(chosen.size):
        if used[i]:
            n_leaves[chosen[i]] += 1.0
            anchor_sum[chosen[i]] += anchor[i]
    most = 1
    for i in range(often.size):
        most = max(most, often[i])
    slope, bend = np.empty(n_classes), np.empty(n_classes)
    step, move = np.empty((most + 1, n_classes)), np.empty((most + 1, n_classes))
    factor = n_classes / (n_classes - 1.0) if loss == LOGISTIC else 1.0
    for _ in range(n_passes):
        for e in range(n_entries):
            slope[:] = anchor_sum[e] - n_leaves[e] * entries[e]
            slope *= l2
            bend[:] = 0.0
            for i in range(begin[e], begin[e + 1]):
                n, m = row[i], often[i]
                w = weight[n] * m
                for c in range(n_classes):
                    g, h = slope_and_curvature(loss, state[n, c], c == label[n])
                    slope[c] += w * g
                    bend[c] += w * m * h
            is_rounded = grid.size > 0
            for c in range(n_classes):
                wanted = slope[c] / (bend[c] * factor + l2 * n_leaves[e] + FLOOR)
                step[1, c] = min(max(wanted, -largest), largest)
                if grid.size > 0:
                    now, then = entries[e, c], entries[e, c] + step[1, c]
                    unit, low, high = grid[c]
                    is_rounded &= abs(now / unit - min(max(np.rint(now / unit), low), high)) < 1e-6
                    step[1, c] = min(max(np.rint(then / unit), low), high) * unit - now
            for _ in range(HALVINGS):
                for m in range(1, most + 1):
                    for c in range(n_classes):
                        step[m, c] = step[1, c] * m
                        move[m, c] = np.exp(min(max(step[m, c], -FAR), FAR)) if loss == LOGISTIC else step[m, c]
                rises = 0.0
                for c in range(n_classes):
                    rises += l2 * (n_leaves[e] * (entries[e, c] + 0.5 * step[1, c]) - anchor_sum[e, c]) * step[1, c]
                for i in range(begin[e], begin[e + 1]):
                    n, m, y = row[i], often[i], label[row[i]]
                    total = 0.0
                    for c in range(n_classes):
                        s = state[n, c]
                        if loss == LOGISTIC:
                            total += s * move[m, c]
                        else:
                            total += class_loss(loss, s + move[m, c], c == y) - class_loss(loss, s, c == y)
                    rises += weight[n] * (np.log(total) - step[m, y] if loss == LOGISTIC else total)
                takes_step = rises <= 0.0 or (grid.size > 0 and not is_rounded)
                if takes_step or is_rounded:
                    break
                step[1] *= 0.5
            if not takes_step:
                continue
            entries[e] += step[1]
            for i in range(begin[e], begin[e + 1]):
                n, m = row[i], often[i]
                for c in range(n_classes):
                    state[n, c] = state[n, c] * move[m, c] if loss == LOGISTIC else state[n, c] + move[m, c]
                if loss == LOGISTIC:
                    as_probabilities(state, n)
