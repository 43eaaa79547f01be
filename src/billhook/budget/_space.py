"""The search space: how an ensemble is grown, how it is compressed, and the configurations that are tried first."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

EnsembleFamily = Literal["boosted", "random_forest", "extra_trees", "user"]
LeafRounding = Literal["scores", "labels", "alone"]
ROUNDINGS: tuple[LeafRounding, ...] = ("scores", "labels", "alone")


@dataclass(frozen=True)
class GrowthConfig:
    """How an ensemble is grown.

    Attributes
    ----------
    family : {"boosted", "random_forest", "extra_trees", "user"}
    leaves : int
        The most leaves of a tree.
    learning_rate : float
        Of boosting.
    bits, bins : int
        Each feature becomes a code of so many bits, and trees may split it at `bins` - 1 places.
    min_weight : float
        The least sum of second derivatives, or of row weights, in a leaf.
    max_tests : int
        The most distinct tests of all boosted trees; 0 for any number. Few can be shared in a table.
    reuse_factor : float
        How many times what the best test in use gains a new one must gain.
    l2 : float
        The penalty on squared leaf values while boosted trees are grown, in second derivatives.
    row_share, column_share : float
        Of the rows, for every boosted tree, and of the features, for every split of it, that are drawn.
    smoothing : float
        What share of what is learned is what a smooth function says of the rows, and not their targets: of numbers.
    projections : int
        How many weighted sums of features are learned, which boosted trees split as they split features.
    draw : int
        Which rows are left out of each tree, a fiftieth of them or more; of 0, only as `row_share` has it.
    """

    family: EnsembleFamily
    leaves: int
    learning_rate: float = 1.0
    bits: int = 8
    bins: int = 64
    min_weight: float = 1.0
    max_tests: int = 0
    reuse_factor: float = 1.0
    l2: float = 1.0
    row_share: float = 1.0
    column_share: float = 1.0
    smoothing: float = 0.0
    projections: int = 0
    draw: int = 0


@dataclass(frozen=True)
class CompressionConfig:
    """How a grown ensemble is made to fit the budget.

    Attributes
    ----------
    overgrow : float
        The ensemble is grown to so many times the budget, and sibling leaves are merged until it fits. With 1 it is
        cut off where the budget ends: as many trees as fit.
    l2 : float or None
        The L2 penalty on leaf values, in rows, when they are refined; None leaves them as they were grown.
    leaf_bits : int
        Bits of one number of a leaf.
    codebook : int or None
        The number of different leaves; None lets every leaf have a value of its own.
    by_class : bool
        Whether each class has a scale of its own.
    rounding : {"scores", "labels", "alone"}
        How leaf values are rounded: so that later trees make up for the error in the scores, or in the fit to the
        labels, or each value by itself.
    sweeps : int
        How many times the splits are chosen again among the tests in use, and leaf values refined once more.
    """

    overgrow: float = 1.0
    l2: float | None = None
    leaf_bits: int = 4
    codebook: int | None = None
    by_class: bool = False
    rounding: LeafRounding = "scores"
    sweeps: int = 0

    @property
    def packing(self) -> dict[str, Any]:
        """The options of `pack`."""
        scales = "class" if self.by_class else "one"
        return {"leaf_bits": self.leaf_bits, "codebook": self.codebook, "scales": scales}


@dataclass(frozen=True)
class Trial:
    """A configuration to evaluate: how to get a model of at most `budget` bytes."""

    budget: int
    growth: GrowthConfig
    compression: CompressionConfig


def drawn_as(trial: Trial, draw: int) -> Trial:
    """Return the trial with another draw of the rows that trees are grown on."""
    return replace(trial, growth=replace(trial.growth, draw=draw))


# Nothing is learned again, and each number is rounded by itself.
QUICKEST = CompressionConfig(leaf_bits=3, rounding="alone")
# What XGBoost has not, which grows on a cluster.
AS_XGBOOST: dict[str, Any] = {"max_tests": 0, "reuse_factor": 1.0, "smoothing": 0.0, "projections": 0}
# More leaves than any tree of a user's ensemble has.
MOST_LEAVES = 1 << 20
LEAVES = (4, MOST_LEAVES)
GROWN_LEAVES = (4, 256)
LEARNING_RATES = (0.03, 1.0)
BINS = (4, 8192)
CODE_BITS = (3, 16)
LEAF_BITS = (2, 8)
CODEBOOKS = (8, 1024)
L2_VALUES = (None, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
OVERGROW_VALUES = (1.0, 1.5, 2.0, 3.0)
SWEEPS = (0, 1, 4)
MIN_WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# From many tests to few.
MAX_TESTS = (0, 512, 256, 128, 64)
REUSE_FACTORS = (1.0, 1.5, 2.0, 3.0)
GROWTH_L2_VALUES = (1.0, 3.0, 10.0, 30.0, 100.0)
SHARES_DRAWN = (1.0, 0.7, 0.5, 0.3)
SMOOTHINGS = (0.0, 0.5, 1.0)
PROJECTIONS = (0, 4, 8, 16, 32, 64)
# With more numbers a leaf, to find a codebook takes tens of times as long as to refine.
SOON_SHARED = 64
# The share of the budget that a codebook may take.
CODEBOOK_SHARE = 0.2


def user_growth_configs() -> list[GrowthConfig]:
    """Return ways to take the user's ensemble far apart from each other: with fewer leaves, and coarser features."""
    shapes = ((MOST_LEAVES, 8), (64, 7), (32, 6), (MOST_LEAVES, 6))
    return [GrowthConfig("user", leaves, bits=bits) for leaves, bits in shapes]


