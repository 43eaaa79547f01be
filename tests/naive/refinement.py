"""The solvers of refinement, one row and one leaf at a time, and the objective they minimise."""

import itertools
import math

import numpy as np


def refinement_target(forest, label):
    """Return what the scores of a row should be: one for its class and zero for others, or the number."""
    if forest.classes is None:
        return [float(label)]
    return [1.0 if c == label else 0.0 for c in forest.classes.tolist()]


def row_slope(loss, score, target):
    """Return the derivative of a row's loss by each of its scores, as on paper."""
    if loss == "mse":
        return [2.0 * (s - t) for s, t in zip(score, target, strict=True)]
    if loss == "cross_entropy":
        exp = [math.exp(s - max(score)) for s in score]
        return [e / sum(exp) - t for e, t in zip(exp, target, strict=True)]
    if loss == "absolute":
        return [float(np.sign(score[0] - target[0]))]
    signs = [2.0 * t - 1.0 for t in target]
    return [-2.0 * sign * max(0.0, 1.0 - sign * s) for s, sign in zip(score, signs, strict=True)]


def refine_by_gradient(forest, leaves, y, batches, step, loss, mean=False, learn_weights=False, last=False):
    """Return (value, tree_weight) after Algorithm 2 of Buschjäger and Morik 2022 on these batches of row numbers."""
    value = [[list(map(float, v)) for v in forest.value[a:b]] for a, b in itertools.pairwise(forest.offset)]
    weight = [float(w) for w in forest.tree_weight]
    n_values = forest.value.shape[1]
    for batch in batches:
        slopes = []
        for n in batch:
            score = [float(b) for b in forest.base]
            for k in range(forest.n_trees):
                for v in range(n_values):
                    score[forest.tree_column[k] + v] += weight[k] * value[k][leaves[n][k]][v]
            slopes.append(row_slope(loss, score, refinement_target(forest, y[n])))
        change = {}
        of_weight = [0.0] * forest.n_trees
        for n, slope in zip(batch, slopes, strict=True):
            for k in range(forest.n_trees):
                for v in range(n_values):
                    s = slope[forest.tree_column[k] + v]
                    at = (k, leaves[n][k], v)
                    change[at] = s * weight[k] if last else change.get(at, 0.0) + s * weight[k]
                    of_weight[k] += s * value[k][leaves[n][k]][v]
        for (k, leaf, v), total in change.items():
            value[k][leaf][v] -= step * (total / len(batch) if mean else total)
        if learn_weights:
            weight = [w - step * g / len(batch) for w, g in zip(weight, of_weight, strict=True)]
    return np.concatenate([np.array(v) for v in value]), np.array(weight)


def descend_once(forest, leaves, y, loss, l2, width=1.0, row_weight=None):
    """Return the leaf contributions (weight times value) after one pass of block coordinate descent.

    A forest with a value for either of two classes has one number a leaf, second minus first, as has the logistic
    link; else one for each class. Classes are drawn to zero, numbers to where they were.
    """
    pair = forest.value.shape[1] == 2
    table = forest.value * np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    base = forest.base
    if pair:
        table, base = table[:, 1:] - table[:, :1], base[1:] - base[:1]
    original, table, n_values = table, table.copy(), table.shape[1]
    score = np.tile(base, (len(y), 1)).astype(float)
    for n, k in itertools.product(range(len(y)), range(forest.n_trees)):
        c = forest.tree_column[k]
        score[n, c : c + n_values] += table[forest.offset[k] + leaves[n][k]]
    row_weight = np.ones(len(y)) if row_weight is None else row_weight
    for k in range(forest.n_trees):
        c0 = forest.tree_column[k]
        for leaf in sorted({ids[k] for ids in leaves}):
            rows = [n for n in range(len(y)) if leaves[n][k] == leaf]
            at = forest.offset[k] + leaf
            steps = []
            for v in range(n_values):
                slope = curvature = 0.0
                for n in rows:
                    g, h = newton_of_row(forest, loss, score[n], y[n], c0 + v, width)
                    slope += row_weight[n] * g
                    curvature += row_weight[n] * h
                if loss == "cross_entropy" and n_values > 1:
                    curvature *= n_values / (n_values - 1)  # Friedman's factor: the classes move together
                pull = table[at, v] - (original[at, v] if forest.classes is None else 0.0)
                step = (slope - l2 * pull) / (curvature + l2)
                steps.append(min(max(step, -2.0), 2.0) if loss in ("cross_entropy", "poisson") else step)
            table[at] += steps
            for n in rows:
                score[n, c0 : c0 + n_values] += steps
    return table


