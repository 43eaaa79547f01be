"""Ensembles grown on codes."""

import threading
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.budget._space import GrowthConfig
from billhook.budget._splits import Split, TrainingRows
from billhook.forest import Forest
from billhook.interop import as_forest, boosting_parameters
from billhook.packing import BinnedFeatures
from billhook.pruning import pruning_order

N_TREES = 64
# Choosing trees needs no more rows.
PRUNING_ROWS = 10_000


class GrowingEnsemble:
    """An ensemble grown on the bins of some rows, which goes on growing when more of it is needed.

    Boosting that goes on where it stopped gives the very trees that it would have given at once.
    """

    def __init__(self, growth: GrowthConfig, rows: TrainingRows, split: Split, seed: int) -> None:
        self.growth, self.rows, self.split, self.seed = growth, rows, split, seed
        self._lock = threading.Lock()
        self._booster: Any = None
        self._forest: Forest | None = None
        self._n_leaves = 0

    def forest(self, n_leaves: int, binned: BinnedFeatures) -> Forest:
        """Return the ensemble with about so many leaves, or more; its thresholds are codes."""
        with self._lock:
            if self._forest is None or (self.growth.family == "boosted" and self._n_leaves < n_leaves):
                self._forest = on_codes(self._grow(n_leaves, binned.bins(self.split.train)), binned, self.rows)
                self._n_leaves = n_leaves
            return self._forest

    def _grow(self, n_leaves: int, bins: NDArray[Any]) -> Forest:
        rows, train = self.rows, self.split.train
        labelled = (bins, rows.y[train], rows.weight[train])
        if self.growth.family != "boosted":
            return _averaged(self.growth, rows, *labelled, self.seed)
        n_trees = n_rounds(self.growth, n_leaves)
        if not has_xgboost():
            return _histogram_boosted(self.growth, rows, *labelled, n_trees, self.seed)
        self._booster, forest = _boosted(self.growth, rows, *labelled, n_trees, self.seed, self._booster)
        return forest


def standardised(y: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Return numbers around 0 of about 1, and what they were: XGBoost counts in 32 bits, and small gains as none."""
    middle = float(np.average(y, weights=weight))
    width = float(np.sqrt(np.average((y - middle) ** 2, weights=weight))) or 1.0
    return (y - middle) / width, middle, width


def n_rounds(growth: GrowthConfig, n_leaves: int) -> int:
    """Return how many boosted trees have so many leaves."""
    return max(1, -(-n_leaves // growth.leaves))


def on_codes(forest: Forest, binned: BinnedFeatures, rows: TrainingRows) -> Forest:
    """Return a forest that was grown on bins with codes for thresholds."""
    threshold = np.zeros_like(forest.threshold)
    for k, edges in enumerate(binned.edges):
        at = forest.feature == k
        # Beyond the last edge, all go left but those whose value is missing.
        places = np.append(edges, binned.coding.quantizers[k].n_codes - 1)
        threshold[at] = places[np.minimum(np.floor(forest.threshold[at]), edges.size).astype(np.int64)]
    return replace(forest, threshold=threshold, classes=rows.classes, feature_names=rows.feature_names)


def _boosted(
    growth: GrowthConfig,
    rows: TrainingRows,
    bins: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
    n_trees: int,
    seed: int,
    begun: Any,
) -> tuple[Any, Forest]:
    """Return boosted trees, so many with those that were begun with, as XGBoost's and as a forest."""
    import xgboost

    middle, width = 0.0, 1.0
    if rows.classes is None:
        y, middle, width = standardised(y, weight)
    n_new = n_trees - (0 if begun is None else begun.num_boosted_rounds())
    data = xgboost.QuantileDMatrix(bins, y, weight=weight, max_bin=growth.bins, nthread=1)
    booster = xgboost.train(growth_parameters(growth, rows, seed) | {"nthread": 1}, data, n_new, xgb_model=begun)
    forest = as_forest(booster)
    return booster, replace(forest, value=forest.value * width, base=forest.base * width + middle)


def growth_parameters(growth: GrowthConfig, rows: TrainingRows, seed: int) -> dict[str, Any]:
    """Return what XGBoost is told."""
    return boosting_parameters(
        None if rows.classes is None else rows.classes.size,
        max_leaves=growth.leaves,
        max_bin=growth.bins,
        eta=growth.learning_rate,
        min_child_weight=growth.min_weight,
        seed=seed,
    )


def has_xgboost() -> bool:
    """Whether XGBoost is installed: else boosted trees are scikit-learn's, one for each class."""
    return find_spec("xgboost") is not None


def _histogram_boosted(
    growth: GrowthConfig,
    rows: TrainingRows,
    bins: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
    n_trees: int,
    seed: int,
) -> Forest:
    from sklearn import ensemble

    maker = (
        ensemble.HistGradientBoostingRegressor if rows.classes is None else ensemble.HistGradientBoostingClassifier
    )
    model = maker(
        learning_rate=growth.learning_rate,
        max_iter=max(1, n_trees // max(1, rows.n_values)),
        max_leaf_nodes=growth.leaves,
        max_bins=min(255, max(growth.bins, 2)),
        min_samples_leaf=max(1, int(growth.min_weight)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    return as_forest(model.fit(bins, y, sample_weight=weight))


def _averaged(
    growth: GrowthConfig,
    rows: TrainingRows,
    bins: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
    seed: int,
) -> Forest:
    from sklearn import ensemble

    kind = "ExtraTrees" if growth.family == "extra_trees" else "RandomForest"
    maker = getattr(ensemble, kind + ("Regressor" if rows.classes is None else "Classifier"))
    model = maker(N_TREES, max_leaf_nodes=growth.leaves, min_samples_leaf=1, random_state=seed, n_jobs=1)
    forest = as_forest(model.fit(bins, y, sample_weight=weight))
    return best_first(forest, bins.astype(np.float32), y, weight)


def best_first(forest: Forest, X: NDArray[np.float32], labels: NDArray[Any], weight: NDArray[np.float64]) -> Forest:
    """Return a forest whose trees average with the trees first that do best together; boosted ones as they are."""
    if not forest.averages or forest.n_trees < 2:
        return forest
    some = slice(None, None, -(-len(X) // PRUNING_ROWS))
    order = pruning_order(forest, X[some], labels[some], method="reduced_error", sample_weight=weight[some])
    return forest.select(order)
