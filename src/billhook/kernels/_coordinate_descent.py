"""Block coordinate descent on leaf values: one tree is a block, each of its leaves takes a Newton step of its own.

Two kernels: one number a leaf and a row (two classes, regression), and one for each class. The sweep that adds a
tree's step to the scores of all rows gathers the slopes for the next tree on its way.

For the log losses the state of a row is not its score but what the loss needs of it: the odds, the expected count, or
the class probabilities. A step then multiplies by exp(step), which is taken once a leaf and not once a row.
"""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled

SQUARED, LOGISTIC, SQUARED_HINGE, ABSOLUTE, HUBER, POISSON, BOUNDED_HINGE = range(7)
# The smallest odds, probability or expected count that is kept: a factor can bring it back.
TINY = 1e-290
# Added to every curvature, so that a leaf of settled rows divides by something.
FLOOR = 1e-10
# The most that is multiplied by at once is exp of this: rounded values may jump that far.
FAR = 600.0

Floats = NDArray[np.float64]
Ids = NDArray[np.uint16]
Flags = NDArray[np.bool_]
Index = np.uint64
Indices = NDArray[np.uint64]


@compiled
def slope_and_curvature(loss: int, state: float, target: float, width: float) -> tuple[float, float]:
    """Return minus the slope of a row's loss by its score, and its curvature or a bound of it."""
    if loss == LOGISTIC:
        p = state / (1.0 + state)
        return target - p, p * (1.0 - p)
    if loss == SQUARED:
        return target - state, 1.0
    if loss in (SQUARED_HINGE, BOUNDED_HINGE):
        gap = max(1.0 - target * state, 0.0)
        return target * gap, 1.0 if gap > 0.0 or loss == BOUNDED_HINGE else 0.0
    if loss == POISSON:
        return target - state, state
    # The parabola that touches |r|, or Huber's loss, at r lies above it: no step can rise. Absolute errors are taken
    # times the width, so that a typical row has curvature 1, as for the other losses.
    error = target - state
    if loss == HUBER and abs(error) <= width:
        return error, 1.0
    curvature = width / max(abs(error), width * 1e-3)
    return error * curvature, curvature


@compiled
def shrink_block(target: Floats, curvature: Floats, strength: float) -> None:
    """Replace the leaf values t by those s that minimise sum curvature (s - t)^2 / 2 + strength |s|, with Newton."""
    squared_norm = 0.0
    for i in range(target.size):
        squared_norm += (curvature[i] * target[i]) ** 2
    if squared_norm <= strength * strength:
        target[:] = 0.0
        return
    # s = t c r / (c r + strength) with r = |s|: find the r at which the sum of (t c / (c r + strength))^2 is 1.
    # The sum is convex and falls, so that Newton's steps from the left never go too far.
    r = 0.0
    for _ in range(100):
        total, slope = -1.0, 0.0
        for i in range(target.size):
            below = curvature[i] * r + strength
            part = (target[i] * curvature[i] / below) ** 2
            total += part
            slope -= 2.0 * part * curvature[i] / below
        if total <= 1e-12:
            break
        r -= total / slope
    for i in range(target.size):
        target[i] *= curvature[i] * r / (curvature[i] * r + strength)


