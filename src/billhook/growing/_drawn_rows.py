"""Which rows a tree is grown on, drawn by what is in them: equal rows go together, in whatever order they come.

So a row that counts twice is as good as two rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Float32Array
from billhook.growing._binned_rows import BinnedRows

Keys = NDArray[np.uint64]
# The steps of SplitMix64 (Steele, Lea and Flood 2014), all of them modulo 2^64.
STEP = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 1 << 64


def row_keys(rows: BinnedRows) -> Keys:
    """Return a number for each row, the same for rows with the same bins."""
    return _keys_of_columns(rows.columns, rows.n_rows)


def drawing_order(codes: Float32Array, seed: int) -> Keys:
    """Return a number for each row of whole numbers, by which rows are in a random order that is their own."""
    columns = (column.astype(np.int64).view(np.uint64) for column in codes.T)
    return _mixed(_keys_of_columns(columns, len(codes)) ^ np.uint64(_mixed_number(seed)))


def drawn_rows(keys: Keys, share: float, seed: int, tree: int) -> NDArray[np.bool_]:
    """Return which rows are drawn for a tree: about a share of those that differ; it may be none of a few."""
    start = np.uint64(_mixed_number(_mixed_number(seed) + tree))
    return _mixed(keys ^ start) < np.uint64(min(int(share * WORD), WORD - 1))


def _keys_of_columns(columns: Iterable[NDArray[Any]], n_rows: int) -> Keys:
    keys = np.zeros(n_rows, np.uint64)
    for number, column in enumerate(columns):
        keys += column * np.uint64(_mixed_number(number + 1) | 1)
    return keys


def _mixed(numbers: Keys) -> Keys:
    numbers = numbers + np.uint64(STEP)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(FIRST)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(SECOND)
    return numbers ^ (numbers >> np.uint64(31))


def _mixed_number(number: int) -> int:
    return int(_mixed(np.array([number % WORD], np.uint64))[0])
