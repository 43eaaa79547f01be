"""A table in memory: its columns, its labels, and which columns a model can learn from."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Task, Vector
from billhook.tables._cells import are_dates, stray_in, too_many
from billhook.tables._collect import UnusableColumn
from billhook.tables._columns import MOST_CATEGORIES, Categorical, Column
from billhook.tables._decimal_commas import WRITE_POINTS, comma_in
from billhook.tables._labels import TrainingLabels

# Of so many different texts nearly all may differ by chance.
FEW_TEXTS = 10
NEARLY_ALL = 0.9
DATES = "holds dates or times, which are not read: make numbers of them, such as the month or the seconds since"
# What columns are called that may number the rows: those that count in order do.
NUMBERS_OF_ROWS = {"id", "index", "row"}
# What programs call the names of rows when they write or read a table: those of a shuffled one do not count in order.
NAMES_OF_ROWS = re.compile(r"unnamed: 0(?:\.\d+)?|__index_level_0__|rownames")


@dataclass(frozen=True)
class Table:
    """The columns and labels of a file or a data frame.

    Attributes
    ----------
    title : str
        What messages call the table: the path of its file, or "the data frame".
    names : tuple of str
        The names of the columns, without the label column.
    columns : tuple of float32 arrays and Categorical
        Numeric columns with NaN for missing values, and categorical columns.
    y : array
        The labels: classes or, for regression, float64.
    task : {"classification", "regression"}, optional
        None if the table was read for prediction.
    notes : tuple of str
        What was guessed and which columns were dropped, in sentences.
    left_out : dict
        For each dropped column the reason: words that follow its name.
    n_before : int
        Rows of the file that come before these, where it is read in blocks.
    groups : int64 array, optional
        For each row the number of its group: those of one are held out together.
    times : float64 array, optional
        When each row was measured: the latest are held out.
    """

    title: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    y: NDArray[Any]
    task: Task | None
    notes: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    n_before: int = 0
    groups: NDArray[np.int64] | None = None
    times: Vector | None = None

    def take(self, rows: NDArray[np.int64]) -> "Table":
        """Return the table of the rows with these numbers."""
        columns = tuple(
            Categorical(column.codes[rows], column.categories) if isinstance(column, Categorical) else column[rows]
            for column in self.columns
        )
        groups = None if self.groups is None else self.groups[rows]
        times = None if self.times is None else self.times[rows]
        return replace(self, columns=columns, y=self.y[rows], groups=groups, times=times)


def training_table(
    title: str,
    columns: Mapping[str, Column | UnusableColumn],
    target: TrainingLabels,
    *,
    label: str | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table to learn from, without the columns that no model could use; `notes` says which and why.

    Parameters
    ----------
    title : str
        What messages call the table.
    columns : dict
        All columns but the labels.
    target : TrainingLabels
    label : str, optional
        The name of the label column, for messages.
    notes : tuple of str
        What there is to say about how the columns were read.
    """
    for name, column in columns.items():
        _check_points(column, name, title)
    readable, left_out = parted(columns)
    left_out |= {name: why for name, column in readable.items() if (why := _why_not(name, column))}
    kept = {name: column for name, column in readable.items() if name not in left_out}
    if not kept:
        beside = "" if label is None else f" beside {label!r}"
        reasons = "; ".join(f"{name!r} {why}" for name, why in left_out.items())
        raise ValueError(f"{title} has no column to learn from{beside}" + (f": {reasons}" if reasons else ""))
    dropped = (f"Dropped column {name!r}: it {why}." for name, why in left_out.items())
    notes = (*notes, *target.notes, *dropped, *_notes_on_stray(kept))
    return Table(title, tuple(kept), tuple(kept.values()), target.y, target.task, notes, left_out)


def parted(columns: Mapping[str, Column | UnusableColumn]) -> tuple[dict[str, Column], dict[str, str]]:
    """Return the columns that were read, and for the others the reason why they were not."""
    readable = {name: column for name, column in columns.items() if not isinstance(column, UnusableColumn)}
    return readable, {name: column.why for name, column in columns.items() if isinstance(column, UnusableColumn)}


def _check_points(column: Column | UnusableColumn, name: str, title: str) -> None:
    """Raise ValueError for numbers with a decimal comma."""
    if isinstance(column, UnusableColumn) and column.is_at_fault:
        raise ValueError(f"column {name!r} of {title} {column.why}")
    comma = comma_in(column.categories) if isinstance(column, Categorical) else None
    if isinstance(column, Categorical) and comma is not None:
        row = int(np.argmax(column.codes == column.categories.index(comma))) + 1
        raise ValueError(f"column {name!r} of {title} holds {short(comma)} in row {row:,}: {WRITE_POINTS}")


def _notes_on_stray(columns: Mapping[str, Column]) -> Iterator[str]:
    """Name the columns of numbers that a few texts make categorical."""
    for name, column in columns.items():
        if isinstance(column, Categorical) and len(column.categories) > FEW_TEXTS:
            text = stray_in(column.categories)
            if text is not None:
                yield (
                    f"Column {name!r} is categorical, as it holds {short(text)} among numbers: correct it, or mark "
                    "missing values with NA."
                )


def _why_not(name: str, column: Column) -> str:
    """Return why a column is left out; nothing if it is not."""
    if isinstance(column, Categorical):
        return _why_not_categorical(column)
    is_there = ~np.isnan(column)
    if not is_there.any():
        return "has no value in any row"
    if (column == column[0]).all():
        return f"is {column[0]:g} in every row"
    return "numbers the rows" if _numbers_the_rows(name.lower(), column) else ""


def _numbers_the_rows(name: str, column: NDArray[np.float32]) -> bool:
    if len(column) < 3:
        return False
    if NAMES_OF_ROWS.fullmatch(name):
        are_whole = bool(np.isfinite(column).all() and (column == np.trunc(column)).all())
        return are_whole and len(np.unique(column)) == len(column)
    from_zero = np.arange(len(column), dtype=np.float32)
    return name in NUMBERS_OF_ROWS and any(np.array_equal(column, from_zero + start) for start in (0, 1))


def _why_not_categorical(column: Categorical) -> str:
    n_different, n_present = len(column.categories), int(np.count_nonzero(column.codes >= 0))
    if n_different == 0:
        return "has no value in any row"
    if n_different == 1 and n_present == len(column.codes):
        return f"is {short(column.categories[0])} in every row"
    if n_different > FEW_TEXTS and are_dates(column.categories):
        return DATES
    if n_different > MOST_CATEGORIES or (n_different > FEW_TEXTS and n_different > NEARLY_ALL * n_present):
        return too_many(column.categories, f"{n_different:,} different values in {n_present:,} rows")
    return ""
