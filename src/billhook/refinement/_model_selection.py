"""Which loss, which L2 penalty and how many passes: chosen on held-out rows, then learned from all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.refinement._data import RefinementData, is_batches, read_rows
from billhook.refinement._fitting import LeafFit, LeafFitter
from billhook.refinement._losses import LOSSES
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem
from billhook.refinement._report import RefinementReport, ValidatedOn

# Grows a forest on the rows with these numbers.
Refit = Callable[[NDArray[np.int64]], Forest]
# Validated on rows that the splits were chosen by, a gain counts only if it lowers the error to this share or less.
CLEAR_GAIN = 0.92


def select_and_fit(
    model: Any,
    X: Any,
    y: ArrayLike,
    options: RefinementOptions,
    *,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float | None = None,
    validation: Sequence[Any] | Literal["oob"] | None = None,
    in_bag: NDArray[np.bool_] | None = None,
    refit: bool = True,
    refit_estimator: bool | Refit = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> tuple[Forest, RefinementReport]:
    """Return the refined forest and how it was refined; `refine` explains the parameters."""
    options.check()
    forest = as_forest(model)
    losses = options.losses(forest)
    problem = Problem(forest, options.keeps_pairs(losses))
    random = _random_of(random_state)
    seed = random.randint(2**31)
    if options.penalty is not None:
        if validation is not None:
            raise ValueError("a penalty is for fewer trees, gain or not: it takes no validation rows")
        validation_fraction = None
    data = read_rows(
        problem,
        X,
        y,
        sample_weight,
        by_row=options.solver == "sgd",
        validation=validation,
        validation_fraction=validation_fraction,
        in_bag=in_bag,
        model=model,
        n_jobs=n_jobs,
        random=random,
    )
    candidates = [
        (loss, l2) for loss in losses for l2 in options.l2_values(loss, data.has_validation, data.is_training_data)
    ]
    refits = refit and data.holds_out_own_rows
    fitter = LeafFitter(problem, options, data, seed, len(candidates) + refits, progress)
    if forest.classes is not None and forest.n_classes == 1:  # there is nothing to tell apart
        fitter.finish()
        return forest, RefinementReport(losses[0].name, candidates[0][1], 0, (), None, None)
    if not data.has_validation:
        if len(candidates) > 1:
            raise ValueError("to choose among losses, validation rows are needed; set validation_fraction")
        last = fitter.fit_all(*candidates[0], options.n_passes, rows=data.is_own, until_converged=True)
        return last.forest, _report(last, None)
    if data.is_training_data and not is_batches(X):
        grow = _refit_of(refit_estimator, model, X, y, sample_weight, seed)
        selected = _select_on_refitted(grow, X, y, sample_weight, data, options, n_jobs, seed, progress)
        if selected is not None and selected.n_passes == 0:
            return forest, replace(selected, validated_on="refitted estimator")
        if selected is not None:
            fitter.progress = None
            rows = data.is_own if refit else ~data.held_out
            last = fitter.fit_all(
                LOSSES[selected.loss], selected.l2, selected.n_passes, rows=rows, until_converged=False
            )
            return last.forest, _report(last, "refitted estimator", selected.validation)
    validated_on: ValidatedOn = "held-out rows"
    if data.is_training_data:
        validated_on = "training rows"
    elif data.in_bag.size:
        validated_on = "out-of-bag rows"
    fits = [fitter.fit_with_validation(loss, l2) for loss, l2 in candidates]
    best = min(fits, key=lambda fit: (fit.error, fit.score))
    if not _is_better(best, forest, options, data):
        fitter.finish()
        return forest, replace(_report(best, validated_on), n_passes=0)
    if not refits:
        fitter.finish()
        return best.forest, _report(best, validated_on)
    last = fitter.fit_all(best.loss, best.l2, best.n_passes, rows=data.is_own, until_converged=False)
    return last.forest, _report(last, validated_on, best.validation)


def _random_of(random_state: Any) -> np.random.RandomState:
    if isinstance(random_state, int):  # what scikit-learn makes of it, and half a second sooner
        return np.random.RandomState(random_state)
    from sklearn.utils import check_random_state

    random: np.random.RandomState = check_random_state(random_state)
    return random


def _is_better(best: LeafFit, forest: Forest, options: RefinementOptions, data: RefinementData) -> bool:
    """Return whether the gain on the held-out rows is large enough to count.

    On rows that the forest was trained on it must be clear, unless the caller has chosen the L2 penalty.
    """
    if best.n_passes == 0 or best.gain_in_standard_errors <= _required_gain(forest, data):
        return False
    is_strict = data.is_training_data and options.l2 is None
    return not is_strict or best.validation[best.n_passes] <= CLEAR_GAIN * best.validation[0]


def _required_gain(forest: Forest, data: RefinementData) -> float:
    """Return how many standard errors a gain must be larger than; the best of many passes is a little lucky.

    Boosted trees were fitted to one another when they were grown, and have less to gain, the more leaves they have.
    """
    if forest.averages:
        return 1.0
    return 3.0 if 4 * forest.n_leaves > data.n_own else 2.0


def _select_on_refitted(
    grow: Refit | None,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    data: RefinementData,
    options: RefinementOptions,
    n_jobs: int | None,
    seed: int,
    progress: Callable[[int, int, float], None] | None,
) -> RefinementReport | None:
    """Choose on a forest grown without the held-out rows; None if none can be grown or validated."""
    growing, held_out = np.flatnonzero(~data.held_out), np.flatnonzero(data.held_out)
    if grow is None:
        return None
    try:
        refitted = grow(growing)
    except (ValueError, TypeError):  # too few rows of a class, for example
        return None
    labels = np.asarray(y)
    weight = np.ones(labels.size) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if refitted.classes is not None:  # a class may have all its rows held out
        held_out = held_out[np.isin(labels[held_out], refitted.classes)]
    if not weight[held_out].any():
        return None
    return select_and_fit(
        refitted,
        _take(X, growing),
        labels[growing],
        options,
        sample_weight=weight[growing],
        validation=(_take(X, held_out), labels[held_out], weight[held_out]),
        random_state=seed,
        n_jobs=n_jobs,
        progress=progress,
    )[1]


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table, a data frame's with their names and types."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def _refit_of(
    refit_estimator: bool | Refit, model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, seed: int
) -> Refit | None:
    """Return a function that grows a forest like the model on some of the rows; None if there is to be none."""
    if callable(refit_estimator):
        return refit_estimator
    if not refit_estimator or not hasattr(model, "get_params"):
        return None
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    def grow(rows: NDArray[np.int64]) -> Forest:
        estimator = clone(model)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=seed)
        weight = {}
        if sample_weight is not None and has_fit_parameter(model, "sample_weight"):
            weight["sample_weight"] = np.asarray(sample_weight)[rows]
        return as_forest(estimator.fit(_take(X, rows), np.asarray(y)[rows], **weight))

    return grow


def _report(
    fit: LeafFit, validated_on: ValidatedOn | None, validation: tuple[float, ...] | None = None
) -> RefinementReport:
    return RefinementReport(
        fit.loss.name, fit.l2, fit.n_passes, fit.objective, validation or fit.validation or None, validated_on
    )
