"""Which trees of a mean are of no use to it: section 2 of the paper (Zhou et al. 2002), by their residuals.

C_ij is the mean product of the residuals of trees i and j, for classes summed over them. The squared error of the
mean of M trees is S / M^2, S being the sum of all C_ij. Without tree k it is (S - 2 R_k - C_kk) / (M - 1)^2, where
R_k is the sum of C_ik over all i but k. The mean is no worse without the tree if

    (S - 2 R_k - C_kk) / (M - 1)^2 <= S / M^2,

which is what the paper begins with. Its end, -2 R_k <= C_kk, follows since (M - 1)^2 / M^2 < 1, but not the other way
round: it says no more than that S does not shrink when the tree comes in.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time


class RemovableTrees(NamedTuple):
    """Trees that can go one after the other.

    Attributes
    ----------
    trees : int64 array
        Their numbers, in the order in which they go: each the one without which the squared error is lowest then, on
        one half of the rows. Without them it is not above that of all trees on the other half; without more, it is.
    score_of_all, score_without : float
        Accuracy or R2 of all trees, and without these, on the other half.
    """

    trees: NDArray[np.int64]
    score_of_all: float
    score_without: float

    @property
    def n_trees(self) -> int:
        """How many there are."""
        return self.trees.size


def tree_tests(products: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each tree whether the mean is no worse without it, and what the paper's inequality says."""
    n_trees = len(products)
    own = np.diagonal(products)
    of_others = products.sum(axis=0) - own
    total = products.sum()
    without = total - 2.0 * of_others - own
    return without / (n_trees - 1) ** 2 <= total / n_trees**2, -2.0 * of_others <= own


def removable_trees(chosen_on: NDArray[np.float64], checked_on: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return trees that can go, in an order by the products on some rows, as many as those on others allow."""
    order = _removal_order(chosen_on)
    errors = _errors_along(order, checked_on)
    n_free = int(np.flatnonzero(errors <= errors[0])[-1])
    return order[:n_free]


def _removal_order(products: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return all trees but one, each the one without which the squared error of those left is lowest."""
    n_trees = len(products)
    own = np.diagonal(products)
    with_left = products.sum(axis=1)  # C_ik summed over the trees left, tree k included
    is_left = np.ones(n_trees, np.bool_)
    order: list[int] = []
    while len(order) < n_trees - 1:
        check_time()
        tree = int(np.where(is_left, own - 2.0 * with_left, np.inf).argmin())
        is_left[tree] = False
        with_left = with_left - products[:, tree]
        order.append(tree)
    return np.array(order, np.int64)


def _errors_along(order: NDArray[np.int64], products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared error of the mean of all trees, and of those left after each that goes."""
    left = np.arange(len(products))
    with_left, total = products.sum(axis=1), float(products.sum())
    errors = [total / left.size**2]
    for number, tree in enumerate(order, start=1):
        total -= 2.0 * float(with_left[tree]) - float(products[tree, tree])
        with_left = with_left - products[:, tree]
        errors.append(total / (left.size - number) ** 2)
    return np.array(errors)
