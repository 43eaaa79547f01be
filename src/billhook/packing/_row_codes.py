"""The codes of many rows, in as few bytes as they take, and of the rows asked for as a forest reads them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import Float32Array, Int64Array
from billhook.kernels import code_rows
from billhook.packing._projections import Projections
from billhook.packing._quantizers import MISSING, CategoryQuantizer, Quantizer, RankQuantizer, UniformQuantizer

# Codes that a byte can tell apart; the highest is that of missing values, where there are any.
BYTE_CODES = 256
# Values that are coded between two looks at the clock.
VALUES_AT_ONCE = 1 << 22
# Instead of the power, offset, scale and bits of a feature: 0 in all rows.
NO_STEPS = (0, 0, 0, 0)


class RowCodes:
    """The codes of rows; indexed by row numbers, an array of float32 (rows, features) with NaN for missing values.

    Parameters
    ----------
    X : float32 array (rows, features)
    quantizers : sequence of Quantizer or None
        How the values of each feature become codes; None for 0 in all rows.
    missing_values : bool
        Whether NaN is a missing value; else it counts as an infinity of its sign.
    """

    def __init__(
        self, X: Float32Array, quantizers: Sequence[Quantizer | None], *, missing_values: bool = True
    ) -> None:
        self._X, self._quantizers, self._missing_values = X, quantizers, missing_values
        self._kept: NDArray[Any] | None = None
        self._kept_missing = MISSING

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""
        return len(self._X), len(self._quantizers)

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values, in any row."""
        if not self._missing_values:
            return np.zeros(self.shape[1], np.bool_)
        # One feature at a time: of all, it would take a fourth of the memory of the rows.
        found = [
            quantizer is not None and bool(np.isnan(self._X[:, k]).any())
            for k, quantizer in enumerate(self._quantizers)
        ]
        return np.array(found, np.bool_)

    def keep(self) -> "RowCodes":
        """Find the codes of all rows, a byte or two each, as they will be asked for many times; return this."""
        if self._kept is None:
            n_codes = max((quantizer.n_codes for quantizer in self._quantizers if quantizer is not None), default=1)
            is_byte = n_codes + self.has_missing.any() <= BYTE_CODES
            kept: NDArray[Any] = np.empty(self.shape, np.uint8 if is_byte else np.uint16)
            self._kept_missing = np.iinfo(kept.dtype).max
            self._write(kept)
            self._kept = kept
        return self

    def _write(self, kept: NDArray[Any]) -> None:
        """Write all codes: those of steps row by row, those that are searched for by feature."""
        n_rows, n_features = self.shape
        steps = [
            (quantizer.power, quantizer.offset, quantizer.scale, quantizer.bits)
            if isinstance(quantizer, UniformQuantizer)
            else NO_STEPS
            for quantizer in self._quantizers
        ]
        power, offset, scale, bits = (np.array(numbers, np.int64) for numbers in zip(*steps, strict=True))
        at_once = max(1, VALUES_AT_ONCE // n_features)
        for start in range(0, n_rows, at_once):
            check_time()
            rows = slice(start, start + at_once)
            # Rows that came from another process may begin anywhere in memory.
            x = np.require(self._X[rows, :n_features], np.float32, ["C", "A"])
            code_rows(x, power, offset, scale, bits, self._kept_missing if self._missing_values else -1, kept[rows])
        for k, quantizer in enumerate(self._quantizers):
            if isinstance(quantizer, RankQuantizer | CategoryQuantizer):
                check_time()
                code = quantizer.codes(self._values(slice(None), k))
                kept[:, k] = np.where(code == MISSING, self._kept_missing, code)

    def __getitem__(self, rows: Any) -> Float32Array:
        n_rows = len(range(*rows.indices(len(self._X)))) if isinstance(rows, slice) else len(rows)
        codes = np.zeros((n_rows, self.shape[1]), np.float32)
        if self._kept is not None:
            kept = self._kept[rows]
            codes[:] = kept
            for k in np.flatnonzero(self.has_missing).tolist():
                codes[kept[:, k] == self._kept_missing, k] = np.nan
            return codes
        for k in range(self.shape[1]):
            codes[:, k] = self.column(rows, k)
        return codes

    def column(self, rows: Int64Array | slice, feature: int) -> Float32Array:
        """Return the codes of a feature."""
        kept = self._kept
        code = self._found(rows, feature) if kept is None else kept[rows, feature]
        if code is None:
            return np.zeros(self._X[rows, 0].shape, np.float32)
        codes = code.astype(np.float32)
        if self.has_missing[feature]:
            codes[code == (MISSING if kept is None else self._kept_missing)] = np.nan
        return codes

    def _found(self, rows: Int64Array | slice, feature: int) -> Int64Array | None:
        quantizer = self._quantizers[feature]
        return None if quantizer is None else quantizer.codes(self._values(rows, feature))

    def _values(self, rows: Int64Array | slice, feature: int) -> Float32Array:
        x = self._X[rows, feature] + np.float32(0.0)  # and not -0.0
        if not self._missing_values:
            x = np.where(np.isnan(x), np.copysign(np.float32(np.inf), x), x)
        return x


class ProjectedCodes(RowCodes):
    """The codes of rows, and behind them those of projections; those of features are the ones of others.

    Parameters
    ----------
    codes : RowCodes
        Of the features; one that is missing counts as the highest.
    projections : Projections
    """

    def __init__(self, codes: RowCodes, projections: Projections) -> None:
        self._of_features, self._projections = codes, projections

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows, and features and projections, there are."""
        n_rows, n_features = self._of_features.shape
        return n_rows, n_features + self._projections.n_projections

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values; projections have none."""
        return np.append(self._of_features.has_missing, np.zeros(self._projections.n_projections, np.bool_))

    @cached_property
    def _projected(self) -> NDArray[Any]:
        n_rows, n_features = self._of_features.shape
        projections = self._projections
        kept = np.empty((n_rows, projections.n_projections), np.uint8 if projections.code_bits <= 8 else np.uint16)
        at_once = max(1, VALUES_AT_ONCE // n_features)
        for start in range(0, n_rows, at_once):
            check_time()
            rows = slice(start, start + at_once)
            kept[rows] = projections.codes(np.nan_to_num(self._of_features[rows], nan=projections.n_codes - 1))
        return kept

    def keep(self) -> "RowCodes":
        """Find the codes of all features."""
        self._of_features.keep()
        return self

    def __getitem__(self, rows: Any) -> Float32Array:
        n_features = self._of_features.shape[1]
        of_features = self._of_features[rows]
        codes = np.empty((len(of_features), self.shape[1]), np.float32)
        codes[:, :n_features], codes[:, n_features:] = of_features, self._projected[rows]
        return codes

    def column(self, rows: Int64Array | slice, feature: int) -> Float32Array:
        """Return the codes of a feature, or of a projection."""
        n_features = self._of_features.shape[1]
        if feature < n_features:
            return self._of_features.column(rows, feature)
        return self._projected[rows, feature - n_features].astype(np.float32)
