"""The losses by name: what they are for, and the numbers that solvers need of them."""

from dataclasses import dataclass
from numbers import Real
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
        return self.width_quantile is not None

    @property
    def width_quantile(self) -> float | None:
        """The quantile of the absolute errors that is the width, if it has one: see `width_of`."""
        return WIDTH_QUANTILES.get("absolute" if self.name.startswith(QUANTILE) else self.name)

    def times_of(self, width: float) -> float:
        """Return how many times the loss is minimised: absolute errors so that a typical row has curvature 1."""
        return width if self.name == "absolute" else 2.0 * width if self.name.startswith(QUANTILE) else 1.0


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
# scikit-learn's names.
OTHER_NAMES = {"squared_error": "mse", "absolute_error": "absolute"}
# What names of the pinball loss begin with: that of the 0.9 quantile is quantile_0.9.
QUANTILE, QUANTILE_CODE = "quantile_", 7
FOR_CLASSIFICATION = ("cross_entropy", "mse", "squared_hinge")
FOR_REGRESSION = ("mse", "huber", "absolute")
# A forest that predicts exp(score) was grown for this, or for a loss with the same minimum in every leaf.
FOR_LOG_LINK = ("poisson",)
# The quantile of the absolute errors at which Huber's loss turns straight, and that absolute ones are measured by.
WIDTH_QUANTILES = {"huber": 0.9, "absolute": 0.5}


def quantile_loss(quantile: Any) -> Loss:
    """Return the pinball loss of a quantile, or raise ValueError: in thousandths, from 0.001 to 0.999."""
    share = float(quantile) if isinstance(quantile, Real) else np.nan
    if not (0.0 < share < 1.0 and abs(1000.0 * share - round(1000.0 * share)) < 1e-6):
        raise ValueError(f"quantile must be a number from 0.001 to 0.999 in thousandths, not {quantile!r}")
    return Loss(f"{QUANTILE}{share:g}", QUANTILE_CODE + round(1000.0 * share), 5.0)


def loss_named(name: str) -> Loss | None:
    """Return the loss of this name, or None."""
    if name.startswith(QUANTILE):
        try:
            return quantile_loss(float(name.removeprefix(QUANTILE)))
        except ValueError:
            return None
    return LOSSES.get(OTHER_NAMES.get(name, name))


def losses_for(forest: Forest) -> tuple[str, ...]:
    """Return the names of the losses that such a forest can be refined for; the first is the default."""
    if forest.classes is not None:
        return FOR_CLASSIFICATION
    return FOR_LOG_LINK if forest.link == "exp" else FOR_REGRESSION


def fits(loss: Loss, forest: Forest) -> bool:
    """Whether such a forest can be refined for a loss: one of `losses_for`, or that of a quantile instead."""
    known = losses_for(forest)
    return loss.name in known or (loss.name.startswith(QUANTILE) and "absolute" in known)


def as_state(loss: Loss, score: Vector) -> Vector:
    """Return what solvers keep of scores (rows, columns): exp(score) for the log losses, up to a factor a row."""
    if not loss.is_log:
        return score
    if score.shape[1] > 1:
        score = score - score.max(axis=1, keepdims=True)
    return np.asarray(np.exp(np.clip(score, -600.0, 600.0)))


def width_of(loss: Loss, score: Vector, target: Vector, weight: Vector) -> float:
    """Return where Huber's loss turns straight, the 0.9 quantile of the errors; for absolute ones, their median."""
    share = loss.width_quantile
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
