"""What a search tries first. For numbers: leaves of more bits than those of classes have, and stronger penalties."""

from typing import Literal, NamedTuple

import numpy as np

from billhook.budget._space import (
    CompressionConfig,
    GrowthConfig,
    LeafRounding,
    Trial,
    first_growth_configs,
    first_trials,
)
from billhook.budget._splits import TrainingRows

# Histograms of more bins, over all features, make growing slow.
MOST_BINS = 100_000


class Start(NamedTuple):
    """The choices of a configuration that is tried first: see `GrowthConfig` and `CompressionConfig`."""

    leaves: int
    learning_rate: float
    bits: int
    bins: int
    min_weight: float
    overgrow: float
    l2: float | None
    leaf_bits: int
    rounding: LeafRounding

    def growth(self, n_features: int) -> GrowthConfig:
        """Return how trees are grown, with so many bins that it does not take long."""
        most_bins = max(8, 1 << int(np.log2(max(1.0, MOST_BINS / n_features))))
        bins = min(self.bins, most_bins)
        bits = self.bits - int(np.log2(self.bins // bins))
        return GrowthConfig("boosted", self.leaves, self.learning_rate, bits, bins, self.min_weight)

    @property
    def compression(self) -> CompressionConfig:
        """How they are made to fit."""
        return CompressionConfig(self.overgrow, self.l2, self.leaf_bits, rounding=self.rounding)


# fmt: off
# leaves, learning rate, bits, bins, min weight; overgrow, l2, leaf bits, rounding
STARTS = (
    Start(16, 0.2, 7, 64, 10.0, 1.0, None, 5, "scores"),
    Start(16, 0.2, 7, 64, 10.0, 2.0, 30.0, 5, "labels"),
    Start(16, 0.2, 7, 64, 10.0, 2.0, 300.0, 4, "scores"),
    Start(16, 0.1, 7, 64, 10.0, 2.0, 100.0, 5, "labels"),
    Start(32, 0.1, 8, 128, 3.0, 1.5, 30.0, 6, "labels"),
    Start(8, 0.1, 6, 32, 30.0, 2.0, 300.0, 4, "scores"),
    Start(64, 0.2, 8, 256, 3.0, 2.0, 10.0, 6, "labels"),
    Start(128, 0.5, 12, 1024, 1.0, 2.0, 1.0, 6, "labels"),
    Start(32, 0.4, 7, 64, 1.0, 2.0, 3.0, 5, "labels"),
)
# fmt: on


def starts_for(
    rows: TrainingRows,
    n_values: int,
    families: tuple[str, ...],
    budgets: list[int],
    *,
    others: Literal["as_many", "soon", "later"],
) -> list[Trial]:
    """Return what is tried first on these rows; `n_values` is how many numbers a leaf has. See `first_trials`."""
    if rows.classes is None and "user" not in families:
        return first_trials_of_numbers(budgets, rows.X.shape[1], others=others)
    return first_trials(
        first_growth_configs(rows.X.shape[1], rows.n_values, families), budgets, n_values, others=others
    )


def first_trials_of_numbers(
    budgets: list[int], n_features: int, *, others: Literal["as_many", "soon", "later"]
) -> list[Trial]:
    """Return what is tried first, the most promising first.

    The budgets other than the first have as many trials, or two each: soon, or when several are known for the first.
    """
    trials = []
    for place, start in enumerate(STARTS):
        for budget in budgets:
            is_soon = others == "soon" and place == 0
            is_later = others == "later" and place in (3, 4)
            if budget == budgets[0] or others == "as_many" or is_soon or is_later:
                trials.append(Trial(budget, start.growth(n_features), start.compression))
    return trials
