"""What a walk through a forest reads, made once for each forest and kept with it."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook import kernels
from billhook.forest._check import ONE_SCORE

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

CROWN_WIDTH = 64
# A block of rows takes 1 KB for each column: with more, walking row by row takes less memory.
MOST_SET_COLUMNS = 2**16


class Tables(NamedTuple):
    """A forest laid out for the walk, as `forest_layout.h` describes it."""

    offset: NDArray[np.int64]
    column_feature: NDArray[np.int32]
    column_missing_right: NDArray[np.bool_]
    column_set: NDArray[np.int32]
    set_offset: NDArray[np.int64]
    set_bits: NDArray[np.uint32]
    position_bits: int
    words: NDArray[np.uint64]
    node_at: NDArray[np.int32]
    crown_size: NDArray[np.int32]
    crown_column: NDArray[np.int32]
    crown_threshold: NDArray[np.int32]
    crown_keeps: NDArray[np.uint64]
    exits: NDArray[np.int32]
    goes_deeper: NDArray[np.bool_]


class Sum(NamedTuple):
    """How the raw scores are summed: (start + leaf values, tree after tree) / divisor + end.

    A mean of n trees is a sum divided once, by n, and a sum starts from its base: then both are the same, to the last
    bit, as scikit-learn's. Any other weights are folded into the values. A tree's values are added to the scores from
    its column on.
    """

    value: NDArray[np.float64]
    start: NDArray[np.float64]
    divisor: float
    end: NDArray[np.float64]
    tree_column: NDArray[np.int32]


def walk_tables(forest: "Forest", *, missing: bool) -> Tables | None:
    """Return the forest laid out for the walk; None if its numbers do not fit the layout's words.

    Tables for rows with missing values have two columns for a feature, if they go left at some splits and right at
    others. Without them there is one, and more rows fit the cache.
    """
    goes_right = ~forest.missing_left if missing else np.zeros(forest.n_nodes, np.bool_)
    # A leaf is a split that nothing passes on the right; it reads column 0, which must exist.
    is_ordered = (forest.feature >= 0) & (forest.category_set < 0)
    key = np.where(is_ordered, forest.feature.astype(np.int64) * 2 + goes_right, 0)
    keys, column = _distinct(key, 2 * forest.n_features)
    of_sets = _set_columns(forest, goes_right, column, keys.size)
    n_columns = keys.size + of_sets.number.size
    position_bits = int(np.diff(forest.offset).max()).bit_length()
    if position_bits + n_columns.bit_length() > 32 or of_sets.number.size > MOST_SET_COLUMNS:
        return None
    n_nodes, crowns = forest.n_nodes, (forest.n_trees, CROWN_WIDTH)
    laid_out = (
        np.empty(n_nodes, np.uint64),
        np.empty(n_nodes, np.int32),
        np.empty(forest.n_trees, np.int32),
        np.empty(crowns, np.int32),
        np.empty(crowns, np.int32),
        np.empty(crowns, np.uint64),
        np.empty(crowns, np.int32),
        np.empty(forest.n_trees, np.bool_),
    )
    kernels.lay_out(
        forest.offset,
        forest.left,
        forest.right,
        column,
        _ordered_integers(forest.threshold),
        forest.n_rows,
        position_bits,
        *laid_out,
    )
    column_feature = np.append((keys // 2).astype(np.int32), of_sets.feature)
    column_missing_right = np.append(keys % 2 == 1, of_sets.missing_right)
    return Tables(
        forest.offset,
        column_feature,
        column_missing_right,
        of_sets.number,
        forest.set_offset,
        forest.set_bits,
        position_bits,
        *laid_out,
    )


def summation(forest: "Forest") -> Sum:
    """Return how to sum, with the values in the order of the tables' positions if there are tables."""
    n_nodes = np.diff(forest.offset)
    weight = forest.tree_weight
    value: NDArray[np.float64] = forest.value
    start, divisor, end = forest.base, 1.0, np.zeros_like(forest.base)
    if (weight == 1.0 / weight.size).all():
        start, divisor, end = end, float(weight.size), start
    elif (weight != 1.0).any():
        value = value * np.repeat(weight, n_nodes)[:, None]
    if forest._tables is not None:
        value = value[forest._tables.node_at + np.repeat(forest.offset[:-1], n_nodes)]
    return Sum(value, start, divisor, end, forest.tree_column)


def leaf_dtype(forest: "Forest") -> type[np.uint16] | type[np.uint32]:
    """Return the smallest type that numbers the nodes of each tree."""
    return np.uint16 if np.diff(forest.offset).max() <= 2**16 else np.uint32


def walker(forest: "Forest") -> kernels.Walker | None:
    """Return what walks any rows; None for a forest that cannot be laid out."""
    return None if forest._tables is None else _walker_of(forest, forest._tables)


def walker_without_missing(forest: "Forest") -> kernels.Walker | None:
    """Return what walks rows without missing values in the shortest time; None as for `walker`."""
    tables = forest._tables
    if tables is None or not _has_both_ways(tables):
        return forest._walker
    smaller = walk_tables(forest, missing=False)
    return None if smaller is None else _walker_of(forest, smaller)


def _walker_of(forest: "Forest", tables: Tables) -> kernels.Walker:
    rounds_down, is_logistic, last_wins = (
        forest.rounding == "down",
        forest.link in ONE_SCORE,
        forest.ties == "last",
    )
    return kernels.Walker(*tables, *forest._sum, forest.n_features, rounds_down, is_logistic, last_wins)


class _SetColumns(NamedTuple):
    """What the columns of sets are of: sorted by feature, set and way of missing values."""

    feature: NDArray[np.int32]
    number: NDArray[np.int32]
    missing_right: NDArray[np.bool_]


def _set_columns(
    forest: "Forest", goes_right: NDArray[np.bool_], column: NDArray[np.int32], n_ordered: int
) -> _SetColumns:
    """Return the columns of sets, and give the nodes that test a set theirs in `column`."""
    nodes = np.flatnonzero(forest.category_set >= 0) if forest.n_sets > 0 else np.zeros(0, np.int64)
    of_feature = forest.feature[nodes].astype(np.int64) * forest.n_sets + forest.category_set[nodes]
    keys, number = np.unique(of_feature * 2 + goes_right[nodes], return_inverse=True)
    column[nodes] = n_ordered + number
    feature, of_set = np.divmod(keys // 2, max(forest.n_sets, 1))
    return _SetColumns(feature.astype(np.int32), of_set.astype(np.int32), keys % 2 == 1)


def _has_both_ways(tables: Tables) -> bool:
    """Return whether missing values go left at some splits and right at others of the same kind."""
    n_ordered = tables.column_feature.size - tables.column_set.size
    ordered, of_sets = tables.column_feature[:n_ordered], tables.column_feature[n_ordered:]
    is_same_set = (np.diff(of_sets) == 0) & (np.diff(tables.column_set) == 0)
    return bool((np.diff(ordered) == 0).any() or is_same_set.any())


def _distinct(key: NDArray[np.int64], n_possible: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct keys and the number of each key among them; sort only where there may be very many."""
    if n_possible > 8 * key.size + 1024:
        keys, number = np.unique(key, return_inverse=True)
        return keys, number.astype(np.int32)
    is_there = np.zeros(n_possible, np.bool_)
    is_there[key] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there, dtype=np.int32) - np.int32(1))[key]


def _ordered_integers(threshold: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return integers that compare as the floats do; -0.0 counts as 0.0."""
    bits = (threshold + np.float32(0.0)).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
