"""Block coordinate descent: pass after pass over the trees, each leaf taking its own Newton step."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import Vector
from billhook.kernels import descend_many, descend_one, find_reached
from billhook.refinement._losses import Loss, total_loss
from billhook.refinement._problem import SKIP_NONE, Problem

NO_GRID = np.zeros((0, 3))
# A pass that raises the objective by more than rounding is taken back and made again with shorter steps.
ROUNDING = 1e-12
SHORTEST = 2.0**-20
BOUNDED_HINGE = 6
# So many numbers of rows, of all trees, are gone through between two looks at the time.
MOST_AT_ONCE = 100_000_000


class Pass(NamedTuple):
    """What a solver has reached after some passes over the rows."""

    objective: float  # the loss, half of it for the squares, and penalties, per row
    value: Vector  # of the leaves, as `Problem.value`
    tree_weight: Vector | None  # if they are learned


class BlockDescent(ABC):
    """Block coordinate descent; iterating it yields a `Pass` after each pass over the trees, the start first.

    The table of leaf values, times the trees' weights, is kept here. A subclass has the rows, here or elsewhere, and
    says what happens to them: `_restart`, `_descend` and `_total_loss`.
    """

    problem: Problem
    loss: Loss
    width: float
    l2: float
    anchor: Vector
    group: float
    scale: float
    table: Vector
    used: NDArray[np.bool_]  # leaves that have rows
    total_weight: float
    curvature: Vector  # of the last pass, by leaf and value
    damping: float

    @abstractmethod
    def _restart(self) -> None:
        """Give the rows the scores that the table gives them."""

    @abstractmethod
    def _descend(self, grid: Vector = NO_GRID) -> None:
        """Make one pass over the trees: change the table, the rows' scores and the curvature."""

    @abstractmethod
    def _total_loss(self) -> float:
        """Return the weighted sum of the rows' losses."""

    def start_from(self, value: Vector) -> None:
        """Go on from these values of the leaves."""
        self.table = value * self.problem.weight_of_leaf * self.scale
        self._restart()

    def objective(self) -> float:
        """Return the weighted loss per row, and the penalties."""
        loss = self._total_loss() * self.loss.times_of(self.width)
        away = (self.table - self.anchor)[self.used]
        penalty = 0.5 * self.l2 * float((away**2).sum())
        if self.group > 0.0:
            of_leaf = (self.table**2).sum(axis=1) * self.used
            of_tree = np.add.reduceat(of_leaf, self.problem.first[:-1].astype(np.int64))
            penalty += self.group * float(np.sqrt(of_tree).sum())
        return (loss + penalty) / self.total_weight

    def __iter__(self) -> Iterator[Pass]:
        """Yield the start, and after each pass what it reached; end where no step, however short, goes down."""
        reached = self.objective()
        yield Pass(reached, self.value(), None)
        while self.damping >= SHORTEST:
            before = self.table.copy()
            self._descend()
            now = self.objective()
            if now <= reached + ROUNDING * abs(reached):
                reached = now
                yield Pass(reached, self.value(), None)
            else:
                self.damping /= 2.0
                self.table[:] = before
                self._restart()

    def round_to(self, unit: Vector, lowest: int, highest: int, n_passes: int) -> Vector:
        """Return the values, each rounded in its turn to whole units of its column of the scores.

        Later trees make up for earlier ones. Of the passes, that with the lowest objective counts.
        """
        grid = np.stack(np.broadcast_arrays(unit, float(lowest), float(highest)), axis=1)
        best, lowest_objective = self.table, np.inf
        for _ in range(n_passes):
            self._descend(grid)
            now = self.objective()
            if now < lowest_objective:
                best, lowest_objective = self.table.copy(), now
        self.table = best
        self._restart()
        return best

    def value(self) -> Vector:
        """Return the values of the leaves, not times the tree's weight."""
        of_leaf = self.problem.weight_of_leaf * self.scale
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(of_leaf != 0.0, self.table / of_leaf, self.problem.value)


@dataclass
class Descent(BlockDescent):
    """Block coordinate descent on rows in this process.

    `anchor` is what leaf values are shrunk towards, by the L2 penalty `l2`; `group` is the strength of the penalty on
    the length of each tree's vector of values. Values here are times the tree's weight.

    `skip` (trees, rows), if it is not empty, says which rows a tree neither learns from nor predicts; leaf values
    are then scaled so that the other trees make up for it.
    """

    problem: Problem
    leaf: NDArray[Any]
    target: NDArray[Any]
    weight: Vector
    loss: Loss
    width: float
    l2: float
    anchor: Vector
    group: float = 0.0
    skip: NDArray[np.bool_] = field(default_factory=lambda: SKIP_NONE)

    def __post_init__(self) -> None:
        problem = self.problem
        self.scale = 1.0 / (1.0 - float(self.skip.mean())) if self.skip.size else 1.0
        self.table = problem.value * problem.weight_of_leaf * self.scale
        self.anchor = self.anchor * self.scale
        self.used = np.empty(len(self.table), np.bool_)
        find_reached(self.leaf, problem.first, self.weight, self.skip, self.used)
        self.used &= problem.weight_of_leaf[:, 0] != 0.0
        self.total_weight = float(self.weight.sum())
        self.curvature = np.zeros_like(self.table)
        self.damping = 1.0

    @cached_property
    def state(self) -> Vector:
        """What the kernels keep of the rows' scores: found when it is needed, and then changed with the table."""
        return self.problem.states(self.leaf, self.table, is_log=self.loss.is_log, skip=self.skip)

    def _restart(self) -> None:
        self.__dict__.pop("state", None)

    def _total_loss(self) -> float:
        return total_loss(self.loss, self.state, self.target, self.width, self.weight)

    def _descend(self, grid: Vector = NO_GRID) -> None:
        problem, loss = self.problem, self.loss
        # With a group penalty a leaf of settled rows would shrink to zero against no resistance.
        code = BOUNDED_HINGE if self.group > 0.0 and loss.name == "squared_hinge" else loss.code
        descend = descend_one if problem.base.size == 1 else descend_many
        for trees, leaves, first in trees_at_once(problem.first, self.state.size):
            check_time()
            descend(
                self.leaf[trees],
                first,
                problem.column[trees],
                self.state,
                self.target,
                self.weight,
                self.skip[trees] if self.skip.size else self.skip,
                self.used[leaves],
                self.table[leaves],
                self.anchor[leaves],
                self.curvature[leaves],
                code,
                self.width,
                self.l2,
                self.group,
                loss.largest,
                self.damping,
                grid,
            )


class TreesAtOnce(NamedTuple):
    """Some trees one after the other, their leaves, and where the leaves of each begin among these."""

    trees: slice
    leaves: slice
    first: NDArray[np.uint64]


def trees_at_once(first: NDArray[np.uint64], n_numbers: int) -> Iterator[TreesAtOnce]:
    """Yield the trees of a pass in parts, all at once if they are not many: see `MOST_AT_ONCE`.

    `first` is where the leaves of each tree begin, and `n_numbers` how many a tree goes through: of all rows.
    """
    n_trees, at_once = first.size - 1, max(1, MOST_AT_ONCE // max(n_numbers, 1))
    for begin in range(0, n_trees, at_once):
        end = min(begin + at_once, n_trees)
        yield TreesAtOnce(
            slice(begin, end), slice(int(first[begin]), int(first[end])), first[begin : end + 1] - first[begin]
        )
