"""Score every tree once, keep the best.

Each function returns one number a tree; the smaller, the better. Ties go to the lower index.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.kernels import add_tree, sum_by_leaf_and_class, sum_by_vote, sum_of_products
from billhook.pruning._evaluation import EvaluatedTrees

TreeScores = NDArray[Any]


def individual_error(evaluated: EvaluatedTrees) -> TreeScores:
    """Return the weight of the rows each tree gets wrong; its squared error for regression."""
    return evaluated.error


def individual_contribution(evaluated: EvaluatedTrees) -> TreeScores:
    """Return minus the individual contribution of each tree (Lu et al. 2010).

    A right vote counts more in the minority than in the majority; a wrong one counts against the tree, the more, the
    more trees are wrong with it.
    """
    counts = evaluated.vote_counts
    every = np.arange(evaluated.n_rows)
    majority = counts.argmax(axis=1)
    ranked = np.sort(counts, axis=1)
    top = ranked[:, -1]
    second = ranked[:, -2] if evaluated.n_classes > 1 else np.zeros_like(top)
    # What a vote for class c on row n is worth.
    worth = counts[every, evaluated.y][:, None] - counts - top[:, None]
    in_majority = majority == evaluated.y
    worth[every, evaluated.y] = np.where(in_majority, second, 2 * top - counts[every, evaluated.y])
    # Whole numbers, and exact ones.
    return -_sum_of_votes(evaluated, (evaluated.weight[:, None] * worth).astype(np.float64)).astype(np.int64)


def _sum_of_votes(evaluated: EvaluatedTrees, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each tree, the sum over the rows of what its vote is worth, of (rows, classes)."""
    sums = np.empty(evaluated.n_trees)
    sum_by_vote(evaluated.votes, worth, sums)
    return sums


def reference_vector(evaluated: EvaluatedTrees) -> TreeScores:
    """Return minus the cosine, scaled, between each tree's signature and the reference vector.

    Orientation ordering (Martínez-Muñoz and Suárez 2006): the signature of a tree is +1 where it is right and -1
    where it is wrong; the reference is the part of (1, ..., 1) that is perpendicular to the mean signature. With
    a = the sum of a signature and g = its product with the sum of all signatures, the cosine is proportional to
    a sum(g) - sum(a) g, which is exact in whole numbers.
    """
    right, both = evaluated.n_right, evaluated.both_right
    total = evaluated.total_weight
    along_diagonal = 2.0 * right - total
    products = 4.0 * both - 2.0 * right[:, None] - 2.0 * right + total
    along_mean = products.sum(axis=1)
    if along_mean.sum() == 0.0:
        return np.asarray(-along_diagonal)
    return np.asarray(along_diagonal.sum() * along_mean - along_diagonal * along_mean.sum())


def error_ambiguity(evaluated: EvaluatedTrees) -> TreeScores:
    """Return each tree's loss minus its ambiguity, its squared distance to the mean (Jiang et al. 2017)."""
    n_classes = evaluated.n_classes
    mean = np.zeros((evaluated.n_rows, n_classes))
    for tree in range(evaluated.n_trees):
        add_tree(evaluated.leaf[tree], evaluated.leaf_value(tree), mean)
    mean /= evaluated.n_trees
    others = max(n_classes - 1, 1)
    scores = np.empty(evaluated.n_trees)
    for tree in range(evaluated.n_trees):
        p, leaf = evaluated.leaf_value(tree), evaluated.leaf[tree]
        of_true = np.exp(-p / n_classes) / n_classes**2
        of_other = np.exp(p / (n_classes * others)) / (n_classes * others) ** 2
        loss = of_true + of_other.sum(axis=1, keepdims=True) - of_other
        # (p - mean)^2 = p^2 - 2 p mean + mean^2
        squares = np.broadcast_to((p * p).sum(axis=1, keepdims=True), p.shape)
        scores[tree] = sum_by_leaf_and_class(leaf, evaluated.y, evaluated.weight, loss - squares)
        scores[tree] += 2.0 * sum_of_products(leaf, p, mean, evaluated.weight)
    return scores - float((evaluated.weight[:, None] * mean * mean).sum())


