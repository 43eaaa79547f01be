"""What a model gets wrong on rows held out: a confusion matrix, its worst cells, or errors of numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.html import Head, count_text

# More classes than this have no room in a matrix; so many pairs of them are shown instead.
MOST_CLASSES, MOST_PAIRS = 30, 15
# Column headings longer than this are turned.
SHORT_NAME = 4
PAIR_HEADS = (Head("true class"), Head("taken for"), Head("rows", is_number=True), Head("of the true class"))


class ConfusionCell(NamedTuple):
    """How many rows of one class are predicted as another, or as the same."""

    kind: str
    n_rows: int
    depth: float


class ConfusionRow(NamedTuple):
    """The rows of one true class by prediction, and the share that is right."""

    name: str
    cells: list[ConfusionCell]
    share: str


class ConfusedPair(NamedTuple):
    """Two classes of which one is predicted for the other."""

    true: str
    predicted: str
    n_rows: int
    share: float


class ConfusionMatrix(NamedTuple):
    """The matrix, or of many classes the pairs that are confused most."""

    about: str
    is_turned: bool
    rows: list[ConfusionRow]
    heads: Sequence[Head]
    pairs: list[ConfusedPair]


def confusion_matrix(counts: NDArray[np.int64], classes: Sequence[str]) -> ConfusionMatrix:
    """Return what the page shows of rows counted by true and by predicted class."""
    right, all_rows = int(np.trace(counts)), int(counts.sum())
    about = f"{right:,} of {count_text(all_rows, 'row')} held out are given the right class."
    if len(classes) > MOST_CLASSES:
        return ConfusionMatrix(about, False, [], PAIR_HEADS, _worst_pairs(counts, classes))
    about += (
        " A line for each true class, a column for what its rows were taken for; the stronger the shade, the more."
    )
    is_turned = any(len(name) > SHORT_NAME for name in classes)
    rows = [_row(k, row, classes[k]) for k, row in enumerate(counts)]
    return ConfusionMatrix(about, is_turned, rows, (), [])


def errors_text(errors: NDArray[np.float64]) -> str:
    """Return how far predicted numbers are off, in a sentence."""
    off = errors[:, 1] - errors[:, 0]
    return (
        f"On {count_text(len(errors), 'row')} held out, predictions are off by {np.abs(off).mean():.4g} on average; "
        f"the root of the mean squared error is {np.sqrt((off**2).mean()):.4g}."
    )


def _row(true: int, counts: NDArray[np.int64], name: str) -> ConfusionRow:
    """Return a line of the matrix; shades are roots of shares, as a few mistakes would not be seen."""
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
