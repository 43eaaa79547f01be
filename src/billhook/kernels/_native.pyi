"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Bools = NDArray[np.bool_]
LeafIds = NDArray[np.uint16] | NDArray[np.uint32]

def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
def choose_entries(
    leaf: LeafIds,
    first: UInt64s,
    state: Floats,
    label: UInt64s,
    weight: Floats,
    used: Bools,
    anchor: Floats,
    chosen: Int64s,
    entries: Floats,
    table: Floats,
    loss: int,
    l2: float,
    largest: float,
    n_tried: int,
    /,
) -> None: ...
def move_entries(
    leaf: LeafIds,
    first: UInt64s,
    state: Floats,
    label: UInt64s,
    weight: Floats,
    used: Bools,
    anchor: Floats,
    chosen: Int64s,
    entries: Floats,
    grid: Floats,
    loss: int,
    l2: float,
    largest: float,
    n_passes: int,
    /,
) -> None: ...
def k_means(
    vector: Floats, weight: Floats, seed: int, most_passes: int, centre: Floats, nearest: Int64s, /
) -> float: ...
def find_nearest(vector: Floats, centre: Floats, nearest: Int64s, /) -> None: ...
