"""Names of array types that several folders use."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
