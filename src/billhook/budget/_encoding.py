"""Whether names become a feature for each category, or one feature in an order: by rows held out."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from billhook.budget._bench import Bench
from billhook.budget._recipe import Recipe, Shrinking, Trial
from billhook.budget._rows import Rows, sample
from billhook.budget._scoring import Score, score_of
from billhook.datasets import Table, encode
from billhook.packing import Nominal

N_SPLITS = 3
MOST_ROWS = 30_000
# What can be learned with fewer bytes tells nothing.
LEAST_BUDGET = 512
Way = Literal["one_hot", "ordered"]
WAYS: tuple[Way, ...] = ("one_hot", "ordered")


def rows_of(table: Table, X: NDArray[np.float32]) -> Rows:
    """Return the rows of a table with these features."""
    if table.task == "regression":
        return Rows(X, np.asarray(table.y, np.float64), np.ones(len(X)), None)
    classes, number = np.unique(table.y, return_inverse=True)
    return Rows(X, number, np.ones(len(X)), classes)


def choose_encoding(table: Table, budget: int, seed: int) -> Way:
    """Return the encoding with which a model of this size does better on rows held out; of equals the shorter.

    Orders are learned without the rows that judge them.
    """
    if not any(isinstance(column, Nominal) and len(column.categories) > 2 for column in table.columns):
        return "ordered"
    table = _some(table, MOST_ROWS, seed)
    scores = {way: np.mean([_score(table, way, number, budget, seed) for number in range(N_SPLITS)]) for way in WAYS}
    return "one_hot" if scores["one_hot"] > scores["ordered"] else "ordered"


def _score(table: Table, way: Way, number: int, budget: int, seed: int) -> float:
    whole = rows_of(table, np.zeros((len(table.y), 1), np.float32))
    parted = Bench(whole, score_of(None, whole), seed).split(number)
    _, encoding = encode(table.take(parted.train), way)
    rows = rows_of(table, encoding.apply(dict(zip(table.names, table.columns, strict=True))))
    score: Score = score_of(None, rows)
    bench = Bench(rows, score, seed)
    trial = Trial(max(budget, LEAST_BUDGET), Recipe("boosted", 16, 0.3, 6, 64), Shrinking(1.0, None, 4))
    return bench.judge(bench.build(trial, parted, is_quick=True), parted)


def _some(table: Table, most: int, seed: int) -> Table:
    numbers = np.arange(len(table.y), dtype=np.float32)[:, None]
    return table.take(sample(rows_of(table, numbers), most, seed).X[:, 0].astype(np.int64))
