"""Sibling leaves merged over all trees together, those that matter least first, wherever the rows are."""

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._checks import at_least_one
from billhook._deadline import check_time
from billhook._types import Vector
from billhook.forest import Forest, constant_trees, cut_back, derive, without_constants
from billhook.refinement._coordinate_descent import BlockDescent, Descent
from billhook.refinement._data import renumbered
from billhook.refinement._losses import Loss, width_of
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem
from billhook.refinement._report import MergeReport

MOST_IN_VAIN = 3


class MergePasses(NamedTuple):
    """In how many rounds `merge` merges leaves, and how many passes over the trees refine the values of the others.

    Attributes
    ----------
    rounds : int
    first, between, last : int
        How many passes to make before the first round, after each round, and after the last one in addition.
    """

    rounds: int = 12
    first: int = 3
    between: int = 2
    last: int = 5


QUICK = MergePasses(5, 2, 1, 3)


class RowsToMerge(Protocol):
    """The rows that a forest is merged on, wherever they are."""

    def descent(self, problem: Problem, loss: Loss, l2: float, anchor: Vector) -> BlockDescent:
        """Return a descent of the leaf values on these rows, from where they are."""

    def follow(self, problem: Problem, number: NDArray[np.int64], stays: NDArray[np.bool_], to: Forest) -> None:
        """Give the rows the numbers that their leaves have in the forest `to`, and keep only the trees that stay.

        `number` has, for each leaf of the problem, its number in its tree from now on.
        """


class MergePlan(NamedTuple):
    """How small the forest must become, how that is measured, and which loss is minimised."""

    budget: int
    measure: Callable[[Forest], int]
    wanted: str  # in words
    loss: Loss
    l2: float
    passes: MergePasses = MergePasses()

    @classmethod
    def of(
        cls,
        forest: Forest,
        *,
        max_leaves: int | None,
        size: int | None,
        accounting: str | Callable[[Forest], int],
        loss: str | None,
        l2: float | None,
    ) -> "MergePlan":
        """Return the plan for these arguments of `merge`."""
        options = RefinementOptions(loss=loss, l2=l2)
        options.check()
        losses = options.losses(forest)
        if len(losses) > 1:
            raise ValueError("merge needs one loss, by its name")
        budget, measure = _budget(max_leaves, size, accounting)
        wanted = f"{budget:,} leaves" if max_leaves is not None else f"a size of {budget:,} bytes"
        return cls(budget, measure, wanted, losses[0], losses[0].l2 if l2 is None else float(l2))

    def check(self, forest: Forest) -> None:
        """Raise ValueError where not even a single leaf fits."""
        smallest = self.measure(_constant(forest))
        if smallest > self.budget:
            raise ValueError(f"{self.wanted} cannot be reached: a single leaf takes {smallest:,}")


def merge_leaves(
    forest: Forest, rows: RowsToMerge, plan: MergePlan, progress: Callable[[int, int, float], None] | None = None
) -> tuple[Forest, MergeReport]:
    """Return the forest merged on these rows, and how: see `merge`."""
    budget, measure = plan.budget, plan.measure
    merging = _Merging(forest, rows, plan.loss, plan.l2)
    objective = [merging.refine(plan.passes.first)]
    at_first = now = lowest = measure(merging.forest)
    n_in_vain = 0
    shrink = (budget / max(now, budget)) ** (1.0 / plan.passes.rounds)
    while now > budget:
        check_time()
        n_leaves = merging.forest.n_leaves
        needed = int(np.ceil((now - budget) / (2.0 * now / max(merging.forest.n_nodes, 2))))
        merging.merge(max(1, min(needed, int(n_leaves * (1.0 - shrink)))))
        objective.append(merging.refine(plan.passes.between))
        now = measure(merging.forest)
        # What a function counts may rise for a while, as where a table of equal leaves no longer pays.
        n_in_vain = n_in_vain + 1 if now >= lowest else 0
        lowest = min(now, lowest)
        if n_in_vain > MOST_IN_VAIN:
            raise ValueError(f"merging does not make the forest smaller than {lowest:,}, as accounting counts it")
        if progress is not None:
            progress(min(at_first - now, at_first - budget), max(at_first - budget, 1), objective[-1])
    n_rounds = len(objective) - 1
    objective.append(merging.refine(plan.passes.last))
    return merging.forest, MergeReport(
        loss=plan.loss.name,
        l2=plan.l2,
        n_leaves_before=forest.n_leaves,
        n_leaves_after=merging.forest.n_leaves,
        size_before=at_first,
        size_after=measure(merging.forest),
        n_rounds=n_rounds,
        n_passes=merging.n_passes,
        objective=tuple(objective),
    )


