"""A forest evaluated on the pruning rows, tree by tree: what the pruning methods are computed from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._deadline import check_time
from billhook.forest import Forest, as_targets, as_weights
from billhook.kernels import count_votes, find_votes, residual_products, weigh_agreement, weigh_matches


@dataclass(frozen=True)
class EvaluatedTrees:
    """The trees of a forest, the leaves that the pruning rows fall into, and the labels of these.

    Leaf numbers and leaf values stand for the (trees, rows, classes) cube of probabilities, which is never made.
    """

    forest: Forest
    leaf: NDArray[Any]  # (trees, rows)
    value: NDArray[np.float64]  # (nodes, classes): probabilities, times the tree's weight
    y: NDArray[Any]  # class numbers, or targets
    weight: NDArray[np.int64]  # whole numbers: see `_whole_weights`
    progress: Callable[[int, int], None] | None = None  # called with the steps done, and of how many

    @property
    def n_trees(self) -> int:
        """Number of trees to choose from."""
        return len(self.leaf)

    @property
    def n_rows(self) -> int:
        """Number of pruning rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.forest.n_classes  # 1 for regression

    @property
    def all_trees(self) -> NDArray[np.int64]:
        """The numbers of all trees."""
        return np.arange(self.n_trees)

    def report_progress(self, done: int, steps: int) -> None:
        """Report how far a method has come, if the caller wants to know; it ends here where its time is over."""
        check_time()
        if self.progress is not None:
            self.progress(done, steps)

    def leaf_value(self, tree: int) -> NDArray[np.float64]:
        """Return the values of one tree's nodes."""
        return self.value[self.forest.offset[tree] : self.forest.offset[tree + 1]]

    @cached_property
    def votes(self) -> NDArray[Any]:
        """The class each tree votes for on each row: (trees, rows), in the smallest type that holds it."""
        dtype = np.uint8 if self.n_classes <= 2**8 else np.uint16 if self.n_classes <= 2**16 else np.uint32
        winner = self.value.argmax(axis=1).astype(dtype)
        votes = np.empty(self.leaf.shape, dtype)
        find_votes(self.leaf, self.forest.offset, winner, votes)
        return votes

    @cached_property
    def right(self) -> NDArray[np.uint8]:
        """1 where a tree's vote is right: (trees, rows)."""
        return np.asarray(self.votes == self.y.astype(self.votes.dtype)).view(np.uint8)

    @cached_property
    def n_right(self) -> NDArray[Any]:
        """The weight of the rows each tree gets right."""
        return self.matches(self.right, np.ones(self.n_rows, np.uint8), self.all_trees)

    def matches(self, label: NDArray[Any], expected: NDArray[Any], trees: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight of the rows on which each tree's label, of (trees, rows), is the expected one."""
        matches = np.empty(trees.size, np.int64)
        weigh_matches(label, expected, self.weight, self.unweighted, trees, matches)
        return matches

    def agreement(self, label: NDArray[Any]) -> NDArray[np.int64]:
        """Return the weight of the rows on which two trees have the same label, of (trees, rows)."""
        agreement = np.empty((self.n_trees, self.n_trees), np.int64)
        weigh_agreement(label, self.weight, self.unweighted, agreement)
        return agreement

    @cached_property
    def vote_counts(self) -> NDArray[np.int64]:
        """How many trees vote for each class: (rows, classes)."""
        counts = np.zeros((self.n_rows, self.n_classes), np.int64)
        count_votes(self.votes, counts)
        return counts

    @cached_property
    def unweighted(self) -> bool:
        """Whether all rows count the same."""
        return bool((self.weight == 1).all())

    @cached_property
    def both_right(self) -> NDArray[np.float64]:
        """The weight of the rows that both of two trees get right."""
        # They agree where both are right, and where neither is.
        agree = self.agreement(self.right)
        return np.asarray((agree + self.n_right[:, None] + self.n_right - self.total_weight) / 2)

    @cached_property
    def residual_products(self) -> NDArray[np.float64]:
        """The weighted sums over rows (and classes) of the products of two trees' residuals."""
        if self.forest.classes is None:
            return self._products(self.y[:, None])
        return self._products(np.eye(self.n_classes)[self.y])

    @cached_property
    def value_products(self) -> NDArray[np.float64]:
        """The weighted sums over rows (and classes) of the products of two trees' values."""
        return self._products(np.zeros((self.n_rows, self.n_classes)))

    def _products(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return these sums of what two trees' values are above the expected ones, of (rows, classes)."""
        products = np.empty((self.n_trees, self.n_trees))
        residual_products(self.leaf, self.forest.offset, self.value, expected, self.weight, products)
        return products

    @cached_property
    def error(self) -> NDArray[Any]:
        """How wrong each tree is: the weight of its wrong votes, or its squared error for regression."""
        if self.forest.classes is None:
            return np.diagonal(self.residual_products).copy()
        return np.asarray(self.total_weight - self.n_right)

    @cached_property
    def total_weight(self) -> Any:
        """The weight of all rows."""
        return self.weight.sum()


def evaluate_trees(
    forest: Forest,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    in_bag: NDArray[np.bool_] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EvaluatedTrees:
    """Return the trees evaluated on these rows, which are checked against the forest.

    On rows that are `in_bag` (trees, rows) for a tree it predicts what its root does, as if it knew nothing of them.
    """
    of_nodes, base = forest.value, forest.base
    if forest.link in ("logistic", "isolation") and forest.averages:
        of_nodes, base = np.concatenate([-of_nodes, of_nodes], axis=1) / 2, np.array([-base[0], base[0]]) / 2
    if not forest.averages or of_nodes.shape[1] != forest.n_classes:
        raise TypeError(
            "pruning evaluates each tree by itself, and needs a forest whose trees are averaged; the trees of this "
            "one (boosting) correct one another"
        )
    if (forest.tree_weight <= 0).any():
        raise ValueError("pruning needs trees with weights above 0; select those first")
    leaf = np.ascontiguousarray(forest.apply(X).T)
    if in_bag is not None:
        if in_bag.shape != leaf.shape:
            raise ValueError(
                f"in_bag has shape {in_bag.shape}; there are {leaf.shape[0]} trees and {leaf.shape[1]} rows"
            )
        leaf[in_bag] = 0
    if forest.classes is None and not equally_weighted(forest):
        raise ValueError("a regression forest can be pruned only if its trees have equal weights")
    target = np.ascontiguousarray(as_targets(y, forest))
    if target.size != leaf.shape[1]:
        raise ValueError(f"X has {leaf.shape[1]:,} rows and y {target.size:,} labels")
    if target.size == 0:
        raise ValueError("pruning needs at least one row")
    scale = np.repeat(forest.tree_weight * forest.n_trees, np.diff(forest.offset))[:, None]
    value = of_nodes if (scale == 1.0).all() else of_nodes * scale
    value = value + base if base.any() else value
    return EvaluatedTrees(forest, leaf, value, target, _whole_weights(sample_weight, target.size), progress)


def equally_weighted(forest: Forest) -> bool:
    """Return whether all trees have the same weight."""
    return bool((forest.tree_weight == forest.tree_weight[0]).all())


def _whole_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    """Return the weights as whole numbers, in millionths of the largest if they are not: sums of them are exact.

    So ties are ties, whatever the order of the rows.
    """
    if sample_weight is None:
        return np.ones(n_rows, np.int64)
    weight = as_weights(sample_weight, n_rows)
    if (weight != np.round(weight)).any() or weight.max() > 1e6:
        weight = np.round(weight / weight.max() * 1e6)
    return weight.astype(np.int64)
