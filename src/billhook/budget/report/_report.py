"""What a search found, for people: in words and as a page."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import atomic_write
from billhook.budget.report._page import page


@dataclass(frozen=True)
class Point:
    """A candidate: what it takes, how good it is on rows it has not seen, and how it is made.

    `is_final` says whether it was compared on several splits of the rows, `is_on_front` whether no other is both
    smaller, or as small, and better.
    """

    nbytes: int
    score: float
    settings: dict[str, Any]
    is_final: bool
    is_on_front: bool
    is_chosen: bool


@dataclass(frozen=True)
class Stage:
    """What a step on the way to the chosen model came to: how good, and how many bytes if it is packed."""

    name: str
    score: float
    nbytes: int | None
    detail: str


@dataclass(frozen=True)
class TargetFit:
    """A device: its flash, what the model takes of it, data and the program that reads them, and whether it fits."""

    name: str
    flash: int
    ram: int
    takes: int
    fits: bool


@dataclass(frozen=True, eq=False)
class FitReport:
    """What a search found.

    Attributes
    ----------
    title : str
        What was learned from: the name of a table, or of an estimator.
    task : {"classification", "regression"}
    scoring : str
        How models are judged, as "accuracy".
    n_rows, n_features : int
    budget, nbytes : int
        Bytes of data that the model may take, and takes.
    target : str or None
    scores : tuple of float
        Of the chosen way, on the splits that it was compared by; `score` is their mean.
    points : tuple of Point
    stages : tuple of Stage
    targets : tuple of TargetFit
    classes : tuple of str
    confusion : array (classes, classes) or None
        Rows held out by true and by predicted class.
    errors : array (rows, 2) or None
        For regression: true and predicted numbers of some rows held out.
    notes : tuple of str
        What else is worth knowing.
    n_trials, seconds, seed, versions
        Of the search.
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

    @property
    def score(self) -> float:
        """How good models made the chosen way are on rows they have not seen."""
        return float(np.mean(self.scores))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a page on it: one HTML file that opens without a network.

        Parameters
        ----------
        path : path of a file
            Its folder is there; a file of this name is replaced.
        """
        html = page(self).encode("utf-8", "replace")  # half a surrogate pair has no place in a file
        with atomic_write(path) as file:
            file.write(html)
