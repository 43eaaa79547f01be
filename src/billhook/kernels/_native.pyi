"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]

def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
def shuffle(order: UInt32s, seed: int, /) -> None: ...
def sgd_epoch(
    leaf: NDArray[Any],
    first: UInt64s,
    column: UInt64s,
    base: Floats,
    order: UInt32s,
    target: Floats,
    label: UInt64s,
    weight: Floats,
    tree_weight: Floats,
    table: Floats,
    moments: Floats,
    step_of: Int64s,
    n_classes: int,
    loss: int,
    width: float,
    gain: float,
    step_size: float,
    batch_size: int,
    takes_mean: bool,
    weight_step: float,
    weight_shrink: float,
    n_steps: int,
    /,
) -> float: ...
