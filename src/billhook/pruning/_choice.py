from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest


class Chosen(NamedTuple):
    """What a method chooses: trees and, where it has them, weights, the objective, and its distance from the best."""

    trees: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    objective: float | None = None
    gap: float | None = None


class PruningChoice(NamedTuple):
    """A pruned forest and how it came about.

    Attributes
    ----------
    forest : Forest
    trees : array
        The numbers that the trees kept have in the forest they come from, in the order in which they are kept.
    objective : float or None
        What the programming methods have minimised.
    gap : float or None
        With an exact solver, how much lower the objective might still be, as a share of it; 0 where it is proven to
        be the lowest.
    """

    forest: Forest
    trees: NDArray[np.int64]
    objective: float | None
    gap: float | None
