"""Rows to try a model on."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import as_rows
from billhook.packing import Packed

N_TEST_ROWS = 32


def self_test_rows(packed: Packed, X: ArrayLike | None, *others: Packed) -> NDArray[np.float32]:
    """Return the rows for the self-test: up to 32 of X, from all over it; made up if there is no X.

    Other models that take the same rows have their share of those that are made up.
    """
    made_up = [made_up_rows(each) for each in (packed, *others)] if X is None else []
    rows = np.concatenate(made_up) if X is None else as_rows(X, packed)
    if len(rows) == 0:
        raise ValueError("X has no rows for the self-test")
    # Rows may be sorted by their labels.
    rows = rows[np.linspace(0, len(rows) - 1, min(N_TEST_ROWS, len(rows))).astype(np.int64)]
    return np.ascontiguousarray(rows, np.float32)


def made_up_rows(packed: Packed) -> NDArray[np.float32]:
    """Return rows of values near the thresholds, so that they do not all go one way."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_TEST_ROWS, packed.n_features)).astype(np.float32)
    for feature, values in packed.typical_values().items():
        rows[:, feature] = rng.choice(values, N_TEST_ROWS)
    return rows
