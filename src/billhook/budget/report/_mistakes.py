"""What a model gets wrong on held-out rows: the confusion matrix, its worst cells, or the errors of a regression."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def errors_text(errors: NDArray[np.float64]) -> str:
    """Return the mean absolute and the root mean squared error, in a sentence."""
    off = errors[:, 1] - errors[:, 0]
    return (
        f"On {count_text(len(errors), 'held-out row')}, the mean absolute error is {np.abs(off).mean():.4g} and "
        f"the root mean squared error is {np.sqrt((off**2).mean()):.4g}."
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
