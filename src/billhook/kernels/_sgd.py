"""Stochastic gradient descent on leaf values and tree weights (Buschjäger and Morik 2022, Algorithm 2)."""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled

SQUARED, LOGISTIC, SQUARED_HINGE, ABSOLUTE, HUBER, POISSON = range(6)


@compiled
def shuffle(order: NDArray[np.uint32], seed: int) -> None:
    """Put the numbers into a random order, in place: Fisher and Yates with the generator splitmix64."""
    state = np.uint64(seed)
    for i in range(order.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        j = ((z >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32)
        order[i], order[j] = order[j], order[i]


@compiled
def loss_and_slope(loss: int, score: float, target: float, width: float) -> tuple[float, float]:
    """Return a row's loss, half of it for the squares, and minus its slope by the score."""
    if loss == SQUARED:
        error = target - score
        return 0.5 * error * error, error
    if loss == LOGISTIC:
        small = np.exp(-abs(score))  # cannot overflow
        p = 1.0 / (1.0 + small) if score > 0.0 else small / (1.0 + small)
        return np.log(1.0 + small) + max(score, 0.0) - target * score, target - p
    if loss == SQUARED_HINGE:
        gap = max(1.0 - target * score, 0.0)
        return 0.5 * gap * gap, target * gap
    if loss == POISSON:
        mean = np.exp(score)
        return mean - target * score, target - mean
    error = target - score
    if loss == ABSOLUTE:
        return abs(error), np.sign(error)
    if abs(error) <= width:
        return 0.5 * error * error, error
    return width * (abs(error) - 0.5 * width), np.sign(error) * width


@compiled
def row_gradient(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    base: float,
    rows: NDArray[np.uint32],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    tree_weight: NDArray[np.float64],
    table: NDArray[np.float64],
    loss: int,
    width: float,
    rate: float,
    gradient: NDArray[np.float64],
) -> float:
    """Write each row's gradient, rate times minus the slope of its loss by its score; return the loss."""
    whole_loss = 0.0
    n_trees = leaf.shape[1]
    whole = n_trees - n_trees % 4
    for i in range(rows.size):
        n = rows[i]
        # Four sums abreast: one alone waits for each addition.
        a = b = c = d = 0.0
        for tree in range(0, whole, 4):
            k0, k1, k2, k3 = np.uint64(tree), np.uint64(tree + 1), np.uint64(tree + 2), np.uint64(tree + 3)
            a += tree_weight[k0] * table[first[k0] + leaf[n, k0], 0]
            b += tree_weight[k1] * table[first[k1] + leaf[n, k1], 0]
            c += tree_weight[k2] * table[first[k2] + leaf[n, k2], 0]
            d += tree_weight[k3] * table[first[k3] + leaf[n, k3], 0]
        for tree in range(whole, n_trees):
            k0 = np.uint64(tree)
            a += tree_weight[k0] * table[first[k0] + leaf[n, k0], 0]
        score = base + ((a + b) + (c + d))
        of_row, slope = loss_and_slope(loss, score, target[n], width)
        whole_loss += weight[n] * of_row
        gradient[i, 0] = rate * weight[n] * slope
    return whole_loss


@compiled
def class_gradients(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    base: NDArray[np.float64],
    rows: NDArray[np.uint32],
    target: NDArray[np.uint64],
    weight: NDArray[np.float64],
    tree_weight: NDArray[np.float64],
    table: NDArray[np.float64],
    n_classes: int,
    loss: int,
    rate: float,
    gradient: NDArray[np.float64],
) -> float:
    """Write the gradients of these rows by each of their scores; columns from `n_classes` on are padding."""
    whole_loss = 0.0
    n_trees, n_values = leaf.shape[1], table.shape[1]
    for i in range(rows.size):
        n, r = rows[i], np.uint64(i)
        for c in range(base.size):
            gradient[i, c] = base[c]
        if n_values == base.size:
            # Two trees at once, which halves the reading and writing of the sums.
            for tree in range(0, n_trees - n_trees % 2, 2):
                k, k1 = np.uint64(tree), np.uint64(tree + 1)
                at, w = first[k] + leaf[n, k], tree_weight[k]
                at1, w1 = first[k1] + leaf[n, k1], tree_weight[k1]
                for value in range(n_values):
                    v = np.uint64(value)
                    gradient[r, v] += w * table[at, v] + w1 * table[at1, v]
            if n_trees % 2 == 1:
                k = np.uint64(n_trees - 1)
                at, w = first[k] + leaf[n, k], tree_weight[k]
                for value in range(n_values):
                    v = np.uint64(value)
                    gradient[r, v] += w * table[at, v]
        else:
            for tree in range(n_trees):
                k = np.uint64(tree)
                gradient[r, column[k]] += tree_weight[k] * table[first[k] + leaf[n, k], 0]
        scale, of_row = rate * weight[n], 0.0
        if loss == LOGISTIC:
            highest = gradient[r, 0]
            for c in range(1, n_classes):
                highest = max(highest, gradient[r, c])
            total, of_row = 0.0, highest - gradient[r, target[n]]
            for c in range(n_classes):
                gradient[r, c] = np.exp(gradient[r, c] - highest)
                total += gradient[r, c]
            of_row += np.log(total)
            for c in range(n_classes):
                gradient[r, c] *= -scale / total
            gradient[r, target[n]] += scale
        elif loss == SQUARED:
            for c in range(n_classes):
                of_row += 0.5 * gradient[r, c] * gradient[r, c]
                gradient[r, c] *= -scale
            of_row += 0.5 + gradient[r, target[n]] / scale if scale > 0.0 else 0.0
            gradient[r, target[n]] += scale
        else:
            for c in range(n_classes):
                sign = 1.0 if c == target[n] else -1.0
                gap = max(1.0 - sign * gradient[r, c], 0.0)
                of_row += 0.5 * gap * gap
                gradient[r, c] = scale * sign * gap
        whole_loss += weight[n] * of_row
    return whole_loss


@compiled
def scatter_add(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    tree_weight: NDArray[np.float64],
    gradient: NDArray[np.float64],
    table: NDArray[np.float64],
) -> None:
    """Add the gradients of these rows, times the tree's weight, to the values of the leaves they fall into.

    A leaf has a value for each column of the gradients, or one, for the tree's column.
    """
    n_values = table.shape[1]
    for i in range(rows.size):
        n, r = rows[i], np.uint64(i)
        if gradient.shape[1] == 1:
            only = gradient[r, 0]
            for tree in range(leaf.shape[1]):
                k = np.uint64(tree)
                table[first[k] + leaf[n, k], 0] += tree_weight[k] * only
        elif n_values == 1:
            for tree in range(leaf.shape[1]):
                k = np.uint64(tree)
                table[first[k] + leaf[n, k], 0] += tree_weight[k] * gradient[r, column[k]]
        else:
            for tree in range(leaf.shape[1]):
                k = np.uint64(tree)
                at, w = first[k] + leaf[n, k], tree_weight[k]
                for value in range(n_values):
                    v = np.uint64(value)
                    table[at, v] += w * gradient[r, v]


@compiled
def scatter_last(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    tree_weight: NDArray[np.float64],
    gradient: NDArray[np.float64],
    table: NDArray[np.float64],
    step_of: NDArray[np.int64],
    step: int,
) -> None:
    """Do as `scatter_add`, but of the rows that fall into a leaf only the last one counts.

    `step_of` each leaf is the number of the step that has changed it last; `step` is larger than all of them.
    """
    n_values = table.shape[1]
    for i in range(rows.size - 1, -1, -1):
        n, r = rows[i], np.uint64(i)
        for tree in range(leaf.shape[1]):
            k = np.uint64(tree)
            at, w = first[k] + leaf[n, k], tree_weight[k]
            if step_of[at] == step:
                continue
            step_of[at] = step
            for value in range(n_values):
                v = np.uint64(value)
                table[at, v] += w * gradient[r, column[k] + v]


@compiled
def add_weight_gradient(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    gradient: NDArray[np.float64],
    table: NDArray[np.float64],
    by_tree: NDArray[np.float64],
) -> None:
    """Add to each tree the gradients of these rows times the values of the leaves they fall into."""
    for i in range(rows.size):
        n = rows[i]
        for tree in range(leaf.shape[1]):
            k = np.uint64(tree)
            at = first[k] + leaf[n, k]
            for value in range(table.shape[1]):
                by_tree[tree] += gradient[i, column[k] + np.uint64(value)] * table[at, np.uint64(value)]


@compiled
def adam(
    slope: NDArray[np.float64],
    mean: NDArray[np.float64],
    square: NDArray[np.float64],
    count: int,
    step_size: float,
    table: NDArray[np.float64],
) -> None:
    """Take one of Adam's steps (Kingma and Ba 2015, with their constants) up `slope`, in place; all arrays flat."""
    of_mean, of_square = 1.0 - 0.9**count, 1.0 - 0.999**count
    for i in range(slope.size):
        mean[i] = 0.9 * mean[i] + 0.1 * slope[i]
        square[i] = 0.999 * square[i] + 0.001 * slope[i] * slope[i]
        table[i] += step_size * (mean[i] / of_mean) / (np.sqrt(square[i] / of_square) + 1e-8)


@compiled
def sgd_epoch(
    leaf: NDArray[np.uint16],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    base: NDArray[np.float64],
    order: NDArray[np.uint32],
    target: NDArray[np.float64],
    label: NDArray[np.uint64],
    weight: NDArray[np.float64],
    tree_weight: NDArray[np.float64],
    table: NDArray[np.float64],
    moments: NDArray[np.float64],
    step_of: NDArray[np.int64],
    n_classes: int,
    loss: int,
    width: float,
    gain: float,
    step_size: float,
    batch_size: int,
    mean: bool,
    weight_step: float,
    weight_shrink: float,
    n_steps: int,
) -> tuple[float, int]:
    """Go once through the rows in this order, a step for each batch; change `table`, `tree_weight`, `moments`.

    `gain` turns the gradients by the score into those by a leaf's value. With `moments` (2, leaves,
    values), which are empty otherwise, the steps are Adam's. With `step_of` (leaves), which is empty otherwise, only
    the last row of a batch that falls into a leaf counts. Returns the loss, each row's before it is learned from,
    and `n_steps`, how many there were before, plus those taken.
    """
    gradient = np.zeros((batch_size, base.size))
    uses_adam = moments.size > 0
    slope = np.empty(table.shape if uses_adam else (0, 0))
    by_tree = np.empty(tree_weight.size)
    whole_loss = 0.0
    for begin in range(0, order.size, batch_size):
        rows = order[begin : begin + batch_size]
        rate = gain / rows.size if mean else gain
        if base.size == 1:
            whole_loss += row_gradient(
                leaf, first, base[0], rows, target, weight, tree_weight, table, loss, width, rate, gradient
            )
        else:
            whole_loss += class_gradients(
                leaf, first, column, base, rows, label, weight, tree_weight, table, n_classes, loss, rate, gradient
            )
        if weight_step > 0.0:
            by_tree[:] = 0.0
            add_weight_gradient(leaf, first, column, rows, gradient, table, by_tree)
        n_steps += 1
        if uses_adam:
            slope[:] = 0.0
            scatter_add(leaf, first, column, rows, tree_weight, gradient, slope)
            adam(slope.ravel(), moments[0].ravel(), moments[1].ravel(), n_steps, step_size, table.ravel())
        elif step_of.size > 0:
            gradient *= step_size
            scatter_last(leaf, first, column, rows, tree_weight, gradient, table, step_of, n_steps)
        else:
            gradient *= step_size
            scatter_add(leaf, first, column, rows, tree_weight, gradient, table)
        if weight_step > 0.0:
            # The mean over the batch, whatever the leaves take: a sum of so many rows leaps over the minimum.
            share = weight_step if mean else weight_step / rows.size
            for k in range(tree_weight.size):
                moved = tree_weight[k] + share * by_tree[k]
                tree_weight[k] = np.sign(moved) * max(abs(moved) - weight_shrink, 0.0)
    return whole_loss, n_steps