@compiled
def take_steps(
    table: Floats, anchor: Floats, slope: Floats, curvature: Floats, used: Flags, l2: float, group: float,
    largest: float, damping: float, grid: Floats, step: Floats
) -> None:  # fmt: skip
    """Move the values of one tree's leaves, and write by how much; leaves without rows stay.

    `grid` is empty, or for each value a unit and the lowest and highest number of it that it may be rounded to.
    """
    n_leaves, n_values = table.shape
    for i in range(n_leaves):
        for c in range(n_values):
            step[i, c] = 0.0
            if used[i]:
                wanted = (slope[i, c] - l2 * (table[i, c] - anchor[i, c])) / (curvature[i, c] + l2 + FLOOR)
                step[i, c] = damping * min(max(wanted, -largest), largest)
    if group > 0.0:
        # A shorter step is one with more curvature, which is one with less strength. Leaves without rows do not
        # count, and go only if the tree does.
        block, bend = np.zeros(n_leaves * n_values), np.ones(n_leaves * n_values)
        for i in range(n_leaves):
            for c in range(n_values):
                if used[i]:
                    block[i * n_values + c] = table[i, c] + step[i, c]
                    bend[i * n_values + c] = curvature[i, c] + l2 + FLOOR
        shrink_block(block, bend, group * damping)
        goes = not block.any()
        for i in range(n_leaves):
            for c in range(n_values):
                if used[i] or goes:
                    step[i, c] = block[i * n_values + c] - table[i, c]
    if grid.size > 0:
        for i in range(n_leaves):
            for c in range(n_values):
                units = min(max(np.rint((table[i, c] + step[i, c]) / grid[c, 0]), grid[c, 1]), grid[c, 2])
                step[i, c] = units * grid[c, 0] - table[i, c]
    for i in range(n_leaves):
        for c in range(n_values):
            table[i, c] += step[i, c]


@compiled
def step_tree(
    table: Floats, anchor: Floats, slope: Floats, bend: Floats, used: Flags, loss: int, n_classes: int, l2: float,
    group: float, largest: float, damping: float, grid: Floats, step: Floats, move: Floats
) -> None:  # fmt: skip
    """Move the leaves of one tree by what a sweep added up over all rows; write what the rows' state is moved by.

    Where all classes move at once, their slopes sum to zero, and the curvature along such a direction is larger than
    that of each class alone: C / (C - 1) times where all are as likely (Friedman 2001, Algorithm 6).
    """
    n_leaves, n_values = table.shape
    if loss == LOGISTIC and n_values > 1:
        bend *= n_classes / (n_classes - 1.0)
    elif loss == SQUARED and n_values > 1:
        bend[:] = bend[:, :1].copy()
    take_steps(table, anchor, slope, bend, used, l2, group, largest, damping, grid, step)
    for i in range(n_leaves):
        for j in range(n_values):
            by = step[i, j]
            move[i, j] = np.exp(min(max(by, -FAR), FAR)) if loss in (LOGISTIC, POISSON) else by


@compiled
def sweep_squares(
    leaf: Ids,
    before: Index,
    now: Index,
    move: Floats,
    state: Floats,
    target: Floats,
    weight: Floats,
    sums: Floats,
) -> None:
    """Move the rows by the steps of one tree's leaves; add up slopes and curvatures by the leaves of another."""
    for row in range(leaf.shape[1]):
        n = np.uint64(row)
        s = state[n] + move[leaf[before, n]]
        state[n] = s
        at, w = leaf[now, n], weight[n]
        sums[at, 0] += w * (target[n] - s)
        sums[at, 1] += w


@compiled
def sweep_odds(
    leaf: Ids,
    before: Index,
    now: Index,
    move: Floats,
    state: Floats,
    target: Floats,
    weight: Floats,
    sums: Floats,
) -> None:
    """Do the same for the logistic loss."""
    for row in range(leaf.shape[1]):
        n = np.uint64(row)
        s = max(state[n] * move[leaf[before, n]], TINY)
        state[n] = s
        at, w = leaf[now, n], weight[n]
        p = s / (1.0 + s)
        sums[at, 0] += w * (target[n] - p)
        sums[at, 1] += w * p * (1.0 - p)


