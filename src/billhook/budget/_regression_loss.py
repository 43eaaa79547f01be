"""The losses of regression by scikit-learn's names: what trees are grown and refined for, and what is best."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._types import Vector
from billhook.growing import GrowthLoss
from billhook.refinement import quantile_loss

LossName = Literal["squared_error", "absolute_error", "huber", "quantile", "poisson"]
GROWTH: dict[str, GrowthLoss] = {
    "squared_error": "squared",
    "absolute_error": "absolute",
    "huber": "huber",
    "quantile": "quantile",
    "poisson": "poisson",
}
REFINEMENT = {"squared_error": "mse", "absolute_error": "absolute", "huber": "huber", "poisson": "poisson"}
# The names that losses have elsewhere here.
OTHER_NAMES = {"squared": "squared_error", "mse": "squared_error", "absolute": "absolute_error"}
# Where Huber's loss turns straight depends on the model: models are compared by their absolute errors.
SCORINGS = {
    "squared_error": "R2",
    "absolute_error": "d2_absolute_error_score",
    "huber": "d2_absolute_error_score",
    "quantile": "d2_pinball_score",
    "poisson": "d2_tweedie_score",
}


@dataclass(frozen=True)
class RegressionLoss:
    """A loss of regression; `quantile` is that of the pinball loss."""

    name: LossName = "squared_error"
    quantile: float = 0.5

    @property
    def growth(self) -> GrowthLoss:
        """Its name for growing."""
        return GROWTH[self.name]

    @property
    def refinement(self) -> str:
        """Its name for refining, merging and rounding."""
        return quantile_loss(self.quantile).name if self.name == "quantile" else REFINEMENT[self.name]

    @property
    def link(self) -> Literal["identity", "exp"]:
        """What makes predictions of scores."""
        return "exp" if self.name == "poisson" else "identity"

    @property
    def scoring(self) -> str:
        """The name of the score that models are compared by."""
        return SCORINGS[self.name]

    def check_targets(self, y: NDArray[Any]) -> None:
        """Raise ValueError unless these can be learned with it."""
        if self.name == "poisson" and not (y.min() >= 0.0 and y.max() > 0.0):
            raise ValueError(
                f"loss='poisson' needs targets that are not negative, and not all 0: the least is {y.min():g}, "
                f"the largest {y.max():g}"
            )

    def score(self, predicted: Vector, y: Vector, weight: Vector) -> float:
        """Return 1 - the mean loss, of that of the best constant: R2, and D2 of other losses."""
        best = self._best_constant(y, weight)
        spread = np.average(self._of_rows(np.full(y.size, best), y), weights=weight)
        error = np.average(self._of_rows(predicted, y), weights=weight)
        return float(1.0 - error / spread) if spread > 0.0 else 0.0

    def _best_constant(self, y: Vector, weight: Vector) -> float:
        if self.name in ("squared_error", "poisson"):
            return float(np.average(y, weights=weight))
        order = np.argsort(y, kind="stable")
        total = np.cumsum(weight[order])
        quantile = self.quantile if self.name == "quantile" else 0.5
        return float(y[order[np.searchsorted(total, quantile * total[-1])]])

    def _of_rows(self, predicted: Vector, y: Vector) -> Vector:
        error = y - predicted
        if self.name == "squared_error":
            return np.asarray(error**2)
        if self.name == "poisson":  # half the deviance
            from scipy.special import xlogy

            return np.asarray(xlogy(y, y) - xlogy(y, np.maximum(predicted, 1e-300)) - error)
        return np.asarray(np.abs(error) + ((2.0 * self.quantile - 1.0) * error if self.name == "quantile" else 0.0))


SQUARES = RegressionLoss()


def regression_loss(loss: str | None, quantile: float | None) -> RegressionLoss | None:
    """Return the loss of this name, None for None; or raise ValueError."""
    if loss is None:
        if quantile is not None:
            raise ValueError(f"quantile={quantile!r} is for loss='quantile'")
        return None
    name: Any = OTHER_NAMES.get(loss, loss) if isinstance(loss, str) else loss
    if not isinstance(name, str):
        raise TypeError(f"loss must be a name, not {loss!r}")
    resolve_name(name, GROWTH, "there is no loss")
    if name != "quantile":
        if quantile is not None:
            raise ValueError(f"quantile={quantile!r} is for loss='quantile', not for loss={loss!r}")
        return RegressionLoss(name)  # type: ignore[arg-type]  # one of those in GROWTH
    if quantile is None:
        raise ValueError("loss='quantile' needs a quantile, as quantile=0.9")
    quantile_loss(quantile)  # checks it
    return RegressionLoss("quantile", float(quantile))
