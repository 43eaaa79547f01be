"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float32s = NDArray[np.float32]
Codes = NDArray[np.uint8] | NDArray[np.uint16]
Ids = NDArray[np.uint16] | NDArray[np.uint32]

def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
def columns_of_codes(codes: Codes, first: Int32s, columns: Codes, count: Int64s, /) -> None: ...
def cells_of_codes(codes: Codes, first: Int32s, commonest: Int32s, row_start: Int64s, cells: Ids, /) -> None: ...
def loss_gradients(
    loss: int, n_outputs: int, score: Float32s, target: Float32s, weight: Float32s, g: Float32s, h: Float32s, /
) -> None: ...
def grow_tree(*arguments: object) -> int: ...
