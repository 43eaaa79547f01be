"""What a model gets wrong on held-out rows: the confusion matrix, its worst cells, or the errors of a regression."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget._regression_loss import SQUARES
from billhook.html import Head, count_text

# More classes than this have no room in a matrix; so many pairs of them are shown instead.
MOST_CLASSES, MOST_PAIRS = 30, 15
# Column headings longer than this are turned.
SHORT_NAME = 4
PAIR_HEADS = (Head("true class"), Head("predicted"), Head("rows", is_number=True), Head("of the true class"))


class ConfusionCell(NamedTuple):
    """How many rows of a true class get a predicted class."""

    kind: str
    n_rows: int
    depth: float


class ConfusionRow(NamedTuple):
    """The rows of a true class by predicted class, and its recall."""

    name: str
    cells: list[ConfusionCell]
    recall: str


class ConfusedPair(NamedTuple):
    """A true class and a wrong prediction for it, with the number of rows and their share of the true class."""

    true: str
    predicted: str
    n_rows: int
    share: float


class ConfusionMatrix(NamedTuple):
    """The matrix or, for many classes, the pairs that are confused most."""

    about: str
    is_turned: bool
    rows: list[ConfusionRow]
    heads: Sequence[Head]
    pairs: list[ConfusedPair]


def confusion_matrix(counts: NDArray[np.int64], classes: Sequence[str]) -> ConfusionMatrix:
    """Return the confusion matrix as the page shows it, from the number of rows by true and predicted class."""
    right, all_rows = int(np.trace(counts)), int(counts.sum())
    about = f"{right:,} of {count_text(all_rows, 'held-out row')} are classified correctly."
    if len(classes) > MOST_CLASSES:
        return ConfusionMatrix(about, False, [], PAIR_HEADS, _worst_pairs(counts, classes))
    about += (
        " Rows are true classes, columns are predicted classes; a stronger shade means a larger share of the class."
    )
    is_turned = any(len(name) > SHORT_NAME for name in classes)
    rows = [_row(k, row, classes[k]) for k, row in enumerate(counts)]
    return ConfusionMatrix(about, is_turned, rows, (), [])


class ErrorMeasures(NamedTuple):
    """How far off predicted numbers are; R2 is nan where all true ones are the same."""

    r2: float
    mean_absolute_error: float
    root_mean_squared_error: float


def error_measures(errors: NDArray[np.float64]) -> ErrorMeasures:
    """Return how far off predictions are, from true and predicted values (rows, 2)."""
    true, predicted = errors.T
    off = predicted - true
    r2 = SQUARES.score(predicted, true, np.ones(len(errors))) if (true != true[0]).any() else np.nan
    return ErrorMeasures(r2, float(np.abs(off).mean()), float(np.sqrt((off**2).mean())))


def errors_text(errors: NDArray[np.float64]) -> str:
    """Return R2, the mean absolute and the root mean squared error, in a sentence."""
    r2, absolute, squared = error_measures(errors)
    of_r2 = "" if np.isnan(r2) else f"R2 is {r2:.4g}, "
    return (
        f"On {count_text(len(errors), 'held-out row')}, {of_r2}the mean absolute error is {absolute:.4g} and "
        f"the root mean squared error is {squared:.4g}."
    )


def _row(true: int, counts: NDArray[np.int64], name: str) -> ConfusionRow:
    """Return a row of the matrix; shades are square roots of shares, so that a few mistakes can be seen."""
    total = max(int(counts.sum()), 1)
    cells = [
        ConfusionCell("right" if k == true else "wrong" if n else "none", n, (n / total) ** 0.5)
        for k, n in enumerate(counts.tolist())
    ]
    return ConfusionRow(name, cells, f"{counts[true] / total:.1%}" if counts.sum() else "")


def _worst_pairs(counts: NDArray[np.int64], classes: Sequence[str]) -> list[ConfusedPair]:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    worst = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    return [
        ConfusedPair(
            classes[true],
            classes[predicted],
            int(wrong[true, predicted]),
            float(wrong[true, predicted] / counts[true].sum()),
        )
        for true, predicted in (divmod(int(k), len(classes)) for k in worst)
        if wrong[true, predicted]
    ]
