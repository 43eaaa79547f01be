"""A forest as the solvers see it: a table of leaf values, and the trees and classes they belong to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.forest import Forest, derive
from billhook.kernels import average_upwards, find_states
from billhook.refinement._losses import Loss

SKIP_NONE = np.zeros((0, 0), np.bool_)


@dataclass(frozen=True)
class Problem:
    """The leaves of a forest, tree after tree, and their values.

    Where each leaf has a value for either of two classes, only the difference is refined, second minus first: their
    sum changes no class. The sum stays as it is. With `keeps_pairs` both are refined. `other_base` takes the place of
    the forest's base: to try many, no forest has to be made and checked for each.
    """

    forest: Forest
    keeps_pairs: bool = False
    other_base: Vector | None = None

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes of the forest are leaves."""
        return self.forest.feature < 0

    @cached_property
    def first(self) -> NDArray[np.uint64]:
        """The first leaf of each tree, and the number of leaves."""
        before = np.concatenate([[0], np.cumsum(self.is_leaf)])
        return before[self.forest.offset].astype(np.uint64)

    @cached_property
    def leaf_number(self) -> NDArray[np.int64]:
        """The number, within its tree, of each node that is a leaf."""
        number: NDArray[np.int64] = np.cumsum(self.is_leaf) - 1
        return number - np.repeat(self.first[:-1].astype(np.int64), np.diff(self.forest.offset))

    @cached_property
    def n_leaves_by_tree(self) -> NDArray[np.int64]:
        """How many leaves each tree has."""
        return np.asarray(np.diff(self.first.astype(np.int64)), np.int64)

    @cached_property
    def is_pair(self) -> bool:
        """Whether the difference of two columns is refined."""
        return bool(self.forest.value.shape[1] == 2) and not self.keeps_pairs

    @cached_property
    def base(self) -> Vector:
        """Scores before any tree."""
        base = self.forest.base if self.other_base is None else self.other_base
        return np.array([base[1] - base[0]]) if self.is_pair else base.copy()

    @cached_property
    def column(self) -> NDArray[np.uint64]:
        """The column of the scores that a tree's values begin with."""
        return self.forest.tree_column.astype(np.uint64)

    @cached_property
    def value(self) -> Vector:
        """The values of the leaves, not times the tree's weight: (leaves, values)."""
        value = self.forest.value[self.is_leaf]
        return value[:, 1:] - value[:, :1] if self.is_pair else value

    @cached_property
    def weight_of_leaf(self) -> Vector:
        """The weight of the tree each leaf belongs to, as a column."""
        return np.repeat(self.forest.tree_weight, self.n_leaves_by_tree)[:, None]

    def scores(
        self, by_tree: NDArray[Any], rows: Any, value: Vector | None = None, tree_weight: Vector | None = None
    ) -> Vector:
        """Return the scores (rows, columns) of some rows, by their leaves in each tree; other values may be given."""
        value = self.value if value is None else value
        tree_weight = self.forest.tree_weight if tree_weight is None else tree_weight
        table = value * np.repeat(tree_weight, self.n_leaves_by_tree)[:, None]
        return self.states(np.ascontiguousarray(by_tree[:, rows]), table, is_log=False)

    def states(
        self, leaf: NDArray[Any], table: Vector, *, is_log: bool, skip: NDArray[np.bool_] = SKIP_NONE
    ) -> Vector:
        """Return what solvers keep of the scores of rows, by their leaves (trees, rows) and a table of values."""
        return states_of(leaf, self.first, self.column, self.base, table, is_log=is_log, skip=skip)

    @cached_property
    def tree_means(self) -> Vector:
        """For each leaf, the mean of the leaves of its tree by training weight, times the tree's weight."""
        of_leaf = np.maximum(self.forest.row_weight[self.is_leaf], 1e-12)[:, None]
        first = self.first[:-1].astype(np.int64)
        mean = np.add.reduceat(self.value * of_leaf, first) / np.add.reduceat(of_leaf, first)
        return np.asarray(np.repeat(mean, self.n_leaves_by_tree, axis=0) * self.weight_of_leaf)

    def targets(self, y: NDArray[Any], loss: Loss) -> NDArray[Any]:
        """Return what the kernels compare scores with."""
        return kernel_targets(y, loss, is_classes=self.forest.classes is not None, n_columns=self.base.size)

    def refined(self, value: Vector, loss: Loss, weight: Vector | None = None) -> Forest:
        """Return the forest with these values of its leaves and, if given, these tree weights.

        An inner node gets the mean of the leaves below by training weight. Scores learned by cross-entropy are
        logarithms of odds, and the link says so; and scores learned from labels are no depths any more.
        """
        forest = self.forest
        new = forest.value.copy()
        if self.is_pair:
            total = new[self.is_leaf].sum(axis=1)
            new[self.is_leaf] = np.stack([total - value[:, 0], total + value[:, 0]], axis=1) / 2.0
        else:
            new[self.is_leaf] = value
        for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
            average_upwards(
                forest.left[begin:end], forest.right[begin:end], forest.row_weight[begin:end], new[begin:end]
            )
        link = "softmax" if loss.name == "cross_entropy" and forest.link == "identity" else forest.link
        if link == "isolation":
            link = "logistic"
        tree_weight = forest.tree_weight if weight is None else weight
        return derive(forest, value=new, tree_weight=tree_weight, link=link, refined=True)


def states_of(
    leaf: NDArray[Any],
    first: NDArray[np.uint64],
    column: NDArray[np.uint64],
    base: Vector,
    table: Vector,
    *,
    is_log: bool,
    skip: NDArray[np.bool_] = SKIP_NONE,
) -> Vector:
    """Return what solvers keep of the scores of rows: for the log losses exp(score), up to a factor a row.

    Each tree's values begin with its column; `skip` (trees, rows) says which rows a tree adds nothing to.
    """
    state = np.empty((leaf.shape[1], base.size))
    find_states(leaf, first, column, table, skip, base, is_log, state)
    return state


def kernel_targets(y: NDArray[Any], loss: Loss, *, is_classes: bool, n_columns: int) -> NDArray[Any]:
    """Return targets of regression, class numbers or, for two classes with one column, 0/1 or -1/1."""
    if not is_classes:
        return y.astype(np.float64)
    if n_columns > 1:
        return y.astype(np.uint64)
    return y.astype(np.float64) if loss.is_log else 2.0 * y - 1.0
