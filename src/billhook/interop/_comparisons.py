"""Splits by any comparison, as splits that send `x <= threshold` left."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The comparisons, as version 5 of ONNX numbers them.
LE, LT, GE, GT, EQ, NE = range(6)


class Splits(NamedTuple):
    """Splits by thresholds, or by equality with the number in place of the threshold; equal ones go left."""

    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


def as_splits(
    comparison: NDArray[Any],
    threshold: NDArray[Any],
    if_true: NDArray[np.int64],
    if_false: NDArray[np.int64],
    missing_is_true: NDArray[np.bool_],
) -> Splits:
    """Return splits that compare rows with a number, one of six ways, as splits by `x <= threshold` or by equality.

    Parameters
    ----------
    comparison : int array (splits)
        One of the six above.
    threshold : float array (splits)
        What the row's number is compared with.
    if_true, if_false : int array (splits)
        The node that follows.
    missing_is_true : bool array (splits)
        Whether a missing value goes where a number does that the comparison is true of.
    """
    threshold = threshold.astype(np.float64)
    if np.isnan(threshold).any():
        raise ValueError("a split compares with NaN, which no number is less than or equal to")
    is_swapped = np.isin(comparison, (GE, GT, NE))
    # Of all float32 numbers x, x < t is true for those up to the last number before t, in whatever precision.
    is_strict = np.isin(comparison, (LT, GE))
    with np.errstate(over="ignore", under="ignore"):  # the number after the largest, and after 0
        largest = np.where(is_strict, np.nextafter(threshold, -np.inf), threshold)
    # Nothing is less than minus infinity, and no threshold says so: all numbers go the other way instead.
    is_never = is_strict & (threshold == -np.inf)
    largest[is_never] = np.inf
    is_swapped = is_swapped ^ is_never
    missing_left = np.where(comparison == NE, False, missing_is_true ^ is_swapped)  # NaN is not equal to anything
    return Splits(
        largest, np.where(is_swapped, if_false, if_true), np.where(is_swapped, if_true, if_false), missing_left
    )
