"""The options of a refinement, and which of them make sense together."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from billhook._checks import as_int
from billhook._types import Vector
from billhook.forest import Forest
from billhook.refinement._losses import QUANTILE, Loss, fits, loss_named, losses_for
from billhook.refinement._problem import Problem

EPOCHS = {"bcd": 20, "sgd": 50}
# What suits depends on the noise in the labels: 1 for eeg and chess, 100 for adult. Validated on rows that the splits
# were chosen by, the weak ones always win, and lose up to two points on new rows.
L2_VALUES = (0.3, 1.0, 5.0, 20.0, 100.0)
STRONG_L2_VALUES = (20.0, 100.0)


@dataclass(frozen=True)
class RefinementOptions:
    """The options of a refinement: parameters of `refine`, which explains them."""

    loss: Any = None
    solver: str = "bcd"
    epochs: int | None = None
    l2: float | None = None
    shrink_to: str | None = None
    penalty: str | None = None
    strength: float = 0.0
    tol: float = 1e-3
    step_size: float = 0.1
    batch_size: int = 128
    batch_gradient: str = "sum"
    optimizer: str = "sgd"
    refine_weights: bool = False

    @property
    def n_passes(self) -> int:
        """How many passes to make at most."""
        return EPOCHS[self.solver] if self.epochs is None else as_int(self.epochs, "epochs")

    @classmethod
    def check_names(cls, names: Iterable[str], others: Iterable[str] = ()) -> None:
        """Raise TypeError where a name is neither an option nor one of the other parameters of `refine`."""
        known = (*cls.__dataclass_fields__, *others)
        for name in names:
            if name not in known:
                raise TypeError(f"refine does not take the option {name!r}; its options: {', '.join(known)}")

    def check(self) -> None:
        """Raise ValueError or TypeError where the options cannot be meant so."""
        for name, known in (
            ("solver", ("bcd", "sgd")),
            ("shrink_to", (None, "zero", "mean", "original")),
            ("batch_gradient", ("sum", "mean", "last")),
            ("optimizer", ("sgd", "adam")),
            ("penalty", (None, "group_l1", "l1")),
        ):
            if getattr(self, name) not in known:
                choices = ", ".join(map(repr, known))
                raise ValueError(f"{name} must be one of {choices}, not {getattr(self, name)!r}")
        for name in ("l2", "strength", "tol"):
            self._check_number(name, 0.0)
        self._check_number("step_size", 0.0)
        if self.step_size == 0.0:
            raise ValueError("step_size must be above 0, not 0.0")
        for name, least in (("epochs", 0), ("batch_size", 1)):
            if getattr(self, name) is not None and as_int(getattr(self, name), name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        self._check_penalty()

    def _check_penalty(self) -> None:
        if self.penalty is None and self.strength > 0.0:
            raise ValueError(f"a strength of {self.strength} needs a penalty: 'group_l1', or 'l1' with solver='sgd'")
        if self.penalty == "group_l1" and self.solver != "bcd":
            raise ValueError("penalty='group_l1' is for solver='bcd'; for solver='sgd' there is 'l1'")
        if self.penalty == "group_l1" and self.shrink_to in ("mean", "original"):
            raise ValueError("penalty='group_l1' shrinks whole trees to zero: shrink_to must be 'zero' too")
        if self.penalty == "l1" and (self.solver != "sgd" or not self.refine_weights):
            raise ValueError("penalty='l1' is on the tree weights: it needs solver='sgd' and refine_weights=True")
        if self.solver == "sgd" and (self.l2 is not None or self.shrink_to is not None):
            raise ValueError("l2 and shrink_to are for solver='bcd'")
        if self.solver == "bcd" and (self.refine_weights or self.optimizer == "adam"):
            raise ValueError("refine_weights and optimizer='adam' are for solver='sgd'")
        if self.solver == "bcd" and self.batch_gradient != "sum":
            raise ValueError(f"batch_gradient={self.batch_gradient!r} is for solver='sgd'")
        if self.batch_gradient == "last" and self.optimizer == "adam":
            raise ValueError("batch_gradient='last' is for optimizer='sgd': Adam needs the slope of all rows")

    def _check_number(self, name: str, least: float) -> None:
        value = getattr(self, name)
        if value is None and name == "l2":
            return
        if type(value) is bool or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not np.isfinite(float(value)) or float(value) < least:
            raise ValueError(f"{name} must be a finite number not below {least:g}, not {value}")

    def keeps_pairs(self, losses: tuple[Loss, ...]) -> bool:
        """Return whether both values of two classes are learned, not their difference.

        In gradient descent as on paper, the sum of both has a slope of its own if the tree weights are learned, and
        for the hinge.
        """
        hinges = any(loss.name == "squared_hinge" for loss in losses)
        return self.solver == "sgd" and (self.refine_weights or hinges)

    def l2_values(self, loss: Loss, has_validation: bool, is_training_data: bool) -> tuple[float, ...]:
        """Return the values of `l2` to try."""
        if self.l2 is not None or self.solver == "sgd":
            return (float(self.l2 or 0.0),)
        if not has_validation:
            return (loss.l2,)
        return STRONG_L2_VALUES if is_training_data else L2_VALUES

    def anchor_of(self, problem: Problem) -> Vector:
        """Return what leaf values times tree weights are shrunk towards.

        By default zero, but for regression what they were: its zero means nothing.
        """
        table = problem.value * problem.weight_of_leaf
        shrink_to = self.shrink_to
        if shrink_to is None and problem.forest.classes is None and self.penalty != "group_l1":
            shrink_to = "original"
        if shrink_to == "mean":
            return problem.tree_means
        return table if shrink_to == "original" else np.zeros_like(table)

    def losses(self, forest: Forest) -> tuple[Loss, ...]:
        """Return the losses to try on this forest."""
        known = losses_for(forest)
        default = "mse" if self.solver == "sgd" and "mse" in known else known[0]
        if self.loss is None:
            names: tuple[Any, ...] = (default,)
        elif isinstance(self.loss, str):
            names = known if self.loss == "auto" else (self.loss,)
        elif isinstance(self.loss, list | tuple):
            names = tuple(self.loss)
        else:
            raise TypeError(f"loss must be a name, a list of names or 'auto', not {self.loss!r}")
        if not names:
            raise ValueError("loss is an empty list; name one loss or more")
        losses = [loss_named(name) if isinstance(name, str) else None for name in names]
        for name, loss in zip(names, losses, strict=True):
            if loss is None or not fits(loss, forest):
                kind = "with link 'exp' " if forest.link == "exp" else ""
                raise ValueError(
                    f"loss must be 'auto' or one of {', '.join(known)} for {forest.task} {kind}forests, not {name!r}"
                )
            if loss.name.startswith(QUANTILE) and self.solver == "sgd":
                raise ValueError(f"loss={name!r} is for solver='bcd'")
        return tuple(loss for loss in losses if loss is not None)
