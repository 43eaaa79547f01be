"""`merge`: fewer leaves, by merging the sibling leaves that matter least, until the forest fits."""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from billhook.forest import Forest, as_weights
from billhook.interop import as_forest
from billhook.refinement._data import checked_targets, find_leaves
from billhook.refinement._leaf_merging import LocalRows, MergePasses, MergePlan, merge_leaves
from billhook.refinement._problem import Problem
from billhook.refinement._report import MergeReport


@overload
def merge(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    max_leaves: int | None = ...,
    size: int | None = ...,
    accounting: str | Callable[[Forest], int] = ...,
    loss: str | None = ...,
    l2: float | None = ...,
    sample_weight: ArrayLike | None = ...,
    n_jobs: int | None = ...,
    progress: Callable[[int, int, float], None] | None = ...,
    passes: MergePasses | None = ...,
    return_report: Literal[False] = ...,
) -> Forest: ...
@overload
def merge(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    max_leaves: int | None = ...,
    size: int | None = ...,
    accounting: str | Callable[[Forest], int] = ...,
    loss: str | None = ...,
    l2: float | None = ...,
    sample_weight: ArrayLike | None = ...,
    n_jobs: int | None = ...,
    progress: Callable[[int, int, float], None] | None = ...,
    passes: MergePasses | None = ...,
    return_report: Literal[True],
) -> tuple[Forest, MergeReport]: ...
def merge(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    max_leaves: int | None = None,
    size: int | None = None,
    accounting: str | Callable[[Forest], int] = "paper",
    loss: str | None = None,
    l2: float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    passes: MergePasses | None = None,
    return_report: bool = False,
) -> Forest | tuple[Forest, MergeReport]:
    """Return a refined forest with fewer leaves: sibling leaves that hardly differ are merged.

    In rounds, the pairs of sibling leaves whose merging raises the loss least, of all trees together, become one leaf
    each, and all leaf values are refined again. A tree may shrink to a single split, or become a constant that is
    added to the base values. Grow larger trees than fit, and let this choose the splits that are worth their bytes.

    Parameters
    ----------
    model : Forest or fitted estimator
    X : rows, or an iterable of batches of rows
    y : array
        Labels or targets of all rows.
    max_leaves : int, optional
        How many leaves the whole forest may have. Either this or `size` is needed.
    size : int, optional
        How many bytes the forest may take.
    accounting : str or function
        How bytes are counted: an argument of `Forest.size`, or a function of the forest.
    loss : str, optional
        One of the losses of `refine`.
    l2 : float, optional
        The L2 penalty on leaf values times tree weights, in rows: 1 for cross-entropy and Poisson, and 5 for the
        other losses by default. In regression, leaf values are shrunk towards the mean of their tree.
    sample_weight : array, optional
        A row with weight 2 counts as two rows.
    n_jobs : int, optional
        Threads that look up the leaves.
    progress : function, optional
        Called after each round with what the size has decreased by, of how much, and the objective.
    passes : MergePasses, optional
        In how many rounds to merge, and how many passes over the trees refine the leaf values.
    return_report : bool
        Whether to return ``(forest, report)``.

    Returns
    -------
    Forest, or (Forest, MergeReport) with `return_report`

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=64, random_state=0).fit(X[::2], y[::2])
    >>> small, report = bh.merge(rf, X[::2], y[::2], max_leaves=256, return_report=True)
    >>> report.n_leaves_before, small.n_leaves
    (1024, 256)
    >>> sixteen_each = bh.as_forest(rf).truncate(max_leaves=16)
    >>> (small.predict(X[1::2]) == y[1::2]).mean() > (sixteen_each.predict(X[1::2]) == y[1::2]).mean()
    np.True_
    """
    forest = as_forest(model)
    plan = MergePlan.of(forest, max_leaves=max_leaves, size=size, accounting=accounting, loss=loss, l2=l2)
    target = checked_targets(y, forest)
    weight = np.ones(target.size) if sample_weight is None else as_weights(sample_weight, target.size)
    plan.check(forest)
    plan = plan if passes is None else plan._replace(passes=passes)
    leaf = find_leaves(Problem(forest), [(X, target.size)], by_row=False, n_jobs=n_jobs)
    merged, report = merge_leaves(forest, LocalRows(leaf, target, weight), plan, progress)
    return (merged, report) if return_report else merged
