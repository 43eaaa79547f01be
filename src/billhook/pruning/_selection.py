"""The trees that a pruning method selects, and what `prune` reports of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Selection(NamedTuple):
    """The trees a method selects and, where it has them, their weights, the objective, and its gap to the optimum."""

    trees: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    objective: float | None = None
    gap: float | None = None


@dataclass(frozen=True, eq=False)
class PruningReport:
    """How a forest was pruned.

    Attributes
    ----------
    method : str
    trees : array
        The numbers that the trees kept have in the forest they come from, in the order in which they are kept.
    objective : float or None
        What the programming methods have minimised.
    gap : float or None
        With an exact solver, how much lower the objective might still be, as a share of it; 0 where it is proven to
        be the lowest.
    """

    method: str
    trees: NDArray[np.int64]
    objective: float | None
    gap: float | None
