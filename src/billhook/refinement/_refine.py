"""The two functions that refine a forest: one returns the forest, the other tells how it went as well."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.refinement._data import RefinementData, read_rows
from billhook.refinement._leaves import is_batches
from billhook.refinement._losses import LOSSES
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem
from billhook.refinement._run import Outcome, Run

# Judged by rows that the splits were chosen by, a gain counts only if it lowers the error to this share or less.
CLEAR_GAIN = 0.92


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
    judged_by : str or None
        What the validation rows are to the forest that was judged: "rows that were given", "rows it was grown on",
        "out of bag", or "a forest grown without them".
    """

    forest: Forest
    loss: str
    l2: float
    n_passes: int
    objective: tuple[float, ...]
    validation: tuple[float, ...] | None
    judged_by: str | None


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
    validation : (X, y), (X, y, sample_weight) or "oob", optional
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
        worth so much leaves the forest. A penalty is for fewer trees, gain or not: then no rows are held out.

        Of sgd: `step_size` (0.1), `batch_size` (128), `batch_gradient` (``"sum"`` over the batch, ``"mean"``, or
        ``"last"``, the last row of the batch in each leaf, as the code behind the paper's tables has it),
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
    unknown = sorted(set(options) - set(RefinementOptions.__dataclass_fields__))
    if unknown:
        known = ", ".join(RefinementOptions.__dataclass_fields__)
        raise TypeError(f"refine does not take the option {unknown[0]!r}; its options: {known}")
    from sklearn.utils import check_random_state

    settings = RefinementOptions(**options)
    settings.check()
    forest = as_forest(model)
    losses = settings.losses(forest)
    problem = Problem(forest, settings.keeps_pairs(losses))
    random = check_random_state(random_state)
    seed = random.randint(2**31)
    if settings.penalty is not None:
        if validation is not None:
            raise ValueError("a penalty is for fewer trees, gain or not: it takes no validation rows")
        validation_fraction = None
    given = read_rows(
        problem,
        X,
        y,
        sample_weight,
        by_row=settings.solver == "sgd",
        validation=validation,
        validation_fraction=validation_fraction,
        seen=seen,
        model=model,
        n_jobs=n_jobs,
        random=random,
    )
    ways = [
        (loss, l2) for loss in losses for l2 in settings.strengths(loss, given.has_validation, given.is_training_data)
    ]
    again = refit and given.judges_by_given
    run = Run(problem, settings, given, seed, len(ways) + again, progress)
    if forest.classes is not None and forest.n_classes == 1:
        run.finish()
        return RefinementReport(
            forest, losses[0].name, ways[0][1], 0, (), None, None
        )  # there is nothing to tell apart
    if not given.has_validation:
        if len(ways) > 1:
            raise ValueError("to choose among losses, validation rows are needed; set validation_fraction")
        return _report(run.fit_all(*ways[0], settings.n_passes, rows=given.is_own, stalls=True), None)
    if given.is_training_data and not is_batches(X):
        grow = regrow or _regrower(model, X, y, sample_weight, seed)
        tried = _tried_on_another(grow, X, y, sample_weight, given, n_jobs, seed, progress, options)
        if tried is not None and tried.n_passes == 0:
            return replace(tried, forest=forest, judged_by="a forest grown without them")
        if tried is not None:
            run.progress = None
            rows = given.is_own if refit else ~given.held_out
            last = run.fit_all(LOSSES[tried.loss], tried.l2, tried.n_passes, rows=rows, stalls=False)
            return _report(last, "a forest grown without them", tried.validation)
    judged_by = (
        "rows it was grown on"
        if given.is_training_data
        else "out of bag"
        if given.seen.size
        else "rows that were given"
    )
    trials = [run.trial(*way) for way in ways]
    best = min(trials, key=lambda trial: (trial.common, trial.score))
    if (
        best.n_passes == 0
        or best.gain_in_standard_errors <= _needed_surety(forest, given)
        or _is_doubtful(best, settings, given)
    ):
        run.finish()
        return replace(_report(best, judged_by), forest=forest, n_passes=0)
    if not again:
        run.finish()
        return _report(best, judged_by)
    last = run.fit_all(best.loss, best.l2, best.n_passes, rows=given.is_own, stalls=False)
    return _report(last, judged_by, best.validation)


def _needed_surety(forest: Forest, given: RefinementData) -> float:
    """Return how many standard errors a gain must be larger than; the best of many passes is a little lucky.

    Boosted trees were fitted to one another when they were grown, and have less to gain, the more leaves they have.
    """
    if forest.averages:
        return 1.0
    return 3.0 if 4 * forest.n_leaves > given.n_given else 2.0


def _is_doubtful(best: Outcome, settings: RefinementOptions, given: RefinementData) -> bool:
    """Return whether a gain on rows that flatter is too small to count, if the caller has not chosen the strength."""
    return (
        given.is_training_data
        and settings.l2 is None
        and best.validation[best.n_passes] > CLEAR_GAIN * best.validation[0]
    )


def _tried_on_another(
    grow: Callable[[NDArray[np.int64]], Forest] | None,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    given: RefinementData,
    n_jobs: int | None,
    seed: int,
    progress: Callable[[int, int, float], None] | None,
    options: dict[str, Any],
) -> RefinementReport | None:
    """Find out how to refine on a forest grown without the rows held out; None if none can be grown or judged."""
    learned, held_out = np.flatnonzero(~given.held_out), np.flatnonzero(given.held_out)
    if grow is None:
        return None
    try:
        trial = grow(learned)
    except (ValueError, TypeError):  # too few rows of a class, for example
        return None
    labels = np.asarray(y)
    weight = np.ones(labels.size) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if trial.classes is not None:  # a class may have all its rows held out
        held_out = held_out[np.isin(labels[held_out], trial.classes)]
    if not weight[held_out].any():
        return None
    return refinement_report(
        trial,
        _take(X, learned),
        labels[learned],
        sample_weight=weight[learned],
        validation=(_take(X, held_out), labels[held_out], weight[held_out]),
        random_state=seed,
        n_jobs=n_jobs,
        progress=progress,
        **options,
    )


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table, a data frame's with their names and types."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def _regrower(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, seed: int
) -> Callable[[NDArray[np.int64]], Forest] | None:
    """Return a function that fits an estimator like this one to some of the rows; None for a Forest."""
    if not hasattr(model, "get_params"):
        return None
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    def grow(rows: NDArray[np.int64]) -> Forest:
        another = clone(model)
        if another.get_params().get("random_state", 0) is None:
            another.set_params(random_state=seed)
        weight = {}
        if sample_weight is not None and has_fit_parameter(model, "sample_weight"):
            weight["sample_weight"] = np.asarray(sample_weight)[rows]
        return as_forest(another.fit(_take(X, rows), np.asarray(y)[rows], **weight))

    return grow


def _report(last: Outcome, judged_by: str | None, validation: tuple[float, ...] | None = None) -> RefinementReport:
    return RefinementReport(
        last.forest,
        last.loss.name,
        last.l2,
        last.n_passes,
        last.objective,
        validation or last.validation or None,
        judged_by,
    )
