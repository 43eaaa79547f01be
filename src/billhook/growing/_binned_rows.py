"""Rows as bins, laid out for growing: made once, and shared by all ensembles that are grown on them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from billhook.kernels import cells_of_codes, columns_of_codes

# Below this share of cells that are not in their feature's commonest bin, only those are kept.
SPARSE = 0.5


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows as bins; `of` makes them.

    Attributes
    ----------
    first : int32 array (features + 1)
        Where the bins of each feature begin, counted over all features.
    has_missing : bool array (features)
        Whether the last bin of the feature is that of missing values.
    columns : uint8 or uint16 array (features, rows)
        Bins, counted within the feature.
    cells : uint16 or uint32 array
        Bins of each row, counted over all features: all of them, or those other than the commonest.
    row_start : int64 array
        Where the cells of each row begin; empty if a row has a cell for each feature.
    commonest : int32 array (features)
        The bin with the most rows, counted over all features.
    """

    first: NDArray[np.int32]
    has_missing: NDArray[np.bool_]
    columns: NDArray[Any]
    cells: NDArray[Any]
    row_start: NDArray[np.int64]
    commonest: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[Any], n_bins: NDArray[Any], has_missing: NDArray[np.bool_]) -> Self:
        """Return rows (rows, features) of codes below `n_bins`, which count that of missing values, the last."""
        codes = np.ascontiguousarray(codes)
        n_rows, n_features = codes.shape
        if codes.dtype not in (np.uint8, np.uint16):
            raise TypeError(f"codes are uint8 or uint16, not {codes.dtype}")
        if (np.asarray(n_bins) <= has_missing).any():
            raise ValueError("a feature needs a bin beside that of missing values")
        first = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int32)
        columns = np.empty((n_features, n_rows), codes.dtype)
        count = np.zeros(int(first[-1]), np.int64)
        if n_rows and (codes.max(axis=0) >= np.asarray(n_bins)).any():
            raise ValueError("a code is not below the number of bins of its feature")
        columns_of_codes(codes, first, columns, count)
        commonest = np.array([b + count[b:e].argmax() for b, e in pairwise(first)], np.int32)
        n_cells = n_rows * n_features - int(count[commonest].sum())
        is_sparse = n_cells < SPARSE * n_rows * n_features
        row_start = np.empty(n_rows + 1 if is_sparse else 0, np.int64)
        cells = np.empty(
            1 + (n_cells if is_sparse else n_rows * n_features), np.uint16 if first[-1] <= 2**16 else np.uint32
        )
        cells_of_codes(codes, first, commonest, row_start, cells)
        return cls(first, np.ascontiguousarray(has_missing, np.bool_), columns, cells, row_start, commonest)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.columns.shape[1])

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return int(self.columns.shape[0])

    @property
    def n_bins(self) -> int:
        """How many bins all features have."""
        return int(self.first[-1])

    def numbers(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Return the bins (rows, features) of rows, counted within features, as forests read them: NaN if missing."""
        columns = self.columns[:, rows]
        numbers = columns.T.astype(np.float32)
        for f in np.flatnonzero(self.has_missing):
            numbers[columns[f] == self.first[f + 1] - self.first[f] - 1, f] = np.nan
        return numbers