def newton_of_row(forest, loss, score, label, column, width):
    """Return minus the slope and the curvature (or bound of it) of half the squares, and of the other losses."""
    s = score[column]
    if forest.classes is not None and score.size == 1:
        true = label == forest.classes[1]
        target = float(true) if loss == "cross_entropy" else 2.0 * true - 1.0
    elif forest.classes is not None:
        true = label == forest.classes[column]
        target = 2.0 * true - 1.0 if loss == "squared_hinge" else float(true)
    else:
        target = float(label)
    if loss == "cross_entropy":
        p = 1.0 / (1.0 + math.exp(-s)) if score.size == 1 else math.exp(s) / sum(math.exp(other) for other in score)
        return target - p, p * (1.0 - p)
    if loss == "poisson":
        return target - math.exp(s), math.exp(s)
    if loss == "mse":
        return target - s, 1.0
    if loss == "squared_hinge":
        gap = 1.0 - target * s
        return (target * gap, 1.0) if gap > 0.0 else (0.0, 0.0)
    error = target - s
    if loss == "huber" and abs(error) <= width:
        return error, 1.0
    curvature = width / max(abs(error), width * 1e-3)  # absolute errors count times the width
    if loss.startswith("quantile_"):  # the pinball loss twice that: |error| + (2 quantile - 1) error
        return error * curvature + width * (2.0 * float(loss.removeprefix("quantile_")) - 1.0), curvature
    return error * curvature, curvature


def objective(start, forest, X, y, loss, l2, shrink_to=None, penalty=None, strength=0.0):
    """Return what block coordinate descent minimises: half the squares, or the other losses, and the penalties."""

    def table(of):
        values = of.value * np.repeat(of.tree_weight, np.diff(of.offset))[:, None]
        values = values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values
        return np.where(of.feature[:, None] < 0, values, 0.0)

    raw = forest.decision_function(X).reshape(len(y), -1)
    raw = raw[:, 1:] - raw[:, :1] if raw.shape[1] == 2 else raw
    if start.classes is None:
        target = y[:, None].astype(float)
        error = np.abs(target - raw)
        first = np.abs(start.decision_function(X) - y)
        if loss == "huber":
            width = np.quantile(first, 0.9, method="inverted_cdf")
            losses = np.where(error <= width, error**2 / 2, width * (error - width / 2))
        elif loss == "absolute":
            losses = error * np.quantile(first, 0.5, method="inverted_cdf")
        elif loss.startswith("quantile_"):
            share = float(loss.removeprefix("quantile_"))
            pinball = np.where(target > raw, share, 1.0 - share) * error
            losses = 2.0 * pinball * np.quantile(first, 0.5, method="inverted_cdf")
        elif loss == "poisson":
            losses = np.exp(raw) - target * raw
        else:
            losses = error**2 / 2
    else:
        one_hot = (y[:, None] == (start.classes[1:] if raw.shape[1] == 1 else start.classes)).astype(float)
        if loss == "cross_entropy" and raw.shape[1] == 1:
            losses = np.logaddexp(0.0, raw) - one_hot * raw
        elif loss == "cross_entropy":
            losses = np.logaddexp.reduce(raw, axis=1) - (one_hot * raw).sum(axis=1)
        elif loss == "squared_hinge":
            losses = np.maximum(1.0 - (2 * one_hot - 1) * raw, 0.0) ** 2 / 2
        else:
            losses = (raw - (2 * one_hot - 1 if raw.shape[1] == 1 else one_hot)) ** 2 / 2
    anchored = shrink_to == "original" or (shrink_to is None and start.classes is None and penalty is None)
    away = table(forest) - table(start) if anchored else table(forest)
    total = losses.sum() + l2 / 2 * (away**2).sum()
    if penalty is not None:
        of_tree = np.add.reduceat((table(forest) ** 2).sum(axis=1), forest.offset[:-1])
        total += strength * np.sqrt(of_tree).sum()
    return total


