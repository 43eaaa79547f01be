"""Whether names become a feature for each category, or one feature in an order: by rows held out."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook.budget._compress import TooSmallError
from billhook.budget._scoring import score_of
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.budget._splits import TrainingRows, sampled, split
from billhook.budget._trial_runner import TrialRunner
from billhook.tables import Categorical, Table, encode

N_SPLITS = 3
MOST_ROWS = 30_000
# What can be learned with fewer bytes tells nothing, and with more the choice hardly matters.
BUDGETS = (512, 4096)
Way = Literal["one_hot", "ordered"]
WAYS: tuple[Way, ...] = ("one_hot", "ordered")


def training_rows(table: Table, X: NDArray[np.float32]) -> TrainingRows:
    """Return the rows of a table with these features."""
    if table.task == "regression":
        return TrainingRows(X, np.asarray(table.y, np.float64), np.ones(len(X)), None)
    classes, number = np.unique(table.y, return_inverse=True)
    return TrainingRows(X, number, np.ones(len(X)), classes)


def choose_encoding(table: Table, budget: int, seed: int, scoring: Any = None) -> Way:
    """Return the encoding with which a model of this size does better on rows held out; of equals the shorter.

    Orders are learned without the rows that judge them. `scoring` says what is better, as for `find`.
    """
    if not has_categories_to_order(table):
        return "ordered"
    table = _some(table, MOST_ROWS, seed)
    scores = {
        way: np.mean([_score(table, way, number, budget, seed, scoring) for number in range(N_SPLITS)])
        for way in WAYS
    }
    return "one_hot" if scores["one_hot"] > scores["ordered"] else "ordered"


def has_categories_to_order(table: Table) -> bool:
    """Whether a column of names has an order to learn."""
    return any(isinstance(column, Categorical) and len(column.categories) > 2 for column in table.columns)


def _score(table: Table, way: Way, number: int, budget: int, seed: int, scoring: Any) -> float:
    whole = training_rows(table, np.zeros((len(table.y), 1), np.float32))
    parted = split(whole, number, seed)
    _, encoding = encode(table.take(parted.train), way)
    rows = training_rows(table, encoding.apply(dict(zip(table.names, table.columns, strict=True))))
    bench = TrialRunner(rows, score_of(scoring, rows), seed)
    trial = Trial(
        int(np.clip(budget, *BUDGETS)), GrowthConfig("boosted", 16, 0.3, 6, 64), CompressionConfig(1.0, None, 4)
    )
    try:
        return bench.judge(bench.build(trial, parted, is_quick=True), parted)
    except TooSmallError:
        return -np.inf


def _some(table: Table, most: int, seed: int) -> Table:
    if len(table.y) <= most:
        return table
    return table.take(sampled(None if table.task == "regression" else table.y, len(table.y), most, seed))


@dataclass(frozen=True)
class OrderedFeatures:
    """Features of a table whose names are in an order learned from some rows: see `Recode`."""

    table: Table

    def __call__(self, train: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the features of all rows, in orders learned from those with these numbers."""
        _, encoding = encode(self.table.take(train), "ordered")
        return encoding.apply(dict(zip(self.table.names, self.table.columns, strict=True)))

    def take(self, some: NDArray[np.int64]) -> "OrderedFeatures":
        """Return this for some of the rows."""
        return OrderedFeatures(self.table.take(some))
