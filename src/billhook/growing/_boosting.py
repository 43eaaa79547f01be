"""Gradient boosting (Friedman 2001) with second derivatives (Chen and Guestrin 2016), best-first, on bins."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.growing._binned_rows import BinnedRows
from billhook.growing._trees import GrownTree, TreeGrower, TreeOptions, aligned
from billhook.kernels import GROWTH_LOSSES, loss_gradients

GrowthLoss = Literal["squared", "absolute", "poisson", "logistic", "softmax"]
# The most that a leaf may add to the logarithm of a count, before the learning rate: as in XGBoost.
LARGEST_POISSON_STEP = 0.7
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
    loss : {"squared", "absolute", "poisson", "logistic", "softmax"}
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
    ) -> None:
        self.rows, self.loss = rows, loss
        options = TreeOptions(
            max_leaves=max_leaves,
            learning_rate=learning_rate,
            l2=l2,
            min_weight=min_weight,
            largest_step=LARGEST_POISSON_STEP if loss == "poisson" else 0.0,
            reuse_factor=reuse_factor,
            max_tests=max_tests,
            takes_medians=loss == "absolute",
        )
        self._grower = TreeGrower(rows, n_classes if loss == "softmax" else 1, options)
        self._target = np.ascontiguousarray(target, np.float32)
        self._weight = np.ascontiguousarray(weight, np.float32)
        # As a float32, which logarithms that differ in their last bit have in common.
        self.base = start_scores(loss, target, weight, n_classes).astype(np.float32).astype(np.float64)
        self._score = aligned((rows.n_rows, self._grower.n_lanes), np.float32)
        self._score[:] = 0.0
        self._score[:, : self.base.size] = self.base
        self.trees: list[GrownTree] = []

    @property
    def n_outputs(self) -> int:
        """How many numbers a leaf has."""
        return self._grower.n_outputs

    def grow(self) -> GrownTree:
        """Grow one tree more, and return it."""
        check_time()
        grower = self._grower
        loss_gradients(
            GROWTH_LOSSES[self.loss], grower.n_outputs, self._score, self._target, self._weight, *grower.gradients
        )
        self.trees.append(grower.grow(self._target, self._weight, self._score))
        return self.trees[-1]

    def free_memory(self) -> None:
        """Give back memory that only a growing tree needs; the next one takes it again."""
        self._grower.free_memory()


def start_scores(loss: GrowthLoss, target: NDArray[Any], weight: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return the best constant scores, which the trees are added to."""
    weight = np.asarray(weight, np.float64)
    if loss == "softmax":
        share = np.bincount(target.astype(np.int64), weight, n_classes) / weight.sum()
        score = np.log(np.maximum(share, LEAST_SHARE))
        return np.asarray(score - score.mean())
    if loss == "absolute":
        order = np.argsort(target, kind="stable")
        total = np.cumsum(weight[order])
        return np.array([float(target[order[np.searchsorted(total, 0.5 * total[-1])]])])
    mean = float(np.average(target, weights=weight))
    if loss == "logistic":
        mean = min(max(mean, LEAST_SHARE), 1.0 - LEAST_SHARE)
        return np.array([np.log(mean / (1.0 - mean))])
    return np.array([np.log(max(mean, LEAST_SHARE)) if loss == "poisson" else mean])
