"""Gradient boosting (Friedman 2001) with second derivatives (Chen and Guestrin 2016), best-first, on bins."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.growing._binned_rows import BinnedRows
from billhook.growing._drawn_rows import drawn_rows, row_keys
from billhook.growing._trees import GrownTree, TreeGrower, TreeOptions, aligned
from billhook.kernels import GROWTH_LOSSES, loss_gradients

GrowthLoss = Literal["squared", "absolute", "huber", "quantile", "poisson", "logistic", "softmax"]
# The most that a leaf may add to the logarithm of a count, before the learning rate: as in XGBoost.
LARGEST_POISSON_STEP = 0.7
# Of the absolute errors, beyond which Huber's loss is straight: as in scikit-learn.
HUBER_QUANTILE = 0.9
# A class that no row has is still possible.
LEAST_SHARE = 1e-6


class Boosting:
    """Boosted trees that grow on when more of them are wanted: the same as if all had been grown at once.

    Parameters
    ----------
    rows : BinnedRows
    target : array (rows)
        Numbers, or class numbers.
    weight : array (rows)
    loss : {"squared", "absolute", "huber", "quantile", "poisson", "logistic", "softmax"}
        Huber's loss turns straight at the 0.9 quantile of the absolute errors, found anew for every tree.
    n_classes : int
        For softmax: leaves have a number for each class. Others have one.
    max_leaves : int
        The most leaves of a tree.
    learning_rate : float
    l2 : float
        The penalty on squared leaf values.
    min_weight : float
        The least sum of second derivatives in a leaf.
    reuse_factor : float
        How many times what the best test in use gains a new test must gain.
    max_tests : int
        The most distinct tests of all trees; 0 for any number.
    quantile : float
        For the quantile loss: which one.
    row_share : float
        Of the rows, drawn anew for every tree, by which it is grown; it is added to the scores of all. Rows with the
        same bins are drawn together.
    column_share : float
        Of the features, drawn anew for every split, that it may test; others where none of these gains.
    seed : int
        Of the draws.
    """

    def __init__(
        self,
        rows: BinnedRows,
        target: NDArray[Any],
        weight: NDArray[Any],
        *,
        loss: GrowthLoss,
        n_classes: int = 1,
        max_leaves: int,
        learning_rate: float = 0.3,
        l2: float = 1.0,
        min_weight: float = 1.0,
        reuse_factor: float = 1.0,
        max_tests: int = 0,
        quantile: float = 0.5,
        row_share: float = 1.0,
        column_share: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.rows, self.loss, self.quantile = rows, loss, quantile
        self.row_share, self.seed = row_share, seed
        self._keys = row_keys(rows) if row_share < 1.0 else None
        options = TreeOptions(
            max_leaves=max_leaves,
            learning_rate=learning_rate,
            l2=l2,
            min_weight=min_weight,
            largest_step=LARGEST_POISSON_STEP if loss == "poisson" else 0.0,
            reuse_factor=reuse_factor,
            max_tests=max_tests,
            n_tried_features=max(1, round(column_share * rows.n_features)) if column_share < 1.0 else 0,
            leaf_quantile=quantile if loss == "quantile" else 0.5 if loss == "absolute" else 0.0,
        )
        self._grower = TreeGrower(rows, n_classes if loss == "softmax" else 1, options)
        self._target = np.ascontiguousarray(target, np.float32)
        self._weight = np.ascontiguousarray(weight, np.float32)
        # As a float32, which logarithms that differ in their last bit have in common.
        self.base = start_scores(loss, target, weight, n_classes, quantile).astype(np.float32).astype(np.float64)
        self._score = aligned((rows.n_rows, self._grower.n_lanes), np.float32)
        self._score[:] = 0.0
        self._score[:, : self.base.size] = self.base
        self.trees: list[GrownTree] = []

    @property
    def n_outputs(self) -> int:
        """How many numbers a leaf has."""
        return self._grower.n_outputs

    @property
    def scores(self) -> NDArray[np.float32]:
        """What the trees so far add up to, of all rows: (rows, outputs), those without weight too."""
        return self._score[:, : self.n_outputs]

    def grow(self) -> GrownTree:
        """Grow one tree more, and return it."""
        check_time()
        grower = self._grower
        loss_gradients(
            GROWTH_LOSSES[self.loss],
            self._shape(),
            grower.n_outputs,
            self._score,
            self._target,
            self._weight,
            *grower.gradients,
        )
        number = len(self.trees)
        if self._keys is not None:  # without slope and curvature a row does not count
            drawn = drawn_rows(self._keys, self.row_share, self.seed, number)
            if drawn.any():  # of a few different rows it may be none
                for gradient in grower.gradients:
                    gradient[~drawn] = 0.0
        self.trees.append(grower.grow(self._target, self._weight, self._score, seed=self.seed + number))
        return self.trees[-1]

    def _shape(self) -> float:
        """Return what the loss depends on beside errors: its quantile, or where Huber's turns straight now."""
        if self.loss != "huber":
            return self.quantile
        return weighted_quantile(np.abs(self._score[:, 0] - self._target), self._weight, HUBER_QUANTILE)

    def free_memory(self) -> None:
        """Give back memory that only a growing tree needs; the next one takes it again."""
        self._grower.free_memory()


def weighted_quantile(numbers: NDArray[Any], weight: NDArray[Any], quantile: float) -> float:
    """Return the least of the numbers that so much of the weight is not above."""
    order = np.argsort(numbers, kind="stable")
    total = np.cumsum(weight[order], dtype=np.float64)
    return float(numbers[order[np.searchsorted(total, quantile * total[-1])]])


def start_scores(
    loss: GrowthLoss, target: NDArray[Any], weight: NDArray[Any], n_classes: int, quantile: float = 0.5
) -> NDArray[np.float64]:
    """Return the best constant scores, which the trees are added to."""
    weight = np.asarray(weight, np.float64)
    if loss == "softmax":
        share = np.bincount(target.astype(np.int64), weight, n_classes) / weight.sum()
        score = np.log(np.maximum(share, LEAST_SHARE))
        return np.asarray(score - score.mean())
    if loss in ("absolute", "huber", "quantile"):
        return np.array([weighted_quantile(target, weight, quantile if loss == "quantile" else 0.5)])
    mean = float(np.average(target, weights=weight))
    if loss == "logistic":
        mean = min(max(mean, LEAST_SHARE), 1.0 - LEAST_SHARE)
        return np.array([np.log(mean / (1.0 - mean))])
    return np.array([np.log(max(mean, LEAST_SHARE)) if loss == "poisson" else mean])
