"""Leaf values as small whole numbers times a scale."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Int64Array, Vector
from billhook.forest import Forest

LARGEST_FACTOR = 255
# Scores, but for the base, stay below this, so that 32 bits hold them.
LARGEST_SUM = 1 << 30


class Units(NamedTuple):
    """What a whole number is worth: in column c, `scale` times `factor[c]`."""

    scale: float
    factor: Int64Array

    @property
    def of_column(self) -> Vector:
        """The unit of each column."""
        return self.factor * np.float64(self.scale)

    def factor_of_leaves(self, forest: Forest) -> Int64Array:
        """Return the factors of the leaves' numbers: (leaves, values), or one row for all leaves."""
        n_leaves = (np.diff(forest.offset) + 1) // 2
        return by_leaf(self.factor, forest.tree_column, n_leaves, forest.value.shape[1])

    def of_leaves(self, forest: Forest) -> Vector:
        """Return the units of the leaves' numbers, in the same shape."""
        return self.factor_of_leaves(forest) * np.float64(self.scale)


class Rounded(NamedTuple):
    """Whole numbers of the leaves, and what they are worth."""

    value: Int64Array
    units: Units


def exact_scale(scale: float) -> float:
    """Return the float32 next to a scale: with so few digits, whole numbers times it are added without rounding."""
    return float(np.float32(scale)) or scale


def limits(bits: int) -> tuple[int, int]:
    """Return the lowest and the highest number of so many bits."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def by_leaf(factor: Int64Array, tree_column: NDArray[Any], n_leaves: Int64Array, n_values: int) -> Int64Array:
    """Return the factors of columns by leaf and value; in one row for all leaves where these have every column."""
    if n_values == factor.size:
        return factor[None, :]
    return np.repeat(factor[tree_column], n_leaves)[:, None]


def largest_by_column(forest: Forest) -> Vector:
    """Return the largest leaf value of each column of the scores, without its sign."""
    size = np.abs(forest.value[forest.feature < 0])
    largest = np.zeros(forest.base.size)
    column = np.repeat(forest.tree_column, np.diff(forest.offset))[forest.feature < 0]
    np.maximum.at(largest, column[:, None] + np.arange(size.shape[1]), size)
    return largest


def find_units(largest: Vector, bits: int, n_trees: int, *, by_class: bool) -> Units:
    """Return units in which values as large as these fit so many bits: the same, or as fits each column."""
    high = limits(bits)[1]
    overall = float(largest.max())
    if overall == 0.0:
        return Units(1.0, np.ones(largest.size, np.int64))
    if not by_class or largest.size == 1:
        return Units(exact_scale(overall / high), np.ones(largest.size, np.int64))
    most = max(1, min(LARGEST_FACTOR, LARGEST_SUM // ((high + 1) * n_trees)))
    factor = np.ceil(largest / overall * most * (1.0 - 1e-12))
    return Units(exact_scale(overall / high / most), np.clip(factor, 1, most).astype(np.int64))


def round_values(forest: Forest, bits: int, units: Units) -> Rounded:
    """Return the leaf values in these units; larger ones are cut off."""
    low, high = limits(bits)
    value = forest.value[forest.feature < 0] / units.of_leaves(forest)
    return Rounded(np.clip(np.rint(value), low, high).astype(np.int64), units)
