"""How good predictions are: accuracy, balanced accuracy and F1, from the counts of (true, predicted) classes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Scores(NamedTuple):
    """Shares of 1."""

    accuracy: float
    balanced_accuracy: float
    f1: float


def scores_of(y: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> Scores:
    """Return the scores of class numbers; the last two are means over the classes that occur, each counting the same.

    Balanced accuracy is over the true classes; F1 over those that are true or predicted of some row.
    """
    counts = np.bincount(y * n_classes + predicted, minlength=n_classes * n_classes).reshape(n_classes, n_classes)
    right, of_true, of_predicted = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    occurs = of_true > 0
    either = of_true + of_predicted
    return Scores(
        float(right.sum() / counts.sum()),
        float(np.mean(right[occurs] / of_true[occurs])),
        float(np.mean(2.0 * right[either > 0] / either[either > 0])),
    )
