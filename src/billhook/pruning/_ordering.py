"""Grow the sub-ensemble greedily: each function returns the trees in the order in which they come in."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.kernels import add_tree, best_addition, largest_area
from billhook.pruning._evaluation import EvaluatedTrees
from billhook.pruning._ranking import kappa_matrix

Order = NDArray[np.int64]


def in_order(scores: NDArray[Any]) -> Order:
    """Return the indices from the smallest score to the largest.

    Scores that differ by rounding only count as equal, and of equal ones the lower index comes first.
    """
    if scores.dtype.kind == "f":
        if np.isnan(scores).any():
            raise ValueError(f"the score of tree {int(np.isnan(scores).argmax())} is not a number")
        largest = np.abs(scores[np.isfinite(scores)]).max(initial=1e-300)
        scores = np.round(scores / largest, 12)
    return np.argsort(scores, kind="stable")


class _Growing:
    """A sub-ensemble that grows: the sums of its trees' probabilities, and who is left."""

    def __init__(self, evaluated: EvaluatedTrees, n_trees: int) -> None:
        self.evaluated = evaluated
        self.n_trees = n_trees
        self.score = np.zeros((evaluated.n_rows, evaluated.n_classes))
        self.order: list[int] = []
        self.left = evaluated.all_trees
        value = evaluated.value
        # By how much one tree can change the difference of two classes, and a little for rounding.
        self.swing = float((value.max(axis=1) - value.min(axis=1)).max()) * (1 + 1e-9) + 1e-9

    def add(self, tree: int) -> None:
        evaluated = self.evaluated
        add_tree(evaluated.leaf[tree], evaluated.leaf_value(tree), self.score)
        self.order.append(tree)
        self.left = self.left[self.left != tree]
        evaluated.report_progress(len(self.order), self.n_trees)

    def best_of(self, candidates: NDArray[np.int64]) -> int:
        evaluated = self.evaluated
        return best_addition(
            self.score,
            evaluated.y,
            evaluated.weight,
            self.swing,
            candidates,
            evaluated.leaf,
            evaluated.forest.offset,
            evaluated.value,
        )

    @property
    def predicted(self) -> NDArray[Any]:
        return np.asarray(self.score.argmax(axis=1), self.evaluated.votes.dtype)


def reduced_error(evaluated: EvaluatedTrees, n_trees: int) -> Order:
    """Add the tree that leaves the smallest error (Margineantu and Dietterich 1997), by soft voting.

    For regression, the smallest squared error of the mean.
    """
    if evaluated.forest.classes is None:
        return _reduced_squared_error(evaluated, n_trees)
    grown = _Growing(evaluated, n_trees)
    while len(grown.order) < n_trees:
        grown.add(grown.best_of(grown.left))
    return np.array(grown.order)


def complementariness(evaluated: EvaluatedTrees, n_trees: int) -> Order:
    """Start from the most accurate tree; add the one right on most rows that the others get wrong.

    Martínez-Muñoz and Suárez 2004. For regression there is no right and wrong: what complements the others best is
    what lowers their squared error most, which is `reduced_error`.
    """
    if evaluated.forest.classes is None:
        return _reduced_squared_error(evaluated, n_trees)
    grown = _Growing(evaluated, n_trees)
    grown.add(int(evaluated.n_right.argmax()))
    while len(grown.order) < n_trees:
        wrong = grown.predicted != evaluated.y
        # Right there and nowhere else is what is counted: 2 matches nothing.
        wanted = np.where(wrong, 1, 2).astype(np.uint8)
        matches = evaluated.matches(evaluated.right, wanted, grown.left)
        grown.add(int(grown.left[matches.argmax()]))
    return np.array(grown.order)


def _reduced_squared_error(evaluated: EvaluatedTrees, n_trees: int) -> Order:
    """Of the residuals only their products with one another are needed: the squared error is a sum of them."""
    products = evaluated.residual_products
    with_chosen = np.zeros(evaluated.n_trees)
    left = evaluated.all_trees
    order: list[int] = []
    while len(order) < n_trees:
        tree = int(left[in_order((2.0 * with_chosen + np.diagonal(products))[left])[0]])
        order.append(tree)
        with_chosen += products[tree]
        left = left[left != tree]
    return np.array(order)


