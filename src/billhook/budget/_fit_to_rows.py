"""How well classifiers fit the rows that they have learned from."""

import numpy as np

from billhook._types import Float32Array, RowNumbers
from billhook.budget._scoring import accuracy, tempered_log_loss
from billhook.budget._splits import Split, TrainingRows
from billhook.packing import Packed

# How well last models fit is told by so many of the rows; which trees are made a model, and how well those of trials
# fit, by so many.
MOST_FITTED, ROWS_TO_PICK_BY = 40_000, 5_000


def misfit(packed: Packed, X: Float32Array, rows: TrainingRows, split: Split, held_out_accuracy: float) -> float:
    """Return the mistakes on rows that a model has learned from, as a share of those on rows held out."""
    some = evenly_spaced(split.train, ROWS_TO_PICK_BY)
    own = 1.0 - accuracy(packed, X[some], rows.labels[some], rows.weight[some])
    others = 1.0 - held_out_accuracy
    return own / others if others else float(own > 0.0)


def fit_to(packed: Packed, X: Float32Array, rows: TrainingRows, split: Split) -> tuple[float, float]:
    """Return the accuracy and the log loss of a model on rows that it has learned from."""
    some = evenly_spaced(split.train, MOST_FITTED)
    features, weight = X[some], rows.weight[some]
    return (
        accuracy(packed, features, rows.labels[some], weight),
        tempered_log_loss(packed, features, rows.y[some], weight),
    )


def evenly_spaced(numbers: RowNumbers, most: int) -> RowNumbers:
    """Return the numbers, or so many of them if there are more, evenly spaced."""
    return numbers if numbers.size <= most else numbers[np.arange(most) * numbers.size // most]
