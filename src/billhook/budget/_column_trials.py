"""How good trees are that test some columns of a table only."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from billhook._types import RowNumbers, Vector
from billhook.budget._grow import ScaledBoosting, new_boosting
from billhook.budget._portfolio import first_trials
from billhook.budget._splits import TrainingRows, sample_row_numbers
from billhook.growing import BinnedRows
from billhook.packing import code_features

# The most rows that trees are grown on, and fewer where these are more numbers than so many: a sum for each class.
MOST_ROWS, FEWEST_ROWS, NUMBERS = 12_000, 2_000, 8_000_000
N_TREES = 30
HELD_OUT = 0.25
# The size of the model does not matter here: trees are as for this one.
BUDGET = 4096
SPLITS_OF_ONE = 500


class ColumnTrials:
    """Grows boosted trees on some columns.

    Parameters
    ----------
    X : array (rows, features)
    rows : TrainingRows
        Their labels and weights, and what tells which of them belong together.
    train : array
        The numbers of the rows that may be looked at.
    places : sequence of arrays
        The features of each column.
    seed : int
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        rows: TrainingRows,
        train: RowNumbers,
        places: Sequence[NDArray[np.int64]],
        seed: int,
    ) -> None:
        n_rows = int(np.clip(NUMBERS // (X.shape[1] * rows.n_values), FEWEST_ROWS, MOST_ROWS))
        if n_rows < train.size:
            labels = None if rows.classes is None else rows.y[train]
            train = train[sample_row_numbers(labels, train.size, n_rows, seed)]
        self.rows, self.train, self.places, self.seed = rows, train, places, seed
        trials = first_trials(
            [BUDGET], X.shape[1], rows.n_values, ("boosted",), is_regression=rows.classes is None, others="later"
        )
        self.growth = trials[0].growth
        # Coded once: which columns trees may test does not change it.
        binned = code_features(X[train], self.growth.bits, SPLITS_OF_ONE).binned(self.growth.bins)
        self.codes, self.n_bins, self.has_missing = binned.codes_of_bins(np.arange(train.size))
        self.weight = rows.weight[train]

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.places)

    def by_gain(self, columns: Sequence[int]) -> list[int]:
        """Return these columns, those first whose splits gain most in trees that may test all of them."""
        features = np.concatenate([self.places[column] for column in columns])
        gain = np.zeros(len(self.has_missing))
        for tree in self._grown(features, self.weight).boosting.trees:
            is_split = tree.feature >= 0
            np.add.at(gain, features[tree.feature[is_split]], tree.gain[is_split])
        return sorted(columns, key=lambda column: (-gain[self.places[column]].sum(), column))

    def loss(self, columns: Sequence[int], n_held_out: int) -> float:
        """Return the mean loss of trees that test these columns, on rows held out `n_held_out` times."""
        features = np.sort(np.concatenate([self.places[column] for column in columns]))
        losses = []
        for number in range(n_held_out):
            is_held = self._held_out(number)
            # Rows without weight are not learned from, but scored.
            grown = self._grown(features, np.where(is_held, 0.0, self.weight))
            losses.append(self._loss_of(grown, is_held))
        return float(np.mean(losses))

    def _grown(self, features: NDArray[np.int64], weight: Vector) -> ScaledBoosting:
        codes = np.ascontiguousarray(self.codes[:, features])
        bins = BinnedRows.of(codes, self.n_bins[features], self.has_missing[features])
        grown = new_boosting(self.growth, self.rows, self.train, weight, bins, self.seed)
        for _ in range(N_TREES):
            grown.boosting.grow()
        return grown

    def _held_out(self, number: int) -> NDArray[np.bool_]:
        """Return which rows are held out: the latest, where rows have times, else whole units by chance."""
        if self.rows.times is not None:
            times = self.rows.times[self.train]
            return np.asarray(times > np.quantile(times, 1.0 - HELD_OUT * (number + 1)))
        random = np.random.default_rng([self.seed, number])
        units = self.rows.units
        if units is None:
            return random.random(self.train.size) < HELD_OUT
        own = np.unique(units[self.train], return_inverse=True)[1]
        return (random.random(int(own.max()) + 1) < HELD_OUT)[own]

    def _loss_of(self, grown: ScaledBoosting, is_held: NDArray[np.bool_]) -> float:
        """Return the log loss on rows that are held out; of numbers, the loss that is learned."""
        held = self.train[is_held]
        if not 0 < held.size < self.train.size:
            return 0.0
        scores, y, weight = grown.boosting.scores[is_held].astype(np.float64), self.rows.y[held], self.weight[is_held]
        if self.rows.classes is None:
            predicted = scores[:, 0] * grown.width + grown.middle
            return -self.rows.loss.score(np.exp(predicted) if self.rows.loss.link == "exp" else predicted, y, weight)
        if scores.shape[1] == 1:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        from scipy.special import logsumexp  # slow to import, and rarely needed

        own = scores[np.arange(held.size), y]
        return float(np.average(logsumexp(scores, axis=1) - own, weights=weight))
