"""How many rows are learned from at once, so that a fit of many rows takes little memory beside them."""

import numpy as np

from billhook._types import RowNumbers
from billhook.kernels import GROWTH_LANES

# What the last model takes of memory beside the rows: at most so many times what they take, or so many bytes.
MOST_TIMES, ENOUGH_BYTES = 1.65, 330_000_000
# What growing takes besides, whatever the number of rows: about that of its histograms.
FOR_HISTOGRAMS = 60_000_000
# As many rows as finalists learn from are always learned from.
LEAST_ROWS = 120_000


def bytes_for(shape: tuple[int, ...]) -> int:
    """Return how many bytes the last model of rows (rows, features) may take beside them."""
    return max(int(MOST_TIMES * 4 * shape[0] * shape[1]), ENOUGH_BYTES)


def n_rows_to_grow(shape: tuple[int, ...], n_values: int, bins: int) -> int:
    """Return how many of some rows (rows, features) trees can be grown on in the memory for it: mostly all.

    They are there as bins, by feature and by row; and each number of a leaf has for every row a score, two
    derivatives, and these rounded.
    """
    of_bin = 1 if bins <= 255 else 2
    n_lanes = 1 if n_values == 1 else -(-n_values // GROWTH_LANES) * GROWTH_LANES
    of_row = shape[1] * (of_bin + 2) + n_lanes * 16 + 56
    return min(shape[0], max(LEAST_ROWS, (bytes_for(shape) - FOR_HISTOGRAMS) // of_row))


def rows_to_refine(train: RowNumbers, shape: tuple[int, ...], n_used: int, n_trees: int, n_values: int) -> RowNumbers:
    """Return as many of the training rows, evenly spaced, as leaves can be refined with in the memory for it.

    They are there as codes, of all features and of those in use; their leaves in two bytes, twice while trees are
    dropped; and their scores.
    """
    of_row = 4 * shape[1] + 5 * n_used + 4 * n_trees + 24 * n_values + 40
    most = max(LEAST_ROWS, bytes_for(shape) // of_row)
    return train if train.size <= most else train[np.arange(most) * train.size // most]
