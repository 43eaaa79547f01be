"""From a table of one of the paper's data sets to its features, as the paper makes them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._types import RowNumbers
from billhook.datasets._catalogue import Entry
from billhook.datasets._data_set import PARTS, DataSet, complete_rows
from billhook.tables import Categorical, Column, EncodedColumn, Encoding, Table

RowChoice = Literal["paper", "all"]
SPLIT = "split"
NO_VALUE = "?"


def prepare(entry: Entry, table: Table, rows: RowChoice = "paper") -> DataSet:
    """Return the features and labels of a table that holds one of the paper's data sets.

    Categorical columns are one-hot encoded, also those of two categories. Missing values are treated as
    the paper does. A column called `split` with train and test is the given split.

    Parameters
    ----------
    entry : Entry
    table : Table
        Of `read_features`, with all columns and rows.
    rows : {"paper", "all"}
        The rows that the paper uses, or all.

    Raises
    ------
    ValueError
        If it has other rows, classes or features than that data set.
    """
    which = rows_asked(rows)
    notes = []
    table, parts = _parted(entry, table)
    _check_counts(entry, table)
    kept = _rows_of(entry, len(table.y), parts) if which == "paper" else np.arange(len(table.y))
    if len(kept) < len(table.y):
        notes.append(f"{len(kept):,} of the {len(table.y):,} rows, as in the paper.")
        table, parts = table.take(kept), None if parts is None else parts[kept]
    table, kept, treatment = _without_missing(entry, table)
    notes += treatment
    if parts is not None:
        parts = parts[kept]
    encoding = Encoding(tuple(map(_encoded, table.names, table.columns)))
    if encoding.n_features != entry.features:
        raise ValueError(
            f"{_file_name(table)} makes {encoding.n_features} features; {entry.name} has {entry.features}"
        )
    train, test = (None, None) if parts is None else tuple(np.flatnonzero(parts == part) for part in PARTS)
    return DataSet(
        entry.name,
        encoding.apply(dict(zip(table.names, table.columns, strict=True))),
        table.y,
        np.unique(table.y),
        encoding.feature_names,
        train,
        test,
        encoding,
        (*notes, *_differences(entry, table)),
    )


def rows_asked(rows: str) -> RowChoice:
    """Return which rows to take, or raise ValueError."""
    known: dict[str, RowChoice] = {"paper": "paper", "all": "all"}
    return resolve_name(rows, known, "there is no choice of rows")


def labels_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as whole numbers if all are such, whether written as text or not; else as text."""
    different = {str(label).removesuffix(".") for label in y.tolist()}
    if all(label.removeprefix("-").isdecimal() for label in different):
        return np.array([int(str(label).removesuffix(".")) for label in y.tolist()], np.int64)
    return np.array([str(label) for label in y.tolist()])


def _parted(entry: Entry, table: Table) -> tuple[Table, NDArray[Any] | None]:
    """Return the table without its split, and for each row its part of a given split; None without one."""
    y = labels_of(table.y)
    if SPLIT in table.names:
        at = table.names.index(SPLIT)
        column = table.columns[at]
        if not isinstance(column, Categorical) or set(column.categories) != set(PARTS) or (column.codes < 0).any():
            raise ValueError(f"column {SPLIT!r} of {_file_name(table)} must hold train or test in every row")
        parts = np.array(column.categories)[column.codes]
        return replace(_without(table, [at]), y=y), parts
    if not entry.n_train:
        return replace(table, y=y), None
    return replace(table, y=y), np.array(PARTS)[(np.arange(len(y)) >= entry.n_train).astype(np.int64)]


def _rows_of(entry: Entry, n_rows: int, parts: NDArray[Any] | None) -> RowNumbers:
    """Return the rows that the paper uses."""
    if entry.used is None or parts is None:
        return np.arange(entry.first_skipped, n_rows)
    return np.concatenate(
        [np.flatnonzero(parts == part)[:n_used] for part, n_used in zip(PARTS, entry.used, strict=True)]
    )


