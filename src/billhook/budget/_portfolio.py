"""What a search tries first, in this order: chosen on many data sets, by benchmarks/portfolio.py."""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from billhook.budget._space import (
    CODEBOOKS,
    SOON_SHARED,
    CompressionConfig,
    EnsembleFamily,
    GrowthConfig,
    LeafRounding,
    Trial,
    first_compression_configs,
    user_growth_configs,
    usual_codebook,
)

# Histograms of more bins, over all features, make growing slow: with one number a leaf, and with several.
MOST_BINS, MOST_BINS_OF_VECTORS = 100_000, 25_000
# Smaller budgets have their only trial after so many others.
LATER = 4
FORESTS: tuple[EnsembleFamily, ...] = ("random_forest", "extra_trees")


class PortfolioEntry(NamedTuple):
    """The choices of a configuration; `codebook` is how many times the usual number of leaves for a budget it has."""

    leaves: int
    learning_rate: float
    bits: int
    bins: int
    min_weight: float
    max_tests: int
    reuse_factor: float
    overgrow: float
    l2: float | None
    leaf_bits: int
    codebook: float | None
    by_class: bool
    rounding: LeafRounding
    growth_l2: float = 1.0
    row_share: float = 1.0
    column_share: float = 1.0
    smoothing: float = 0.0
    sweeps: int = 0
    projections: int = 0

    def growth(self, n_features: int, n_values: int) -> GrowthConfig:
        """Return how trees are grown, with so many bins that it does not take long."""
        affordable = MOST_BINS if n_values == 1 else MOST_BINS_OF_VECTORS
        most_bins = max(8, 1 << int(np.log2(max(1.0, affordable / (n_features * n_values)))))
        bins = min(self.bins, most_bins)
        bits = self.bits - int(np.log2(self.bins // bins))
        growth = GrowthConfig("boosted", self.leaves, self.learning_rate, bits, bins, self.min_weight)
        shared = replace(growth, max_tests=self.max_tests, reuse_factor=self.reuse_factor)
        drawn = replace(shared, l2=self.growth_l2, row_share=self.row_share, column_share=self.column_share)
        return replace(drawn, smoothing=self.smoothing, projections=self.projections)

    def compression(self, n_values: int, budget: int) -> CompressionConfig:
        """Return how they are made to fit a budget."""
        entries = None
        if self.codebook is not None:
            entries = int(np.clip(self.codebook * usual_codebook(n_values, budget), *CODEBOOKS))
        rounded = (self.leaf_bits, entries, self.by_class, self.rounding)
        return CompressionConfig(self.overgrow, self.l2, *rounded, self.sweeps)


# fmt: off
# leaves, learning rate, bits, bins, min weight, max tests, reuse factor,
#     overgrow, l2, leaf bits, codebook, by class, rounding, growth L2, row share, column share
TWO_CLASSES: tuple[PortfolioEntry, ...] = (
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 1.0, None, 3, None, False, "scores"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 4, None, False, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 1.0, 10.0, 4, None, False, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 3, None, False, "scores"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 4, None, False, "labels", projections=16),
    PortfolioEntry(128, 0.5, 12, 1024, 1.0, 0, 1.0, 2.0, 1.0, 4, None, False, "labels"),
    PortfolioEntry(16, 0.267, 6, 64, 1.0, 512, 1.0, 1.0, None, 4, None, False, "scores", projections=8),
    PortfolioEntry(32, 0.1, 5, 16, 3.0, 512, 1.0, 1.0, None, 3, None, False, "scores"),
    PortfolioEntry(16, 0.267, 7, 128, 1.0, 0, 1.0, 1.0, None, 5, None, False, "scores"),
    PortfolioEntry(128, 0.5, 14, 4096, 1.0, 0, 1.5, 1.5, 1.0, 4, None, False, "labels"),
    PortfolioEntry(64, 0.3, 9, 512, 1.0, 0, 1.5, 1.0, None, 2, None, False, "scores"),
    PortfolioEntry(32, 0.4, 7, 32, 1.0, 0, 1.0, 2.0, 1.0, 3, None, False, "labels"),
    PortfolioEntry(16, 0.15, 8, 128, 0.3, 0, 1.5, 1.0, None, 3, None, False, "scores"),
    PortfolioEntry(16, 0.267, 6, 64, 1.0, 512, 1.0, 1.0, None, 4, None, False, "scores"),
    PortfolioEntry(32, 0.6, 8, 256, 3.0, 0, 1.0, 1.0, 3.0, 4, None, False, "labels"),
    PortfolioEntry(32, 0.4, 5, 16, 1.0, 0, 1.0, 1.0, None, 3, None, False, "alone"),
    PortfolioEntry(128, 0.5, 14, 4096, 1.0, 0, 1.5, 1.0, None, 5, None, False, "scores"),
    PortfolioEntry(8, 0.1, 6, 32, 1.0, 0, 1.0, 1.0, None, 3, None, False, "scores"),
)
MORE_CLASSES: tuple[PortfolioEntry, ...] = (
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 1.0, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 3, None, False, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 1.0, 3.0, 4, 2.0, True, "labels"),
    PortfolioEntry(16, 0.6, 7, 64, 1.0, 0, 1.0, 1.5, 1.0, 4, 1.0, True, "labels", projections=8),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 1.0, None, 4, None, False, "scores"),
    PortfolioEntry(16, 0.4, 6, 32, 1.0, 0, 1.5, 2.0, 1.0, 3, 1.0, True, "labels", projections=16),
    PortfolioEntry(32, 0.4, 6, 64, 0.3, 0, 1.0, 1.0, 1.0, 4, 0.5, True, "labels"),
    PortfolioEntry(32, 0.4, 7, 128, 1.0, 0, 1.0, 1.5, 1.0, 4, 2.0, True, "labels"),
    PortfolioEntry(16, 0.4, 6, 16, 1.0, 0, 1.0, 2.0, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(32, 0.4, 7, 64, 3.0, 0, 1.0, 1.0, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(16, 0.4, 4, 8, 1.0, 0, 1.0, 1.0, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(16, 0.4, 6, 32, 1.0, 0, 1.5, 1.0, 1.0, 3, 1.0, True, "labels"),
    PortfolioEntry(16, 0.4, 6, 32, 1.0, 0, 1.5, 2.0, 1.0, 3, 1.0, True, "labels"),
    PortfolioEntry(16, 0.6, 7, 64, 1.0, 0, 1.0, 1.5, 1.0, 4, 1.0, True, "labels"),
    PortfolioEntry(32, 0.3, 7, 128, 1.0, 0, 1.0, 2.0, 1.0, 4, 1.0, True, "labels"),
)
# With more than `SOON_SHARED` classes these come first.
MANY_CLASSES: tuple[PortfolioEntry, ...] = (
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 1.0, 2, None, False, "labels"),
)
# Chosen by hand since numbers are refined with stronger penalties; not measured anew by the benchmark.
NUMBERS: tuple[PortfolioEntry, ...] = (
    PortfolioEntry(16, 0.2, 7, 64, 10.0, 0, 1.0, 1.0, None, 5, None, False, "scores"),
    PortfolioEntry(16, 0.2, 7, 64, 10.0, 0, 1.0, 2.0, 30.0, 5, None, False, "labels", sweeps=4),
    PortfolioEntry(16, 0.2, 7, 64, 10.0, 0, 1.0, 2.0, 30.0, 5, None, False, "labels", smoothing=1.0),
    PortfolioEntry(8, 0.1, 8, 128, 10.0, 0, 1.0, 3.0, 30.0, 6, None, False, "labels", sweeps=4, projections=8),
    PortfolioEntry(16, 0.05, 7, 64, 30.0, 0, 1.0, 2.0, 300.0, 5, None, False, "labels", 10.0, 0.5, 0.5),
    PortfolioEntry(8, 0.1, 8, 128, 10.0, 0, 1.0, 3.0, 30.0, 6, None, False, "labels", sweeps=4),
    PortfolioEntry(8, 0.1, 8, 128, 10.0, 0, 1.0, 2.0, 10.0, 5, None, False, "labels", smoothing=1.0),
    PortfolioEntry(16, 0.1, 7, 64, 10.0, 0, 1.0, 2.0, 100.0, 5, None, False, "labels", sweeps=4, projections=16),
    PortfolioEntry(16, 0.2, 7, 64, 10.0, 0, 1.0, 2.0, 300.0, 4, None, False, "scores"),
    PortfolioEntry(16, 0.1, 7, 64, 10.0, 0, 1.0, 2.0, 100.0, 5, None, False, "labels", sweeps=4),
    PortfolioEntry(32, 0.1, 8, 128, 3.0, 0, 1.0, 1.5, 30.0, 6, None, False, "labels", sweeps=1),
    PortfolioEntry(8, 0.1, 6, 32, 30.0, 0, 1.0, 2.0, 300.0, 4, None, False, "scores"),
    PortfolioEntry(64, 0.2, 8, 256, 3.0, 0, 1.0, 2.0, 10.0, 6, None, False, "labels", sweeps=4),
    PortfolioEntry(8, 0.1, 8, 128, 1.0, 0, 1.0, 1.0, None, 4, None, False, "scores"),
    PortfolioEntry(128, 0.5, 12, 1024, 1.0, 0, 1.0, 2.0, 1.0, 6, None, False, "labels", sweeps=4),
    PortfolioEntry(32, 0.4, 7, 64, 1.0, 0, 1.0, 2.0, 3.0, 5, None, False, "labels"),
    PortfolioEntry(16, 0.067, 8, 64, 10.0, 0, 1.0, 1.0, None, 3, None, False, "scores"),
)
# fmt: on


def first_trials(
    budgets: list[int],
    n_features: int,
    n_values: int,
    families: tuple[str, ...],
    *,
    is_regression: bool,
    others: Literal["as_many", "soon", "later"],
) -> list[Trial]:
    """Return what is tried first, the most promising first; `n_values` is how many numbers a leaf has.

    The budgets other than the first have as many trials, or one each: soon, or when several are known for the first.
    """
    trials: list[Trial] = []
    by_budget = {budget: _trials(budget, n_features, n_values, families, is_regression) for budget in budgets}
    for place in range(len(by_budget[budgets[0]])):
        for budget in budgets:
            if budget == budgets[0] or others == "as_many":
                trials.append(by_budget[budget][place])
            elif (others, place) in (("soon", 0), ("later", LATER)):
                trials.append(by_budget[budget][0])
    return trials


def _trials(
    budget: int, n_features: int, n_values: int, families: tuple[str, ...], is_regression: bool
) -> list[Trial]:
    if "user" in families:
        growths, configs = user_growth_configs(), first_compression_configs(n_values, budget)
        # What refines tells more of a growth than what does not: the second does so, if not the first.
        telling = configs[configs[0].l2 is None]
        return [Trial(budget, growths[0], config) for config in configs] + [
            Trial(budget, growth, telling) for growth in growths[1:]
        ]
    entries = (NUMBERS if is_regression else TWO_CLASSES) if n_values == 1 else MORE_CLASSES
    if n_values > SOON_SHARED:
        entries = MANY_CLASSES + entries
    trials = [
        Trial(budget, entry.growth(n_features, n_values), entry.compression(n_values, budget)) for entry in entries
    ]
    of_forests = entries[0]._replace(leaves=64, learning_rate=1.0, bits=7, bins=64)
    growth = of_forests.growth(n_features, n_values)
    telling = next((trial.compression for trial in trials if trial.compression.l2 is not None), trials[0].compression)
    return trials + [
        Trial(budget, replace(growth, family=family), telling) for family in FORESTS if family in families
    ]
