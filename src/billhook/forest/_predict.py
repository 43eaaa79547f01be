from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from billhook import kernels
from billhook.forest._rows import as_rows

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

# Below this many rows, walking them one by one is quicker than filling a block.
FEW_ROWS = 16


def raw_scores(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return base plus the weighted sum of leaf values, of shape (rows, columns).

    Sums run over the trees in order, in float64, and equal weights are applied once, to the sum: so the mean of a
    forest is the same to the last bit as scikit-learn's.
    """
    rows = as_rows(X, forest)
    total = np.empty((rows.shape[0], forest.base.size))
    weight = forest._common_weight
    total[:] = forest.base if weight in (None, 1.0) else 0.0
    tables = forest._tables if rows.shape[0] >= FEW_ROWS else None
    if tables is None:
        kernels.sum_values_of_few(
            rows,
            forest.offset,
            forest.feature,
            forest.threshold,
            forest.left,
            forest.right,
            forest.missing_left,
            forest._weighted_value,
            forest.tree_column,
            total,
        )
    else:
        bits = rows.view(np.int32)
        kernels.sum_values(bits, tables, forest._value_by_position, forest.tree_column, total)
    if weight not in (None, 1.0):
        # Dividing by 3 is not multiplying by 1/3, in the last bit.
        divisor = round(1.0 / weight) if weight else 0
        total = total / divisor if divisor and 1.0 / divisor == weight else total * weight
        total += forest.base
    return total


def probabilities(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return the class probabilities that the link makes of the raw scores."""
    if forest.task != "classification":
        raise TypeError("predict_proba needs a classification forest; this one is for regression: use predict")
    raw = raw_scores(forest, X)
    if forest.link == "logistic":
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
    winner = (raw[:, 0] > 0.0).astype(np.intp) if forest.link == "logistic" else raw.argmax(axis=1)
    labels: NDArray[Any] = forest.classes[winner]
    return labels


def leaf_ids(forest: "Forest", X: ArrayLike) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return leaf numbers of shape (rows, trees), each tree's contiguous."""
    rows = as_rows(X, forest)
    dtype = np.uint16 if np.diff(forest.offset).max() <= 2**16 else np.uint32
    leaf: NDArray[Any] = np.empty((forest.n_trees, rows.shape[0]), dtype)
    tables = forest._tables if rows.shape[0] >= FEW_ROWS else None
    if tables is None:
        kernels.leaf_ids_of_few(
            rows,
            forest.offset,
            forest.feature,
            forest.threshold,
            forest.left,
            forest.right,
            forest.missing_left,
            leaf,
        )
    else:
        kernels.leaf_ids(rows.view(np.int32), tables, leaf)
    return leaf.T


def walk_tables(forest: "Forest") -> kernels.Tables | None:
    """Return the forest laid out for the walk over many rows; None if its numbers do not fit the layout's words."""
    is_split = forest.feature >= 0
    # A leaf is a split that nothing passes on the right; it reads column 0, which must exist.
    key = np.where(is_split, forest.feature.astype(np.int64) * 2 + ~forest.missing_left, 0)
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


def value_by_position(forest: "Forest") -> NDArray[np.float64]:
    """Return the weighted node values in the order of the layout's positions."""
    assert forest._tables is not None
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    value: NDArray[np.float64] = forest._weighted_value[forest._tables.node_at + root]
    return value


def weighted_value(forest: "Forest") -> NDArray[np.float64]:
    """Return the node values times their trees' weights, or as they are where all weights are equal."""
    if forest._common_weight is not None:
        return forest.value
    return forest.value * np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]


def common_weight(forest: "Forest") -> float | None:
    """Return the weight that all trees have, or None where they differ."""
    first = float(forest.tree_weight[0])
    return first if (forest.tree_weight == first).all() else None


def _ordered_integers(threshold: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return integers that compare as the floats do; -0.0 counts as 0.0."""
    bits = (threshold + np.float32(0.0)).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
