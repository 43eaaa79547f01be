from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_float32(numbers: NDArray[Any], rounding: str) -> NDArray[np.float32]:
    """Return a float32 array of its own, numbers rounded to the "nearest" or "down"."""
    if rounding == "down" and numbers.dtype != np.float32:
        return round_down(numbers)
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float32)


def round_down(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Return the largest float32 not above each number: then x <= t stays true for every x and t for which it is."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.asarray(numbers.astype(np.float32))
        return np.nextafter(nearest, np.float32(-np.inf), out=nearest, where=nearest > numbers)
