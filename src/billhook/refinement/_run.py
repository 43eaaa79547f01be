"""One call of `refine`: the rows, which of them are held out, and the passes of the solvers over them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.forest import Forest, drop
from billhook.refinement._coordinate_descent import NOWHERE, Descent, Pass
from billhook.refinement._data import RefinementData
from billhook.refinement._losses import Loss, as_state, row_losses, width_of
from billhook.refinement._model_selection import Judge, values_without_holdout
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem
from billhook.refinement._sgd import GradientDescent

# Passes of block coordinate descent without a better validation score after which a trial ends.
PATIENCE = 5


@dataclass(frozen=True)
class Outcome:
    """What a run of passes came to."""

    forest: Forest
    loss: Loss
    l2: float
    n_passes: int
    objective: tuple[float, ...]
    validation: tuple[float, ...] = ()
    score: tuple[float, float] = (np.nan, np.nan)
    common: float = np.nan  # what other losses can be compared by
    gain_in_standard_errors: float = np.nan  # of the gain, in standard errors


class Run:
    """The forest, the settings and the rows; `steps` of the progress are those of `n_runs` runs."""

    def __init__(
        self,
        problem: Problem,
        settings: RefinementOptions,
        given: RefinementData,
        seed: int,
        n_runs: int,
        progress: Callable[[int, int, float], None] | None,
    ) -> None:
        self.problem, self.forest, self.settings, self.given = problem, problem.forest, settings, given
        self.seed, self.progress = seed, progress
        self.done, self.steps = 0, n_runs * settings.n_passes

    def trial(self, loss: Loss, l2: float) -> Outcome:
        """Learn from the rows not held out, judge each pass by the others, and return the best."""
        given = self.given
        weight = given.weight * ~given.held_out
        width = self._width(loss, weight)
        judge = Judge(self.problem, given.by_tree, given.y, given.weight, given.held_out, loss, width)
        start = (
            values_without_holdout(self.problem, given.by_tree, given.y, weight) if given.is_training_data else None
        )
        solver = self._solver(loss, l2, weight, width, start, given.seen)
        objective: list[float] = []
        verdicts = []
        best, best_at = None, 0
        for n_passes, now in enumerate(islice(solver, self.settings.n_passes + 1)):
            objective.append(self._checked(now, l2, objective))
            verdicts.append(judge.verdict(solver, now))
            if best is None or verdicts[-1].score < verdicts[best_at].score:
                best, best_at = now, n_passes
            if n_passes > 0:
                self._tell(now.objective)
            if self.settings.solver == "bcd" and (self._stalls(objective) or n_passes - best_at >= PATIENCE):
                break
        self.done = -(-self.done // max(self.settings.n_passes, 1)) * self.settings.n_passes  # passes not needed
        assert best is not None
        return Outcome(
            self._forest(best, loss) if best_at > 0 else self.forest,
            loss,
            l2,
            best_at,
            tuple(objective),
            tuple(verdict.score[0] for verdict in verdicts),
            verdicts[best_at].score,
            verdicts[best_at].common,
            judge.gain_in_standard_errors(verdicts[0], verdicts[best_at]),
        )

    def fit_all(self, loss: Loss, l2: float, n_passes: int, *, rows: NDArray[np.bool_], stalls: bool) -> Outcome:
        """Learn from these rows for so many passes or, if it `stalls`, until the objective does."""
        weight = self.given.weight * rows
        solver = self._solver(loss, l2, weight, self._width(loss, weight))
        objective: list[float] = []
        for made, now in enumerate(islice(solver, n_passes + 1)):
            objective.append(self._checked(now, l2, objective))
            if made > 0:
                self._tell(now.objective)
            if self.settings.solver == "bcd" and stalls and self._stalls(objective):
                break
        self.finish()
        forest = self._forest(now, loss) if made > 0 else self.forest
        return Outcome(forest, loss, l2, made, tuple(objective))

    def _solver(
        self,
        loss: Loss,
        l2: float,
        weight: Vector,
        width: float,
        start: Vector | None = None,
        skip: NDArray[np.bool_] = NOWHERE,
    ) -> Descent | GradientDescent:
        settings, problem, leaf = self.settings, self.problem, self.given.leaf
        target = problem.targets(self.given.y, loss)
        solver: Descent | GradientDescent
        if settings.solver == "bcd":
            table = problem.value * problem.weight_of_leaf
            anchor = table if settings.anchors_at_original(self.forest) else np.zeros_like(table)
            strength = float(settings.strength) if settings.penalty == "group_l1" else 0.0
            solver = Descent(problem, leaf, target, weight, loss, width, l2, anchor, strength, skip)
        else:
            step = float(settings.step_size)
            solver = GradientDescent(
                problem,
                leaf,
                target,
                weight,
                np.flatnonzero(weight).astype(np.uint32),
                loss,
                width,
                step,
                settings.batch_size,
                settings.batch_gradient,
                settings.optimizer == "adam",
                step if settings.refine_weights else 0.0,
                step * float(settings.strength) if settings.penalty == "l1" else 0.0,
                np.random.default_rng(self.seed),
            )
        if start is not None:
            solver.start_from(start)
        return solver

    def _width(self, loss: Loss, weight: Vector) -> float:
        if loss.name not in ("huber", "absolute"):
            return 1.0
        rows = np.flatnonzero(weight)
        score = self.problem.scores(self.given.by_tree, rows)[:, 0]
        return width_of(loss, score, self.given.y[rows], weight[rows])

    def _checked(self, now: Pass, l2: float, before: list[float]) -> float:
        """Return the objective, or say that it runs away."""
        settings = self.settings
        ran_away = not np.isfinite(now.value).all() or not np.isfinite(now.objective)
        if before and not ran_away and settings.solver == "sgd":
            ran_away = now.objective > 100.0 * max(before[0], self._idle_loss())
        if ran_away:
            what = f"step_size {settings.step_size}" if settings.solver == "sgd" else f"l2 {l2:g}"
            hint = "lower it, or set batch_gradient='mean'" if settings.solver == "sgd" else "raise it, or scale y"
            raise ValueError(f"the loss grows without end (pass {len(before)}) with {what}; {hint}")
        return now.objective

    def _idle_loss(self) -> float:
        """Return the loss per row without any tree: what a step that learns does not exceed by far."""
        loss = self.settings.losses(self.forest)[0]
        y = self.given.y
        state = as_state(loss, np.tile(self.problem.base, (y.size, 1)))
        return float(np.mean(row_losses(loss, state, self.problem.targets(y, loss), 1.0)))

    def _stalls(self, objective: list[float]) -> bool:
        return len(objective) > 1 and objective[-2] - objective[-1] <= self.settings.tol * abs(objective[-2])

    def _forest(self, reached: Pass, loss: Loss) -> Forest:
        settings = self.settings
        refined = self.problem.refined(reached.value, loss, reached.tree_weight)
        if settings.penalty is None:
            return refined
        most = np.maximum.reduceat(np.abs(reached.value).max(axis=1), self.problem.first[:-1].astype(np.int64))
        gone = (refined.tree_weight == 0.0) | (most == 0.0)
        if gone.all():
            raise ValueError(f"a strength of {settings.strength} leaves no tree; lower it")
        return drop(refined, gone)

    def finish(self) -> None:
        """Tell whoever wants to know that all is done."""
        if self.progress is not None and self.done < self.steps:
            self.progress(self.steps, self.steps, np.nan)
        self.done = self.steps

    def _tell(self, objective: float) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.steps, objective)
