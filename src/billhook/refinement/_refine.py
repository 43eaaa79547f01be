"""`refine`: better leaf values for the same splits."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest
from billhook.refinement._model_selection import select_and_fit
from billhook.refinement._options import RefinementOptions
from billhook.refinement._report import RefinementReport


@overload
def refine(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Sequence[str] | None = ...,
    solver: Literal["bcd", "sgd"] = ...,
    epochs: int | None = ...,
    l2: float | None = ...,
    shrink_to: Literal["zero", "mean", "original"] | None = ...,
    tol: float = ...,
    penalty: Literal["group_l1", "l1"] | None = ...,
    strength: float = ...,
    step_size: float = ...,
    batch_size: int = ...,
    batch_gradient: Literal["sum", "mean", "last"] = ...,
    optimizer: Literal["sgd", "adam"] = ...,
    refine_weights: bool = ...,
    sample_weight: ArrayLike | None = ...,
    validation_fraction: float | None = ...,
    validation: Sequence[Any] | Literal["oob"] | None = ...,
    in_bag: NDArray[np.bool_] | None = ...,
    refit: bool = ...,
    refit_estimator: bool | Callable[[NDArray[np.int64]], Forest] = ...,
    random_state: int | np.random.RandomState | None = ...,
    n_jobs: int | None = ...,
    progress: Callable[[int, int, float], None] | None = ...,
    return_report: Literal[False] = ...,
) -> Forest: ...
@overload
def refine(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Sequence[str] | None = ...,
    solver: Literal["bcd", "sgd"] = ...,
    epochs: int | None = ...,
    l2: float | None = ...,
    shrink_to: Literal["zero", "mean", "original"] | None = ...,
    tol: float = ...,
    penalty: Literal["group_l1", "l1"] | None = ...,
    strength: float = ...,
    step_size: float = ...,
    batch_size: int = ...,
    batch_gradient: Literal["sum", "mean", "last"] = ...,
    optimizer: Literal["sgd", "adam"] = ...,
    refine_weights: bool = ...,
    sample_weight: ArrayLike | None = ...,
    validation_fraction: float | None = ...,
    validation: Sequence[Any] | Literal["oob"] | None = ...,
    in_bag: NDArray[np.bool_] | None = ...,
    refit: bool = ...,
    refit_estimator: bool | Callable[[NDArray[np.int64]], Forest] = ...,
    random_state: int | np.random.RandomState | None = ...,
    n_jobs: int | None = ...,
    progress: Callable[[int, int, float], None] | None = ...,
    return_report: Literal[True],
) -> tuple[Forest, RefinementReport]: ...
def refine(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Sequence[str] | None = None,
    solver: Literal["bcd", "sgd"] = "bcd",
    epochs: int | None = None,
    l2: float | None = None,
    shrink_to: Literal["zero", "mean", "original"] | None = None,
    tol: float = 1e-3,
    penalty: Literal["group_l1", "l1"] | None = None,
    strength: float = 0.0,
    step_size: float = 0.1,
    batch_size: int = 128,
    batch_gradient: Literal["sum", "mean", "last"] = "sum",
    optimizer: Literal["sgd", "adam"] = "sgd",
    refine_weights: bool = False,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float | None = 0.15,
    validation: Sequence[Any] | Literal["oob"] | None = None,
    in_bag: NDArray[np.bool_] | None = None,
    refit: bool = True,
    refit_estimator: bool | Callable[[NDArray[np.int64]], Forest] = True,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    return_report: bool = False,
) -> Forest | tuple[Forest, RefinementReport]:
    """Return the forest with leaf values learned again, together, so that their sum fits the labels; same size.

    Splits stay as they are. Leaves that no row falls into keep their value. Some rows are held out to see whether
    refinement helps, which L2 penalty suits, and after how many passes to stop: if it does not help, the forest is
    returned as it was.

    On rows it was trained on, a forest does better than on new ones. So, if X are the training rows of a fitted
    estimator, a second one is fitted without the held-out rows to choose these things: see `refit_estimator`. A
    Forest cannot be fitted again: then only strong L2 penalties are tried, and a gain must be clear. For the best
    result pass the estimator, or `validation` rows that it was not trained on.

    Parameters
    ----------
    model : Forest or fitted estimator
        Any that `as_forest` takes. Of boosted trees the raw sum is refined.
    X : rows, or an iterable of batches of rows
        The training rows will do. Of batches (Arrow record batches, arrays, data frames) only the leaf numbers are
        kept, two bytes for each row and tree; arrays on disk (numpy.memmap) are read a block at a time.
    y : array
        Labels or targets of all rows.
    loss : str or list of str, optional
        For classification ``"cross_entropy"`` (the default of bcd), ``"mse"`` (the default of sgd) or
        ``"squared_hinge"``; for regression ``"mse"``, ``"huber"``, ``"absolute"`` or ``"quantile_0.9"`` (of any
        quantile in thousandths), and ``"poisson"`` for forests with an exponential link. ``"squared_error"`` and
        ``"absolute_error"`` are other names. Of a list, or of all that suit with ``"auto"``, the best on the
        held-out rows.
    solver : {"bcd", "sgd"}
        Block coordinate descent, with one tree a block; or gradient descent as in Buschjäger and Morik 2022.
    epochs : int, optional
        The most passes over the rows: 20 for bcd and 50 for sgd by default.
    l2 : float, optional
        For bcd: the L2 penalty on leaf values times tree weights, in rows. By default the best on the held-out rows
        of 0.3 to 100; without such rows 1 for cross-entropy and Poisson, and 5 for the other losses.
    shrink_to : {"zero", "mean", "original"}, optional
        For bcd: what the L2 penalty shrinks leaf values towards, zero (the default for classification), the mean of
        their tree, or what they were (the default for regression).
    tol : float
        For bcd: the relative decrease of the objective in a pass below which it stops.
    penalty : {"group_l1", "l1"}, optional
        ``"group_l1"``, for bcd, removes trees that are not worth its `strength`; ``"l1"``, for sgd with
        `refine_weights`, shrinks tree weights. A penalty is for fewer trees, gain or not: no rows are held out.
    strength : float
        Of the penalty.
    step_size : float
        For sgd.
    batch_size : int
        For sgd.
    batch_gradient : {"sum", "mean", "last"}
        For sgd: the sum or the mean over the rows of a batch; or the last row of the batch in each leaf, as in the
        code behind the paper's tables.
    optimizer : {"sgd", "adam"}
        For sgd.
    refine_weights : bool
        For sgd: whether tree weights are learned too.
    sample_weight : array, optional
        A row with weight 2 counts as two rows.
    validation_fraction : float or None
        The share of the rows to hold out. With None, or 0, every pass is made on all rows and the last one kept.
    validation : (X, y), (X, y, sample_weight) or "oob", optional
        Validation rows to use in place of held-out ones, best such as the forest was not trained on. With
        ``"oob"``, during validation each row is predicted only by the trees that were not trained on it: for `model`
        a fitted estimator with bootstrap, X and y its training rows.
    in_bag : array, optional
        Which rows each tree was trained on, (trees, rows), for ``validation="oob"`` with a Forest.
    refit : bool
        Whether to learn once more from all rows, held-out ones too, for as many passes as were best.
    refit_estimator : bool or function
        If `model` is an estimator and X its training rows: whether to fit a second one like it without the held-out
        rows, and validate on that. It takes as long as the first fit, and allows for weaker L2 penalties. With
        False, the model is taken as it is, like a Forest. A function is called in place of the estimator's `fit`: it
        takes the numbers of the rows to grow on and returns a Forest.
    random_state : int or RandomState, optional
        For the rows held out and the order of rows in gradient descent.
    n_jobs : int, optional
        Threads that look up the leaves.
    progress : function, optional
        Called after each pass with the number of passes made, of how many, and the objective.
    return_report : bool
        Whether to return ``(forest, report)``.

    Returns
    -------
    Forest, or (Forest, RefinementReport) with `return_report`

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X[::2], y[::2])
    >>> better, report = bh.refine(rf, X[::2], y[::2], random_state=0, return_report=True)
    >>> (rf.predict(X[1::2]) == y[1::2]).mean() < (better.predict(X[1::2]) == y[1::2]).mean()
    np.True_
    >>> report.loss, report.validated_on
    ('cross_entropy', 'refitted estimator')
    """
    options = RefinementOptions(
        loss=loss,
        solver=solver,
        epochs=epochs,
        l2=l2,
        shrink_to=shrink_to,
        penalty=penalty,
        strength=strength,
        tol=tol,
        step_size=step_size,
        batch_size=batch_size,
        batch_gradient=batch_gradient,
        optimizer=optimizer,
        refine_weights=refine_weights,
    )
    forest, report = select_and_fit(
        model,
        X,
        y,
        options,
        sample_weight=sample_weight,
        validation_fraction=validation_fraction,
        validation=validation,
        in_bag=in_bag,
        refit=refit,
        refit_estimator=refit_estimator,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return (forest, report) if return_report else forest
