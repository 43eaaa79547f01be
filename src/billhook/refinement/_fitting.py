"""Leaf values learned with one loss and one L2 penalty: on the rows not held out, or on all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.forest import Forest, drop
from billhook.refinement._coordinate_descent import Descent, Pass
from billhook.refinement._data import RefinementData
from billhook.refinement._losses import Loss, as_state, row_losses, width_of
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import SKIP_NONE, Problem
from billhook.refinement._sgd import GradientDescent
from billhook.refinement._validation import HeldOutRows, ValidationScore, values_without_holdout

# Early stopping: passes of block coordinate descent without a better validation score after which a fit ends.
PATIENCE = 5


@dataclass(frozen=True)
class LeafFit:
    """A forest with leaf values learned with one loss and one L2 penalty, and how good it is on the held-out rows."""

    forest: Forest
    loss: Loss
    l2: float
    n_passes: int
    objective: tuple[float, ...]
    validation: tuple[float, ...] = ()
    score: tuple[float, float] = (np.nan, np.nan)
    error: float = np.nan  # the same for every loss: see `ValidationScore`
    gain_in_standard_errors: float = np.nan  # on the held-out rows


class LeafFitter:
    """Learns the leaf values of one forest on the same rows, again and again.

    Parameters
    ----------
    problem : Problem
    options : RefinementOptions
    data : RefinementData
    seed : int
        For the order of rows in gradient descent.
    n_fits : int
        How many fits will be made: the progress counts the passes of all of them.
    progress : function, optional
        Called with the passes made, of how many, and the objective.
    """

    def __init__(
        self,
        problem: Problem,
        options: RefinementOptions,
        data: RefinementData,
        seed: int,
        n_fits: int,
        progress: Callable[[int, int, float], None] | None,
    ) -> None:
        self.problem, self.forest, self.options, self.data = problem, problem.forest, options, data
        self.seed, self.progress = seed, progress
        self.done, self.steps = 0, n_fits * options.n_passes

    def fit_with_validation(self, loss: Loss, l2: float) -> LeafFit:
        """Learn from the rows not held out, and return the pass that is best on the held-out rows."""
        data = self.data
        weight = data.weight * ~data.held_out
        width = self._width(loss, weight)
        held_out = HeldOutRows(self.problem, data.by_tree, data.y, data.weight, data.held_out, loss, width)
        start = values_without_holdout(self.problem, data.by_tree, data.y, weight) if data.is_training_data else None
        solver = self._solver(loss, l2, weight, width, start, data.in_bag)
        objective: list[float] = []
        scores: list[ValidationScore] = []
        best, best_at = None, 0
        for n_passes, now in enumerate(islice(solver, self.options.n_passes + 1)):
            objective.append(self._checked(now, l2, objective))
            scores.append(held_out.score(solver, now))
            if best is None or scores[-1].score < scores[best_at].score:
                best, best_at = now, n_passes
            if n_passes > 0:
                self._report_pass(now.objective)
            if self.options.solver == "bcd" and (self._has_converged(objective) or n_passes - best_at >= PATIENCE):
                break
        self.done = -(-self.done // max(self.options.n_passes, 1)) * self.options.n_passes  # passes not needed
        assert best is not None
        return LeafFit(
            self._forest(best, loss) if best_at > 0 else self.forest,
            loss,
            l2,
            best_at,
            tuple(objective),
            tuple(score.score[0] for score in scores),
            scores[best_at].score,
            scores[best_at].error,
            held_out.gain_in_standard_errors(scores[0], scores[best_at]),
        )

    def fit_all(
        self, loss: Loss, l2: float, n_passes: int, *, rows: NDArray[np.bool_], until_converged: bool
    ) -> LeafFit:
        """Learn from these rows for so many passes or, with `until_converged`, until the objective stops falling."""
        weight = self.data.weight * rows
        solver = self._solver(loss, l2, weight, self._width(loss, weight))
        objective: list[float] = []
        for made, now in enumerate(islice(solver, n_passes + 1)):
            objective.append(self._checked(now, l2, objective))
            if made > 0:
                self._report_pass(now.objective)
            if self.options.solver == "bcd" and until_converged and self._has_converged(objective):
                break
        self.finish()
        forest = self._forest(now, loss) if made > 0 else self.forest
        return LeafFit(forest, loss, l2, made, tuple(objective))

    def _solver(
        self,
        loss: Loss,
        l2: float,
        weight: Vector,
        width: float,
        start: Vector | None = None,
        skip: NDArray[np.bool_] = SKIP_NONE,
    ) -> Descent | GradientDescent:
        options, problem, leaf = self.options, self.problem, self.data.leaf
        target = problem.targets(self.data.y, loss)
        solver: Descent | GradientDescent
        if options.solver == "bcd":
            anchor = options.anchor_of(problem)
            strength = float(options.strength) if options.penalty == "group_l1" else 0.0
            solver = Descent(problem, leaf, target, weight, loss, width, l2, anchor, strength, skip)
        else:
            step = float(options.step_size)
            solver = GradientDescent(
                problem,
                leaf,
                target,
                weight,
                np.flatnonzero(weight).astype(np.uint32),
                loss,
                width,
                step,
                options.batch_size,
                options.batch_gradient,
                options.optimizer == "adam",
                step if options.refine_weights else 0.0,
                step * float(options.strength) if options.penalty == "l1" else 0.0,
                np.random.default_rng(self.seed),
            )
        if start is not None:
            solver.start_from(start)
        return solver

    def _width(self, loss: Loss, weight: Vector) -> float:
        if not loss.has_width:
            return 1.0
        rows = np.flatnonzero(weight)
        score = self.problem.scores(self.data.by_tree, rows)[:, 0]
        return width_of(loss, score, self.data.y[rows], weight[rows])

    def _checked(self, now: Pass, l2: float, before: list[float]) -> float:
        """Return the objective; raise ValueError where it diverges."""
        options = self.options
        diverges = not np.isfinite(now.value).all() or not np.isfinite(now.objective)
        if before and not diverges and options.solver == "sgd":
            diverges = now.objective > 100.0 * max(before[0], self._idle_loss)
        if diverges:
            cause = f"step_size {options.step_size}" if options.solver == "sgd" else f"l2 {l2:g}"
            remedy = "lower it, or set batch_gradient='mean'" if options.solver == "sgd" else "raise it, or scale y"
            raise ValueError(f"the loss diverges (pass {len(before)}) with {cause}; {remedy}")
        return now.objective

    @cached_property
    def _idle_loss(self) -> float:
        """The loss per row without any tree: what gradient descent that converges does not exceed by far."""
        loss = self.options.losses(self.forest)[0]
        y = self.data.y
        state = as_state(loss, np.tile(self.problem.base, (y.size, 1)))
        return float(np.mean(row_losses(loss, state, self.problem.targets(y, loss), 1.0)))

    def _has_converged(self, objective: list[float]) -> bool:
        return len(objective) > 1 and objective[-2] - objective[-1] <= self.options.tol * abs(objective[-2])

    def _forest(self, reached: Pass, loss: Loss) -> Forest:
        options = self.options
        refined = self.problem.refined(reached.value, loss, reached.tree_weight)
        if options.penalty is None:
            return refined
        most = np.maximum.reduceat(np.abs(reached.value).max(axis=1), self.problem.first[:-1].astype(np.int64))
        gone = (refined.tree_weight == 0.0) | (most == 0.0)
        if gone.all():
            raise ValueError(f"a strength of {options.strength} leaves no tree; lower it")
        return drop(refined, gone)

    def finish(self) -> None:
        """Report the progress as complete: the fits that are left are not needed."""
        if self.progress is not None and self.done < self.steps:
            self.progress(self.steps, self.steps, np.nan)
        self.done = self.steps

    def _report_pass(self, objective: float) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.steps, objective)
