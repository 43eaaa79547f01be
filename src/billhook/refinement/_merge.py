"""Fewer leaves: the sibling leaves that cost least become one, over all trees together, until the whole fits."""

from collections.abc import Callable
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import at_least_one
from billhook._types import Vector
from billhook.forest import Forest, as_weights, constant_trees, cut_back, without_constants
from billhook.interop import as_forest
from billhook.refinement._coordinate_descent import BlockDescent, Descent
from billhook.refinement._data import checked_targets
from billhook.refinement._leaves import find_leaves, renumbered
from billhook.refinement._losses import Loss, width_of
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem

MOST_IN_VAIN = 3


class Passes(NamedTuple):
    """In how many rounds to merge, and how often to go over the trees before, between and after them."""

    rounds: int = 12
    first: int = 3
    between: int = 2
    last: int = 5


QUICK = Passes(5, 2, 1, 3)


def merge(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    max_leaves: int | None = None,
    size: int | None = None,
    accounting: str | Callable[[Forest], int] = "paper",
    loss: str | None = None,
    l2: float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    passes: Passes | None = None,
) -> Forest:
    """Return a refined forest with fewer leaves: those that hardly differ from their sibling are merged with it.

    In rounds, pairs of sibling leaves whose merging raises the loss least, of all trees together, become one leaf,
    and all leaves are refined again. A tree may shrink to a single split, or go into the base values and vanish. Grow
    larger trees than you can keep, and let this choose the splits that are worth their bytes.

    Parameters
    ----------
    model : Forest or fitted estimator
    X, y : rows, or an iterable of batches of rows, and labels or targets
        As for `refine`.
    max_leaves : int
        How many leaves the whole forest may have; or
    size : int
        how many bytes it may take, as `accounting` counts: an argument of `Forest.size`, or a function of the forest.
    loss, l2
        As for `refine` with solver bcd; one loss. Numbers are drawn to the values of the round before.
    sample_weight : array, optional
    n_jobs : int, optional
        Threads that look up the leaves.
    progress : function, optional
        Called with the leaves merged so far, of how many, and the loss.
    passes : Passes, optional
        In how many rounds, and how often to go over the trees: 12; 3 times before, twice between, 5 times after.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=64, random_state=0).fit(X[::2], y[::2])
    >>> small = bh.merge(rf, X[::2], y[::2], max_leaves=256)
    >>> small.n_leaves
    256
    >>> sixteen_each = bh.as_forest(rf).truncate(max_leaves=16)
    >>> (small.predict(X[1::2]) == y[1::2]).mean() > (sixteen_each.predict(X[1::2]) == y[1::2]).mean()
    np.True_
    """
    forest = as_forest(model)
    plan = MergePlan.of(forest, max_leaves=max_leaves, size=size, accounting=accounting, loss=loss, l2=l2)
    target = checked_targets(y, forest)
    weight = np.ones(target.size) if sample_weight is None else as_weights(sample_weight, target.size)
    plan.check(forest)
    plan = plan if passes is None else plan._replace(passes=passes)
    leaf = find_leaves(Problem(forest), [(X, target.size)], by_row=False, n_jobs=n_jobs)
    return merge_leaves(forest, _RowsHere(leaf, target, weight), plan, progress)


class RowsToMerge(Protocol):
    """The rows that a forest is merged by, wherever they are."""

    def descent(self, problem: Problem, loss: Loss, l2: float, anchor: Vector) -> BlockDescent:
        """Return a descent of the leaf values on these rows, from where they are."""

    def follow(self, problem: Problem, number: NDArray[np.int64], stays: NDArray[np.bool_], to: Forest) -> None:
        """Give the rows the numbers that their leaves have in the forest `to`, and keep only the trees that stay.

        `number` has, for each leaf of the problem, its number in its tree from now on.
        """


class MergePlan(NamedTuple):
    """How far to merge, as what counts it, and by which loss."""

    budget: int
    measure: Callable[[Forest], int]
    wanted: str  # in words
    loss: Loss
    l2: float
    passes: Passes = Passes()

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
        settings = RefinementOptions(loss=loss, l2=l2)
        settings.check()
        losses = settings.losses(forest)
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
) -> Forest:
    """Return the forest merged by these rows, as `merge` says."""
    budget, measure = plan.budget, plan.measure
    merging = _Merging(forest, rows, plan.loss, plan.l2)
    objective = merging.refine(plan.passes.first)
    at_first = now = lowest = measure(merging.forest)
    n_in_vain = 0
    shrink = (budget / max(now, budget)) ** (1.0 / plan.passes.rounds)
    while now > budget:
        n_leaves = merging.forest.n_leaves
        needed = int(np.ceil((now - budget) / (2.0 * now / max(merging.forest.n_nodes, 2))))
        merging.merge(max(1, min(needed, int(n_leaves * (1.0 - shrink)))))
        objective = merging.refine(plan.passes.between)
        now = measure(merging.forest)
        # What a function counts may rise for a while, as where a table of equal leaves no longer pays.
        n_in_vain = n_in_vain + 1 if now >= lowest else 0
        lowest = min(now, lowest)
        if n_in_vain > MOST_IN_VAIN:
            raise ValueError(f"merging does not make the forest smaller than {lowest:,}, as accounting counts it")
        if progress is not None:
            progress(min(at_first - now, at_first - budget), max(at_first - budget, 1), objective)
    merging.refine(plan.passes.last)
    return merging.forest


class _RowsHere:
    """Rows in this process: their leaves (trees, rows), targets and weights."""

    def __init__(self, leaf: NDArray[Any], y: NDArray[Any], weight: Vector) -> None:
        self.leaf, self.y, self.weight = leaf, y, weight

    def descent(self, problem: Problem, loss: Loss, l2: float, anchor: Vector) -> Descent:
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
        self.leaf = renumbered(self.leaf, problem.first, number, stays)


class _Merging:
    """A forest that is being merged, and the rows it is refined on."""

    def __init__(self, forest: Forest, rows: RowsToMerge, loss: Loss, l2: float) -> None:
        self.forest, self.rows, self.loss, self.l2 = forest, rows, loss, l2
        self.curvature = np.zeros(0)

    def refine(self, n_passes: int) -> float:
        """Make some passes of block coordinate descent; return the objective."""
        problem = Problem(self.forest)
        table = problem.value * problem.weight_of_leaf
        anchor = table if self.forest.classes is None else np.zeros_like(table)
        descent = self.rows.descent(problem, self.loss, self.l2, anchor)
        for now in islice(descent, n_passes + 1):
            last = now
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
        fewer = cut_back(forest.with_values(value), is_split)
        self._go_on_with(fewer, problem, _new_numbers(problem, pairs, chosen))

    def _go_on_with(self, forest: Forest, problem: Problem, number: NDArray[np.int64]) -> None:
        """Leave trees of a single leaf out, and tell the rows."""
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
    return np.concatenate([np.unique(place[begin:end], return_inverse=True)[1] for begin, end in pairwise(first)])


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
