"""The user's own ensembles, which are pruned, truncated, merged, refined and packed instead of being grown here."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from billhook.budget._grow import best_first
from billhook.budget._space import GrowthConfig
from billhook.budget._splits import Split, TrainingRows
from billhook.forest import Forest
from billhook.packing import Coding, codes_of, coding_of

Codes = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class UserEnsemble:
    """Fits the user's ensemble to the rows with some numbers, or returns the one that is fitted already."""

    make: Callable[[TrainingRows, NDArray[np.int64]], Forest]
    n_values: int

    @classmethod
    def fitted(cls, forest: Forest) -> "UserEnsemble":
        """Return an ensemble that is fitted already, whatever the rows."""
        return cls(lambda _rows, _train: forest, n_values_of(forest))

    def on_codes(self, growth: GrowthConfig, rows: TrainingRows, split: Split) -> tuple[Forest, Coding, Codes]:
        """Return the ensemble with its thresholds as codes, and its trees truncated and the best ones first."""
        forest = self.make(rows, split.train)
        if forest.n_leaves > growth.leaves:
            forest = forest.truncate(max_leaves=growth.leaves)
        forest = best_first(forest, rows.X[split.train], rows.labels[split.train], rows.weight[split.train])
        if not rows.has_missing:
            forest = replace(forest, missing_left=np.zeros(forest.n_nodes, np.bool_))
        coding = coding_of(forest, growth.bits, rows.X[split.train])
        return with_all_codes(forest, coding, rows)


def n_values_of(forest: Forest) -> int:
    """Return how many numbers a leaf has when it is packed."""
    return 1 if forest.value.shape[1] <= 2 else forest.value.shape[1]


def with_all_codes(forest: Forest, coding: Coding, rows: TrainingRows) -> tuple[Forest, Coding, Codes]:
    """Return the forest with codes for thresholds, the codes of all features, and the rows in them."""
    threshold = forest.threshold.copy()
    n_features = forest.n_features
    codes = np.zeros((rows.n_rows, n_features), np.float32)
    if not coding.used.size:
        return forest, coding, codes
    codes[:, coding.used] = codes_of(rows.X, coding.used, coding.quantizers, missing_values=rows.has_missing)
    for feature, quantizer, values in zip(coding.used.tolist(), coding.quantizers, coding.values, strict=True):
        at = forest.feature == feature
        threshold[at] = quantizer.threshold_codes(forest.threshold[at], values)
    # Features that no split tests have a code too: any.
    place = dict(zip(coding.used.tolist(), range(coding.used.size), strict=True))
    number = [place.get(feature, 0) for feature in range(n_features)]
    whole = Coding(np.arange(n_features), [coding.quantizers[k] for k in number], [coding.values[k] for k in number])
    return replace(forest, threshold=threshold), whole, codes