@compiled
def sweep_any(
    leaf: Ids, before: Index, now: Index, move: Floats, state: Floats, target: Floats, weight: Floats,
    skip: Flags, loss: int, width: float, sums: Floats
) -> None:  # fmt: skip
    """Do the same for any loss, leaving out rows that a tree has nothing to do with."""
    multiplies = loss in (LOGISTIC, POISSON)
    still = 1.0 if multiplies else 0.0
    for row in range(leaf.shape[1]):
        n = np.uint64(row)
        by, w = move[leaf[before, n]], weight[n]
        if skip.size > 0:
            by = still if skip[before, n] else by
            w = 0.0 if skip[now, n] else w
        s = max(state[n] * by, TINY) if multiplies else state[n] + by
        state[n] = s
        g, h = slope_and_curvature(loss, s, target[n], width)
        at = leaf[now, n]
        sums[at, 0] += w * g
        sums[at, 1] += w * h


@compiled
def sweep_one(
    leaf: Ids, before: Index, now: Index, move: Floats, state: Floats, target: Floats, weight: Floats,
    skip: Flags, loss: int, width: float, sums: Floats
) -> None:  # fmt: skip
    """Move the rows and add up, where rows and leaves have one number: slopes and curvatures, by leaf."""
    if loss == SQUARED and skip.size == 0:
        sweep_squares(leaf, before, now, move, state, target, weight, sums)
    elif loss == LOGISTIC and skip.size == 0:
        sweep_odds(leaf, before, now, move, state, target, weight, sums)
    else:
        sweep_any(leaf, before, now, move, state, target, weight, skip, loss, width, sums)


@compiled
def descend_one(
    leaf: Ids, first: Indices, state: Floats, target: Floats, weight: Floats, skip: Flags, used: Flags,
    table: Floats, anchor: Floats, curvature: Floats, loss: int, width: float, l2: float, group: float,
    largest: float, damping: float, grid: Floats
) -> None:  # fmt: skip
    """Make one pass over the trees where rows and leaves have one number; change `table`, `state`, `curvature`.

    `skip` (trees, rows), if it is not empty, says which rows a tree has nothing to do with.
    """
    multiplies = loss in (LOGISTIC, POISSON)
    most = np.diff(first).max()
    move = np.full(most, 1.0 if multiplies else 0.0)
    sums, step = np.empty((most, 2)), np.empty((most, 1))
    before = np.uint64(0)
    for tree in range(leaf.shape[0]):
        k = np.uint64(tree)
        sums[:] = 0.0
        sweep_one(leaf, before, k, move, state, target, weight, skip, loss, width, sums)
        leaves = slice(first[k], first[k + 1])
        size = first[k + 1] - first[k]
        slope, bend = sums[:size, :1], sums[:size, 1:]
        of_tree = (table[leaves], anchor[leaves], slope, bend, used[leaves])
        step_tree(*of_tree, loss, 1, l2, group, largest, damping, grid, step, move.reshape(-1, 1))
        curvature[leaves] = bend
        before = k
    for row in range(leaf.shape[1]):
        n = np.uint64(row)
        if skip.size == 0 or not skip[before, n]:
            by = move[leaf[before, n]]
            state[n] = max(state[n] * by, TINY) if multiplies else state[n] + by


