"""Pareto fronts, and what is read off them."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.analysis._configurations import require_columns
from billhook.analysis._extras import pandas
from billhook.analysis._schema import BOOSTING, KB

if TYPE_CHECKING:
    from pandas import DataFrame


def pareto_front(accuracy: ArrayLike, nbytes: ArrayLike) -> NDArray[np.intp]:
    """Return the numbers of the models that no other one beats, from the smallest to the largest.

    A model is beaten by one that is at least as accurate and at most as large, and better in one of the two. Of
    models that are equal in both, the first is kept. A model without an accuracy or a size is not on the front.

    >>> from billhook.analysis import pareto_front
    >>> pareto_front([0.8, 0.9, 0.85, 0.95], [10, 20, 30, 40])
    array([0, 1, 3])
    """
    score, size = np.asarray(accuracy, np.float64), np.asarray(nbytes, np.float64)
    if score.ndim != 1 or score.shape != size.shape:
        raise ValueError(
            f"accuracy and nbytes must have one number per model, not the shapes {score.shape} and {size.shape}"
        )
    known = np.flatnonzero(~np.isnan(score) & ~np.isnan(size))
    order = known[np.lexsort((known, -score[known], size[known]))]
    best_before = np.maximum.accumulate(np.concatenate([[-np.inf], score[order]]))[:-1]
    return order[score[order] > best_before]


def pareto_fronts(configurations: "DataFrame") -> "DataFrame":
    """Return the configurations on the front of their method on their data set, each front by ascending size."""
    require_columns(configurations, ["data", "method", "accuracy", "nbytes"], "configurations")
    groups = configurations.groupby(["data", "method"], observed=True).indices
    accuracy, nbytes = configurations["accuracy"].to_numpy(), configurations["nbytes"].to_numpy()
    rows = [group[pareto_front(accuracy[group], nbytes[group])] for group in groups.values()]
    chosen = np.concatenate(rows) if rows else np.zeros(0, np.intp)
    return configurations.iloc[chosen].reset_index(drop=True)


def areas(configurations: "DataFrame") -> "DataFrame":
    """Return the normalised area under the Pareto front (APF) of each method on each data set, the larger the better.

    The trapezoid rule over KB, on a linear axis, from the smallest model of the method's front to the largest
    model of any method on that data set, up to which the front goes on flat; divided by that largest size. So a
    method pays for having no small models, and the area depends on which methods are in the table.

    As in the paper, boosting neither sets the largest size nor counts below the smallest model of the others: what
    is smaller is left out of its front. What is larger than the largest is cut off there. The area is missing where
    a method has no model left, and where there is only boosting its own models set both sizes.

    Returns
    -------
    DataFrame
        A row per data set, a column per method.
    """
    fronts = pareto_fronts(configurations)
    require_columns(configurations, ["base"], "configurations")
    is_boosting = (configurations["base"] == BOOSTING).to_numpy()
    data = configurations["data"].to_numpy()
    limits: dict[Any, tuple[float, float]] = {}
    for name in configurations["data"].unique():
        of_this = data == name
        others = of_this & ~is_boosting
        sizes = configurations["nbytes"].to_numpy()[others if others.any() else of_this] / KB
        limits[name] = (sizes.min(), sizes.max())
    area_of = {
        key: _area(front["accuracy"].to_numpy(), front["nbytes"].to_numpy() / KB, *limits[key[0]])
        for key, front in fronts.groupby(["data", "method"], observed=True)
    }
    return _wide(area_of)


def best_below(configurations: "DataFrame", kilobytes: float) -> "DataFrame":
    """Return the best mean accuracy of each method on each data set among models of at most so many KB.

    A KB has 1024 bytes. The accuracy is missing where no model of the method is that small.
    """
    if not (math.isfinite(kilobytes) and kilobytes > 0):
        raise ValueError(f"kilobytes must be a positive number, not {kilobytes}")
    require_columns(configurations, ["data", "method", "accuracy", "nbytes"], "configurations")
    fits = configurations["nbytes"] <= kilobytes * KB
    accuracy = configurations["accuracy"].where(fits)
    best = accuracy.groupby([configurations["data"], configurations["method"]], observed=True).max()
    return _wide(best.to_dict())


def _area(accuracy: NDArray[np.float64], kb: NDArray[np.float64], smallest: float, largest: float) -> float:
    """Return the area under a front, in ascending order, from `smallest` to `largest`, over `largest`."""
    counts = kb >= smallest
    kb, accuracy = kb[counts], accuracy[counts]
    if not len(kb) or kb[0] > largest:
        return math.nan
    within = kb <= largest
    x = np.append(kb[within], largest)
    y = np.append(accuracy[within], np.interp(largest, kb, accuracy))
    return float(np.trapezoid(y, x) / largest)


def _wide(values: dict[Any, float]) -> "DataFrame":
    """Return a table with a row per data set and a column per method."""
    pd = pandas()
    index = pd.MultiIndex.from_tuples(list(values), names=["data", "method"])
    return pd.Series(list(values.values()), index=index, dtype="float64").unstack("method").sort_index()
