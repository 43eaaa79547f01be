"""Block coordinate descent on rows in partitions, here or on other machines: only sums over their rows are needed."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._deadline import check_time
from billhook._types import Vector
from billhook.forest import as_targets, as_weights
from billhook.kernels import step_tree, sweep_many, sweep_one
from billhook.refinement._coordinate_descent import NO_GRID, BlockDescent
from billhook.refinement._data import checked_targets, find_leaves, renumbered
from billhook.refinement._losses import Loss, total_loss
from billhook.refinement._problem import Problem, states_of

# How many places of a quantile's 64 bits are found at once.
PLACES = 8


class LeafLayout(NamedTuple):
    """What a partition needs of a forest to turn leaf values into scores."""

    base: Vector
    first: NDArray[np.uint64]
    column: NDArray[np.uint64]

    @classmethod
    def of(cls, problem: Problem) -> "LeafLayout":
        """Return that of a problem."""
        return cls(problem.base, problem.first, problem.column)


class PartitionTask(NamedTuple):
    """What each partition is to do: a method of `DescentPartition`, and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


class DescentPartition:
    """Some rows of a descent: their leaves, targets and weights, and the state of their scores.

    Its tasks return sums over its rows: those of all partitions add up to those of all rows.
    """

    def __init__(self, problem: Problem, X: Any, y: ArrayLike, weight: ArrayLike | None, loss: Loss) -> None:
        labels = np.asarray(y)
        code = checked_targets(labels, problem.forest) if labels.size else as_targets(labels, problem.forest)
        self.loss = loss
        self.target = problem.targets(code, loss)
        self.weight = _weights(weight, code.size)
        self.leaf = find_leaves(problem, [(X, code.size)], by_row=False, n_jobs=None)
        self.layout = LeafLayout.of(problem)
        self.n_values = problem.value.shape[1]
        self.state = np.zeros((0, problem.base.size))

    def do(self, task: PartitionTask) -> tuple[NDArray[Any], ...]:
        """Carry out a task, and return its sums."""
        sums: tuple[NDArray[Any], ...] = getattr(self, task.method)(*task.arguments)
        return sums

    def rest(self) -> tuple[()]:
        """Do nothing."""
        return ()

    def restart(self, layout: LeafLayout, table: Vector) -> tuple[()]:
        """Give the rows the scores that this table of leaves gives them."""
        self.layout = layout
        self.state = states_of(self.leaf, layout.first, layout.column, layout.base, table, is_log=self.loss.is_log)
        return ()

    def follow(self, first: NDArray[np.uint64], number: NDArray[np.int64], stays: NDArray[np.bool_]) -> tuple[()]:
        """Give the rows the new numbers of their leaves, and keep only the trees that stay."""
        self.leaf = renumbered(self.leaf, first, number, stays)
        return ()

    def weigh(self) -> tuple[Vector, Vector]:
        """Return the weight of the rows in each leaf, tree after tree, and that of all rows."""
        sizes = np.diff(self.layout.first.astype(np.int64))
        of_trees = [np.bincount(ids, self.weight, size) for ids, size in zip(self.leaf, sizes, strict=True)]
        return np.concatenate(of_trees), self.weight.sum(keepdims=True)

    def weigh_errors(self, limits: Vector) -> tuple[Vector]:
        """Return the weight of the rows whose error is not above each of these limits, which go up."""
        error = np.abs(self.target - self.state[:, 0])
        of_limit = np.bincount(np.searchsorted(limits, error), self.weight, limits.size + 1)
        return (np.cumsum(of_limit, dtype=np.float64)[:-1],)

    def sweep(
        self, before: int, now: int, move: Vector | None, width: float, with_loss: bool
    ) -> tuple[Vector, Vector]:
        """Move the rows by the steps of a tree's leaves; return the sums by the leaves of another, and the loss.

        The sums are slopes and curvatures (leaves, 2, values). Without a `move` the rows stay where they are.
        """
        layout = self.layout
        sizes = np.diff(layout.first.astype(np.int64))
        if move is None:
            move = np.full((sizes[before], self.n_values), 1.0 if self.loss.is_log else 0.0)
        sums = np.empty((sizes[now], 2, self.n_values))
        rows = (self.state, self.target, self.weight)
        sweep = sweep_one if layout.base.size == 1 else sweep_many
        sweep(self.leaf, layout.first, layout.column, before, now, move, *rows, self.loss.code, width, sums)
        loss = total_loss(self.loss, self.state, self.target, width, self.weight) if with_loss else 0.0
        return sums, np.array([loss])


