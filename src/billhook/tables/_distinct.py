"""The different values of a column of a data frame, each looked at once however many rows have it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Distinct(NamedTuple):
    """The different values of a column.

    Attributes
    ----------
    codes : int32 array
        For each row the number of its value; -1 where it is missing.
    values : list
        As Python objects, in the order in which they first occur. None of them stands for a missing value.
    """

    codes: NDArray[np.int32]
    values: list[Any]

    def cells(self) -> NDArray[Any]:
        """Return the value of each row, None where it is missing."""
        values = np.empty(len(self.values) + 1, object)  # the last entry is for -1
        values[:-1] = self.values
        return values[self.codes]


def distinct_of(series: Any) -> Distinct:
    """Return the different values of a series as narwhals has it; values that cannot be hashed raise TypeError."""
    codes = _library_codes(series)
    if codes is None:
        return distinct_cells(cells_of(series))
    # Where each code is first; of equal indices the last is assigned.
    first = np.full(int(codes.max(initial=-1)) + 2, -1, np.int64)  # the last entry is for -1
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    rows = np.sort(first[first >= 0])
    # The library may tell more values apart than Python: 0.0 from -0.0, None from NaN.
    numbers, values = distinct_cells(cells_of(series[rows.tolist()]))
    number_of = np.full(len(first), -1, np.int32)
    number_of[codes[rows]] = numbers
    return Distinct(number_of[codes], values)


def distinct_cells(cells: Sequence[Any]) -> Distinct:
    """Return the different values of cells, in which None is missing."""
    numbers = _ValueNumbers({None: -1})
    codes = np.fromiter(map(numbers.__getitem__, cells), np.int32, len(cells))
    return Distinct(codes, list(numbers)[1:])


def cells_of(series: Any) -> list[Any]:
    """Return the values as Python objects, None where one is missing."""
    return [
        None if is_null or cell is None or cell != cell else cell.item() if isinstance(cell, np.generic) else cell
        for cell, is_null in zip(series.to_list(), series.is_null().to_list(), strict=True)
    ]


class _ValueNumbers(dict[Any, int]):
    """A number for each value, counted from 0 after a first entry, in the order in which they are asked for."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self) - 1
        return number


def _library_codes(series: Any) -> NDArray[np.integer[Any]] | None:
    """Return numbers that are equal where cells are, as the library of the series has them; None if it has none."""
    import narwhals.stable.v1 as nw

    library, native = series.implementation, series.to_native()
    if library.is_pandas():
        return _pandas_codes(native)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    if library.is_polars():
        return _polars_codes(native)
    return _pyarrow_codes(native) if library.is_pyarrow() else None


def _pandas_codes(series: Any) -> NDArray[np.integer[Any]]:
    codes: NDArray[np.integer[Any]]
    if hasattr(series, "cat"):
        codes = series.cat.codes.to_numpy()
    elif getattr(series.dtype, "storage", "") == "pyarrow" or series.dtype.kind in "biuf":
        codes = series.factorize()[0]
    else:  # in Python, as the hash tables of some versions of pandas take texts to end at a null character
        codes = distinct_cells(series.to_numpy(object).tolist()).codes
    return codes


def _polars_codes(series: Any) -> NDArray[np.integer[Any]]:
    import polars as pl

    numbered = series.cast(pl.Categorical) if series.dtype == pl.String else series
    numbers: NDArray[np.int64] = numbered.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    # Counted through all columns that there are, so that they may be large.
    is_large = numbers.max(initial=-1) > 2 * len(numbers)
    return np.unique(numbers, return_inverse=True)[1] if is_large else numbers


def _pyarrow_codes(cells: Any) -> NDArray[np.integer[Any]] | None:
    from pyarrow import types

    plain = cells.cast(cells.type.value_type) if types.is_dictionary(cells.type) else cells
    if not (types.is_string(plain.type) or types.is_large_string(plain.type)):
        return None
    codes: NDArray[np.integer[Any]]
    codes = plain.dictionary_encode().combine_chunks().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes
