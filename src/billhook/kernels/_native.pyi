"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
UInt64s = NDArray[np.uint64]
Bools = NDArray[np.bool_]
LeafIds = NDArray[np.uint16] | NDArray[np.uint32]

def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
def descend_one(
    leaf: LeafIds, first: UInt64s, column: UInt64s, state: Floats, target: Floats, weight: Floats, skip: Bools,
    used: Bools, table: Floats, anchor: Floats, curvature: Floats, loss: int, width: float, l2: float, group: float,
    largest: float, damping: float, grid: Floats, /
) -> None: ...  # fmt: skip
def descend_many(
    leaf: LeafIds, first: UInt64s, column: UInt64s, state: Floats, target: UInt64s, weight: Floats, skip: Bools,
    used: Bools, table: Floats, anchor: Floats, curvature: Floats, loss: int, width: float, l2: float, group: float,
    largest: float, damping: float, grid: Floats, /
) -> None: ...  # fmt: skip
def sweep_one(
    leaf: LeafIds, first: UInt64s, column: UInt64s, before: int, now: int, move: Floats, state: Floats,
    target: Floats, weight: Floats, loss: int, width: float, sums: Floats, /
) -> None: ...  # fmt: skip
def sweep_many(
    leaf: LeafIds, first: UInt64s, column: UInt64s, before: int, now: int, move: Floats, state: Floats,
    target: UInt64s, weight: Floats, loss: int, width: float, sums: Floats, /
) -> None: ...  # fmt: skip
def step_tree(
    tree: int, first: UInt64s, column: UInt64s, n_columns: int, used: Bools, table: Floats, anchor: Floats,
    curvature: Floats, sums: Floats, loss: int, l2: float, group: float, largest: float, damping: float, grid: Floats,
    move: Floats, /
) -> None: ...  # fmt: skip
def find_states(
    leaf: LeafIds, first: UInt64s, column: UInt64s, table: Floats, skip: Bools, base: Floats, is_log: bool,
    state: Floats, /
) -> None: ...  # fmt: skip
def find_reached(leaf: LeafIds, first: UInt64s, weight: Floats, skip: Bools, reached: Bools, /) -> None: ...
def renumber_leaves(leaf: LeafIds, first: UInt64s, number: LeafIds, /) -> None: ...
def row_losses_one(state: Floats, target: Floats, loss: int, width: float, losses: Floats, /) -> None: ...
def total_loss_one(state: Floats, target: Floats, loss: int, width: float, weight: Floats, /) -> float: ...
def row_losses_many(state: Floats, target: UInt64s, loss: int, width: float, losses: Floats, /) -> None: ...
def total_loss_many(state: Floats, target: UInt64s, loss: int, width: float, weight: Floats, /) -> float: ...
