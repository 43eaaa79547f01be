"""From the columns of a table to the features of a model."""

from reprlib import repr as short
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._deadline import check_time
from billhook.tables._cells import is_mark, is_number
from billhook.tables._columns import BOOLEANS, Categorical, Column, EncodedColumn, Encoding, places
from billhook.tables._frames import TITLE, frame_columns
from billhook.tables._table import Table

CategoricalEncoding = Literal["one_hot", "ordered"]


class HasFeatureNames(Protocol):
    """A forest or a packed model: what it calls its features, and maybe how columns become them."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, if they have any."""

    @property
    def rounding(self) -> str:
        """How numbers become float32."""

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table become the features, if they do not come as they are."""


def encode(table: Table, categorical: CategoricalEncoding = "one_hot") -> tuple[NDArray[np.float32], Encoding]:
    """Return the features of a table to learn from, and how they come from its columns.

    Parameters
    ----------
    table : Table
    categorical : {"one_hot", "ordered"}
        How categorical columns are encoded: one-hot, a feature for each category; or ordered, one feature, the place
        of the category in the order of its mean target. For two classes that is the share of the second class; for
        more, where the shares of the classes lie on their first principal direction (Coppersmith et al. 1999).
        Columns of two categories are one feature, 0 or 1, either way.
    """
    kind: CategoricalEncoding = resolve_name(
        categorical, {"one_hot": "one_hot", "ordered": "ordered"}, "there is no encoding"
    )
    encoding = Encoding(
        tuple(
            EncodedColumn(name) if not isinstance(column, Categorical) else _encoded(name, column, table, kind)
            for name, column in zip(table.names, table.columns, strict=True)
        )
    )
    return encoding.apply(dict(zip(table.names, table.columns, strict=True))), encoding


def features_of(rows: Any, model: HasFeatureNames) -> NDArray[np.float32]:
    """Return the features that a model takes: by its encoding, by name, or all numbers if it knows no names.

    Parameters
    ----------
    rows : Table or data frame
        Columns that the model does not know are ignored, whatever they hold. Categories that it does not know count
        as missing.
    model : Forest or Packed
    """
    encoding = model.encoding
    table = rows if isinstance(rows, Table) else _table_for(rows, model, encoding)
    columns = dict(zip(table.names, table.columns, strict=True))
    if encoding is not None:
        for column in encoding.columns:
            _check_there(column.name, table)
            if column.kind == "number":
                columns[column.name] = _numbers(column.name, columns[column.name], table)
        return encoding.apply(columns)
    if all(isinstance(column, Categorical) for column in table.columns):
        raise ValueError(f"{table.title} has no column of numbers")
    if model.feature_names is None:
        return np.stack([column for column in table.columns if isinstance(column, np.ndarray)], axis=1)
    for name in model.feature_names:
        _check_there(name, table)
    return np.stack([_numbers(name, columns[name], table) for name in model.feature_names], axis=1)


def unknown_categories(table: Table, encoding: Encoding) -> dict[str, tuple[int, str]]:
    """Return, by column, how many cells hold a category that the encoding does not know, and the first of these."""
    found = {}
    cells = dict(zip(table.names, table.columns, strict=True))
    for column in encoding.columns:
        of_column = cells.get(column.name)
        if column.kind == "number" or not isinstance(of_column, Categorical):
            continue
        is_unknown = np.array([*(place < 0 for place in places(of_column.categories, column.categories)), False])
        rows = np.flatnonzero(is_unknown[of_column.codes])
        if rows.size:
            found[column.name] = rows.size, of_column.categories[of_column.codes[rows[0]]]
    return found


def _table_for(frame: Any, model: HasFeatureNames, encoding: Encoding | None) -> Table:
    """Return the columns of a data frame that a model knows."""
    if encoding is None:
        columns = frame_columns(frame, names=model.feature_names, rounding=model.rounding)
    else:
        names = {column.name for column in encoding.columns}
        columns = frame_columns(frame, names=names, categorical=encoding.categorical, rounding=model.rounding)
    return Table(TITLE, tuple(columns), tuple(columns.values()), np.zeros(0), None)


def _check_there(name: str, table: Table) -> None:
    if name not in table.names:
        why = f": it {table.left_out[name]}" if name in table.left_out else ""
        raise ValueError(f"{table.title} lacks the column {name!r}, which the model was trained on{why}")


def _numbers(name: str, column: Column, table: Table) -> NDArray[np.float32]:
    if not isinstance(column, Categorical):
        return column
    lowered = [category.lower() for category in column.categories]
    if all(map(is_mark, lowered)):
        return np.full(len(column.codes), np.nan, np.float32)
    if set(lowered) <= BOOLEANS:  # booleans as files have them, or no value in any row
        return np.array([*(float(text == "true") for text in lowered), np.nan], np.float32)[column.codes]
    odd = np.array([*(not is_number(category) for category in column.categories), False])[column.codes]
    row = int(np.argmax(odd if odd.any() else column.codes >= 0))
    cell = column.categories[column.codes[row]]
    hint = "write decimals with a point" if "," in cell else "the model was trained on numbers there"
    raise ValueError(
        f"column {name!r} of {table.title} holds {short(cell)} in row {table.n_before + row + 1:,}, which is not a "
        f"number; {hint}"
    )


def _encoded(name: str, column: Categorical, table: Table, kind: CategoricalEncoding) -> EncodedColumn:
    check_time()
    if kind == "ordered":
        return EncodedColumn(name, "ordered", _in_order(column, table))
    # Of two categories one feature tells all, and a third value of it that the category is missing.
    return EncodedColumn(name, "ordered" if len(column.categories) == 2 else "one_hot", column.categories)


def _in_order(column: Categorical, table: Table) -> tuple[str, ...]:
    """Return the categories in the order of their mean target, and sorted as text where that is the same."""
    is_there = column.codes >= 0
    codes, y = column.codes[is_there], table.y[is_there]
    n_rows = np.bincount(codes, minlength=len(column.categories)).astype(np.float64)
    if table.task == "regression":
        means = np.bincount(codes, y, len(n_rows)) / n_rows
    else:
        means = _along_first_direction(_shares(codes, table.y, is_there, n_rows), n_rows)
    # Rounded, so that sums in another order do not change the order of equal categories.
    order = np.argsort(_rounded(means), kind="stable")
    return tuple(column.categories[k] for k in order)


def _shares(
    codes: NDArray[np.int32], y: NDArray[Any], is_there: NDArray[np.bool_], n_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each class in each category (categories, classes)."""
    classes, numbers = np.unique(y, return_inverse=True)
    cells = codes.astype(np.int64) * classes.size + numbers[is_there]
    counts = np.bincount(cells, minlength=n_rows.size * classes.size).reshape(n_rows.size, classes.size)
    return counts / np.maximum(n_rows, 1)[:, None]


def _along_first_direction(shares: NDArray[np.float64], n_rows: NDArray[np.float64]) -> NDArray[np.float64]:
    if shares.shape[1] == 2:
        return shares[:, 1]
    centred = shares - np.average(shares, axis=0, weights=n_rows)
    direction = np.linalg.eigh((centred * n_rows[:, None]).T @ centred)[1][:, -1]
    # Of its two signs, the one that makes the largest part positive.
    largest = direction[np.argmax(_rounded(np.abs(direction)))]
    along: NDArray[np.float64] = centred @ (direction if largest > 0.0 else -direction)
    return along


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    step = max(float(np.abs(numbers).max()), np.finfo(np.float64).tiny) * 1e-12
    return np.rint(numbers / step)