def _without_missing(entry: Entry, table: Table) -> tuple[Table, RowNumbers, list[str]]:
    """Return the table without missing values, which of its rows that are, and what was done."""
    every = np.arange(len(table.y))
    if entry.missing == "a category":
        columns = tuple(map(_with_category, table.columns))
        return replace(table, columns=columns), every, []
    if entry.missing == "minus one":
        columns = tuple(_filled(column, table) for column in table.columns)
        n_filled = sum(int(np.isnan(column).sum()) for column in table.columns if not isinstance(column, Categorical))
        return replace(table, columns=columns), every, [f"{n_filled:,} missing values are -1."] if n_filled else []
    if entry.missing == "remove columns":
        dropped = [k for k, column in enumerate(table.columns) if _has_missing(column)]
        notes = [f"Dropped {len(dropped)} columns with missing values."] if dropped else []
        return _without(table, dropped), every, notes
    rows = complete_rows(table)
    notes = [] if len(rows) == len(every) else [f"Removed {len(every) - len(rows):,} rows with missing values."]
    return table.take(rows), rows, notes


def _with_category(column: Column) -> Column:
    """Return a categorical column in which missing values are a category of their own."""
    if not isinstance(column, Categorical) or (column.codes >= 0).all():
        return column
    categories = tuple(sorted((*column.categories, NO_VALUE)))
    # The last entry is for -1.
    new = np.array([*map(categories.index, column.categories), categories.index(NO_VALUE)], np.int32)
    return Categorical(new[column.codes], categories)


def _filled(column: Column, table: Table) -> Column:
    if isinstance(column, Categorical):
        raise ValueError(
            f"{_file_name(table)} has a categorical column, with values such as {column.categories[:3]}; "
            "numbers are expected"
        )
    return np.where(np.isnan(column), np.float32(-1), column)


def _has_missing(column: Column) -> bool:
    return bool((column.codes < 0).any() if isinstance(column, Categorical) else np.isnan(column).any())


def _without(table: Table, dropped: Sequence[int]) -> Table:
    kept = [k for k in range(len(table.names)) if k not in dropped]
    return replace(table, names=tuple(table.names[k] for k in kept), columns=tuple(table.columns[k] for k in kept))


def _encoded(name: str, column: Column) -> EncodedColumn:
    return (
        EncodedColumn(name, "one_hot", column.categories) if isinstance(column, Categorical) else EncodedColumn(name)
    )


def _check_counts(entry: Entry, table: Table) -> None:
    """Raise ValueError if a table has other rows or classes than the data set."""
    n_rows, classes = len(table.y), np.unique(table.y, return_counts=True)
    known = {entry.rows, entry.rows_downloaded} - {0}
    if n_rows not in known:
        raise ValueError(f"{_file_name(table)} has {n_rows:,} rows; {entry.name} has {_or(sorted(known))}")
    if len(classes[0]) != entry.classes:
        raise ValueError(f"{_file_name(table)} has {len(classes[0])} classes; {entry.name} has {entry.classes}")
    # Files may call the classes differently.
    if n_rows == entry.rows and entry.counts and sorted(classes[1].tolist()) != sorted(entry.counts):
        raise ValueError(
            f"the classes in {_file_name(table)} have {sorted(classes[1].tolist())} rows; those of {entry.name} "
            f"{sorted(entry.counts)}"
        )


def _file_name(table: Table) -> str:
    return Path(table.title).name


def _or(numbers: list[int]) -> str:
    return " or ".join(f"{number:,}" for number in numbers)


def _differences(entry: Entry, table: Table) -> list[str]:
    """Return how the size differs from what is printed, and what else is to be known."""
    n_rows, n_classes = len(table.y), len(np.unique(table.y))
    pairs = (("N", entry.printed.rows, n_rows), ("C", entry.printed.classes, n_classes))
    notes = [
        f"The paper prints {name} = {printed:,}; here it is {actual:,}."
        for name, printed, actual in pairs
        if printed != actual
    ]
    return [*notes, f"{entry.remark[0].upper()}{entry.remark[1:]}."] if entry.remark else notes
