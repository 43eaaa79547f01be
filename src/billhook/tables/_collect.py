"""Cells of text, some thousand rows at a time, made into columns."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from reprlib import repr as short
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.tables._cells import MISSING, as_number_or_mark, is_mark, too_many
from billhook.tables._columns import Categorical, Column
from billhook.tables._decimal_commas import WRITE_POINTS, comma_in, with_point
from billhook.tables._rounding import as_float32

# Rows whose cells are strings at one time.
BLOCK = 512
# More different texts than these are not kept: no model could use them.
MOST_TEXTS = 2**16
# So many numbers are remembered by what stands in the file, for columns of which at most a share in a block is new.
MOST_KNOWN, MOST_NEW = 2**16, 0.5
ReadAs = Literal["guess", "commas", "text", "cells", "skip"]
TextRows = list[Sequence[str]]


class UnusableColumn(NamedTuple):
    """A column that cannot be used, and why: words that follow its name.

    `is_at_fault` says that the user has to correct it, as it was surely meant to be used.
    """

    why: str
    is_at_fault: bool = False


class LabelColumn(NamedTuple):
    """The cells of the label column.

    Attributes
    ----------
    cells : array of objects
        As they stand in the file: strings from a file of text, else of any type.
    is_text : bool
        Whether the file says that they are text, whatever they look like.
    """

    cells: NDArray[Any]
    is_text: bool


class FileColumns(NamedTuple):
    """The columns of a file, and apart from them the label column if one was asked for; and what there is to say.

    `apart` has the cells of columns that say which rows belong together, or when they were measured.
    """

    columns: dict[str, Column | UnusableColumn]
    labels: LabelColumn | None
    notes: tuple[str, ...] = ()
    apart: Mapping[str, NDArray[Any]] = {}


class FileBlocks(NamedTuple):
    """The columns of a file some rows at a time, and what there is to say of them all."""

    blocks: Iterator[FileColumns]
    notes: tuple[str, ...] = ()


class ReadOptions(NamedTuple):
    """What is read of a file, and how.

    Attributes
    ----------
    names : set of str, optional
        The columns to read; by default all.
    label : str, optional
        The label column, whose cells are returned as they are.
    categorical : set of str
        Columns to read as text even where they look like numbers.
    rounding : {"nearest", "down"}
        How numbers become float32.
    apart : tuple of str
        Columns that say how rows are held out: they are returned as they are, and not among the others.
    """

    names: frozenset[str] | None = None
    label: str | None = None
    categorical: frozenset[str] = frozenset()
    rounding: str = "nearest"
    apart: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        """Return whether a column is to be read."""
        return self.names is None or name in self.names or self.wants_cells(name)

    def wants_cells(self, name: str) -> bool:
        """Return whether the cells of a column are wanted as they are."""
        return name == self.label or name in self.apart

    def read_as(self, name: str) -> ReadAs:
        """Return how a column of a text file is read."""
        if self.wants_cells(name):
            return "cells"
        if not self.wants(name):
            return "skip"
        return "text" if name in self.categorical else "guess"


class TableFile(Protocol):
    """A file that holds a table."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how it is read."""

    def read(self, asked: ReadOptions) -> FileColumns:
        """Return its columns."""

    @property
    def about_n_rows(self) -> int | None:
        """About how many rows it has, if that is known without reading them."""

    def read_blocks(self, asked: ReadOptions, n_rows: int) -> FileBlocks:
        """Return its columns at least so many rows at a time, each as `read` would if there were no others.

        What commas in numbers mean, the whole file tells; and marks such as "-" alone are missing numbers, as there
        may be numbers in other rows.
        """


def blocks_of(rows: Iterable[Sequence[str]]) -> Iterator[TextRows]:
    """Return rows in blocks."""
    rows = iter(rows)
    while block := list(islice(rows, BLOCK)):
        yield block


def grouped(blocks: Iterable[TextRows], n_rows: int) -> Iterator[list[TextRows]]:
    """Return blocks in groups of at least so many rows; the last may have fewer."""
    group: list[TextRows] = []
    for block in blocks:
        group.append(block)
        if sum(map(len, group)) >= n_rows:
            yield group
            group = []
    if group:
        yield group


def collect(
    read_blocks: Callable[[], Iterator[TextRows]], wanted: Sequence[ReadAs], rounding: str, *, is_part: bool = False
) -> list[Any]:
    """Return the columns, read as asked: numbers, Categorical, UnusableColumn, or an array of strings for the cells.

    What is a number is kept as one from the start. If a text turns up in such a column far down, the file is read
    again; so it is if a column holds marks such as "-" and no number, unless these are part of its rows only.
    """
    wanted = list(wanted)
    while True:
        columns, late = _one_pass(read_blocks(), wanted, rounding, is_part=is_part)
        if not late:
            return [column.finished() for column in columns]
        for k in late:
            wanted[k] = "text"


def _one_pass(
    blocks: Iterator[TextRows], wanted: Sequence[ReadAs], rounding: str, *, is_part: bool
) -> tuple[list["_Collector"], set[int]]:
    known = _KnownNumbers()
    kinds: dict[ReadAs, Callable[[], _Collector]] = {
        "guess": lambda: _Numbers(known, rounding),
        "commas": lambda: _Numbers(known, rounding, have_commas=True),
        "text": _Texts,
        "cells": _Cells,
        "skip": _Nothing,
    }
    columns = [kinds[kind]() for kind in wanted]
    late: set[int] = set()
    for number, rows in enumerate(blocks):
        check_time()
        for k, cells in enumerate(zip(*rows, strict=True)):
            if columns[k].add(cells):
                continue
            if number:
                late.add(k)
                columns[k] = _Nothing()
            else:
                columns[k] = _Texts()
                columns[k].add(cells)
    if not is_part:
        late |= {k for k, column in enumerate(columns) if isinstance(column, _Numbers) and column.has_marks_only}
    return columns, late


