from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook import kernels
from billhook._checks import n_threads_of
from billhook.forest._check import ONE_SCORE
from billhook.forest._rows import ReadableRows, as_rows, readable_rows

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

# Below this many rows, to look for missing values does not pay; nor does a thread.
MANY_ROWS = 64


def raw_scores(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return base plus the weighted sum of leaf values, of shape (rows, columns)."""
    rows = readable_rows(X, forest)
    scores = np.empty((len(rows), forest.base.size))
    walker = _walker_for(forest, rows)
    if walker is None:
        kernels.sum_values_plainly(as_rows(rows, forest), *_structure(forest), *forest._sum, scores)
    else:
        walker.write_scores(rows, scores)
    return scores


def probabilities(forest: "Forest", X: ArrayLike) -> NDArray[np.float64]:
    """Return the class probabilities that the link makes of the raw scores."""
    if forest.task != "classification":
        raise TypeError("predict_proba needs a classification forest; this one is for regression: use predict")
    raw = raw_scores(forest, X)
    if forest.link == "logistic":
        from scipy.special import expit  # takes longer to import than all of this folder

        both = np.empty((len(raw), 2))
        positive = expit(raw[:, 0], out=both[:, 1])  # scikit-learn's own, to the last bit
        np.subtract(1.0, positive, out=both[:, 0])
        return both
    if forest.link == "isolation":
        outlier = outlier_probability(raw[:, 0])
        return np.stack([outlier, 1.0 - outlier], axis=1)
    if forest.link == "softmax":
        kernels.softmax(raw)
    return raw


def outlier_probability(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of an outlier that the isolation link makes of raw scores."""
    return np.asarray(np.exp2(np.minimum(-1.0 - raw, 0.0)))


def predictions(forest: "Forest", X: ArrayLike) -> NDArray[Any]:
    """Return labels, or numbers for regression."""
    if forest.classes is None:
        raw = raw_scores(forest, X)[:, 0]
        return np.exp(raw) if forest.link == "exp" else raw
    rows = readable_rows(X, forest)
    winners = np.empty(len(rows), np.int64)
    walker = _walker_for(forest, rows)
    if walker is None:
        kernels.choose_winners(raw_scores(forest, rows), forest.link in ONE_SCORE, forest.ties == "last", winners)
    else:
        walker.write_winners(rows, winners)
    labels: NDArray[Any] = forest.classes[winners]
    return labels


def leaf_ids(forest: "Forest", X: ArrayLike, n_jobs: int | None) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return leaf numbers of shape (rows, trees), each tree's contiguous."""
    rows = readable_rows(X, forest)
    n_rows = len(rows)
    leaf: NDArray[Any] = np.empty((forest.n_trees, n_rows), forest._leaf_dtype)
    walker = _walker_for(forest, rows)
    plain_rows = as_rows(rows, forest) if walker is None else None

    def walk(start: int, end: int) -> None:
        if walker is None:
            assert plain_rows is not None
            kernels.leaf_ids_plainly(plain_rows[start:end], *_structure(forest), leaf, start)
        else:
            walker.write_leaf_ids(rows[start:end], leaf, start)

    n_threads = 1 if n_jobs is None else min(n_threads_of(n_jobs), n_rows // MANY_ROWS)
    if n_threads <= 1:
        walk(0, n_rows)
        return leaf.T
    length = -(-n_rows // n_threads)
    starts = range(0, n_rows, length)
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(walk, starts, (start + length for start in starts)))
    return leaf.T


def _walker_for(forest: "Forest", rows: ReadableRows) -> kernels.Walker | None:
    """Return what walks these rows in the shortest time; None if the forest is too large for it."""
    if len(rows) < MANY_ROWS:
        return forest._walker
    quicker = forest._walker_without_missing
    return quicker if quicker is forest._walker or not kernels.has_missing(rows) else forest._walker


def _structure(
    forest: "Forest",
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.bool_],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.uint32],
]:
    splits = forest.feature, forest.threshold, forest.left, forest.right, forest.missing_left
    return forest.offset, *splits, forest.category_set, forest.set_offset, forest.set_bits
