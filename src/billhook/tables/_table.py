"""Tables of any kind of file, read for training or for a model."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook.tables._arff import arff
from billhook.tables._collect import WRITE_POINTS, Raw, Source, Unread, comma_in, too_many
from billhook.tables._columns import MOST_CATEGORIES, Categorical, Column
from billhook.tables._delimited import Delimited, delimited
from billhook.tables._labels import Task, check_present, label_column, target_of
from billhook.tables._parquet import MAGIC, parquet

# Of so many different texts nearly all may differ by chance.
FEW_TEXTS = 10
NEARLY_ALL = 0.9
# What columns that number the rows are called.
ROW_NAMES = {"id", "index", "row", "unnamed: 0", "__index_level_0__", "rownames"}


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Of the columns beside the labels.
    columns : tuple of float32 arrays and Nominal
        Numbers, NaN where one is missing; or categories by their numbers.
    y : array
        The labels: classes or, for regression, float64.
    task : {"classification", "regression"}, optional
        None where the labels were not looked at.
    notes : tuple of str
        What was guessed and left out, in sentences.
    left_out : dict
        For columns that are not there, why: words that follow the name.
    """

    path: Path
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    y: NDArray[Any]
    task: Task | None
    notes: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    def take(self, rows: NDArray[np.int64]) -> "Table":
        """Return the table of the rows with these numbers."""
        columns = tuple(
            Categorical(column.codes[rows], column.categories) if isinstance(column, Categorical) else column[rows]
            for column in self.columns
        )
        return replace(self, columns=columns, y=self.y[rows])


def read_table(path: str | PathLike[str], label: str, *, task: str | None = None) -> Table:
    """Read a table to learn from.

    Columns are numbers or names. Those that no model could learn from are left out, and `notes` says so: all missing,
    the same in every row, the number of the row, text with more than 256 or nearly as many different values as rows.

    Parameters
    ----------
    path : path
        CSV, TSV and the like (cells apart by commas, semicolons, tabulators, bars or blanks), Parquet or ARFF; text
        may be compressed as .gz. Empty cells, NA and the like are missing values. The first line of a CSV file holds
        the names; if all in it are numbers, columns are called 0, 1, 2 and so on.
    label : str
        The column to predict; -1 is the last, -2 the one before, unless a column has that name.
    task : {"classification", "regression"}, optional
        By default text and few different whole numbers are classes, and other numbers are predicted as such.
    """
    path = Path(path)
    source = _source(path)
    name = _label_name(label, source.names, path)
    raw = source.read(name, frozenset())
    assert raw.labels is not None
    _check_rows(path, source, len(raw.labels.cells))
    target = target_of(raw.labels, name, path, task)
    for column, cells in raw.columns.items():
        _check_points(cells, column, path)
    columns, left_out = _parted(raw)
    reasons = {column: why for column, cells in columns.items() if (why := _why_not(column, cells))}
    left_out |= reasons
    kept = {column: cells for column, cells in columns.items() if column not in reasons}
    if not kept:
        said = "; ".join(f"{column!r} {why}" for column, why in left_out.items())
        raise ValueError(f"{path} has no column to learn from beside {name!r}" + (f": {said}" if said else ""))
    notes = [*source.notes, *target.notes, *(f"Left out {column!r}: it {why}." for column, why in left_out.items())]
    return Table(path, tuple(kept), tuple(kept.values()), target.y, target.task, tuple(notes), left_out)


