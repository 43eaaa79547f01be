"""The report of a search: its numbers, and a page that shows them."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import atomic_write
from billhook.budget._interval import Interval
from billhook.budget._stages import Stage
from billhook.budget.report._mistakes import ErrorMeasures, error_measures
from billhook.budget.report._page import page
from billhook.codegen import LayoutCost, LayoutName, TargetFit

if TYPE_CHECKING:
    from billhook.budget._column_curve import ColumnPoint
    from billhook.budget._other_models import OtherModel


@dataclass(frozen=True)
class Point:
    """A configuration that was evaluated: its size, its score on held-out rows and its settings.

    `is_final` says whether it was evaluated on several splits of the rows, `is_on_front` whether no other is both
    better and at most as large.
    """

    nbytes: int
    score: float
    settings: dict[str, Any]
    is_final: bool
    is_on_front: bool
    is_chosen: bool


@dataclass(frozen=True, eq=False)
class FitReport:
    """The result of a search, as `save` shows it.

    Attributes
    ----------
    title : str
        The name of the training data, or of the estimator.
    task : {"classification", "regression"}
    scoring : str
        The name of the score, as "accuracy".
    n_rows, n_features : int
    budget, nbytes : int
        Bytes that the model may take and takes, without the code that reads it.
    target : str or None
    scores : tuple of float
        Of the chosen configuration, on the held-out rows of each split; `score` is their mean.
    interval : Interval or None
        An interval of 95 % for the score on rows to come, its ends `low` and `high`; None where it cannot be known,
        as of a scorer that a part of the rows is too little for, or that is slow.
    points : tuple of Point
    stages : tuple of Stage
        Of the chosen configuration, on one split; empty if the time allowed no comparison of the best.
    targets : tuple of TargetFit
    classes : tuple of str
    confusion : array (classes, classes) or None
        Number of held-out rows by true and by predicted class.
    errors : array (rows, 2) or None
        For regression: true and predicted values of a sample of the held-out rows.
    notes : tuple of str
        What else is worth knowing.
    n_trials, seconds, seed, versions
        Of the search.
    layout : {"compact", "balanced", "fast"}
        How the model is written in C.
    layouts : tuple of LayoutCost
        Flash and cycles of each layout on the target, where it was chosen by them.
    too_slow : str
        That no layout takes as few cycles as were asked for, and what each takes: `layout` is then the fastest that
        fits the target. Empty if one does.
    others : tuple of OtherModel
        What other libraries make of the same bytes, if that was asked for.
    columns : tuple of ColumnPoint
        With `max_features`: scores of models of one configuration that read fewer columns and more.
    """

    title: str
    task: str
    scoring: str
    n_rows: int
    n_features: int
    budget: int
    nbytes: int
    target: str | None
    scores: tuple[float, ...]
    points: tuple[Point, ...]
    stages: tuple[Stage, ...]
    targets: tuple[TargetFit, ...]
    classes: tuple[str, ...]
    confusion: NDArray[np.int64] | None
    errors: NDArray[np.float64] | None
    notes: tuple[str, ...]
    n_trials: int
    seconds: float
    seed: int
    versions: dict[str, str]
    layout: LayoutName = "compact"
    layouts: tuple[LayoutCost, ...] = ()
    too_slow: str = ""
    others: "tuple[OtherModel, ...]" = ()
    columns: "tuple[ColumnPoint, ...]" = ()
    interval: Interval | None = None

    @property
    def score(self) -> float:
        """The mean score of the chosen configuration on held-out rows."""
        return float(np.mean(self.scores))

    @property
    def error_measures(self) -> ErrorMeasures | None:
        """R2, mean absolute and root mean squared error on the held-out rows in `errors`; None for classes."""
        return None if self.errors is None or not len(self.errors) else error_measures(self.errors)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report as one HTML file that opens without a network.

        Parameters
        ----------
        path : path of a file
            Its folder must exist; a file of this name is replaced.
        """
        html = page(self).encode("utf-8", "replace")  # half a surrogate pair has no place in a file
        with atomic_write(path) as file:
            file.write(html)