def drep(evaluated: EvaluatedTrees, n_trees: int, *, rho: float = 0.4) -> Order:
    """Of the share `rho` of trees that agree least with the others, add the one that leaves the smallest error.

    DREP, Li, Yu and Zhou 2012.
    """
    if not 0.0 < rho <= 1.0:
        raise ValueError(f"rho must be above 0 and at most 1, not {rho}")
    grown = _Growing(evaluated, n_trees)
    grown.add(int(evaluated.n_right.argmax()))
    while len(grown.order) < n_trees:
        agree = evaluated.matches(evaluated.votes, grown.predicted, grown.left)
        n_kept = math.ceil(rho * grown.left.size)
        most_diverse = np.sort(grown.left[in_order(agree)[:n_kept]])
        grown.add(grown.best_of(most_diverse))
    return np.array(grown.order)


def ensemble_auc(evaluated: EvaluatedTrees, n_trees: int) -> Order:
    """Add the tree that gives the largest area under the ROC curve, the mean over classes against the rest.

    Scores are counted in 8,192 equal bins, and those in one bin count as equal.
    """
    grown = _Growing(evaluated, n_trees)
    while len(grown.order) < n_trees:
        grown.add(
            largest_area(
                grown.score,
                evaluated.y,
                evaluated.weight,
                grown.left,
                evaluated.leaf,
                evaluated.forest.offset,
                evaluated.value,
            )
        )
    return np.array(grown.order)


def margin_distance(evaluated: EvaluatedTrees, n_trees: int, *, p: float = 0.075) -> Order:
    """Add the tree that brings the mean signature nearest to the point with all coordinates p.

    Martínez-Muñoz and Suárez 2004. All that is needed of the signatures is their products with one another.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"p must lie between 0 and 1, not {p}")
    right, total = evaluated.n_right, evaluated.total_weight
    length = 2.0 * right - total
    products = 4.0 * evaluated.both_right - 2.0 * right[:, None] - 2.0 * right + total
    with_chosen = np.zeros(evaluated.n_trees)
    left = evaluated.all_trees
    order: list[int] = []
    while len(order) < n_trees:
        size = len(order) + 1
        # |(A + c)/size - p|^2, times size^2 / 2, without what is the same for every c
        distance = with_chosen[left] - p * size * length[left]
        tree = int(left[in_order(distance)[0]])
        order.append(tree)
        with_chosen += products[tree]
        left = left[left != tree]
    return np.array(order)


def kappa(evaluated: EvaluatedTrees, n_trees: int, *, pairing: str = "pairs") -> Order:
    """Take pairs of trees from the least agreeing on (Margineantu and Dietterich 1997).

    With ``pairing="min"`` trees are taken by their smallest kappa to any other.
    """
    if pairing not in ("pairs", "min"):
        raise ValueError(f"pairing must be 'pairs' or 'min', not {pairing!r}")
    agreement = kappa_matrix(evaluated)
    if evaluated.n_trees == 1:
        return np.zeros(1, np.int64)
    if pairing == "min":
        np.fill_diagonal(agreement, np.inf)
        return in_order(agreement.min(axis=1))[:n_trees]
    first, second = np.triu_indices(evaluated.n_trees, 1)
    pairs = in_order(agreement[first, second])
    both = np.stack([first[pairs], second[pairs]], axis=1).ravel()
    _, appearance = np.unique(both, return_index=True)
    return both[np.sort(appearance)][:n_trees].astype(np.int64)


def ordering(
    evaluated: EvaluatedTrees, n_trees: int, *, score: Callable[[NDArray[np.float64], NDArray[Any]], float]
) -> Order:
    """Add the tree for which the caller's own function says most of the (rows, classes) mean probabilities and y."""
    grown = _Growing(evaluated, n_trees)
    while len(grown.order) < n_trees:
        size = len(grown.order) + 1
        scores = [
            score((grown.score + evaluated.leaf_value(tree)[evaluated.leaf[tree]]) / size, evaluated.y)
            for tree in grown.left
        ]
        grown.add(int(grown.left[in_order(-np.array(scores))[0]]))
    return np.array(grown.order)
