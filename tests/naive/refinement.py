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