class _Collector(Protocol):
    def add(self, cells: Sequence[str]) -> bool:
        """Add cells; return whether they fit."""

    def finished(self) -> Any:
        """Return the whole column."""


class _KnownNumbers(dict[str, float]):
    """The numbers of all columns by the cells that hold them, as to look one up is faster than to read it."""

    def __missing__(self, cell: str) -> float:
        number = self[cell] = as_number_or_mark(cell)
        return number


class _Numbers:
    def __init__(self, known: _KnownNumbers, rounding: str, *, have_commas: bool = False) -> None:
        self.parts: list[NDArray[np.float32]] = []
        self.rounding = rounding
        self.have_commas = have_commas
        self.known = known
        self.are_known = True
        self.has_numbers = self.has_marks = False

    @property
    def has_marks_only(self) -> bool:
        """Whether what was taken for missing is all there is."""
        return self.has_marks and not self.has_numbers

    def add(self, cells: Sequence[str]) -> bool:
        if self.have_commas:
            cells = list(map(with_point, cells))
        try:
            numbers = self._looked_up(cells) if self.are_known else _numbers(cells)
        except ValueError:
            return False
        self.parts.append(as_float32(numbers, self.rounding))
        if not self.has_numbers:
            self.has_numbers = not bool(np.isnan(numbers).all())
            self.has_marks |= any(map(is_mark, cells))
        return True

    def _looked_up(self, cells: Sequence[str]) -> NDArray[np.float64]:
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        n_known = len(self.known)
        numbers = np.fromiter(map(self.known.__getitem__, cells), np.float64, len(cells))
        self.are_known = len(self.known) - n_known <= MOST_NEW * len(cells)
        return numbers

    def finished(self) -> NDArray[np.float32]:
        column = np.concatenate([np.zeros(0, np.float32), *self.parts])
        self.parts.clear()  # one column at a time is there twice
        return column


def _numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    if "_" not in "".join(cells):
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
    return np.fromiter(map(as_number_or_mark, cells), np.float64, len(cells))


class _TextNumbers(dict[str, int]):
    """The number of its text for each cell; `index` has the texts, without blanks around them."""

    def __init__(self) -> None:
        super().__init__()
        self.index: dict[str, int] = {}

    def __missing__(self, cell: str) -> int:
        number = self[cell] = self.index.setdefault(cell.strip(), len(self.index))
        return number


class _Texts:
    def __init__(self) -> None:
        self.parts: list[NDArray[np.int32]] = []
        self.numbers = _TextNumbers()
        self.is_full = False

    def add(self, cells: Sequence[str]) -> bool:
        if self.is_full:
            return True
        self.parts.append(np.fromiter(map(self.numbers.__getitem__, cells), np.int32, len(cells)))
        if len(self.numbers.index) > MOST_TEXTS:
            self.is_full = True
            self.parts.clear()
            self.numbers.clear()
        return True

    def finished(self) -> Categorical | UnusableColumn:
        if self.is_full:
            return unusable_texts(self.numbers.index)
        return categorical_of(np.concatenate([np.zeros(0, np.int32), *self.parts]), list(self.numbers.index))


class _Cells:
    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []
        self.known: dict[str, str] = {}

    def add(self, cells: Sequence[str]) -> bool:
        part = np.empty(len(cells), object)
        # Equal cells are one string in memory.
        part[:] = [self.known.setdefault(cell, cell) for cell in map(str.strip, cells)]
        self.parts.append(part)
        return True

    def finished(self) -> NDArray[Any]:
        return np.concatenate([np.empty(0, object), *self.parts])


class _Nothing:
    def add(self, cells: Sequence[str]) -> bool:  # noqa: ARG002 - as of the others
        return True

    def finished(self) -> UnusableColumn:
        return UnusableColumn("was not read")


def unusable_texts(texts: Collection[str]) -> UnusableColumn:
    """Return a column of more texts than are kept."""
    comma = comma_in(texts)
    if comma is not None:
        return UnusableColumn(f"holds {short(comma)}: {WRITE_POINTS}", is_at_fault=True)
    return UnusableColumn(too_many(texts, f"more than {MOST_TEXTS:,} different values"))


def text_of(value: Any) -> str:
    """Return a value as a text file has it: whole numbers without a point, and booleans as "true" and "false"."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value).strip()


def categorical_of(
    codes: NDArray[np.int32],
    texts: Sequence[str],
    declared: Sequence[str] | None = None,
    *,
    missing: frozenset[str] = MISSING,
) -> Categorical:
    """Return a column whose categories are the texts that occur, without those that stand for missing.

    The categories are sorted as text, or in the order in which they are declared.
    """
    occurs = np.zeros(len(texts), np.bool_)
    occurs[codes[codes >= 0]] = True
    present = [k for k, text in enumerate(texts) if occurs[k] and text.strip().lower() not in missing]
    different = {texts[k] for k in present}
    ordered = (
        sorted(different) if declared is None else [text for text in dict.fromkeys(declared) if text in different]
    )
    categories = tuple(ordered)
    place = {category: n for n, category in enumerate(categories)}
    new = np.full(len(texts) + 1, -1, np.int32)  # the last entry is for -1
    new[present] = [place[texts[k]] for k in present]
    return Categorical(new[codes], categories)
