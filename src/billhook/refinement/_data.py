"""The rows a caller gave, checked: their leaves, labels and weights, and which of them are held out to judge by."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._types import Vector
from billhook.forest import Forest, as_targets, as_weights
from billhook.interop import in_bag_mask
from billhook.refinement._coordinate_descent import NOWHERE
from billhook.refinement._leaves import find_leaves
from billhook.refinement._model_selection import were_trained_on
from billhook.refinement._problem import Problem


@dataclass(frozen=True)
class RefinementData:
    """The given rows, and after them other ones to judge by, if there are such.

    Attributes
    ----------
    leaf : array
        The leaves of the rows: (rows, trees) if `by_row`, else (trees, rows).
    y, weight, held_out : array
    n_given : int
    seen : array
        Which rows each tree was trained on (trees, rows), if that is to be heeded; else empty.
    flatters : bool
        Whether rows are held out that the splits were chosen by: they flatter them, whether the refinement saw them
        or not.
    """

    leaf: NDArray[Any]
    by_row: bool
    y: NDArray[Any]
    weight: Vector
    held_out: NDArray[np.bool_]
    n_given: int
    seen: NDArray[np.bool_]
    is_training_data: bool

    @property
    def by_tree(self) -> NDArray[Any]:
        """The leaves of the rows, (trees, rows)."""
        return self.leaf.T if self.by_row else self.leaf

    @property
    def has_validation(self) -> bool:
        """Whether there are rows to judge by."""
        return bool(self.held_out.any())

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Which rows are given to learn from."""
        return np.arange(self.y.size) < self.n_given

    @property
    def judges_by_given(self) -> bool:
        """Whether the rows held out are some of those given."""
        return self.has_validation and self.y.size == self.n_given


def read_rows(
    problem: Problem,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    by_row: bool,
    validation: Any,
    validation_fraction: float | None,
    seen: NDArray[np.bool_] | None,
    model: Any,
    n_jobs: int | None,
    random: np.random.RandomState,
) -> RefinementData:
    """Check what the caller gave, find the leaves of all rows, and hold some out."""
    forest = problem.forest
    target = checked_targets(y, forest)
    n_rows = target.size
    weight = np.ones(n_rows) if sample_weight is None else as_weights(sample_weight, n_rows)
    known = NOWHERE
    sources = [(X, n_rows)]
    held_out = np.zeros(n_rows, np.bool_)
    fraction = _fraction(validation_fraction)
    if isinstance(validation, str) and validation == "oob":
        if by_row:
            raise ValueError("validation='oob' is for solver='bcd'; hold rows out with validation_fraction")
        if fraction == 0.0:
            raise ValueError("validation='oob' needs a validation_fraction above 0: the share of rows that judge")
        known = in_bag_mask(model, n_rows) if seen is None else np.array(seen, np.bool_)
        if known.shape != (forest.n_trees, n_rows):
            raise ValueError(f"seen has shape {known.shape}, not {(forest.n_trees, n_rows)}: trees, rows")
        if known.all():
            raise ValueError("every tree has seen every row: there are no out-of-bag rows to judge by")
        validation = None
    if validation is not None:
        X_other, y_other, weight_other = _others(validation, forest)
        sources.append((X_other, y_other.size))
        target, weight = np.concatenate([target, y_other]), np.concatenate([weight, weight_other])
        held_out = np.arange(target.size) >= n_rows
    else:
        held_out[random.permutation(n_rows)[: round(fraction * n_rows)]] = True
    if not weight[~held_out].any():
        raise ValueError("no row with a weight above 0 is left to learn from; lower validation_fraction")
    leaf = find_leaves(problem, sources, by_row=by_row, n_jobs=n_jobs)
    is_training_data = (
        validation is None
        and bool(held_out.any())
        and known.size == 0
        and were_trained_on(problem, leaf.T if by_row else leaf, n_rows)
    )
    return RefinementData(leaf, by_row, target, weight, held_out, n_rows, known, is_training_data)


def checked_targets(y: ArrayLike, forest: Forest) -> NDArray[Any]:
    """Return the labels or targets, of which there must be some, and none negative where counts are predicted."""
    target = as_targets(y, forest)
    if target.size == 0:
        raise ValueError("refinement needs at least one row")
    if forest.link == "exp" and (target < 0.0).any():
        raise ValueError(f"y holds negative numbers ({target.min():g}), and this forest predicts exp(score): counts")
    return target


def _others(validation: Any, forest: Forest) -> tuple[Any, NDArray[Any], Vector]:
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise ValueError(
            f"validation must be (X, y), (X, y, sample_weight) or 'oob', not {type(validation).__name__}"
        )
    try:
        y = checked_targets(validation[1], forest)
        weight = np.ones(y.size) if len(validation) == 2 else as_weights(validation[2], y.size)
    except ValueError as error:
        raise ValueError(f"of the validation rows: {error}") from None
    return validation[0], y, weight


def _fraction(given: Any) -> float:
    if given is None:
        return 0.0
    if not isinstance(given, Real) or not 0.0 <= float(given) < 1.0:
        raise ValueError(f"validation_fraction must be a number from 0 to below 1, or None, not {given!r}")
    return float(given)
