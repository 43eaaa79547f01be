"""Numbers in the lines of a model file."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def integers(text: str, n: int) -> NDArray[np.int64]:
    """Return the n integers of a text; what is beyond int64 becomes its end."""
    return _numbers(text, np.int64, n)


def decimals(text: str, n: int) -> NDArray[np.float64]:
    """Return the n numbers of a text."""
    return _numbers(text, np.float64, n)


def _numbers(text: str, dtype: DTypeLike, n: int) -> NDArray[Any]:
    with warnings.catch_warnings():
        # NumPy 2.0 only warns of what is no number.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(text, dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            raise ValueError("holds something that is not a number") from None
    if numbers.size != n:
        raise ValueError(f"has {numbers.size:,} numbers instead of {n:,}")
    return numbers
