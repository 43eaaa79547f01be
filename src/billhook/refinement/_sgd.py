"""Stochastic gradient descent (Buschjäger and Morik 2022, Algorithm 2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.kernels import sgd_epoch, shuffle
from billhook.refinement._coordinate_descent import Pass
from billhook.refinement._losses import Loss, as_state, total_loss
from billhook.refinement._problem import Problem


@dataclass
class GradientDescent:
    """Gradient descent on leaf values and, with `weight_step` above 0, tree weights; yields a `Pass` for each epoch.

    `rows` are the numbers of the rows to learn from, of `leaf` (rows, trees). The objective of an epoch is the loss
    of its rows, each before it was learned from.
    """

    problem: Problem
    leaf: NDArray[Any]
    target: NDArray[Any]
    weight: Vector
    rows: NDArray[np.uint32]
    loss: Loss
    width: float
    step_size: float
    batch_size: int
    batch_gradient: str
    uses_adam: bool
    weight_step: float
    weight_shrink: float
    random: np.random.Generator

    def __post_init__(self) -> None:
        self.value = self.problem.value.copy()

    def start_from(self, value: Vector) -> None:
        """Go on from these values of the leaves."""
        self.value = value.copy()

    def __iter__(self) -> Iterator[Pass]:
        """Yield the start and each epoch."""
        problem = self.problem
        n_classes = problem.base.size
        # Rows of 4, 8, ... numbers are added without a remainder.
        n_columns = 1 if n_classes == 1 else -(-n_classes // 4) * 4
        n_values = 1 if self.value.shape[1] == 1 else n_columns
        table = aligned_zeros((self.value.shape[0], n_values))
        table[:, : self.value.shape[1]] = self.value
        base = np.zeros(n_columns)
        base[:n_classes] = problem.base
        tree_weight = problem.forest.tree_weight.copy()
        learns_weights = self.weight_step > 0.0
        moments = np.zeros((2, *table.shape) if self.uses_adam else (0, 0, 0))
        step_of = np.zeros(table.shape[0] if self.batch_gradient == "last" else 0, np.int64)
        target, label = (self.target, np.zeros(0, np.uint64)) if n_classes == 1 else (np.zeros(0), self.target)
        gain = 2.0 if self.loss.is_square or problem.is_pair else 1.0
        # Adam moves every number by the same: of a pair, the difference by twice as much.
        step_size = self.step_size * (2.0 if self.uses_adam and problem.is_pair else 1.0)
        total = float(self.weight[self.rows].sum())
        batch_size = min(self.batch_size, self.rows.size)
        n_steps = 0
        score = problem.scores(self.leaf.T, self.rows, self.value)
        state = as_state(self.loss, score)
        at_first = total_loss(self.loss, state, self.target[self.rows], self.width, self.weight[self.rows])
        yield Pass(at_first / total, self.value, None)
        order = self.rows.copy()
        while True:
            shuffle(order, int(self.random.integers(2**62)))
            loss = sgd_epoch(
                self.leaf,
                problem.first,
                problem.column,
                base,
                order,
                target,
                label,
                self.weight,
                tree_weight,
                table,
                moments,
                step_of,
                n_classes,
                self.loss.code,
                self.width,
                gain,
                step_size,
                batch_size,
                self.batch_gradient == "mean",
                self.weight_step,
                self.weight_shrink,
                n_steps,
            )
            n_steps += -(-order.size // batch_size)
            self.value = table[:, : self.value.shape[1]].copy()
            yield Pass(loss / total, self.value, tree_weight.copy() if learns_weights else None)


def aligned_zeros(shape: tuple[int, int]) -> Vector:
    """Return zeros that begin at a multiple of 64 bytes: no four numbers of a leaf are then in two cache lines."""
    size = shape[0] * shape[1]
    memory = np.zeros(size + 7)
    begin = -memory.ctypes.data % 64 // 8
    return memory[begin : begin + size].reshape(shape)
