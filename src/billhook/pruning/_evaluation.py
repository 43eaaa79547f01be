"""A forest evaluated on the pruning rows, tree by tree: what the pruning methods are computed from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest, as_targets, as_weights
from billhook.kernels import weigh_matches

# Numbers of a block of rows that are multiplied at once.
BLOCK_BYTES = 2**25


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
        """Report how far a method has come, if the caller wants to know."""
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
        for tree in range(self.n_trees):
            votes[tree] = winner[self.forest.offset[tree] :][self.leaf[tree]]
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
        return weigh_matches(label, expected, self.weight, self.unweighted, trees)

    @cached_property
    def vote_counts(self) -> NDArray[np.int64]:
        """How many trees vote for each class: (rows, classes)."""
        counts = np.zeros((self.n_rows, self.n_classes), np.int64)
        every = np.arange(self.n_rows)
        for vote in self.votes:
            counts[every, vote] += 1
        return counts

    def gram(self, block: Callable[[slice], NDArray[Any]], numbers_a_row: int = 1) -> NDArray[np.float64]:
        """Return the (trees, trees) sums over rows of weight times the product of what `block` gives each tree.

        `block` takes a slice of rows to an array (trees, rows times numbers a row), a row's numbers side by side.
        """
        total = np.zeros((self.n_trees, self.n_trees))
        length = max(1, BLOCK_BYTES // (8 * self.n_trees * numbers_a_row))
        for start in range(0, self.n_rows, length):
            rows = slice(start, start + length)
            factors = block(rows)
            weighted = factors if self.unweighted else factors * np.repeat(self.weight[rows], numbers_a_row)
            total += weighted @ factors.T
        return total

    def count_both(self, flag: NDArray[Any]) -> NDArray[np.float64]:
        """Return the weight of the rows that both of two trees have flagged, of (trees, rows) zeros and ones."""
        # Counts of a block are whole numbers below 2^24, which float32 holds exactly, in half the time.
        dtype = np.float32 if self.unweighted else np.float64
        return self.gram(lambda rows: flag[:, rows].astype(dtype))

    @cached_property
    def unweighted(self) -> bool:
        """Whether all rows count the same."""
        return bool((self.weight == 1).all())

    @cached_property
    def both_right(self) -> NDArray[np.float64]:
        """The weight of the rows that both of two trees get right."""
        return self.count_both(self.right)

    @cached_property
    def residual_products(self) -> NDArray[np.float64]:
        """The weighted sums over rows (and classes) of the products of two trees' residuals."""
        return self.gram(lambda rows: residuals(self, rows), self.n_classes)

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


def probabilities(evaluated: EvaluatedTrees, rows: slice | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the trees' class probabilities for some rows: (trees, rows times classes)."""
    blocks = [evaluated.leaf_value(tree)[evaluated.leaf[tree, rows]].ravel() for tree in range(evaluated.n_trees)]
    return np.stack(blocks)


def residuals(evaluated: EvaluatedTrees, rows: slice) -> NDArray[np.float64]:
    """Return the trees' probabilities minus 1 for the true class, or predictions minus targets, for some rows."""
    if evaluated.forest.classes is None:
        return np.asarray(probabilities(evaluated, rows) - evaluated.y[rows])
    return np.asarray(probabilities(evaluated, rows) - np.eye(evaluated.n_classes)[evaluated.y[rows]].ravel())


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
    if forest.link == "logistic" and forest.averages:
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
    target = as_targets(y, forest)
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