@compiled
def sweep_many(
    leaf: Ids, before: Index, now: Index, moved: Index, here: Index, move: Floats, state: Floats,
    target: Indices, weight: Floats, skip: Flags, loss: int, slope: Floats, bend: Floats
) -> None:  # fmt: skip
    """Do the same where rows have a number for each class; `moved` and `here` are the first columns of both trees."""
    n_rows = leaf.shape[1]
    n_classes, n_values = state.shape[1], slope.shape[1]
    for row in range(n_rows):
        n = np.uint64(row)
        by, at, w = leaf[before, n], leaf[now, n], weight[n]
        moves = True
        if skip.size > 0:
            moves = not skip[before, n]
            w = 0.0 if skip[now, n] else w
        if loss == LOGISTIC and moves and n_values == n_classes:
            total = 0.0
            for value in range(n_values):
                v = np.uint64(value)
                odds = state[n, v] * move[by, v]
                state[n, v] = odds
                total += odds
            share = 1.0 / total
            for value in range(n_values):
                v = np.uint64(value)
                p = max(state[n, v] * share, TINY)
                state[n, v] = p
                slope[at, v] -= w * p
                bend[at, v] += w * (p - p * p)
        elif loss == LOGISTIC:
            if moves:
                for value in range(n_values):
                    v = np.uint64(value)
                    state[n, moved + v] *= move[by, v]
            total = 0.0
            for label in range(n_classes):
                total += state[n, np.uint64(label)]
            share = 1.0 / total
            for label in range(n_classes):
                c = np.uint64(label)
                state[n, c] = max(state[n, c] * share, TINY)
            for value in range(n_values):
                v = np.uint64(value)
                p = state[n, here + v]
                slope[at, v] -= w * p
                bend[at, v] += w * (p - p * p)
        elif loss == SQUARED and n_values == n_classes and moves:
            for value in range(n_values):
                v = np.uint64(value)
                score = state[n, v] + move[by, v]
                state[n, v] = score
                slope[at, v] -= w * score
            bend[at, 0] += w
        else:
            if moves:
                for value in range(n_values):
                    v = np.uint64(value)
                    state[n, moved + v] += move[by, v]
            if loss == SQUARED:
                for value in range(n_values):
                    v = np.uint64(value)
                    slope[at, v] -= w * state[n, here + v]
                bend[at, 0] += w
            else:
                for value in range(n_values):
                    v = np.uint64(value)
                    gap = max(1.0 + state[n, here + v], 0.0)
                    slope[at, v] -= w * gap
                    bend[at, v] += w if gap > 0.0 or loss == BOUNDED_HINGE else 0.0
        if here <= target[n] < here + n_values:
            v = target[n] - here
            slope[at, v] += w
            if loss in (SQUARED_HINGE, BOUNDED_HINGE):
                # The loop above took the true class for one of the others.
                score = state[n, target[n]]
                slope[at, v] += w * (max(1.0 + score, 0.0) + max(1.0 - score, 0.0) - 1.0)
                if loss == SQUARED_HINGE:
                    bend[at, v] += w * ((1.0 if score < 1.0 else 0.0) - (1.0 if score > -1.0 else 0.0))


@compiled
def descend_many(
    leaf: Ids, first: Indices, column: Indices, state: Floats, target: Indices, weight: Floats, skip: Flags,
    used: Flags, table: Floats, anchor: Floats, curvature: Floats, loss: int, l2: float, group: float,
    largest: float, damping: float, grid: Floats
) -> None:  # fmt: skip
    """Make one pass over the trees where rows have a number for each class, and leaves one for each or for one."""
    n_trees, n_rows = leaf.shape
    n_classes, n_values = state.shape[1], table.shape[1]
    most = np.diff(first).max()
    move = np.full((most, n_values), 1.0 if loss == LOGISTIC else 0.0)
    slope, bend, step = np.empty((most, n_values)), np.empty((most, n_values)), np.empty((most, n_values))
    before, moved = np.uint64(0), column[0]
    for tree in range(n_trees):
        k = np.uint64(tree)
        here = column[k]
        slope[:] = 0.0
        bend[:] = 0.0
        sweep_many(leaf, before, k, moved, here, move, state, target, weight, skip, loss, slope, bend)
        leaves = slice(first[k], first[k + 1])
        size = first[k + 1] - first[k]
        of_tree = (table[leaves], anchor[leaves], slope[:size], bend[:size], used[leaves])
        of_grid = grid[here : here + np.uint64(n_values)]
        step_tree(*of_tree, loss, n_classes, l2, group, largest, damping, of_grid, step, move)
        curvature[leaves] = bend[:size]
        before, moved = k, here
    for row in range(n_rows):
        n = np.uint64(row)
        if skip.size > 0 and skip[before, n]:
            continue
        for value in range(n_values):
            v = np.uint64(value)
            last = move[leaf[before, n], v]
            at_last = state[n, moved + v]
            state[n, moved + v] = max(at_last * last, TINY) if loss == LOGISTIC else at_last + last
