"""Leaf values as small whole numbers times a scale."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Rounded(NamedTuple):
    """Whole numbers, and what one of them is worth."""

    value: NDArray[np.int64]
    scale: float


def limits(bits: int) -> tuple[int, int]:
    """Return the lowest and the highest number of so many bits."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def round_values(value: Vector, bits: int, share: float = 1.0) -> Rounded:
    """Return the values in units of a scale for which this share of them fit; larger ones are cut off."""
    low, high = limits(bits)
    largest = float(np.quantile(np.abs(value), share)) if share < 1.0 else float(np.abs(value).max(initial=0.0))
    scale = largest / high if largest > 0.0 else 1.0
    return Rounded(np.clip(np.rint(value / scale), low, high).astype(np.int64), scale)
