"""Features binned to few codes before trees are grown on them: thresholds then lose nothing when they are packed."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import Float32Array, Int64Array, Scalar
from billhook.packing._coding import Coding, coding_of_thresholds
from billhook.packing._fit_quantizers import finite_ascending
from billhook.packing._projections import Projections
from billhook.packing._row_codes import ProjectedCodes, RowCodes

# Rows of which quantiles are taken.
MOST_ROWS = 50_000
# Features that are read together: so many values of a row lie beside each other in memory.
COLUMNS_AT_ONCE = 16
# Thresholds that quantizers are fitted to: of all features together about, and of one the least and the most.
MOST_THRESHOLDS, THRESHOLDS_OF_ONE = 16_000, (63, 255)
# A share that shrinks by no more has settled.
MOST_ROUNDS, NEARLY = 50, 1.0 - 1e-6
# Whole numbers from a wider range than this are hardly of one kind.
MOST_ALIKE = 1 << 12


class BinnedFeatures(NamedTuple):
    """Rows as codes; how values become codes; and the bin edges of each feature.

    An edge is the highest code of its bin.
    """

    codes: RowCodes
    coding: Coding
    edges: list[Int64Array]

    def bins(self, rows: Int64Array) -> NDArray[Any]:
        """Return the bin of each value of these rows: whole numbers, or floats if values are missing."""
        codes, n_bins, has_missing = self.codes_of_bins(rows)
        if not has_missing.any():
            return codes
        bins = codes.astype(np.float32)
        bins[codes == np.where(has_missing, n_bins - 1, n_bins)] = np.nan
        return bins

    def codes_of_bins(self, rows: Int64Array) -> tuple[NDArray[Any], Int64Array, NDArray[np.bool_]]:
        """Return the bin of each value of these rows, how many bins each feature has, and which have missing values.

        A missing value has a bin of its own, the last of its feature, if any row has one, of these or others.
        """
        has_missing = self.codes.has_missing
        n_bins: Int64Array = np.array([edges.size + 1 for edges in self.edges]) + has_missing
        bins = np.empty((rows.size, n_bins.size), np.uint8 if n_bins.max() <= 256 else np.uint16)
        n_codes = self.coding.n_codes
        for k, edges in enumerate(self.edges):
            check_time()
            code = self.codes.column(rows, k)
            is_missing = np.isnan(code) if has_missing[k] else np.False_
            of_code = np.searchsorted(edges, np.arange(n_codes[k]), side="left")
            bins[:, k] = of_code.astype(bins.dtype)[np.where(is_missing, 0, code).astype(np.intp)]
            if has_missing[k]:
                bins[is_missing, k] = n_bins[k] - 1
        return bins, n_bins, has_missing


class CodedFeatures(NamedTuple):
    """Rows as codes, and how values become codes."""

    codes: RowCodes
    coding: Coding

    def projected(self, projections: Projections) -> "CodedFeatures":
        """Return them with projections behind the features."""
        coding = self.coding._replace(projections=projections)
        return CodedFeatures(ProjectedCodes(self.codes, projections), coding)

    def binned(self, n_bins: int) -> BinnedFeatures:
        """Return them with the edges of at most `n_bins` bins of each feature."""
        n_rows, n_features = self.codes.shape
        some = slice(None, None, -(-n_rows // MOST_ROWS))
        edges = [_edges(self.codes.column(some, k), n_bins - 1) for k in range(n_features)]
        return BinnedFeatures(self.codes, self.coding, edges)


def bin_features(X: Float32Array, bits: int, n_bins: int, n_splits: int) -> BinnedFeatures:
    """Return rows as codes of so many bits, and the edges of at most `n_bins` bins of each feature.

    `n_splits` is about how many splits will be packed: whether few long codes or many short ones take more.
    """
    return code_features(X, bits, n_splits).binned(n_bins)


def code_features(X: Float32Array, bits: int, n_splits: int) -> CodedFeatures:
    """Return rows as codes of so many bits: see `bin_features`."""
    columns = _sorted_columns(X[:: -(-len(X) // MOST_ROWS)])
    n_thresholds = min(int(np.clip(MOST_THRESHOLDS // X.shape[1], *THRESHOLDS_OF_ONE)), (1 << bits) - 2)
    thresholds = [quantiles(column, n_thresholds) for column in columns]
    step = _common_step(thresholds, bits)
    if step > 1:
        thresholds = [np.unique(np.rint(threshold / step) * step) for threshold in thresholds]
    coding = coding_of_thresholds(np.arange(X.shape[1]), thresholds, bits, n_splits, columns)
    return CodedFeatures(RowCodes(X, coding.quantizers), coding)


def _sorted_columns(X: Float32Array) -> list[Float32Array]:
    """Return the finite values of each feature, ascending, none of them -0.0."""
    columns: list[Float32Array] = []
    for start in range(0, X.shape[1], COLUMNS_AT_ONCE):
        for column in np.array(X[:, start : start + COLUMNS_AT_ONCE].T, order="C"):
            check_time()
            columns.append(finite_ascending(column + np.float32(0.0)))
    return columns


def _common_step(thresholds: list[Float32Array], bits: int) -> int:
    """Return the power of two that leaves so many bits of whole numbers of one kind, such as pixels; else 1.

    Steps that begin alike and are as long in all features are written once for all.
    """
    every = np.concatenate(thresholds)
    if not every.size or (np.rint(every) != every).any():
        return 1
    # With a code below the lowest, and one above the highest.
    span = int(every.max() - every.min()) + 2
    return 1 << max(0, span.bit_length() - bits) if span <= MOST_ALIKE else 1


def quantiles(x: Float32Array, n: int) -> Float32Array:
    """Return at most `n` values of a feature with about as many others between any two of them, without the highest.

    A value that is there more often than that is not counted more often: it takes one bin, and the rest share the
    others.
    """
    check_time()
    ordered = finite_ascending(x)
    if not ordered.size:
        return np.zeros(1, np.float32)
    start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return _quantiles(ordered[start], np.diff(start, append=ordered.size), n)


def _edges(code: Float32Array, n: int) -> Int64Array:
    """Return the `quantiles` of codes, which are whole numbers and not many."""
    check_time()
    count = np.bincount(code[~np.isnan(code)].astype(np.intp))
    value = np.flatnonzero(count)
    return _quantiles(value, count[value], n) if value.size else np.zeros(1, np.int64)


def _quantiles(value: NDArray[Scalar], count: Int64Array, n: int) -> NDArray[Scalar]:
    if value.size <= n + 1:
        return value[:-1] if value.size > 1 else value
    counted, share = count.astype(np.float64), np.inf
    for _ in range(MOST_ROUNDS):
        before, share = share, counted.sum() / (n + 1)
        if share >= NEARLY * before:
            break
        counted = np.minimum(counted, share)
    total = np.cumsum(counted)
    at = np.searchsorted(total, np.arange(1, n + 1) * share * NEARLY, side="left")
    return np.asarray(value[np.unique(np.minimum(at, value.size - 2))])
