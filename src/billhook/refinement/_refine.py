"""The two functions that refine a forest: one returns the forest, the other tells how it went as well."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.refinement._losses import LOSSES
from billhook.refinement._rows import is_batches
from billhook.refinement._run import Outcome, Run
from billhook.refinement._settings import Settings

# A gain counts if it is this many standard errors: the best of many passes is a little lucky. Boosted trees were
# fitted to one another when they were grown, and have less to gain.
SURE_OF_MEANS, SURE_OF_SUMS = 1.0, 3.0
# Judged by rows that the splits were chosen by, a gain counts only if it lowers the error to this share or less.
CLEAR_GAIN = 0.95


@dataclass(frozen=True)
class RefinementReport:
    """A refined forest, and how it came about.

    Attributes
    ----------
    forest : Forest
    loss : str
        The loss refined for; the one that did best if there were several.
    l2 : float
        The pull of leaf values to 0 (or where they were) that did best, if several were tried.
    n_passes : int
        How many passes were kept; 0 if the forest is returned as it was.
    objective : tuple of float
        What the solver minimised, per row: before the first and after each pass over the rows of the last run.
    validation : tuple of float or None
        Share of wrong classes, or mean loss for regression, on the validation rows: before the first and after each
        pass.
    """

    forest: Forest
    loss: str
    l2: float
    n_passes: int
    objective: tuple[float, ...]
    validation: tuple[float, ...] | None


def refine(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float | None = 0.15,
    validation: Any = None,
    refit: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Forest:
    """Return the forest with new leaf values, learned together so that their sum fits the labels; same size.

    Splits stay as they are. Leaves that no row falls into keep their value. Some rows are held out to see whether
    refinement helps, how strongly to hold it back, and after how many passes to stop: if it does not help, the forest
    is returned as it was.

    Rows that the forest was grown on flatter its splits. So, if X are the training rows of a fitted estimator,
    another one is fitted without the rows held out to learn these things. A Forest cannot be grown again: then only
    strong `l2` are tried, and a gain must be clear. To get all there is, give `validation` rows, or the estimator.

    Parameters
    ----------
    model : Forest or fitted estimator
        Any that `as_forest` takes. Of boosted trees the raw sum is refined.
    X : rows, or an iterable of batches of rows
        The training rows will do. Of batches (Arrow record batches, arrays, data frames) only the leaf numbers are
        kept, two bytes for each row and tree; arrays on disk (numpy.memmap) are read a block at a time.
    y : labels or targets of all rows
    sample_weight : array, optional
        A row with weight 2 counts as two rows.
    validation_fraction : float or None
        The share of the rows to hold out. With None, or 0, every pass is made on all rows and the last one kept.
    validation : (X, y) or "oob", optional
        Other rows to judge by instead, best such as the forest was not trained on. With ``"oob"``, while it is found
        out whether refinement helps, each row is known only to the trees that were not trained on it: for `model` a
        fitted estimator with bootstrap, X and y its training rows.
    refit : bool
        Whether to learn once more from all rows, held-out ones too, for as many passes as did best.
    random_state : int or RandomState, optional
        For the rows held out and the order of rows in gradient descent.
    n_jobs : int, optional
        Threads that look up the leaves.
    **options
        `loss` : name, list of names or "auto" (all that suit, the best on the validation rows).
        For classes ``"cross_entropy"`` (default of bcd), ``"mse"`` (default of sgd), ``"squared_hinge"``; for
        numbers ``"mse"``, ``"huber"``, ``"absolute"``; ``"poisson"`` for forests with link exp.
        `solver` : ``"bcd"``, block coordinate descent, one tree a block; or ``"sgd"``, gradient descent as in
        Buschjäger and Morik 2022.
        `epochs` : most passes over the rows; 20 for bcd, 50 for sgd.

        Of bcd: `l2`, the pull on leaf values times tree weights, in rows (by default what does best on the
        validation rows of 0.3 to 100; without such rows 1 for the log losses and 5 else); `shrink_to`, where they
        are drawn, ``"zero"`` (default for classes) or ``"original"`` (for numbers); `tol`, the relative fall of the
        objective in a pass below which it ends (1e-3); ``penalty="group_l1"`` with a `strength`: a tree that is not
        worth so much leaves the forest.

        Of sgd: `step_size` (0.1), `batch_size` (128), `batch_gradient` (``"sum"`` over the batch, or ``"mean"``),
        `optimizer` (``"sgd"`` or ``"adam"``), `refine_weights` (tree weights too), and with these ``penalty="l1"`` of
        a `strength`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X[::2], y[::2])
    >>> better = bh.refine(rf, X[::2], y[::2], random_state=0)
    >>> (rf.predict(X[1::2]) == y[1::2]).mean() < (better.predict(X[1::2]) == y[1::2]).mean()
    np.True_
    """
    return refinement_report(
        model,
        X,
        y,
        sample_weight=sample_weight,
        validation_fraction=validation_fraction,
        validation=validation,
        refit=refit,
        random_state=random_state,
        n_jobs=n_jobs,
        **options,
    ).forest


def refinement_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float | None = 0.15,
    validation: Any = None,
    refit: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    seen: NDArray[np.bool_] | None = None,
    regrow: Callable[[NDArray[np.int64]], Forest] | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    **options: Any,
) -> RefinementReport:
    """Do what `refine` does, and tell how it went.

    The parameters are those of `refine`, and three more. `seen`, of shape (trees, rows), says which rows a tree was
    trained on, for ``validation="oob"``. `regrow` takes the numbers of some rows to a forest grown like this one on
    only those. `progress` is called after each pass with the number of passes done, of all, and
    the objective.
    """
    unknown = sorted(set(options) - set(Settings.__dataclass_fields__))
    if unknown:
        known = ", ".join(Settings.__dataclass_fields__)
        raise TypeError(f"refine does not take the option {unknown[0]!r}; its options: {known}")
    settings = Settings(**options)
    settings.check()
    forest = as_forest(model)
    losses = settings.losses(forest)
    run = Run(forest, settings, random_state, progress)
    run.read(X, y, sample_weight, validation, validation_fraction, seen, model, n_jobs)
    if run.flatters and not is_batches(X) and run.is_growable:
        grow = regrow or _regrower(model, X, y, sample_weight)
        if grow is not None:
            return _judged_by_another(run, grow, X, y, sample_weight, n_jobs, options)
    ways = [(loss, l2) for loss in losses for l2 in settings.strengths(loss, run.has_validation, run.flatters)]
    if not run.has_validation:
        if len(ways) > 1:
            raise ValueError("to choose among losses, validation rows are needed; set validation_fraction")
        run.expect(1)
        return _report(run.on_all_rows(*ways[0], settings.n_passes))
    again = refit and run.held_out_of_given
    run.expect(len(ways) + again)
    trials = [run.trial(*way) for way in ways]
    best = min(trials, key=lambda trial: trial.best_score)
    doubtful = run.flatters and settings.l2 is None and best.best_score[0] > CLEAR_GAIN * best.validation[0]
    if best.n_passes == 0 or doubtful or best.surety < (SURE_OF_MEANS if forest.averages else SURE_OF_SUMS):
        run.finish()
        return replace(_report(best), forest=forest, n_passes=0)
    if not again:
        run.finish()
        return _report(best)
    return _report(run.on_all_rows(best.loss, best.l2, best.n_passes), best.validation)


def _judged_by_another(
    run: Run,
    grow: Callable[[NDArray[np.int64]], Forest],
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
    options: dict[str, Any],
) -> RefinementReport:
    """Find out how to refine on a forest grown without the rows held out; then refine the forest so, on all rows."""
    rows, labels = np.asarray(X), np.asarray(y)
    learned, held_out = np.flatnonzero(~run.held_out), np.flatnonzero(run.held_out)
    trial = grow(learned)
    if trial.classes is not None:  # a class may have all its rows held out
        held_out = held_out[np.isin(labels[held_out], trial.classes)]
    tried = refinement_report(
        trial,
        rows[learned],
        labels[learned],
        sample_weight=None if sample_weight is None else np.asarray(sample_weight)[learned],
        validation=(rows[held_out], labels[held_out]),
        random_state=run.seed,
        n_jobs=n_jobs,
        progress=run.progress,
        **options,
    )
    if tried.n_passes == 0:
        return replace(tried, forest=run.forest)
    run.progress = None
    return _report(run.on_all_rows(LOSSES[tried.loss], tried.l2, tried.n_passes), tried.validation)


def _regrower(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> Callable[[NDArray[np.int64]], Forest] | None:
    """Return a function that fits an estimator like this one to some of the rows; None if there is no such way."""
    if isinstance(model, Forest) or not hasattr(model, "get_params") or np.asarray(X).dtype.kind not in "biuf":
        return None
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    def grow(rows: NDArray[np.int64]) -> Forest:
        weight = {}
        if sample_weight is not None and has_fit_parameter(model, "sample_weight"):
            weight["sample_weight"] = np.asarray(sample_weight)[rows]
        return as_forest(clone(model).fit(np.asarray(X)[rows], np.asarray(y)[rows], **weight))

    return grow


def _report(last: Outcome, validation: tuple[float, ...] | None = None) -> RefinementReport:
    return RefinementReport(
        last.forest, last.loss.name, last.l2, last.n_passes, last.objective, validation or last.validation or None
    )