class LocalRows:
    """Rows in this process: their leaves (trees, rows), targets and weights."""

    def __init__(self, leaf: NDArray[Any], y: NDArray[Any], weight: Vector) -> None:
        self.leaf, self.y, self.weight = leaf, y, weight

    def descent(self, problem: Problem, loss: Loss, l2: float, anchor: Vector) -> Descent:
        """Return a descent of the leaf values on these rows, from where they are."""
        scores = problem.scores(self.leaf, slice(None))[:, 0] if loss.has_width else self.y
        width = width_of(loss, scores, self.y, self.weight)
        target = problem.targets(self.y, loss)
        return Descent(problem, self.leaf, target, self.weight, loss, width, l2, anchor)

    def follow(
        self,
        problem: Problem,
        number: NDArray[np.int64],
        stays: NDArray[np.bool_],
        to: Forest,  # noqa: ARG002 - rows that are here need not know the forest
    ) -> None:
        """Give the rows the numbers that their leaves have from now on, and keep only the trees that stay."""
        self.leaf = renumbered(self.leaf, problem.first, number, stays)


class _Merging:
    """A forest that is being merged, and the rows its leaf values are learned from."""

    def __init__(self, forest: Forest, rows: RowsToMerge, loss: Loss, l2: float) -> None:
        self.forest, self.rows, self.loss, self.l2 = forest, rows, loss, l2
        self.curvature = np.zeros(0)
        self.n_passes = 0

    def refine(self, n_passes: int) -> float:
        """Make some passes of block coordinate descent; return the objective."""
        problem = Problem(self.forest)
        # The zero of numbers means nothing. (Shrunk to what they were, they would not be shrunk in many rounds.)
        anchor = problem.tree_means if self.forest.classes is None else np.zeros_like(problem.value)
        descent = self.rows.descent(problem, self.loss, self.l2, anchor)
        for made, now in enumerate(islice(descent, n_passes + 1)):
            n_made, last = made, now
        self.n_passes += n_made
        self.curvature = descent.curvature + 1e-9
        self.forest = problem.refined(last.value, self.loss)
        return last.objective

    def merge(self, n_pairs: int) -> None:
        """Make single leaves of the pairs of siblings that cost least."""
        forest = self.forest
        problem = Problem(forest)
        pairs = _sibling_leaves(forest)
        if not len(pairs.node):
            self._go_on_with(forest, problem, problem.leaf_number[problem.is_leaf])
            return
        table, bend = problem.value * problem.weight_of_leaf, self.curvature
        number = np.cumsum(problem.is_leaf) - 1
        left, right = number[pairs.left], number[pairs.right]
        # To second order, the loss rises by this if both take the mean weighted by curvature.
        share = bend[left] / (bend[left] + bend[right])
        cost = 0.5 * (share * bend[right] * (table[left] - table[right]) ** 2).sum(axis=1)
        chosen = np.argsort(cost, kind="stable")[:n_pairs]
        node = pairs.node[chosen]
        value = forest.value.copy()
        share = share[chosen] if not problem.is_pair else np.repeat(share[chosen], 2, axis=1)
        value[node] = share * value[pairs.left[chosen]] + (1.0 - share) * value[pairs.right[chosen]]
        is_split = forest.feature >= 0
        is_split[node] = False
        fewer = cut_back(derive(forest, value=value), is_split)
        self._go_on_with(fewer, problem, _new_numbers(problem, pairs, chosen))

    def _go_on_with(self, forest: Forest, problem: Problem, number: NDArray[np.int64]) -> None:
        """Drop trees of a single leaf, and renumber the leaves of the rows."""
        self.forest = without_constants(forest)
        self.rows.follow(problem, number, ~constant_trees(forest), self.forest)


class _Pairs(NamedTuple):
    """Inner nodes whose children are both leaves, and those children, by their places in the forest."""

    node: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


def _sibling_leaves(forest: Forest) -> _Pairs:
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    node = np.flatnonzero(forest.feature >= 0)
    left, right = forest.left[node] + root[node], forest.right[node] + root[node]
    both = (forest.feature[left] < 0) & (forest.feature[right] < 0)
    return _Pairs(node[both], left[both], right[both])


def _new_numbers(problem: Problem, pairs: _Pairs, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each leaf, its number within its tree in the forest with the chosen pairs merged."""
    first = problem.first.astype(np.int64)
    old = np.cumsum(problem.is_leaf) - 1
    # Leaves are numbered in the order of nodes, and the merged leaf stands where the inner node stood.
    place = np.flatnonzero(problem.is_leaf)
    place[old[pairs.left[chosen]]] = pairs.node[chosen]
    place[old[pairs.right[chosen]]] = pairs.node[chosen]
    number = np.unique(place, return_inverse=True)[1].astype(np.int64)
    before: NDArray[np.int64] = np.minimum.reduceat(number, first[:-1])
    return number - np.repeat(before, np.diff(first))


def _constant(forest: Forest) -> Forest:
    """Return the smallest forest of this kind: one tree, one leaf."""
    return cut_back(forest.select([0]), np.zeros(forest.offset[1], np.bool_))


def _budget(
    max_leaves: int | None, size: int | None, accounting: str | Callable[[Forest], int]
) -> tuple[int, Callable[[Forest], int]]:
    if (max_leaves is None) == (size is None):
        raise ValueError("merge needs either max_leaves or size")
    if max_leaves is not None:
        return at_least_one(max_leaves, "max_leaves"), lambda forest: forest.n_leaves
    if callable(accounting):
        return at_least_one(size, "size"), accounting
    return at_least_one(size, "size"), lambda forest: forest.size(accounting)
