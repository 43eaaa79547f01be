"""The descent where rows are in parts, each held by someone else: only sums over a part's rows are asked for."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._types import Vector
from billhook.forest import as_targets, as_weights
from billhook.kernels import step_tree, sweep_many, sweep_one
from billhook.refinement._coordinate_descent import ANYWHERE, NOWHERE, BlockDescent, state_of
from billhook.refinement._data import checked_targets
from billhook.refinement._leaves import find_leaves, renumbered
from billhook.refinement._losses import WIDTH_SHARES, Loss, row_losses
from billhook.refinement._problem import Problem

# How many places of a quantile's 64 bits are found at once.
PLACES = 8


class Layout(NamedTuple):
    """What a part needs of a forest to turn leaf values into scores."""

    base: Vector
    first: NDArray[np.uint64]
    column: NDArray[np.uint64]

    @classmethod
    def of(cls, problem: Problem) -> "Layout":
        """Return that of a problem."""
        return cls(problem.base, problem.first, problem.column)


class Task(NamedTuple):
    """What each part is asked to do: a method of `Part`, and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


class Part:
    """Some rows of a descent: their leaves, targets and weights, and the state of their scores.

    What it answers are sums over its rows: those of all parts add up to those of all rows.
    """

    def __init__(self, problem: Problem, X: Any, y: ArrayLike, weight: ArrayLike | None, loss: Loss) -> None:
        labels = np.asarray(y)
        code = checked_targets(labels, problem.forest) if labels.size else as_targets(labels, problem.forest)
        self.loss = loss
        self.target = problem.targets(code, loss)
        self.weight = _weights(weight, code.size)
        self.leaf = find_leaves(problem, [(X, code.size)], by_row=False, n_jobs=None)
        self.layout = Layout.of(problem)
        self.n_values = problem.value.shape[1]
        self.state = np.zeros((0, problem.base.size))

    def do(self, task: Task) -> tuple[NDArray[Any], ...]:
        """Carry out a task."""
        answer: tuple[NDArray[Any], ...] = getattr(self, task.method)(*task.arguments)
        return answer

    def rest(self) -> tuple[()]:
        """Do nothing."""
        return ()

    def restart(self, layout: Layout, table: Vector) -> tuple[()]:
        """Give the rows the scores that this table of leaves gives them."""
        self.layout = layout
        self.state = state_of(self.leaf, layout.first, layout.column, layout.base, table, self.loss)
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

        The sums are slopes and curvatures (2, leaves, values). Without a `move` the rows stay where they are.
        """
        layout = self.layout
        sizes = np.diff(layout.first.astype(np.int64))
        if move is None:
            move = np.full((sizes[before], self.n_values), 1.0 if self.loss.is_log else 0.0)
        leaf, target, weight, code = self.leaf, self.target, self.weight, self.loss.code
        last, next_ = np.uint64(before), np.uint64(now)
        if self.state.shape[1] == 1:
            by_leaf = np.zeros((sizes[now], 2))
            state = self.state[:, 0]
            sweep_one(leaf, last, next_, move[:, 0], state, target, weight, NOWHERE, code, width, by_leaf)
            sums = np.ascontiguousarray(by_leaf.T)[:, :, None]
        else:
            sums = np.zeros((2, sizes[now], self.n_values))
            moved, here = layout.column[before], layout.column[now]
            state = self.state
            sweep_many(leaf, last, next_, moved, here, move, state, target, weight, NOWHERE, code, sums[0], sums[1])
        loss = self.weight @ row_losses(self.loss, self.state, self.target, width) if with_loss else 0.0
        return sums, np.array([loss])


class Holders(Protocol):
    """Whoever holds the parts, here or elsewhere."""

    def begin(self, layout: Layout, table: Vector) -> None:
        """Give all rows the scores of this table, which the caller goes on to change; parts made anew read it."""

    def total(self, task: Task, anew: Task | None = None) -> tuple[NDArray[Any], ...]:
        """Return the sums of the answers of all parts; `anew` is for a part that was lost and made again.

        Such a part has the scores of the table as it is now.
        """


class DistributedDescent(BlockDescent):
    """The descent of one problem on rows in parts: one question to all parts a tree, and the same as in one place.

    Parameters
    ----------
    problem : Problem
    holders : Holders
    loss : Loss
    l2 : float
    anchor : array
        What leaf values, times the tree's weight, are drawn to.
    """

    def __init__(self, problem: Problem, holders: Holders, loss: Loss, l2: float, anchor: Vector) -> None:
        self.problem, self.holders, self.loss, self.l2, self.anchor = problem, holders, loss, l2, anchor
        self.width, self.group, self.scale, self.damping = 1.0, 0.0, 1.0, 1.0
        self.table = problem.value * problem.weight_of_leaf
        self.curvature = np.zeros_like(self.table)
        holders.begin(Layout.of(problem), self.table)
        of_leaves, total = holders.total(Task("weigh"))
        self.total_weight = float(total[0])
        if self.total_weight == 0.0:
            raise ValueError("the parts have no row with a weight above 0 to learn from")
        self.used = (problem.weight_of_leaf[:, 0] != 0.0) & (of_leaves > 0.0)
        self.width = self._width()
        self._sweep(0, 0, None, with_loss=True)

    def _restart(self) -> None:
        self.holders.begin(Layout.of(self.problem), self.table)
        self._sweep(0, 0, None, with_loss=True)

    def _total_loss(self) -> float:
        return self._loss

    def _descend(self, grid: Vector = ANYWHERE) -> None:
        n_trees = self.problem.forest.n_trees
        for tree in range(n_trees):
            is_last = tree == n_trees - 1
            # The last question asks for the first tree's sums as well, with which the next pass begins.
            self._sweep(tree, 0 if is_last else tree + 1, self._step(tree, grid), with_loss=is_last)

    def _step(self, tree: int, grid: Vector) -> Vector:
        """Move the leaves of a tree; return what its rows are moved by."""
        problem = self.problem
        leaves = slice(*problem.first[tree : tree + 2].astype(np.int64))
        slope, bend = self._sums[0], self._sums[1]
        column = int(problem.column[tree])
        move, step = np.empty_like(slope), np.empty_like(slope)
        step_tree(
            self.table[leaves],
            self.anchor[leaves],
            slope,
            bend,
            self.used[leaves],
            self.loss.code,
            problem.base.size,
            self.l2,
            self.group,
            self.loss.largest,
            self.damping,
            grid[column : column + slope.shape[1]],
            step,
            move,
        )
        self.curvature[leaves] = bend
        return np.asarray(move)

    def _sweep(self, before: int, now: int, move: Vector | None, *, with_loss: bool) -> None:
        """Move the rows by the steps of one tree, and have the sums of another ready."""
        task, anew = (Task("sweep", (before, now, by, self.width, with_loss)) for by in (move, None))
        self._sums, loss = self.holders.total(task, anew)
        self._loss = float(loss[0])

    def _width(self) -> float:
        """Return what `width_of` would for all rows: the least float that enough of the rows' errors are not above.

        Floats that are not negative have the order of their bits, which are found a few places at a time.
        """
        share = WIDTH_SHARES.get(self.loss.name)
        if share is None:
            return 1.0
        below = -1  # the bits of a float that is not enough
        for place in range(64 - PLACES, -1, -PLACES):
            limits = below + (np.arange(1, 2**PLACES, dtype=np.int64) << place)
            limits = limits[(limits >= 0) & (limits <= np.float64(np.inf).view(np.int64))]
            (weight,) = self.holders.total(Task("weigh_errors", (limits.view(np.float64),)))
            n_less = int(np.count_nonzero(weight < share * self.total_weight))
            below = int(limits[n_less - 1]) if n_less else below
        return float(np.int64(below + 1).view(np.float64)) or 1.0


def _weights(given: ArrayLike | None, n_rows: int) -> Vector:
    if given is None:
        return np.ones(n_rows)
    return as_weights(given, n_rows) if np.any(given) else np.zeros(n_rows)
