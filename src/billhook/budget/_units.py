"""Rows that have to be on one side of every split: those of a group, and those that are the same row again."""

import numpy as np
from numpy.typing import NDArray

from billhook._types import RowNumbers, Vector

# Of fewer different rows a table is one of few values, and other rows will be the same again too.
LEAST_DIFFERENT = 100
# Equal rows that tie groups together are parted where that would leave nothing to hold out.
MOST_IN_ONE = 0.5
ROWS_AT_ONCE = 4096


def units_of(X: NDArray[np.float32], y: NDArray[np.generic], groups: RowNumbers | None) -> RowNumbers | None:
    """Return for each row the number of the unit that is never parted; None if each row is one of its own."""
    same = equal_rows(X, y)
    if groups is None or same is None:
        return same if groups is None else groups
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_groups = int(groups.max()) + 1
    size = n_groups + int(same.max()) + 1
    links = coo_array((np.ones(len(groups), np.int8), (groups, n_groups + same)), shape=(size, size))
    _, component = connected_components(links, directed=False)
    joined: RowNumbers = np.unique(component[groups], return_inverse=True)[1].astype(np.int64)
    return joined if np.bincount(joined).max() <= MOST_IN_ONE * len(groups) else groups


def equal_rows(X: NDArray[np.float32], y: NDArray[np.generic]) -> RowNumbers | None:
    """Return the same number for rows with equal features and labels; None if no two are equal, or nearly all are."""
    _, number = np.unique(_hashes(X, y), return_inverse=True)
    n_different = int(number.max()) + 1
    if n_different == len(X) or n_different < LEAST_DIFFERENT:
        return None
    return np.asarray(number, np.int64)


def _hashes(X: NDArray[np.float32], y: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Return a number for each row: rows that differ have the same one in 2**-64 of cases or so."""
    factors = np.random.default_rng(0).integers(2**63, size=X.shape[1] + 1, dtype=np.int64).astype(np.uint64)
    factors = factors * np.uint64(2) + np.uint64(1)
    hashes: NDArray[np.uint64] = np.unique(y, return_inverse=True)[1].astype(np.uint64) * factors[-1]
    for first in range(0, len(X), ROWS_AT_ONCE):
        part = X[first : first + ROWS_AT_ONCE] + np.float32(0.0)  # -0 is 0
        part[np.isnan(part)] = np.nan  # one of its many patterns of bits
        words = part.view(np.uint32).astype(np.uint64)
        words ^= words >> np.uint64(15)
        hashes[first : first + len(part)] += words @ factors[:-1]
    return hashes


def times_before(times: Vector, number: int, share: float) -> tuple[RowNumbers, RowNumbers]:
    """Return the rows before a stretch of time and those in it, the `number`-th from the end.

    Rows of one time stay together.
    Stretches overlap by a third, and there are four of them: what is told by the next is an older one again.
    """
    order = np.argsort(times, kind="stable")
    ranked = times[order]
    end = len(times) - int(len(times) * share * (number % 4) * 2 / 3)
    first = max(1, end - max(1, round(len(times) * share)))
    begin, after = np.searchsorted(ranked, ranked[first], "left"), np.searchsorted(ranked, ranked[end - 1], "right")
    if begin == 0:  # all before are as old
        begin = np.searchsorted(ranked, ranked[first], "right")
    if begin >= after:
        raise ValueError(f"the rows have {np.unique(times).size} different times: too few to hold out the latest")
    return np.sort(order[:begin]), np.sort(order[begin:after])
