"""Numbers in the lines of a model file."""

import warnings

import numpy as np
from numpy.typing import NDArray

from billhook.kernels import read_decimals, read_integers

NOT_A_NUMBER = "holds something that is not a number"


def fill_with_integers(numbers: NDArray[np.int64], text: bytes) -> None:
    """Write the integers of a text, one space between two, to an array of so many; int64 ends what is beyond it."""
    n = read_integers(text, numbers)
    if n < 0:
        raise ValueError(NOT_A_NUMBER)
    _check_length(n, numbers.size)


def fill_with_decimals(numbers: NDArray[np.float64], text: bytes) -> None:
    """Write the numbers of a text, one space between two, to an array of so many."""
    _check_length(read_decimals(text, numbers), numbers.size)
    # Very large and very small numbers, and what is none.
    others = np.flatnonzero(np.isnan(numbers))
    if others.size:
        words = text.split(b" ")
        numbers[others] = _as_numpy_reads(b" ".join([words[k] for k in others]), others.size)


def _check_length(n: int, n_expected: int) -> None:
    if n != n_expected:
        raise ValueError("has more or fewer numbers than there should be")


def _as_numpy_reads(text: bytes, n: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        # NumPy 2.0 only warns of what is no number.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(text, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise ValueError(NOT_A_NUMBER) from None
    if numbers.size != n:
        raise ValueError(NOT_A_NUMBER)
    return np.asarray(numbers, np.float64)
