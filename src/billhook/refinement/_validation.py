"""Whether a refined forest is better than it was, on held-out rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.refinement._coordinate_descent import Descent, Pass
from billhook.refinement._losses import Loss, as_state, row_losses
from billhook.refinement._problem import Problem
from billhook.refinement._sgd import GradientDescent


class HeldOutRows:
    """The held-out rows: their leaves, targets and weights."""

    def __init__(
        self,
        problem: Problem,
        by_tree: NDArray[Any],
        y: NDArray[Any],
        weight: Vector,
        held_out: NDArray[np.bool_],
        loss: Loss,
        width: float,
    ) -> None:
        self.problem, self.by_tree, self.loss, self.width = problem, by_tree, loss, width
        self.rows = np.flatnonzero(held_out)
        self.y = y[self.rows]
        self.target = problem.targets(self.y, loss)
        self.weight = weight[self.rows] if weight[self.rows].any() else np.ones(self.rows.size)

    def score(self, solver: Descent | GradientDescent, now: Pass) -> "ValidationScore":
        """Return how good the leaf values are on these rows after a pass."""
        if isinstance(solver, Descent):
            state = solver.state[self.rows]
        else:
            state = as_state(self.loss, self.problem.scores(self.by_tree, self.rows, now.value, now.tree_weight))
        of_rows = row_losses(self.loss, state, self.target, self.width)
        mean = float(np.average(of_rows, weights=self.weight))
        if self.problem.forest.classes is None:
            square = float(np.average((state[:, 0] - self.y) ** 2, weights=self.weight))
            return ValidationScore((mean, mean), square, of_rows)
        if state.shape[1] > 1:
            winner = state.argmax(axis=1)
        else:
            tie = 1.0 if self.loss.is_log else 0.0  # exp(0), or 0
            is_last = self.problem.forest.ties == "last"
            winner = (state[:, 0] >= tie if is_last else state[:, 0] > tie).astype(np.int64)
        wrong = (winner != self.y).astype(np.float64)
        error = float(np.average(wrong, weights=self.weight))
        return ValidationScore((error, mean), error, wrong)

    def gain_in_standard_errors(self, before: "ValidationScore", after: "ValidationScore") -> float:
        """Return how many standard errors the rows' losses, or the number of wrong ones, have fallen by."""
        gain = self.weight * (before.of_rows - after.of_rows)
        spread = float(np.sqrt((gain**2).sum()))
        return float(gain.sum()) / spread if spread > 0.0 else 0.0


class ValidationScore(NamedTuple):
    """How good leaf values are on the held-out rows: smaller is better."""

    score: tuple[float, float]  # share of wrong classes and mean loss; for regression the mean loss twice
    error: float  # the same for every loss refined for: share of wrong classes, or mean squared error
    of_rows: Vector  # what the score is the mean of


def were_trained_on(problem: Problem, by_tree: NDArray[Any], n_own: int) -> bool:
    """Return whether the first `n_own` rows, of (trees, rows) leaf numbers, are the forest's training rows.

    They are if every leaf has at least as many of them as it had training rows, and no tree, which may have seen a
    sample only, many fewer: many other rows would fill the leaves too.
    """
    forest = problem.forest
    if 2 * forest.n_rows[forest.offset[:-1]].max() < n_own:
        return False
    trained = forest.n_rows[problem.is_leaf]
    for tree, ids in enumerate(by_tree):
        begin, end = problem.first[tree : tree + 2].astype(np.int64)
        if (np.bincount(ids[:n_own], minlength=end - begin) < trained[begin:end]).any():
            return False
    return bool(trained.any())


def values_without_holdout(problem: Problem, by_tree: NDArray[Any], y: NDArray[Any], weight: Vector) -> Vector | None:
    """Return the values that the leaves of a random forest would have had without the rows of weight 0.

    They are the means of the other rows. Leaf values learned from the held-out rows too would make the forest look
    better, as it was, than it is. For other kinds of forests they cannot be computed so easily: None.
    """
    forest = problem.forest
    if not forest.averages or forest.link != "identity" or forest.refined:
        return None
    if problem.value.shape[1] != problem.base.size or problem.base.any():
        return None
    values = problem.value.copy()
    n_classes = problem.base.size
    for tree, ids in enumerate(by_tree):
        begin, end = problem.first[tree : tree + 2].astype(np.int64)
        total = np.bincount(ids, weight, end - begin)
        if n_classes > 1:
            sums = np.bincount(ids * np.int64(n_classes) + y, weight, (end - begin) * n_classes)
        else:
            sums = np.bincount(ids, weight * (y if forest.classes is None else 2.0 * y - 1.0), end - begin)
        has_rows = total > 0.0
        values[begin:end][has_rows] = (sums.reshape(-1, n_classes) / np.maximum(total, 1e-300)[:, None])[has_rows]
    return values
