from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook import kernels
from billhook._types import Scalar
from billhook.forest._rows import as_rows

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

# Below this many rows, eight trees abreast are quicker than a block of rows.
FEW_ROWS = 64
INT32 = np.dtype(np.int32)


class Sum(NamedTuple):
    """How the raw scores are summed: (start + leaf values, tree after tree) / divisor + end.

    A mean of n trees is a sum divided once, by n, and a sum starts from its base: then both are the same, to the last
    bit, as scikit-learn's. Any other weights are folded into the values.
    """

    value: NDArray[np.float64]
    start: NDArray[np.float64]
    divisor: float
    end: NDArray[np.float64]


def raw_scores(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return base plus the weighted sum of leaf values, of shape (rows, columns)."""
    rows = as_rows(X, forest)
    tables = forest._tables
    value, start, divisor, end = forest._sum
    total = np.empty((rows.shape[0], start.size))
    sum_options = (value, forest.tree_column, start, divisor, end, total)
    if tables is None:
        kernels.sum_values_plainly(_read_only(rows), *_structure(forest), *sum_options)
    elif rows.shape[0] < FEW_ROWS:
        kernels.sum_values_of_few(_bits(rows), *(*_for_few(tables), *sum_options))
    else:
        kernels.sum_values(_bits(rows), tables_for(rows, forest), *sum_options)
    return total


def probabilities(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return the class probabilities that the link makes of the raw scores."""
    if forest.task != "classification":
        raise TypeError("predict_proba needs a classification forest; this one is for regression: use predict")
    raw = raw_scores(forest, X)
    if forest.link == "logistic":
        from scipy.special import expit  # takes longer to import than all of this folder

        positive = expit(raw)
        return np.concatenate([1.0 - positive, positive], axis=1)
    if forest.link == "softmax":
        raw = np.exp(raw - raw.max(axis=1, keepdims=True))
        raw /= raw.sum(axis=1, keepdims=True)
    return raw


def predictions(forest: "Forest", X: ArrayLike) -> NDArray[Any]:
    """Return labels, or numbers for regression."""
    raw = raw_scores(forest, X)
    if forest.classes is None:
        predicted: NDArray[np.float64] = np.exp(raw[:, 0]) if forest.link == "exp" else raw[:, 0]
        return predicted
    if forest.link == "logistic":
        winner = (raw[:, 0] >= 0.0 if forest.ties == "last" else raw[:, 0] > 0.0).astype(np.intp)
    else:
        winner = raw.argmax(axis=1)
    labels: NDArray[Any] = forest.classes[winner]
    return labels


def leaf_ids(forest: "Forest", X: ArrayLike, n_jobs: int | None) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return leaf numbers of shape (rows, trees), each tree's contiguous."""
    rows = as_rows(X, forest)
    n_rows = rows.shape[0]
    leaf: NDArray[Any] = np.empty((forest.n_trees, n_rows), leaf_dtype(forest))
    n_threads = 1 if n_jobs is None else min(_threads(n_jobs), n_rows // FEW_ROWS)
    if n_threads <= 1:
        write_leaf_ids(forest, rows, leaf)
        return leaf.T
    # Each thread writes to an array of its own: the kernels want contiguous ones.
    length = -(-n_rows // n_threads)

    def walk(start: int) -> None:
        part = rows[start : start + length]
        own = np.empty((forest.n_trees, part.shape[0]), leaf.dtype)
        write_leaf_ids(forest, part, own)
        leaf[:, start : start + length] = own

    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(walk, range(0, n_rows, length)))
    return leaf.T


def _threads(n_jobs: int) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def leaf_dtype(forest: "Forest") -> type[np.uint16] | type[np.uint32]:
    """Return the smallest type that numbers the nodes of each tree."""
    return np.uint16 if np.diff(forest.offset).max() <= 2**16 else np.uint32


def write_leaf_ids(forest: "Forest", rows: NDArray[np.float32], leaf: NDArray[Any]) -> None:
    """Write the leaf numbers of some rows to an array of shape (trees, rows)."""
    tables = forest._tables
    if tables is None:
        kernels.leaf_ids_plainly(_read_only(rows), *_structure(forest), leaf)
    elif rows.shape[0] < FEW_ROWS:
        kernels.leaf_ids_of_few(_bits(rows), *_for_few(tables), tables.node_at, leaf)
    else:
        kernels.leaf_ids(_bits(rows), tables_for(rows, forest), leaf)


def walk_tables(forest: "Forest", *, missing: bool) -> kernels.Tables | None:
    """Return the forest laid out for the walk over many rows; None if its numbers do not fit the layout's words.

    Tables for rows with missing values have two columns for a feature, if they go left at some splits and right at
    others. Without them there is one, and more rows fit the cache.
    """
    is_split = forest.feature >= 0
    goes_right = ~forest.missing_left if missing else False
    # A leaf is a split that nothing passes on the right; it reads column 0, which must exist.
    key = np.where(is_split, forest.feature.astype(np.int64) * 2 + goes_right, 0)
    keys, column = np.unique(key, return_inverse=True)
    position_bits = int(np.diff(forest.offset).max()).bit_length()
    if position_bits + int(keys.size).bit_length() > 32:
        return None
    laid_out = kernels.lay_out(
        forest.offset,
        forest.left,
        forest.right,
        column.astype(np.int64),
        _ordered_integers(forest.threshold),
        forest.n_rows,
        position_bits,
    )
    return kernels.Tables(
        forest.offset, (keys // 2).astype(np.int32), (keys % 2).astype(np.bool_), position_bits, *laid_out
    )


def tables_for(rows: NDArray[np.float32], forest: "Forest") -> kernels.Tables:
    """Return the smallest tables that serve these rows."""
    tables = forest._tables if np.isnan(rows).any() else forest._tables_without_missing
    assert tables is not None  # they are never larger than the tables with missing values
    return tables


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
    return Sum(_read_only(value), _read_only(start), divisor, _read_only(end))


def _bits(rows: NDArray[np.float32]) -> NDArray[np.int32]:
    bits = rows.view(INT32)
    bits.flags.writeable = False
    return bits


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a view that cannot be written to: kernels are compiled anew for arrays that can."""
    array = array.view()
    array.flags.writeable = False
    return array


def _for_few(
    tables: kernels.Tables,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_], int, NDArray[np.int64]]:
    # Not the tables themselves: to hand over a named tuple takes as long as the walk of a row.
    return (
        tables.offset,
        tables.column_feature,
        tables.column_missing_right,
        tables.position_bits,
        tables.words,
    )


def _structure(
    forest: "Forest",
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.bool_],
]:
    return forest.offset, forest.feature, forest.threshold, forest.left, forest.right, forest.missing_left


def _ordered_integers(threshold: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return integers that compare as the floats do; -0.0 counts as 0.0."""
    bits = (threshold + np.float32(0.0)).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
