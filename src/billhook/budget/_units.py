"""Rows that have to be on one side of every split: those of a group, and those that are the same row again."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import RowNumbers, Vector

# Of fewer different rows a table is one of few values, and other rows will be the same again too.
LEAST_DIFFERENT = 100
# Equal rows that tie groups together are parted where that would leave nothing to hold out.
MOST_IN_ONE = 0.5
ROWS_AT_ONCE = 4096
# How many stretches of time there are at most, of which share of the rows, and how many of them are for finalists.
MOST_STRETCHES, STRETCH, MOST_LATEST = 6, 0.1, 3
# The share of the rows that is before every stretch but the latest.
LEAST_BEFORE = 0.3


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


class Stretches(NamedTuple):
    """Stretches of time that do not overlap, the latest first.

    Attributes
    ----------
    order : RowNumbers
        The rows, the oldest first.
    bounds : tuple
        Of each stretch the places in `order` where it begins, and where it ends.
    """

    order: RowNumbers
    bounds: tuple[tuple[int, int], ...]

    def before_and_in(self, place: int) -> tuple[RowNumbers, RowNumbers]:
        """Return the rows before a stretch, and those in it."""
        begin, end = self.bounds[place]
        return np.sort(self.order[:begin]), np.sort(self.order[begin:end])

    @property
    def n_latest(self) -> int:
        """How many of them, the latest ones, are for comparing finalists."""
        return min(MOST_LATEST, (len(self.bounds) + 1) // 2)

    @property
    def n_earlier(self) -> int:
        """How many are for trying: where there is one stretch only, it serves for both."""
        return max(1, len(self.bounds) - self.n_latest)

    def place(self, number: int, *, is_final: bool) -> int:
        """Return the place of the stretch of the `number`-th split, or final split, from 0."""
        if is_final:
            return number % self.n_latest
        return len(self.bounds) - self.n_earlier + number % self.n_earlier


def stretches_of(times: Vector, y: NDArray[np.generic]) -> Stretches:
    """Return stretches of a tenth of the rows, or more where those of one time stay together.

    At least rows of two labels are before each, and before all but the latest enough to learn from.
    """
    order = np.argsort(times, kind="stable").astype(np.int64)
    ranked, labels = times[order], y[order]
    other = int(np.argmax(labels != labels[0]))  # the first of another label
    size = max(1, round(len(times) * STRETCH))
    bounds: list[tuple[int, int]] = []
    end = len(times)
    while len(bounds) < MOST_STRETCHES:
        begin = int(np.searchsorted(ranked, ranked[max(0, end - size)], "left"))
        if begin == 0 and not bounds:  # all before are as old
            begin = int(np.searchsorted(ranked, ranked[0], "right"))
        if begin >= end or (bounds and (begin <= other or begin < LEAST_BEFORE * len(times))):
            break
        bounds.append((begin, end))
        end = begin
    if not bounds:
        raise ValueError(f"the rows have {np.unique(times).size} different times: too few to hold out the latest")
    return Stretches(order, tuple(bounds))
