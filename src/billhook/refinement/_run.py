"""One call of `refine`: the rows, which of them are held out, and the passes of the solvers over them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest, as_targets, as_weights
from billhook.interop import seen_rows
from billhook.refinement._descent import NOWHERE, Descent, Pass
from billhook.refinement._gradient import GradientDescent
from billhook.refinement._losses import Loss
from billhook.refinement._problem import Problem, without_empty_trees
from billhook.refinement._rows import find_leaves
from billhook.refinement._settings import Settings
from billhook.refinement._validation import Judge, honest_values, were_trained_on

Vector = NDArray[np.float64]
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
    validation: tuple[float, ...]
    best_score: tuple[float, float] = (np.nan, np.nan)
    surety: float = np.nan  # of the gain, in standard errors


class Run:
    """The forest, the settings and, after `read`, the rows."""

    def __init__(
        self,
        forest: Forest,
        settings: Settings,
        random_state: Any,
        progress: Callable[[int, int, float], None] | None,
    ) -> None:
        from sklearn.utils import check_random_state

        self.forest, self.settings, self.progress = forest, settings, progress
        self.problem = Problem(forest)
        self.random = check_random_state(random_state)
        self.seed = self.random.randint(2**31)
        self.done = self.steps = 0

    def read(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        validation: Any,
        validation_fraction: float | None,
        seen: NDArray[np.bool_] | None,
        model: Any,
        n_jobs: int | None,
    ) -> None:
        """Check what the caller gave, find the leaves of all rows, and hold some out."""
        forest, by_row = self.forest, self.settings.solver == "sgd"
        y = as_targets(y, forest)
        self._check_rows(y)
        self.n_given = n_rows = y.size
        weight = np.ones(n_rows) if sample_weight is None else as_weights(sample_weight, n_rows)
        self.held_out_of_given = False
        self.seen = NOWHERE
        sources = [(X, n_rows)]
        held_out = np.zeros(n_rows, np.bool_)
        if isinstance(validation, str) and validation == "oob":
            if by_row:
                raise ValueError("validation='oob' is for solver='bcd'; hold rows out with validation_fraction")
            self.seen = seen_rows(model, n_rows) if seen is None else np.array(seen, np.bool_)
            if self.seen.shape != (forest.n_trees, n_rows):
                raise ValueError(f"seen has shape {self.seen.shape}, not {(forest.n_trees, n_rows)}: trees, rows")
            if self.seen.all():
                raise ValueError("every tree has seen every row: there are no out-of-bag rows to judge by")
            validation = None
        if validation is not None:
            X_val, y_val = _pair(validation)
            y_val = as_targets(y_val, forest)
            self._check_rows(y_val)
            sources.append((X_val, y_val.size))
            y = np.concatenate([y, y_val])
            weight = np.concatenate([weight, np.ones(y_val.size)])
            held_out = np.arange(y.size) >= n_rows
        else:
            n_held_out = round(_fraction(validation_fraction) * n_rows)
            self.held_out_of_given = n_held_out > 0
            held_out[self.random.permutation(n_rows)[:n_held_out]] = True
        self.y, self.weight, self.held_out = y, weight, held_out
        self.leaf = find_leaves(self.problem, sources, by_row=by_row, n_jobs=n_jobs)
        self.has_validation = bool(held_out.any())
        # Rows that the splits were chosen by flatter them, whether the refinement saw them or not.
        self.flatters = (
            self.held_out_of_given
            and self.seen.size == 0
            and were_trained_on(self.problem, self._by_tree, self.n_given)
        )
        if not weight[~held_out].any():
            raise ValueError("no row with a weight above 0 is left to learn from; lower validation_fraction")

    @property
    def is_growable(self) -> bool:
        """Whether the rows not held out, and those held out, can grow and judge a forest: two classes at least."""
        return self.forest.classes is None or np.unique(self.y[~self.held_out]).size > 1

    def _check_rows(self, y: NDArray[Any]) -> None:
        if y.size == 0:
            raise ValueError("refinement needs at least one row")
        if self.forest.link == "exp" and (y < 0.0).any():
            raise ValueError(f"y holds negative numbers ({y.min():g}), and this forest predicts exp(score): counts")

    @property
    def _by_tree(self) -> NDArray[Any]:
        return self.leaf.T if self.settings.solver == "sgd" else self.leaf

    def trial(self, loss: Loss, l2: float) -> Outcome:
        """Learn from the rows not held out, judge each pass by the others, and return the best."""
        weight = self.weight * ~self.held_out
        judge = Judge(self.problem, self.leaf, self.y, self.weight, self.held_out, loss, self._width(loss, weight))
        start = honest_values(self.problem, self._by_tree, self.y, weight) if self.flatters else None
        solver = self._solver(loss, l2, weight, start, self.seen)
        objective: list[float] = []
        scores: list[float] = []
        for n_passes, now in enumerate(islice(solver, self.settings.n_passes + 1)):
            objective.append(self._checked(now, n_passes, objective))
            wrong, of_rows = judge.losses(solver, now)
            score = (judge.mean(wrong), judge.mean(of_rows))
            scores.append(score[0])
            if n_passes == 0:
                at_first, best, best_score, best_at, best_wrong = wrong, now, score, 0, wrong
            elif score < best_score:
                best, best_score, best_at, best_wrong = now, score, n_passes, wrong
            if n_passes > 0:
                self._tell(now.objective)
            if self.settings.solver == "bcd" and (self._stalls(objective) or n_passes - best_at >= PATIENCE):
                break
        self._skip()
        return Outcome(
            self._forest(best, loss) if best_at > 0 else self.forest,
            loss,
            l2,
            best_at,
            tuple(objective),
            tuple(scores),
            best_score,
            judge.surety(at_first, best_wrong),
        )

    def on_all_rows(self, loss: Loss, l2: float, n_passes: int) -> Outcome:
        """Learn from all given rows for so many passes, or until the objective stalls."""
        solver = self._solver(loss, l2, self.weight * (np.arange(self.y.size) < self.n_given))
        objective: list[float] = []
        for made, now in enumerate(islice(solver, n_passes + 1)):
            objective.append(self._checked(now, made, objective))
            if made > 0:
                self._tell(now.objective)
            if self.settings.solver == "bcd" and not self.has_validation and self._stalls(objective):
                break
        self.finish()
        forest = self._forest(now, loss) if made > 0 else self.forest
        return Outcome(forest, loss, l2, made, tuple(objective), ())

    def _solver(
        self,
        loss: Loss,
        l2: float,
        weight: Vector,
        start: Vector | None = None,
        skip: NDArray[np.bool_] = NOWHERE,
    ) -> Descent | GradientDescent:
        settings, problem = self.settings, self.problem
        target = problem.targets(self.y, loss)
        width = self._width(loss, weight)
        solver: Descent | GradientDescent
        if settings.solver == "bcd":
            table = problem.value * problem.weight_of_leaf
            anchor = table if settings.anchors_at_original(self.forest) else np.zeros_like(table)
            strength = float(settings.strength) if settings.penalty == "group_l1" else 0.0
            solver = Descent(problem, self.leaf, target, weight, loss, width, l2, anchor, strength, skip)
        else:
            step = float(settings.step_size)
            solver = GradientDescent(
                problem,
                self.leaf,
                target,
                weight,
                np.flatnonzero(weight).astype(np.uint32),
                loss,
                width,
                step,
                settings.batch_size,
                settings.batch_gradient == "mean",
                settings.optimizer == "adam",
                step if settings.refine_weights else 0.0,
                step * float(settings.strength) if settings.penalty == "l1" else 0.0,
                np.random.default_rng(self.seed),
            )
        if start is not None:
            solver.start_from(start)
        return solver

    def _width(self, loss: Loss, weight: Vector) -> float:
        """Return where Huber's loss turns straight, and what errors are small beside for absolute ones."""
        if loss.name not in ("huber", "absolute"):
            return 1.0
        rows = np.flatnonzero(weight)
        raw = self.problem.base[0] + np.zeros(rows.size)
        table = (self.problem.value * self.problem.weight_of_leaf)[:, 0]
        for tree, ids in enumerate(self._by_tree):
            raw += table[self.problem.first[tree].astype(np.int64) + ids[rows]]
        error = np.abs(self.y[rows] - raw)
        return float(np.quantile(error, 0.9 if loss.name == "huber" else 0.5)) or 1.0

    def _checked(self, now: Pass, n_passes: int, before: list[float]) -> float:
        """Return the objective, or say that it runs away."""
        settings = self.settings
        ran_away = not np.isfinite(now.value).all() or not (np.isfinite(now.objective) or n_passes == 0)
        if not ran_away and len(before) > 1 and settings.solver == "sgd":
            ran_away = now.objective > 100.0 * before[1]
        if ran_away:
            what = f"step_size {settings.step_size}" if settings.solver == "sgd" else f"l2 {settings.l2}"
            hint = "lower it, or set batch_gradient='mean'" if settings.solver == "sgd" else "raise it"
            raise ValueError(f"the loss grows without end (pass {n_passes}) with {what}; {hint}")
        return now.objective

    def _stalls(self, objective: list[float]) -> bool:
        return len(objective) > 1 and objective[-2] - objective[-1] <= self.settings.tol * abs(objective[-2])

    def _forest(self, reached: Pass, loss: Loss) -> Forest:
        settings = self.settings
        refined = self.problem.refined(reached.value, loss, reached.tree_weight)
        if settings.penalty == "group_l1":
            most = np.maximum.reduceat(np.abs(reached.value).max(axis=1), self.problem.first[:-1].astype(np.int64))
            gone = most == 0.0
        elif settings.penalty == "l1":
            gone = refined.tree_weight == 0.0
        else:
            return refined
        if gone.all():
            raise ValueError(f"a strength of {settings.strength} leaves no tree; lower it")
        return without_empty_trees(refined, gone)

    def expect(self, n_runs: int) -> None:
        """Say how many runs there will be, for the progress."""
        self.steps = n_runs * self.settings.n_passes

    def finish(self) -> None:
        """Tell whoever wants to know that all is done."""
        if self.progress is not None and self.done < self.steps:
            self.progress(self.steps, self.steps, np.nan)

    def _tell(self, objective: float) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.steps, objective)

    def _skip(self) -> None:
        """Count the passes that a run did not need as made."""
        self.done = -(-self.done // self.settings.n_passes) * self.settings.n_passes if self.done else 0


def _pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ValueError(f"validation must be a pair (X, y) or 'oob', not {type(validation).__name__}")
    return validation[0], validation[1]


def _fraction(given: Any) -> float:
    if given is None:
        return 0.0
    if not isinstance(given, Real) or not 0.0 <= float(given) < 1.0:
        raise ValueError(f"validation_fraction must be a number from 0 to below 1, or None, not {given!r}")
    return float(given)
