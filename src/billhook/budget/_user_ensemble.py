"""The user's own ensembles, which are pruned, truncated, merged, refined and packed instead of being grown here."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import OutOfTimeError, seconds_left
from billhook.budget._grow import PRUNING_ROWS, best_first
from billhook.budget._space import GrowthConfig
from billhook.budget._splits import Split, TrainingRows, sample_row_numbers
from billhook.forest import Forest
from billhook.packing import CategoryQuantizer, Coding, RowCodes, coding_of, on_features, put_sets, threshold_codes

# To see how long it takes, an estimator is fitted to so many times more rows, if that takes this share of the time.
MORE_ROWS, SHARE_TO_SEE = 8, 0.2


@dataclass(frozen=True, eq=False)
class UserEnsemble:
    """Fits the user's ensemble to the rows with some numbers, or returns the one that is fitted already.

    To fit an estimator cannot be broken off: it is not begun where it would take longer than there is time, by how
    long it took with fewer rows (`seconds_by_rows`).
    """

    make: Callable[[TrainingRows, NDArray[np.int64]], Forest]
    n_values: int
    seconds_by_rows: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, make: Callable[[TrainingRows, NDArray[np.int64]], Forest], rows: TrainingRows, few: NDArray[np.int64]
    ) -> "UserEnsemble":
        """Return an ensemble that `make` fits; it has been fitted to a few rows of all classes, to see its leaves."""
        start = time.perf_counter()
        forest = make(rows, few)
        return cls(make, n_values_of(forest), {few.size: time.perf_counter() - start})

    @classmethod
    def fitted(cls, forest: Forest) -> "UserEnsemble":
        """Return an ensemble that is fitted already, whatever the rows."""
        return cls(lambda _rows, _train: forest, n_values_of(forest))

    def on_codes(self, growth: GrowthConfig, rows: TrainingRows, split: Split) -> tuple[Forest, Coding, RowCodes]:
        """Return the ensemble with its thresholds as codes, and its trees truncated and the best ones first."""
        train = split.train
        forest = self._made(rows, train)
        if forest.n_leaves > growth.leaves:
            forest = forest.truncate(max_leaves=growth.leaves)
        some = train[:: -(-train.size // PRUNING_ROWS)]
        forest = best_first(forest, rows.X[some], rows.labels[some], rows.weight[some])
        if not rows.has_missing:
            forest = replace(forest, missing_left=np.zeros(forest.n_nodes, np.bool_))
        is_last = train.size == rows.n_rows  # it is asked for codes once, and others for each trial
        coding = coding_of(forest, growth.bits, rows.X if is_last else rows.X[train])
        forest, coding, codes = with_all_codes(forest, coding, rows)
        return forest, coding, codes if is_last else codes.keep()

    def _made(self, rows: TrainingRows, train: NDArray[np.int64]) -> Forest:
        # With few rows, much of the time may not depend on how many they are: more tell more.
        while self.seconds_by_rows and seconds_left() < self._seconds(train.size):
            n_more = MORE_ROWS * max(self.seconds_by_rows)
            if n_more >= train.size or self._seconds(n_more) > SHARE_TO_SEE * seconds_left():
                raise OutOfTimeError(f"to fit the estimator to {train.size:,} rows takes longer than there is time")
            labels = None if rows.classes is None else rows.y[train]
            some = sample_row_numbers(labels, train.size, n_more, 0)  # of all classes
            if some.size >= train.size:
                break
            self._timed(rows, train[some])
        return self._timed(rows, train)

    def _seconds(self, n_rows: int) -> float:
        """Return about how long it takes to fit the estimator to so many rows."""
        known = max(self.seconds_by_rows, default=0)
        return self.seconds_by_rows[known] * n_rows / known if known else 0.0

    def _timed(self, rows: TrainingRows, train: NDArray[np.int64]) -> Forest:
        start = time.perf_counter()
        forest = self.make(rows, train)
        self.seconds_by_rows[train.size] = time.perf_counter() - start
        return forest


def n_values_of(forest: Forest) -> int:
    """Return how many numbers a leaf has when it is packed."""
    return 1 if forest.value.shape[1] <= 2 else forest.value.shape[1]


def with_all_codes(forest: Forest, coding: Coding, rows: TrainingRows) -> tuple[Forest, Coding, RowCodes]:
    """Return the forest with codes for thresholds, the codes of all features, and the rows in them.

    What is split by categories follows all features, as features of its own.
    """
    feature, threshold = forest.feature.copy(), forest.threshold.copy()
    n_features, n_ordered = forest.n_features, sum(not isinstance(q, CategoryQuantizer) for q in coding.quantizers)
    place = dict(zip(coding.used[:n_ordered].tolist(), range(n_ordered), strict=True))
    of_sets = coding.used[n_ordered:]
    in_use = [coding.quantizers[place[k]] if k in place else None for k in range(n_features)]
    X = rows.X if of_sets.size == 0 else np.concatenate([rows.X, rows.X[:, of_sets]], axis=1)
    codes = RowCodes(X, [*in_use, *coding.quantizers[n_ordered:]], missing_values=rows.has_missing)
    if not coding.used.size:
        return forest, coding, codes
    for used, k in place.items():
        at = (forest.feature == used) & (forest.category_set < 0)
        threshold[at] = threshold_codes(forest.threshold[at], coding.quantizers[k], coding.values[k])
    put_sets(feature, threshold, forest, coding, n_features - n_ordered)
    # Features that no split tests have a code too: any.
    number = [*(place.get(k, 0) for k in range(n_features)), *range(n_ordered, coding.used.size)]
    whole = Coding(
        np.append(np.arange(n_features), of_sets),
        [coding.quantizers[k] for k in number],
        [coding.values[k] for k in number],
    )
    names = forest.feature_names
    if names is not None:
        names = (*names, *(names[k] for k in of_sets.tolist()))
    return on_features(forest, feature, threshold, whole.used.size, feature_names=names), whole, codes