def first_compression_configs(n_values: int, budget: int) -> list[CompressionConfig]:
    """Return configurations far apart from each other: the most promising first, quick ones before slow ones."""
    if n_values == 1:
        return [
            CompressionConfig(leaf_bits=3),
            CompressionConfig(2.0, 1.0, rounding="labels"),
            CompressionConfig(1.0, 10.0, rounding="labels"),
            CompressionConfig(2.0, 1.0, 3),
        ]
    entries = usual_codebook(n_values, budget)
    bits = 3 if n_values <= 10 else 2
    shared = [CompressionConfig(overgrow, 1.0, 4, entries, True, "labels") for overgrow in (1.0, 2.0)]
    refined = CompressionConfig(2.0, 1.0, bits, rounding="labels")
    if n_values <= 3:
        return [CompressionConfig(leaf_bits=4), refined, *shared]
    return [*shared, refined] if n_values <= SOON_SHARED else [refined, *shared]


def usual_codebook(n_values: int, budget: int) -> int:
    """Return how many different leaves are few enough for a budget."""
    most_entries = max(8.0, CODEBOOK_SHARE * budget / (n_values * 0.5))
    return int(min(256, 2 ** np.floor(np.log2(most_entries))))


def neighbours(trial: Trial) -> list[Trial]:
    """Return the trials that differ in one choice."""
    growths = [replace(trial, growth=growth) for growth in _neighbouring_growths(trial.growth)]
    compressions = [
        replace(trial, compression=compression) for compression in _neighbouring_compressions(trial.compression)
    ]
    return [other for other in growths + compressions if is_sensible(other)]


def is_sensible(trial: Trial) -> bool:
    """Whether the choices go together: merging and other splits refine, and a codebook needs labels."""
    compression = trial.compression
    changes_unrefined = (compression.overgrow > 1.0 or compression.sweeps > 0) and compression.l2 is None
    return not changes_unrefined and not (compression.codebook is not None and compression.rounding != "labels")


def settings_of(trial: Trial) -> dict[str, Any]:
    """Return the choices of a trial by their names, without those that do not matter to it."""
    growth, compression = trial.growth, trial.compression
    settings: dict[str, Any] = {"family": growth.family}
    if growth.family != "user" or growth.leaves != MOST_LEAVES:
        settings["leaves"] = growth.leaves
    if growth.family == "boosted":
        settings["learning_rate"] = growth.learning_rate
    settings["bits"] = growth.bits
    if growth.family != "user":
        settings["bins"] = growth.bins
    if growth.family == "boosted":
        settings["min_weight"] = growth.min_weight
    if growth.max_tests:
        settings["max_tests"] = growth.max_tests
    if growth.reuse_factor > 1.0:
        settings["reuse_factor"] = growth.reuse_factor
    if growth.l2 != 1.0:
        settings["growth_l2"] = growth.l2
    for name in ("row_share", "column_share"):
        if getattr(growth, name) < 1.0:
            settings[name] = getattr(growth, name)
    if growth.smoothing:
        settings["smoothing"] = growth.smoothing
    if growth.projections:
        settings["projections"] = growth.projections
    settings["overgrow"] = compression.overgrow
    if compression.l2 is not None:
        settings["l2"] = compression.l2
    if compression.sweeps:
        settings["sweeps"] = compression.sweeps
    settings["leaf_bits"] = compression.leaf_bits
    if compression.codebook is not None:
        settings |= {"codebook": compression.codebook, "by_class": compression.by_class}
    return settings | {"rounding": compression.rounding}


