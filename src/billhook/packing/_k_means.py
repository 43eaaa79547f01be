"""A few vectors for many: k-means with weights, the same for every call."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector

SEED = 0
DRAWS = 16
ROUNDS = 25
# Distances that are held at once.
BLOCK = 2**22


class Nearest(NamedTuple):
    """The number of the entry nearest to each vector, and the squared distance to it."""

    number: NDArray[np.int64]
    distance: Vector


def nearest(value: Vector, entries: Vector) -> Nearest:
    """Return which entry is nearest to each vector, the first of equals."""
    found = Nearest(np.zeros(len(value), np.int64), np.zeros(len(value)))
    length = np.square(entries).sum(axis=1)
    for rows in np.array_split(np.arange(len(value)), -(-len(value) * len(entries) // BLOCK)):
        v = value[rows]
        distance = length - 2.0 * v @ entries.T
        found.number[rows] = distance.argmin(axis=1)
        found.distance[rows] = distance.min(axis=1) + np.square(v).sum(axis=1)
    return Nearest(found.number, np.maximum(found.distance, 0.0))


def k_means(value: Vector, weight: Vector, n_entries: int) -> Vector:
    """Return at most so many vectors with one near to each of these, by Lloyd's algorithm.

    The first vectors are drawn in rounds, by weight and by how far they are from those drawn before (Bahmani et al.
    2012).
    """
    different = np.unique(value, axis=0)
    if len(different) <= n_entries:
        return different
    rng = np.random.default_rng(SEED)
    entries = np.average(value, axis=0, weights=weight)[None, :]
    distance = nearest(value, entries).distance
    for left in range(DRAWS, 0, -1):
        chance = weight * distance
        n_drawn = min(-(-(n_entries - len(entries)) // left), int(np.count_nonzero(chance)))
        if n_drawn > 0:
            drawn = value[rng.choice(len(value), n_drawn, replace=False, p=chance / chance.sum())]
            entries = np.concatenate([entries, drawn])
            distance = np.minimum(distance, nearest(value, drawn).distance)
    for _ in range(ROUNDS):
        number, before = nearest(value, entries).number, entries
        total = np.bincount(number, weight, len(entries))[:, None]
        sums = [np.bincount(number, weight * column, len(entries)) for column in value.T]
        entries = np.divide(np.stack(sums, axis=1), total, out=before.copy(), where=total > 0.0)
        if np.array_equal(before, entries):
            break
    return entries
