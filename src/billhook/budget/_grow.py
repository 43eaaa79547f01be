"""Ensembles grown on codes."""

import threading
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._splits import Split, TrainingRows
from billhook.forest import Forest
from billhook.growing import BinnedRows, Boosting, forest_of_trees, grow_random_forest
from billhook.interop import boosting_parameters
from billhook.packing import BinnedFeatures
from billhook.pruning import pruning_order

N_TREES = 64
# Choosing trees needs no more rows.
PRUNING_ROWS = 10_000
# What a split takes at least, beside its leaf: its place in the tree, and its test.
LEAST_SPLIT_BITS = 8.0
TESTS_PER_BIN = 4
# More are not grown in the time that a trial may take.
MOST_TREES = 500
# Trees of a draw are grown on at most this share of the rows. Each tree takes a seed; those of draws are so far
# apart.
DRAWN_SHARE, SEEDS_APART = 0.98, 100_000


class GrowingEnsemble:
    """An ensemble grown on the bins of some rows, which goes on growing when more of it is needed.

    Boosting that goes on where it stopped gives the very trees that it would have given at once. `seconds` is how
    long growing has taken so far.
    """

    def __init__(
        self,
        growth: GrowthConfig,
        rows: TrainingRows,
        split: Split,
        bins: BinnedRows,
        seed: int,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.growth, self.rows, self.split, self.bins, self.seed, self.names = growth, rows, split, bins, seed, names
        self._lock = threading.Lock()
        self._boosting: Boosting | None = None
        self._middle, self._width = 0.0, 1.0
        self._forest: Forest | None = None
        self.seconds = 0.0

    def forest(self, n_leaves: int, binned: BinnedFeatures) -> Forest:
        """Return the ensemble with about so many leaves, or more; its thresholds are codes."""
        with self._lock:
            n_trees = n_rounds(self.growth, n_leaves) if self.growth.family == "boosted" else 0
            if self._forest is None or self._forest.n_trees < n_trees:
                start = time.perf_counter()
                try:
                    forest = self._boosted(n_trees) if n_trees else self._averaged()
                finally:
                    self.seconds += time.perf_counter() - start
                self._forest = on_codes(forest, binned, self.rows, self.names)
            return self._forest

    def seconds_for(self, n_leaves: int) -> float:
        """Return about how long it takes to grow so many leaves: fewer trees, or more, than there are."""
        if self._boosting is None or not self._boosting.trees:
            return self.seconds
        return self.seconds * n_rounds(self.growth, n_leaves) / len(self._boosting.trees)

    def _boosted(self, n_trees: int) -> Forest:
        rows, train = self.rows, self.split.train
        if self._boosting is None:
            self._boosting, self._middle, self._width = new_boosting(
                self.growth, rows, train, rows.weight[train], self.bins, self.seed
            )
        n_classes = 1 if rows.classes is None else rows.classes.size
        while len(self._boosting.trees) < n_trees:
            self._boosting.grow()
        self._boosting.free_memory()  # ensembles are kept, in case that they are to grow on
        n_trees = len(self._boosting.trees)  # more, where growing was broken off before
        forest = forest_of_trees(
            self._boosting.trees,
            **self._fields(n_trees),
            tree_weight=np.ones(n_trees),
            averages=False,
            base=self._boosting.base,
            link=rows.loss.link if rows.classes is None else "logistic" if n_classes == 2 else "softmax",
            origin="billhook.boosting",
        )
        return replace(forest, value=forest.value * self._width, base=forest.base * self._width + self._middle)

    def _averaged(self) -> Forest:
        rows, train, growth = self.rows, self.split.train, self.growth
        y, weight = rows.y[train], rows.weight[train]
        middle, width = 0.0, 1.0
        if rows.classes is None:
            y, middle, width = standardised(y, weight)
        n_features = self.bins.n_features
        trees = grow_random_forest(
            self.bins,
            y,
            weight,
            n_classes=None if rows.classes is None else rows.classes.size,
            n_trees=N_TREES,
            max_leaves=growth.leaves,
            max_features=n_features if rows.classes is None else max(1, int(np.sqrt(n_features))),
            is_extra=growth.family == "extra_trees",
            seed=self.seed,
        )
        forest = forest_of_trees(
            trees,
            **self._fields(N_TREES),
            tree_weight=np.full(N_TREES, 1.0 / N_TREES),
            averages=True,
            base=np.zeros(1 if rows.classes is None else rows.classes.size),
            link="identity",
            origin=f"billhook.{growth.family}",
        )
        forest = replace(forest, value=forest.value * width + middle)
        some = slice(None, None, -(-train.size // PRUNING_ROWS))
        return best_first(forest, self.bins.numbers(some), rows.labels[train[some]], weight[some])

    def _fields(self, n_trees: int) -> dict[str, Any]:
        """Return what forests of all kinds have in common."""
        classes = self.rows.classes
        return {
            "tree_column": np.zeros(n_trees, np.int32),
            "task": "regression" if classes is None else "classification",
            "n_features": self.bins.n_features,
            "classes": classes,
            "feature_names": self.names,
        }


class ScaledBoosting(NamedTuple):
    """Boosting on numbers around 0 of about 1, and what they were: times `width`, and `middle` more."""

    boosting: Boosting
    middle: float
    width: float


def new_boosting(
    growth: GrowthConfig,
    rows: TrainingRows,
    train: NDArray[np.int64],
    weight: NDArray[np.float64],
    bins: BinnedRows,
    seed: int,
) -> ScaledBoosting:
    """Return boosting that has not grown a tree yet, on the rows with these numbers, weights and bins."""
    y, middle, width = rows.y[train], 0.0, 1.0
    if rows.classes is None and rows.loss.link == "identity":
        y, middle, width = standardised(y, weight)
    n_classes = 1 if rows.classes is None else rows.classes.size
    boosting = Boosting(
        bins,
        y,
        weight,
        loss=rows.loss.growth if rows.classes is None else "logistic" if n_classes == 2 else "softmax",
        n_classes=n_classes,
        max_leaves=growth.leaves,
        learning_rate=growth.learning_rate,
        min_weight=growth.min_weight,
        max_tests=growth.max_tests,
        reuse_factor=growth.reuse_factor,
        quantile=rows.loss.quantile,
        l2=growth.l2,
        row_share=min(growth.row_share, DRAWN_SHARE) if growth.draw else growth.row_share,
        column_share=growth.column_share,
        seed=seed + growth.draw * SEEDS_APART,
    )
    return ScaledBoosting(boosting, middle, width)


def standardised(y: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Return numbers around 0 of about 1, and what they were: small gains count as none."""
    middle = float(np.average(y, weights=weight))
    width = float(np.sqrt(np.average((y - middle) ** 2, weights=weight))) or 1.0
    return (y - middle) / width, middle, width


def n_rounds(growth: GrowthConfig, n_leaves: int) -> int:
    """Return how many boosted trees have so many leaves."""
    return max(1, -(-n_leaves // growth.leaves))


def leaves_for(trial: Trial, n_features: int, n_values: int) -> int:
    """Return about how many leaves fit a budget, and so many times over; rather too many."""
    growth, compression = trial.growth, trial.compression
    n_tests = min(TESTS_PER_BIN * growth.bins, growth.max_tests or np.inf)
    test_bits = min(np.log2(n_tests), growth.bits + np.log2(n_features))
    leaf_bits = compression.leaf_bits * n_values
    if compression.codebook is not None:
        leaf_bits = min(leaf_bits, int(np.log2(compression.codebook)))
    bits = max(LEAST_SPLIT_BITS, 2.0 + test_bits + leaf_bits)
    most = (MOST_TREES - 1) * growth.leaves
    return min(int(8 * trial.budget * compression.overgrow / bits), most) + growth.leaves


def on_codes(forest: Forest, binned: BinnedFeatures, rows: TrainingRows, names: tuple[str, ...] | None) -> Forest:
    """Return a forest that was grown on bins with codes for thresholds, and these names of features."""
    threshold, n_codes = np.zeros_like(forest.threshold), binned.coding.n_codes
    for k, edges in enumerate(binned.edges):
        at = forest.feature == k
        # Beyond the last edge, all go left but those whose value is missing.
        places = np.append(edges, n_codes[k] - 1)
        threshold[at] = places[np.minimum(np.floor(forest.threshold[at]), edges.size).astype(np.int64)]
    return replace(forest, threshold=threshold, classes=rows.classes, feature_names=names)


def growth_parameters(growth: GrowthConfig, rows: TrainingRows, seed: int) -> dict[str, Any]:
    """Return the parameters for XGBoost, which grows on clusters."""
    return boosting_parameters(
        None if rows.classes is None else rows.classes.size,
        max_leaves=growth.leaves,
        max_bin=growth.bins,
        eta=growth.learning_rate,
        min_child_weight=growth.min_weight,
        reg_lambda=growth.l2,
        subsample=growth.row_share,
        colsample_bynode=growth.column_share,
        seed=seed,
    )


def best_first(forest: Forest, X: NDArray[np.float32], labels: NDArray[Any], weight: NDArray[np.float64]) -> Forest:
    """Return a forest whose trees average with the trees first that do best together; boosted ones as they are."""
    if not forest.averages or forest.n_trees < 2:
        return forest
    order = pruning_order(forest, X, labels, method="reduced_error", sample_weight=weight)
    return forest.select(order)
