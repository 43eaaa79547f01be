"""A forest as a plain sum of trees: what packing starts from."""

import numpy as np

from billhook._types import Vector
from billhook.forest import Forest, cut_back, derive, without_constants
from billhook.packing._encode import n_trees_of_columns
from billhook.packing._leaf_values import limits

# By how much of their range values may lie off the middle.
NEARLY = 0.02
# With fewer bits, values of classes are moved to the very middle: there, errors of all of them hardly matter.
FINE = 4


def as_sum(forest: Forest) -> Forest:
    """Return the same scores as a sum: weights folded into the values, one number a leaf for two classes.

    Trees of a single leaf go into the base. There is one tree at least.
    """
    weight = np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    value, base = forest.value * weight, forest.base
    classes, task = forest.classes, forest.task
    column = forest.tree_column
    if value.shape[1] == 2:
        value, base = value[:, 1:] - value[:, :1], base[1:] - base[:1]
    if base.size == 1:
        classes, task = None, "regression"
    summed = derive(
        forest,
        value=value,
        base=base,
        tree_weight=np.ones(forest.n_trees),
        tree_column=column,
        averages=False,
        classes=None if classes is None else np.arange(classes.size),
        task=task,
        link="identity",
        ties="first",
    )
    return without_constants(summed)


def without_idle_splits(forest: Forest) -> Forest:
    """Return the forest without splits whose two sides come to the same leaf values."""
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    is_split = forest.feature >= 0
    value = forest.value.copy()
    # Children come after their parents: from the back, each node is seen after those below it.
    for node in np.flatnonzero(is_split)[::-1]:
        left, right = forest.left[node] + root[node], forest.right[node] + root[node]
        if not is_split[left] and not is_split[right] and np.array_equal(value[left], value[right]):
            is_split[node] = False
            value[node] = value[left]
    return without_constants(cut_back(derive(forest, value=value), is_split))


def centred(forest: Forest, bits: int, *, by_class: bool) -> Forest:
    """Return the same scores with the values, or those of each column, on either side of 0: that takes a bit less.

    Where some values are below 0 and some above, they are moved by a whole number of the units that `bits` bits
    leave: what was 0 is still rounded to the same. Boosted trees have many leaves near 0, whose errors would add up.
    """
    is_leaf = forest.feature < 0
    column = np.repeat(forest.tree_column, np.diff(forest.offset))[:, None] + np.arange(forest.value.shape[1])
    low, high = np.full(forest.base.size, np.inf), np.full(forest.base.size, -np.inf)
    np.minimum.at(low, column[is_leaf], forest.value[is_leaf])
    np.maximum.at(high, column[is_leaf], forest.value[is_leaf])
    low, high = (np.where(np.isfinite(ends), ends, 0.0) for ends in (low, high))
    if not by_class:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    middle = (low + high) / 2.0
    # Where nearly nothing is gained, zeros stay zeros.
    middle = np.where(np.abs(middle) > NEARLY * (high - low), middle, 0.0)
    if bits >= FINE or forest.classes is None:
        middle = np.where((low < 0.0) & (high > 0.0), _whole_units(low, high, middle, limits(bits)[1]), middle)
    base = forest.base + middle * n_trees_of_columns(forest)
    return derive(forest, value=forest.value - middle[column], base=base)


def _whole_units(low: Vector, high: Vector, middle: Vector, largest: int) -> Vector:
    """Return the whole number of units next to the middle; with it, the ends are at most `largest` units from 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n_units = np.clip(np.rint(2.0 * largest * middle / (high - low)), 1 - largest, largest - 1)
        unit = np.maximum(high / (largest + n_units), -low / (largest - n_units))
    return np.asarray(n_units * unit)
