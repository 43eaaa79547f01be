"""Types that several folders use."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Task = Literal["classification", "regression"]
