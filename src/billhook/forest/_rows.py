"""From what a caller calls rows to a float32 array."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.tables import Categorical, Encoding, features_of, frame_columns, is_frame, is_number, round_down

# What the walk reads as it is.
ReadableRows = NDArray[np.float32] | NDArray[np.float64]
FLOAT32 = np.dtype(np.float32)
FLOATS = (FLOAT32, np.dtype(np.float64))
# C-contiguous and aligned, as numpy numbers the flags of an array.
CONTIGUOUS = 0x0001 | 0x0100


class Model(Protocol):
    """What rows are checked against."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Their names, if they have any."""

    @property
    def rounding(self) -> str:
        """How other numbers become float32."""

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table become the features."""


def as_rows(X: ArrayLike, forest: Model) -> NDArray[np.float32]:
    """Return X as a C-contiguous float32 array with the forest's number of features, or say what is wrong with it.

    NaN stands for a missing value. Infinities are allowed; numbers beyond float32 become infinities.
    """
    if type(X) is np.ndarray and X.dtype == FLOAT32 and X.flags.num & CONTIGUOUS == CONTIGUOUS:
        rows = X
    elif forest.encoding is not None and _is_to_be_encoded(X, forest.encoding):
        rows = features_of(X, forest)
    else:
        names = _names_of(X)
        if names is not None:
            _check_names(names, forest.feature_names)
        rows = _as_float32(X, names, forest.rounding)
    if rows.ndim != 2:
        hint = "; for a single row use X.reshape(1, -1)" if rows.ndim == 1 else ""
        raise ValueError(f"X must have two dimensions (rows, features), not shape {rows.shape}{hint}")
    if rows.shape[1] != forest.n_features:
        raise ValueError(f"X has {rows.shape[1]} features, but the forest was trained on {forest.n_features}")
    return rows


def readable_rows(X: ArrayLike, forest: Model) -> ReadableRows:
    """Return X itself where the walk reads it as it is, in float64 too, else `as_rows`."""
    if (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.flags.num & CONTIGUOUS == CONTIGUOUS
        and X.ndim == 2
        and X.shape[1] == forest.n_features
    ):
        return X
    return as_rows(X, forest)


def _is_to_be_encoded(X: Any, encoding: Encoding) -> bool:
    """Return whether this is a data frame with the columns that are encoded, and not with the features."""
    if not is_frame(X):
        return False
    if tuple(_names_of(X) or ()) != encoding.feature_names:
        return True
    columns = frame_columns(X, names=encoding.categorical)
    # Numbers in a column whose categories are numbers are categories.
    return any(
        isinstance(columns.get(column.name), Categorical) or any(map(is_number, column.categories))
        for column in encoding.columns
        if column.kind != "number"
    )


def _as_float32(X: Any, names: list[Any] | None, rounding: str) -> NDArray[np.float32]:
    if hasattr(X, "toarray"):
        raise TypeError(f"X is a sparse {type(X).__name__}; pass X.toarray()")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is not a table of numbers: {error}") from error
    if array.dtype.kind not in "bifuO":
        raise ValueError(f"X holds {array.dtype} data; a forest reads numbers: encode other columns first")
    try:
        if array.dtype.kind == "O":
            is_pandas = type(X).__module__.partition(".")[0] == "pandas"
            # Columns that may hold pandas.NA come as objects.
            array = X.to_numpy(np.float64, na_value=np.nan) if is_pandas else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds something that is not a number{_where(X, names)} ({error}); encode text columns, and mark "
            "missing values with NaN"
        ) from error
    if rounding == "down" and array.dtype != FLOAT32:
        array = round_down(array)
    with np.errstate(over="ignore"):
        return np.require(array, np.float32, ["C", "A"])


def _names_of(X: Any) -> list[Any] | None:
    """Return the column names of a data frame (pandas, polars) or table (pyarrow)."""
    for attribute in ("column_names", "columns"):
        if hasattr(X, attribute):
            return list(getattr(X, attribute))
    return None


def _where(X: Any, names: list[Any] | None) -> str:
    """Say which column of a data frame cannot be read."""
    for name in names or ():
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError):
            return f" in column {name!r}"
    return ""


def _check_names(columns: list[Any], expected: tuple[str, ...] | None) -> None:
    names = tuple(columns)
    if expected is None or names == expected or not all(isinstance(name, str) for name in names):
        return
    missing = [name for name in expected if name not in names]
    unknown = [name for name in names if name not in expected]
    if missing or unknown:
        listed = [
            f"{what}: {_first_of(names)}" for what, names in (("missing", missing), ("unknown", unknown)) if names
        ]
        raise ValueError(f"the columns of X are not the features the forest was trained on ({'; '.join(listed)})")
    raise ValueError(
        "the columns of X are in another order than the features the forest was trained on; "
        "use X[list(forest.feature_names)]"
    )


def _first_of(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
