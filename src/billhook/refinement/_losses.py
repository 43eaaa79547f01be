"""The losses by name: what they are for, and the numbers that solvers need of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.forest import Forest
from billhook.kernels import row_losses_many, row_losses_one, total_loss_many, total_loss_one


@dataclass(frozen=True)
class Loss:
    """A loss: its name, its number in the kernels, and its defaults.

    Attributes
    ----------
    name : str
    code : int
    l2 : float
        Default L2 penalty on a leaf value, in rows.
    largest : float
        The most that a Newton step may change a leaf: the log losses are nearly flat far away from the minimum.
    is_square, is_log : bool
        Whether kernels count half of it; whether they keep exp(score) instead of the score.
    """

    name: str
    code: int
    l2: float
    largest: float = np.inf
    is_square: bool = False
    is_log: bool = False

    @property
    def has_width(self) -> bool:
        """Whether it has another form beyond some distance, which is learned from the rows."""
        return self.name in WIDTH_QUANTILES


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("mse", 0, 5.0, is_square=True),
        Loss("cross_entropy", 1, 1.0, 2.0, is_log=True),
        Loss("squared_hinge", 2, 5.0, is_square=True),
        Loss("absolute", 3, 5.0),
        Loss("huber", 4, 5.0),
        Loss("poisson", 5, 1.0, 2.0, is_log=True),
    )
}
FOR_CLASSIFICATION = ("cross_entropy", "mse", "squared_hinge")
FOR_REGRESSION = ("mse", "huber", "absolute")
# A forest that predicts exp(score) was grown for this, or for a loss with the same minimum in every leaf.
FOR_LOG_LINK = ("poisson",)
# The quantile of the absolute errors at which Huber's loss turns straight, and that absolute ones are measured by.
WIDTH_QUANTILES = {"huber": 0.9, "absolute": 0.5}


def losses_for(forest: Forest) -> tuple[str, ...]:
    """Return the names of the losses that such a forest can be refined for; the first is the default."""
    if forest.classes is not None:
        return FOR_CLASSIFICATION
    return FOR_LOG_LINK if forest.link == "exp" else FOR_REGRESSION


def as_state(loss: Loss, score: Vector) -> Vector:
    """Return what solvers keep of scores (rows, columns): exp(score) for the log losses, up to a factor a row."""
    if not loss.is_log:
        return score
    if score.shape[1] > 1:
        score = score - score.max(axis=1, keepdims=True)
    return np.asarray(np.exp(np.clip(score, -600.0, 600.0)))


def width_of(loss: Loss, score: Vector, target: Vector, weight: Vector) -> float:
    """Return where Huber's loss turns straight, the 0.9 quantile of the errors; for absolute ones, their median."""
    share = WIDTH_QUANTILES.get(loss.name)
    if share is None:
        return 1.0
    error = np.abs(target - score)
    order = np.argsort(error)
    total = np.cumsum(weight[order])
    return float(error[order[np.searchsorted(total, share * total[-1])]]) or 1.0


def row_losses(loss: Loss, state: Vector, target: NDArray[Any], width: float) -> Vector:
    """Return the loss of each row, half of it for the squares, from what a solver keeps of its score.

    `state` has shape (rows, columns); for the log losses it is exp(score), up to a factor for each row where there
    are several columns. `target` is what `Problem.targets` returns.
    """
    of_rows = np.empty(target.size)
    (row_losses_many if state.shape[1] > 1 else row_losses_one)(state, target, loss.code, width, of_rows)
    return of_rows


def total_loss(loss: Loss, state: Vector, target: NDArray[Any], width: float, weight: Vector) -> float:
    """Return the sum of what `row_losses` returns times the rows' weights: the same on every machine."""
    return (total_loss_many if state.shape[1] > 1 else total_loss_one)(state, target, loss.code, width, weight)
