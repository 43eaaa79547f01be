"""The rows of a fold, and the seeds of what is drawn."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.analysis import BOOSTING, SEARCH
from billhook.datasets import DataSet
from billhook.study._study import Study, Unit

DEDICATED = 1.0 / 3.0
ClassNumbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Some rows of a data set, and their class numbers."""

    X: NDArray[np.float32]
    y: ClassNumbers


@dataclass(frozen=True, eq=False)
class FoldRows:
    """The rows of a fold: to grow trees on, to choose and refine them by, both together, and to test on."""

    grown: LabelledRows
    judged: LabelledRows
    train: LabelledRows
    test: LabelledRows
    n_classes: int


def seed_of(*parts: Any) -> int:
    """Return a seed that depends on all of the parts, and on nothing else."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:4], "little") >> 1


def rows_of(study: Study, unit: Unit, data: DataSet) -> FoldRows:
    """Return the rows of a unit."""
    assert data.classes is not None  # as `load_source` reads them
    folds = data.folds(study.folds, study.seed)
    train, test = next(pair for number, pair in enumerate(folds) if number == unit.fold)
    y = np.searchsorted(data.classes, data.y).astype(np.int64)

    def part(rows: NDArray[np.int64]) -> LabelledRows:
        return LabelledRows(data.X[rows], y[rows])

    whole, tested = part(train), part(test)
    if study.pruning_data == "training" or unit.base in (BOOSTING, SEARCH):
        return FoldRows(whole, whole, whole, tested, data.classes.size)
    from sklearn.model_selection import train_test_split

    # Not by class: one with a single row could not be split.
    seed = seed_of(study.seed, unit.data, unit.fold, "dedicated")
    grown, judged = train_test_split(train, test_size=DEDICATED, random_state=seed)
    known = np.isin(y[judged], y[grown])
    return FoldRows(part(grown), part(judged[known]), whole, tested, data.classes.size)