class PartitionHolder(Protocol):
    """All partitions, wherever they are, as one: what `DistributedDescent` gives its tasks to."""

    def begin(self, layout: LeafLayout, table: Vector) -> None:
        """Give all rows the scores of this table, which the caller goes on to change; new partitions read it."""

    def total(self, task: PartitionTask, anew: PartitionTask | None = None) -> tuple[NDArray[Any], ...]:
        """Return the sums of the results of all partitions; `anew` is for one that was lost and made again.

        Such a partition has the scores of the table as it is now.
        """


class DistributedDescent(BlockDescent):
    """Block coordinate descent on rows in partitions, with one task for each tree; the result is that of `Descent`.

    Parameters
    ----------
    problem : Problem
    holder : PartitionHolder
    loss : Loss
    l2 : float
    anchor : array
        What leaf values, times the tree's weight, are shrunk towards.
    """

    def __init__(self, problem: Problem, holder: PartitionHolder, loss: Loss, l2: float, anchor: Vector) -> None:
        self.problem, self.holder, self.loss, self.l2, self.anchor = problem, holder, loss, l2, anchor
        self.width, self.group, self.scale, self.damping = 1.0, 0.0, 1.0, 1.0
        self.table = problem.value * problem.weight_of_leaf
        self.curvature = np.zeros_like(self.table)
        holder.begin(LeafLayout.of(problem), self.table)
        of_leaves, total = holder.total(PartitionTask("weigh"))
        self.total_weight = float(total[0])
        if self.total_weight == 0.0:
            raise ValueError("the partitions have no row with a weight above 0 to learn from")
        self.used = (problem.weight_of_leaf[:, 0] != 0.0) & (of_leaves > 0.0)
        self.width = self._width()
        self._sweep(0, 0, None, with_loss=True)

    def _restart(self) -> None:
        self.holder.begin(LeafLayout.of(self.problem), self.table)
        self._sweep(0, 0, None, with_loss=True)

    def _total_loss(self) -> float:
        return self._loss

    def _descend(self, grid: Vector = NO_GRID) -> None:
        n_trees = self.problem.forest.n_trees
        for tree in range(n_trees):
            check_time()
            is_last = tree == n_trees - 1
            # The last task returns the first tree's sums as well, with which the next pass begins.
            self._sweep(tree, 0 if is_last else tree + 1, self._step(tree, grid), with_loss=is_last)

    def _step(self, tree: int, grid: Vector) -> Vector:
        """Move the leaves of a tree; return what its rows are moved by."""
        problem = self.problem
        sums = self._sums
        move = np.empty((sums.shape[0], sums.shape[2]))
        step_tree(
            tree,
            problem.first,
            problem.column,
            problem.base.size,
            self.used,
            self.table,
            self.anchor,
            self.curvature,
            sums,
            self.loss.code,
            self.l2,
            self.group,
            self.loss.largest,
            self.damping,
            grid,
            move,
        )
        return move

    def _sweep(self, before: int, now: int, move: Vector | None, *, with_loss: bool) -> None:
        """Move the rows by the steps of one tree, and have the sums of another ready."""
        task, anew = (PartitionTask("sweep", (before, now, by, self.width, with_loss)) for by in (move, None))
        sums, loss = self.holder.total(task, anew)
        self._sums = np.array(sums)  # arrays that come from elsewhere may be read-only, and lie anywhere in memory
        self._loss = float(loss[0])

    def _width(self) -> float:
        """Return what `width_of` would for all rows: the least float that enough of the rows' errors are not above.

        Floats that are not negative have the order of their bits, which are found a few places at a time.
        """
        share = self.loss.width_quantile
        if share is None:
            return 1.0
        below = -1  # the bits of a float that is not enough
        for place in range(64 - PLACES, -1, -PLACES):
            limits = below + (np.arange(1, 2**PLACES, dtype=np.int64) << place)
            limits = limits[(limits >= 0) & (limits <= np.float64(np.inf).view(np.int64))]
            (weight,) = self.holder.total(PartitionTask("weigh_errors", (limits.view(np.float64),)))
            n_less = int(np.count_nonzero(weight < share * self.total_weight))
            below = int(limits[n_less - 1]) if n_less else below
        return float(np.int64(below + 1).view(np.float64)) or 1.0


def _weights(weight: ArrayLike | None, n_rows: int) -> Vector:
    if weight is None:
        return np.ones(n_rows)
    return as_weights(weight, n_rows) if np.any(weight) else np.zeros(n_rows)