def _neighbouring_growths(growth: GrowthConfig) -> list[GrowthConfig]:
    ends = LEAVES if growth.family == "user" else GROWN_LEAVES
    near = [replace(growth, leaves=leaves) for leaves in _halved_and_doubled(growth.leaves, ends)]
    if growth.family == "boosted":
        near += [replace(growth, learning_rate=rate) for rate in _scaled(growth.learning_rate, 1.5, LEARNING_RATES)]
        near += [replace(growth, max_tests=most) for most in _beside(growth.max_tests, MAX_TESTS)]
        near += [replace(growth, reuse_factor=factor) for factor in _beside(growth.reuse_factor, REUSE_FACTORS)]
        near += _neighbouring_draws(growth)
        # Where it was tried it may help; classes have no numbers to smooth.
        if growth.projections:
            near += [replace(growth, projections=n) for n in _below_and_above(growth.projections, PROJECTIONS)]
        if growth.smoothing:
            near += [replace(growth, smoothing=share) for share in _beside(growth.smoothing, SMOOTHINGS)]
    if growth.family != "user":
        near += [replace(growth, bins=bins) for bins in _halved_and_doubled(growth.bins, BINS)]
        finer, coarser = (growth.bits + 2, growth.bins * 4), (growth.bits - 2, growth.bins // 4)
        near += [
            replace(growth, bits=bits, bins=bins)
            for bits, bins in (finer, coarser)
            if _is_in(bits, CODE_BITS) and _is_in(bins, BINS)
        ]
        near += [replace(growth, min_weight=weight) for weight in _beside(growth.min_weight, MIN_WEIGHTS)]
    near += [replace(growth, bits=bits) for bits in (growth.bits - 1, growth.bits + 1) if _is_in(bits, CODE_BITS)]
    return near


def _neighbouring_draws(growth: GrowthConfig) -> list[GrowthConfig]:
    """Return what draws more or fewer rows and features, of what draws some: classes gain nothing by it."""
    if growth.row_share == growth.column_share == growth.l2 == 1.0:
        return []
    near = [replace(growth, row_share=share) for share in _beside(growth.row_share, SHARES_DRAWN)]
    near += [replace(growth, column_share=share) for share in _beside(growth.column_share, SHARES_DRAWN)]
    return near + [replace(growth, l2=l2) for l2 in _beside(growth.l2, GROWTH_L2_VALUES)]


def _neighbouring_compressions(compression: CompressionConfig) -> list[CompressionConfig]:
    near = [replace(compression, overgrow=times) for times in _beside(compression.overgrow, OVERGROW_VALUES)]
    near += [replace(compression, l2=l2) for l2 in _beside(compression.l2, L2_VALUES)]
    more_and_fewer_bits = (compression.leaf_bits - 1, compression.leaf_bits + 1)
    near += [replace(compression, leaf_bits=bits) for bits in more_and_fewer_bits if _is_in(bits, LEAF_BITS)]
    if compression.sweeps:  # where it was tried it may help; classes gain less than the time is worth
        near += [replace(compression, sweeps=sweeps) for sweeps in _beside(compression.sweeps, SWEEPS)]
    near += [replace(compression, rounding=name) for name in ROUNDINGS if name != compression.rounding]
    if compression.codebook is not None:
        near += [
            replace(compression, codebook=entries) for entries in _halved_and_doubled(compression.codebook, CODEBOOKS)
        ]
        near.append(replace(compression, by_class=not compression.by_class))
    return near


def _is_in(number: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= number <= ends[1]


def _halved_and_doubled(number: int, ends: tuple[int, int]) -> list[int]:
    return [n for n in (number // 2, number * 2) if _is_in(n, ends)]


def _scaled(number: float, factor: float, ends: tuple[float, float]) -> list[float]:
    return [round(n, 3) for n in (number / factor, min(number * factor, ends[1])) if _is_in(n, ends) and n != number]


def _below_and_above(number: int, numbers: tuple[int, ...]) -> list[int]:
    """Return the next lower and the next higher of ascending numbers, of which this one need not be."""
    below, above = [n for n in numbers if n < number], [n for n in numbers if n > number]
    return below[-1:] + above[:1]


def _beside(value: Any, values: tuple[Any, ...]) -> list[Any]:
    at = values.index(value)
    return [values[k] for k in (at - 1, at + 1) if 0 <= k < len(values)]
