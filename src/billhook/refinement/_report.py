"""What `refine` and `merge` report beside the forest they return."""

from dataclasses import dataclass
from typing import Literal

ValidatedOn = Literal["held-out rows", "training rows", "out-of-bag rows", "refitted estimator"]


@dataclass(frozen=True)
class RefinementReport:
    """How a forest was refined.

    Attributes
    ----------
    loss : str
        The loss refined for; the best one if there were several.
    l2 : float
        The L2 penalty on leaf values; the best one if several were tried.
    n_passes : int
        How many passes over the rows were kept; 0 if the forest is returned as it was.
    objective : tuple of float
        What the solver minimised, per row: before the first pass over the rows and after each, of the last fit.
    validation : tuple of float or None
        Share of wrong classes, or mean loss for regression, on the held-out rows: before the first pass and after
        each.
    validated_on : str or None
        What the held-out rows are to the forest: ``"held-out rows"``, which it was not trained on; ``"training
        rows"``, on which it does better than on new ones; ``"out-of-bag rows"``; or ``"refitted estimator"``, if an
        estimator fitted without them was validated instead. None if no rows were held out.
    """

    loss: str
    l2: float
    n_passes: int
    objective: tuple[float, ...]
    validation: tuple[float, ...] | None
    validated_on: ValidatedOn | None


@dataclass(frozen=True)
class MergeReport:
    """How a forest was merged.

    Attributes
    ----------
    loss : str
    l2 : float
    n_leaves_before, n_leaves_after : int
    size_before, size_after : int
        What was to be made smaller: bytes as `accounting` counts them, or leaves with `max_leaves`.
    n_rounds : int
        How often leaves were merged.
    n_passes : int
        How many passes over the trees refined the leaf values, before, between and after the rounds.
    objective : tuple of float
        The loss and penalties per row: after the first passes, after each round, and at the end.
    """

    loss: str
    l2: float
    n_leaves_before: int
    n_leaves_after: int
    size_before: int
    size_after: int
    n_rounds: int
    n_passes: int
    objective: tuple[float, ...]