def row_losses(loss, score, target, width):
    """Return the loss of each row by its scores (rows, columns), as on paper; half of it for the squares."""
    if score.shape[1] > 1:
        own = np.eye(score.shape[1])[target.astype(int)]
        if loss == "cross_entropy":
            return np.logaddexp.reduce(score, axis=1) - (own * score).sum(axis=1)
        if loss == "mse":
            return ((score - own) ** 2).sum(axis=1) / 2
        return (np.maximum(1.0 - (2.0 * own - 1.0) * score, 0.0) ** 2).sum(axis=1) / 2
    s, error = score[:, 0], np.abs(target - score[:, 0])
    if loss.startswith("quantile_"):
        share = float(loss.removeprefix("quantile_"))
        return np.where(target > s, share, 1.0 - share) * error
    return {
        "cross_entropy": lambda: np.logaddexp(0.0, np.where(target > 0.0, -s, s)),
        "poisson": lambda: np.exp(s) - target * s,
        "squared_hinge": lambda: np.maximum(1.0 - target * s, 0.0) ** 2 / 2,
        "absolute": lambda: error,
        "huber": lambda: np.where(error <= width, error**2 / 2, width * (error - width / 2)),
        "mse": lambda: error**2 / 2,
    }[loss]()


def descend_table(rows, table, loss, *, l2, largest=math.inf, width=1.0, damping=1.0, grid=None):
    """Return (table, curvature, scores) after one pass over flat tables, row by row and leaf by leaf.

    `rows` has leaf (trees, rows), first, column, score (rows, columns), target, weight, skip (trees, rows) and used.
    """
    score, table = rows.score.copy(), table.copy()
    curvature = np.zeros_like(table)
    n_values, n_classes = table.shape[1], score.shape[1]
    for k, ids in enumerate(rows.leaf):
        columns = slice(int(rows.column[k]), int(rows.column[k]) + n_values)
        slope = np.zeros_like(table)
        for n, leaf in enumerate(ids):
            if not rows.skip[k, n]:
                g, h = slopes_of_row(loss, score[n], rows.target[n], width)
                at = int(rows.first[k]) + int(leaf)
                slope[at] += rows.weight[n] * g[columns]
                curvature[at] += rows.weight[n] * h[columns]
        for at in range(int(rows.first[k]), int(rows.first[k + 1])):
            if loss == "cross_entropy" and n_values > 1:
                curvature[at] *= n_classes / (n_classes - 1)
            wanted = (slope[at] - l2 * table[at]) / (curvature[at] + l2 + 1e-10)  # so that it is above 0
            step = damping * np.clip(wanted, -largest, largest) * rows.used[at]
            if grid is not None:
                units = np.clip(np.rint((table[at] + step) / grid[columns, 0]), grid[columns, 1], grid[columns, 2])
                step = units * grid[columns, 0] - table[at]
            table[at] += step
            for n in np.flatnonzero((ids == at - int(rows.first[k])) & ~rows.skip[k]):
                score[n, columns] += step
    return table, curvature, score


def slopes_of_row(loss, score, target, width):
    """Return minus the slopes and the curvatures of a row's loss by its scores."""
    if score.size > 1:
        own = np.eye(score.size)[int(target)]
        p = np.exp(score - np.logaddexp.reduce(score))
        gap = np.maximum(1.0 - (2.0 * own - 1.0) * score, 0.0)
        return {
            "cross_entropy": (own - p, p * (1.0 - p)),
            "mse": (own - score, np.ones(score.size)),
            "squared_hinge": ((2.0 * own - 1.0) * gap, (gap > 0.0).astype(float)),
            "bounded_hinge": ((2.0 * own - 1.0) * gap, np.ones(score.size)),
        }[loss]
    p, gap, error = 1.0 / (1.0 + np.exp(-score)), np.maximum(1.0 - target * score, 0.0), target - score
    straight = width / np.maximum(np.abs(error), width * 1e-3)
    of_huber = np.where(np.abs(error) <= width, 1.0, straight)
    return {
        "cross_entropy": (target - p, p * (1.0 - p)),
        "poisson": (target - np.exp(score), np.exp(score)),
        "mse": (error, np.ones(1)),
        "squared_hinge": (target * gap, (gap > 0.0).astype(float)),
        "bounded_hinge": (target * gap, np.ones(1)),
        "absolute": (error * straight, straight),
        "huber": (error * of_huber, of_huber),
    }[loss]


