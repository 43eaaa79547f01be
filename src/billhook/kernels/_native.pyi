"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]

def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
