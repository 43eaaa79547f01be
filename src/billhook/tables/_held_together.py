"""Columns that are no features but say how rows are held out: groups, and times."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._types import Vector
from billhook.tables._cells import is_missing, is_number

BY_TIME = "time:"
# The day from which timestamps count.
EPOCH = datetime.date(1970, 1, 1).toordinal()


class HoldOut(NamedTuple):
    """The names of the columns that say how rows are held out, None where there is none.

    Attributes
    ----------
    group : str, optional
        Rows with the same value there are held out together.
    time : str, optional
        The latest rows by this column are held out.
    """

    group: str | None = None
    time: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are given."""
        return tuple(name for name in self if name is not None)

    def check(self, names: tuple[str, ...], label: str, title: str) -> None:
        """Raise ValueError unless the columns are there and none is the label."""
        for name in self.names:
            resolve_name(name, {name: name for name in names}, f"{title} has no column", "its columns are")
            if name == label:
                raise ValueError(f"{name!r} is the label column: rows are held out by another")

    def of(self, cells: Mapping[str, NDArray[Any]], title: str) -> tuple[NDArray[np.int64] | None, Vector | None]:
        """Return the numbers of the groups, and the times, of the rows of a table."""
        groups = None if self.group is None else _group_numbers(cells[self.group], _where(self.group, title))
        times = None if self.time is None else times_of(cells[self.time], _where(self.time, title))
        return groups, times

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of the columns, in sentences."""
        notes = []
        if self.group is not None:
            notes.append(f"Rows with the same {self.group!r} are held out together; it is no feature.")
        if self.time is not None:
            notes.append(f"The latest rows by {self.time!r} are held out; it is no feature.")
        return tuple(notes)


def hold_out(group: str | None, split: str | None) -> HoldOut:
    """Return how rows are held out, or say what cannot be asked for."""
    if split is None:
        return HoldOut(group)
    if not isinstance(split, str) or not split.startswith(BY_TIME) or len(split) == len(BY_TIME):
        raise ValueError(f"split must be 'time:COLUMN', by which the latest rows are held out, not {split!r}")
    if group is not None:
        raise ValueError("rows are held out by group or by time: leave one of group and split out")
    return HoldOut(None, split[len(BY_TIME) :])


def times_of(cells: NDArray[Any], where: str) -> Vector:
    """Return when rows were measured, as numbers that grow with time: numbers, dates, or text as 2024-05-31."""
    known: dict[Any, float] = {}
    first: _Time | None = None
    for row, cell in _firsts(cells):
        time = _time(cell, row, where)
        first = first or time
        if time.kind != first.kind:
            raise ValueError(
                f"{where} holds {first.kind}, {first.text}, in row 1 and {time.kind}, {time.text}, in row {row:,}, "
                "whose order is not known: write all times in one way"
            )
        known[cell] = time.number
    return np.fromiter((known[cell] for cell in cells.tolist()), np.float64, len(cells))


def _group_numbers(cells: NDArray[Any], where: str) -> NDArray[np.int64]:
    firsts = _firsts(cells)
    for row, cell in firsts:
        _check_there(cell, row, where)
    # In a file of text 7 and 7.0 are one number; beside names that are none, texts are the same or they are not.
    are_numbers = all(isinstance(cell, str) and is_number(cell) for _, cell in firsts)
    numbers: dict[Any, int] = {}
    for _, cell in firsts:
        numbers.setdefault(Decimal(cell) if are_numbers else cell, len(numbers))
    number_of = {cell: numbers[Decimal(cell) if are_numbers else cell] for _, cell in firsts}
    return np.fromiter((number_of[cell] for cell in cells.tolist()), np.int64, len(cells))


def _firsts(cells: NDArray[Any]) -> list[tuple[int, Any]]:
    """Return each different cell, and the row in which it is first, from 1."""
    firsts: dict[Any, int] = {}
    for row, cell in enumerate(cells.tolist(), start=1):
        firsts.setdefault(cell, row)
    return [(row, cell) for cell, row in firsts.items()]


def _where(name: str, title: str) -> str:
    return f"column {name!r} of {title}"


def _check_there(cell: Any, row: int, where: str) -> None:
    if is_missing(cell):
        raise ValueError(f"{where} is empty in row {row:,}: fill it in, or remove the row")


class _Time(NamedTuple):
    """A time as a number that grows with it, comparable with those of its kind, and what stands in the cell."""

    kind: str
    number: float
    text: str


def _time(cell: Any, row: int, where: str) -> _Time:
    _check_there(cell, row, where)
    text = short(cell if isinstance(cell, str) else str(cell))
    if isinstance(cell, str) and not is_number(cell):
        try:
            cell = datetime.datetime.fromisoformat(cell)
        except ValueError:
            raise _no_time(text, row, where) from None
    if isinstance(cell, datetime.datetime):
        known = cell if cell.tzinfo else cell.replace(tzinfo=datetime.UTC)
        return _Time("a date", known.timestamp(), text)
    if isinstance(cell, datetime.date):
        return _Time("a date", (cell.toordinal() - EPOCH) * 86400.0, text)
    if isinstance(cell, datetime.time):
        return _Time("a time of day", cell.hour * 3600.0 + cell.minute * 60.0 + cell.second, text)
    if isinstance(cell, datetime.timedelta):
        return _Time("a duration", cell.total_seconds(), text)
    try:
        return _Time("a number", float(cell), text)
    except (TypeError, ValueError):
        raise _no_time(text, row, where) from None


def _no_time(text: str, row: int, where: str) -> ValueError:
    return ValueError(
        f"{where} holds {text} in row {row:,}, which is no time: write numbers, or dates as 2024-05-31 or "
        "2024-05-31T18:00"
    )
