"""How well classifiers fit the rows that they have learned from."""

from billhook._types import Float32Array, RowNumbers
from billhook.budget._scoring import accuracy, tempered_log_loss
from billhook.budget._splits import Split, TrainingRows
from billhook.packing import Packed

# How well last models fit is told by so many of the rows; which trees are made a model, and how well those of trials
# fit, by so many.
MOST_FITTED, ROWS_TO_PICK_BY = 40_000, 5_000


def misfit(packed: Packed, X: Float32Array, rows: TrainingRows, split: Split) -> float | None:
    """Return the mistakes on rows that a model has learned from, as a share of those on others; of classes only."""
    if rows.classes is None:
        return None
    parts = (spread_out(split.train, ROWS_TO_PICK_BY), split.held_out)
    own, others = (1.0 - accuracy(packed, X[some], rows.labels[some], rows.weight[some]) for some in parts)
    return own / others if others else float(own > 0.0)


def fit_to(packed: Packed, X: Float32Array, rows: TrainingRows, split: Split) -> tuple[float | None, float | None]:
    """Return the accuracy and the log loss of a model on rows that it has learned from; of classes only."""
    if rows.classes is None:
        return None, None
    some = spread_out(split.train, MOST_FITTED)
    weight = rows.weight[some]
    return (
        accuracy(packed, X[some], rows.labels[some], weight),
        tempered_log_loss(packed, X[some], rows.y[some], weight),
    )


def spread_out(numbers: RowNumbers, most: int) -> RowNumbers:
    """Return at most so many of the numbers, evenly spread."""
    return numbers[:: max(1, -(-numbers.size // most))]