def passes_test(forest, node, x):
    """Return whether a row goes left at a node."""
    number = x[forest.feature[node]]
    if math.isnan(number):
        return bool(forest.missing_left[node])
    which = forest.category_set[node]
    if which < 0:
        return bool(number <= forest.threshold[node])
    category, begin, end = (
        int(number) if -1 < number < 1 << 24 else -1,
        *map(int, forest.set_offset[which : which + 2]),
    )
    word = begin + category // 32
    return bool(category >= 0 and word < end and int(forest.set_bits[word]) >> category % 32 & 1)


def choose_splits(forest, X, target, loss, weight, width=1.0, least_gain=1e-9):
    """Return (a node that has the test, left, right) of all nodes after each split was chosen again.

    `target` is what the loss compares scores with: see `row_losses`.
    """
    pair = forest.value.shape[1] == 2
    table = forest.value * np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    base = forest.base
    if pair:
        table, base = table[:, 1:] - table[:, :1], base[1:] - base[:1]
    n_values = table.shape[1]
    known = {}
    matters = np.array([np.isnan(X[:, f]).any() for f in forest.feature])
    of_node = (forest.feature, forest.missing_left & matters, forest.category_set, forest.threshold)
    for node in np.flatnonzero(forest.feature >= 0):
        known.setdefault(tuple(each[node].item() for each in of_node), int(node))
    tests = [known[test] for test in sorted(known)]
    passes = {node: np.array([passes_test(forest, node, x) for x in X], bool) for node in tests}
    has = np.array([known.get(tuple(each[node].item() for each in of_node), -1) for node in range(forest.n_nodes)])
    left, right = forest.left.copy(), forest.right.copy()

    def leaf_of(begin, node, n):
        while has[begin + node] >= 0:
            node = (left if passes[has[begin + node]][n] else right)[begin + node]
        return begin + node

    def losses(tree, rows, leaves):
        score = np.tile(base, (len(rows), 1)).astype(float)
        for i, n in enumerate(rows):
            for k in range(forest.n_trees):
                leaf = leaves[i] if k == tree else leaf_of(forest.offset[k], 0, n)
                score[i, forest.tree_column[k] : forest.tree_column[k] + n_values] += table[leaf]
        return row_losses(loss, score, target[rows], width) * weight[rows]

    for tree, begin in enumerate(forest.offset[:-1]):
        reaching = {0: np.arange(len(X))}
        for node in range(forest.offset[tree + 1] - begin):
            if has[begin + node] >= 0:
                goes_left = passes[has[begin + node]][reaching[node]]
                reaching[left[begin + node]] = reaching[node][goes_left]
                reaching[right[begin + node]] = reaching[node][~goes_left]
        for node in reversed(range(forest.offset[tree + 1] - begin)):
            at, rows = begin + node, reaching[node]
            if has[at] < 0 or not rows.size:
                continue
            on_left = losses(tree, rows, [leaf_of(begin, left[at], n) for n in rows])
            on_right = losses(tree, rows, [leaf_of(begin, right[at], n) for n in rows])
            stake = least_gain * (np.abs(on_left) + np.abs(on_right)).sum()
            best = (np.where(passes[has[at]][rows], on_left, on_right).sum(), has[at], False)
            for test, is_turned in itertools.product(tests, (False, True)):
                total = np.where(passes[test][rows] != is_turned, on_left, on_right).sum()
                if total < best[0] - stake:
                    best = (total, test, is_turned)
            has[at] = best[1]
            if best[2]:
                left[at], right[at] = right[at], left[at]
    return has, left, right