def read_features(
    path: str | PathLike[str], label: str | None = None, *, nominal: Collection[str] = frozenset()
) -> Table:
    """Read a table for a model that there is: every column, and the labels as they stand (see `labels_like`).

    Parameters
    ----------
    path, label
        As for `read_table`; without a label `y` is empty.
    nominal : names of columns
        To read as names even where they look like numbers: see `Encoding.nominal`.
    """
    path = Path(path)
    source = _source(path)
    name = None if label is None else _label_name(label, source.names, path)
    raw = source.read(name, frozenset(nominal))
    y: NDArray[Any] = np.zeros(0)
    if raw.labels is not None and name is not None:
        y = raw.labels.cells
        check_present(y, label_column(name, path), frozenset({""}))
    columns, left_out = _parted(raw)
    n_rows = max((len(_cells(column)) for column in columns.values()), default=len(y))
    _check_rows(path, source, n_rows)
    return Table(path, tuple(columns), tuple(columns.values()), y, None, source.notes, left_out)


def _source(path: Path) -> Source:
    """Return the file as what its content or its suffix say that it is."""
    with path.open("rb") as file:
        begin = file.read(4)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    source: Source
    if begin == MAGIC or (suffix in (".parquet", ".pq") and begin):
        source = parquet(path)
    else:
        source = arff(path) if suffix == ".arff" else delimited(path)
    twice = [name for name, times in Counter(source.names).items() if times > 1]
    if twice:
        hint = "; is its first line one of names?" if isinstance(source, Delimited) else ""
        raise ValueError(f"{path} has more than one column {twice[0]!r}{hint}")
    return source


def _label_name(label: str, names: tuple[str, ...], path: Path) -> str:
    if label not in names and re.fullmatch(r"-\d+", str(label)) and 1 <= -int(label) <= len(names):
        return names[int(label)]
    name = resolve_name(label, {name: name for name in names}, f"{path} has no column", "its columns are")
    if len(names) < 2:
        raise ValueError(f"{path} has no column beside {name!r}")
    return name


def _check_rows(path: Path, source: Source, n_rows: int) -> None:
    if n_rows == 0:
        what = "below its line of column names" if isinstance(source, Delimited) else "in it"
        raise ValueError(f"{path} has no rows {what}")


def _parted(raw: Raw) -> tuple[dict[str, Column], dict[str, str]]:
    """Return the columns that were read, and why others were not."""
    columns = {name: column for name, column in raw.columns.items() if not isinstance(column, Unread)}
    return columns, {name: column.why for name, column in raw.columns.items() if isinstance(column, Unread)}


def _check_points(column: Column | Unread, name: str, path: Path) -> None:
    """Raise ValueError for numbers with a decimal comma."""
    if isinstance(column, Unread) and column.is_at_fault:
        raise ValueError(f"column {name!r} of {path} {column.why}")
    comma = comma_in(column.categories) if isinstance(column, Categorical) else None
    if isinstance(column, Categorical) and comma is not None:
        row = int(np.argmax(column.codes == column.categories.index(comma))) + 1
        raise ValueError(f"column {name!r} of {path} holds {short(comma)} in row {row:,}: {WRITE_POINTS}")


def _why_not(name: str, column: Column) -> str:
    """Return why a column is left out; nothing if it is not."""
    if isinstance(column, Categorical):
        return _why_not_nominal(column)
    is_there = ~np.isnan(column)
    if not is_there.any():
        return "has no value in any row"
    if (column == column[0]).all():
        return f"is {column[0]:g} in every row"
    if name.lower() in ROW_NAMES and len(column) > 2:
        from_zero = np.arange(len(column), dtype=np.float32)
        if any(np.array_equal(column, from_zero + start) for start in (0, 1)):
            return "is the number of the row"
    return ""


def _why_not_nominal(column: Categorical) -> str:
    n_different, n_present = len(column.categories), int(np.count_nonzero(column.codes >= 0))
    if n_different == 0:
        return "has no value in any row"
    if n_different == 1 and n_present == len(column.codes):
        return f"is {short(column.categories[0])} in every row"
    if n_different > MOST_CATEGORIES or (n_different > FEW_TEXTS and n_different > NEARLY_ALL * n_present):
        return too_many(column.categories, f"{n_different:,} different values in {n_present:,} rows")
    return ""


def _cells(column: Column) -> NDArray[Any]:
    return column.codes if isinstance(column, Categorical) else column
