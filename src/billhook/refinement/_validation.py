"""Whether a refined forest is better than it was, on rows it did not learn from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.refinement._descent import Descent, Pass
from billhook.refinement._gradient import GradientDescent
from billhook.refinement._losses import Loss, row_losses
from billhook.refinement._problem import Problem

Vector = NDArray[np.float64]


class Judge:
    """The rows held out, and what should come out there."""

    def __init__(
        self,
        problem: Problem,
        leaf: NDArray[Any],
        y: NDArray[Any],
        weight: Vector,
        held_out: NDArray[np.bool_],
        loss: Loss,
        width: float,
    ) -> None:
        self.problem, self.leaf, self.loss, self.width = problem, leaf, loss, width
        self.rows = np.flatnonzero(held_out)
        self.y = y[self.rows]
        self.target = problem.targets(self.y, loss)
        self.weight = weight[self.rows] if weight[self.rows].any() else np.ones(self.rows.size)

    def losses(self, solver: Descent | GradientDescent, now: Pass) -> tuple[Vector, Vector]:
        """Return for each row whether its class is wrong (for regression the loss), and its loss."""
        raw = self._raw(solver, now)
        loss = row_losses(self.loss, self._state(raw), self.target, self.width)
        if self.problem.forest.classes is None:
            return loss, loss
        ties_last = self.problem.forest.ties == "last"
        if raw.shape[1] > 1:
            predicted = raw.argmax(axis=1)
        else:
            predicted = (raw[:, 0] >= 0.0 if ties_last else raw[:, 0] > 0.0).astype(np.int64)
        return (predicted != self.y).astype(np.float64), loss

    def mean(self, of_rows: Vector) -> float:
        """Return the weighted mean."""
        return float(np.average(of_rows, weights=self.weight))

    def surety(self, before: Vector, after: Vector) -> float:
        """Return how many standard errors the rows' losses have fallen by."""
        gain = self.weight * (before - after)
        spread = float(np.sqrt((gain**2).sum()))
        return float(gain.sum()) / spread if spread > 0.0 else 0.0

    def _state(self, raw: Vector) -> Vector:
        if not self.loss.is_log:
            return raw
        shift = raw.max(axis=1, keepdims=True) if raw.shape[1] > 1 else 0.0
        return np.asarray(np.exp(np.clip(raw - shift, -600.0, 600.0)))

    def _raw(self, solver: Descent | GradientDescent, now: Pass) -> Vector:
        problem = self.problem
        if isinstance(solver, Descent):
            state = solver.state[self.rows]
            return np.asarray(np.log(state) if self.loss.is_log else state)
        tree_weight = problem.forest.tree_weight if now.tree_weight is None else now.tree_weight
        raw = np.tile(problem.base, (self.rows.size, 1))
        n_values = now.value.shape[1]
        for tree in range(problem.forest.n_trees):
            at = problem.first[tree].astype(np.int64) + self.leaf[self.rows, tree]
            column = int(problem.column[tree])
            raw[:, column : column + n_values] += tree_weight[tree] * now.value[at]
        return raw


def were_trained_on(problem: Problem, by_tree: NDArray[Any], n_given: int) -> bool:
    """Return whether the given rows, the first ones of (trees, rows) leaf numbers, are the forest's training rows.

    They are if every leaf has at least as many of them as it had training rows.
    """
    trained = problem.forest.n_rows[problem.is_leaf]
    for tree, ids in enumerate(by_tree):
        begin, end = problem.first[tree : tree + 2].astype(np.int64)
        if (np.bincount(ids[:n_given], minlength=end - begin) < trained[begin:end]).any():
            return False
    return bool(trained.any())


def honest_values(problem: Problem, by_tree: NDArray[Any], y: NDArray[Any], weight: Vector) -> Vector | None:
    """Return the values that the leaves of a random forest would have had without the rows of weight 0.

    They are the means of the rows that are left: held out of the refinement only, the others would praise the forest
    as it was. Values of other forests cannot be had so easily: None.
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