def margin_diversity(evaluated: EvaluatedTrees, *, alpha: float = 0.2) -> TreeScores:
    """Return the margin and diversity measure of each tree (Guo et al. 2018): a sum over the rows it gets right."""
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    counts = evaluated.vote_counts
    every = np.arange(evaluated.n_rows)
    of_true = counts[every, evaluated.y]
    others = counts.copy()
    others[every, evaluated.y] = 0
    margin = np.maximum(np.abs(of_true - others.max(axis=1)), 1) / evaluated.n_trees
    # Where no tree votes for the true class, none is right, and the row counts for none.
    term = alpha * np.log(margin) + (1.0 - alpha) * np.log(np.maximum(of_true, 1) / evaluated.n_trees)
    worth = np.zeros(counts.shape)
    worth[every, evaluated.y] = evaluated.weight * term
    return _sum_of_votes(evaluated, worth)


def individual_auc(evaluated: EvaluatedTrees) -> TreeScores:
    """Return minus the area under the ROC curve of each tree, the mean over classes against the rest."""
    scores = np.empty(evaluated.n_trees)
    for tree in range(evaluated.n_trees):
        value = evaluated.leaf_value(tree)
        key = evaluated.leaf[tree].astype(np.int64) * evaluated.n_classes + evaluated.y
        rows = np.bincount(key, weights=evaluated.weight, minlength=value.size).reshape(value.shape)
        scores[tree] = -_mean_auc(value, rows)
    return scores


def _mean_auc(score: NDArray[np.float64], rows: NDArray[Any]) -> float:
    """Return the mean area over the classes that both have rows and leave some; `rows` counts by score and class."""
    reached = rows.any(axis=1)
    score, rows = score[reached].T, rows[reached].T
    order = np.argsort(score, axis=1)
    score = np.take_along_axis(score, order, 1)
    positive = np.take_along_axis(rows, order, 1)
    negative = rows.sum(axis=0)[order] - positive
    up_to = np.cumsum(negative, axis=1)
    # Of scores that are equal, all have the same rows below them, and the same up to them.
    differs = score[:, 1:] != score[:, :-1]
    below = up_to - negative
    below[:, 1:] = np.maximum.accumulate(np.where(differs, below[:, 1:], 0.0), axis=1)
    up_to[:, :-1] = np.where(differs, up_to[:, :-1], np.inf)
    up_to = np.minimum.accumulate(up_to[:, ::-1], axis=1)[:, ::-1]
    won = (positive * ((below + up_to) / 2)).sum(axis=1)
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return float(np.mean(won[pairs > 0] / pairs[pairs > 0])) if pairs.any() else 0.5


def ranking(evaluated: EvaluatedTrees, *, score: Callable[[NDArray[np.float64], NDArray[Any]], float]) -> TreeScores:
    """Return minus what the caller's own function says of each tree, from its (rows, classes) probabilities and y."""
    n_classes = evaluated.n_classes
    scores = np.empty(evaluated.n_trees)
    for tree in range(evaluated.n_trees):
        scores[tree] = score(evaluated.leaf_value(tree)[evaluated.leaf[tree]].reshape(-1, n_classes), evaluated.y)
    return -scores


def kappa_matrix(evaluated: EvaluatedTrees) -> NDArray[np.float64]:
    """Return Cohen's kappa of the votes of every two trees; 1 for two that both always vote for the same class."""
    total = evaluated.total_weight
    agree = evaluated.agreement(evaluated.votes).astype(np.float64)
    by_chance = np.zeros_like(agree)
    for c in range(evaluated.n_classes):
        of_class = np.full(evaluated.n_rows, c, evaluated.votes.dtype)
        share = evaluated.matches(evaluated.votes, of_class, evaluated.all_trees).astype(np.float64)
        by_chance += share[:, None] * share
    beyond = float(total) ** 2 - by_chance
    return np.asarray(np.divide(total * agree - by_chance, beyond, out=np.ones_like(agree), where=beyond > 0))
