"""Types that several folders use."""

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Task = Literal["classification", "regression"]
Float32Array = NDArray[np.float32]
Int64Array = NDArray[np.int64]
RowNumbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Scalar = TypeVar("Scalar", bound=np.generic)
