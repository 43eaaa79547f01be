"""Tables as text: separated by commas, semicolons, tabs, bars or spaces."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.tables._cells import is_missing, is_number
from billhook.tables._collect import (
    FileBlocks,
    FileColumns,
    LabelColumn,
    ReadAs,
    ReadOptions,
    TextRows,
    UnusableColumn,
    blocks_of,
    collect,
    grouped,
)
from billhook.tables._decimal_commas import (
    NO_COMMAS,
    CommasInFile,
    commas_in,
    is_with_comma,
    with_point,
)
from billhook.tables._text import about_n_lines, has_comma, opened, sample_of, tell_how_far

BLANKS = " "
# A cell may well hold a comma or blanks, seldom the others.
DELIMITERS = ("\t", ";", "|", ",")
SAMPLE_ROWS = 100
# Of fewer lines the rows do not outvote the first.
FEW_LINES = 3


# What spreadsheets write above a table to say what separates its cells.
SAYS_DELIMITER = "sep="
ROW_NAMES = "rownames"


class Delimited(NamedTuple):
    """A table as text.

    `n_above` lines stand above its names or rows. `n_unnamed` columns at the end have no name and no values.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_names: bool
    notes: tuple[str, ...]
    n_above: int = 0
    n_unnamed: int = 0

    def read(self, asked: ReadOptions) -> FileColumns:
        """Return the columns."""
        return self._columns(partial(self._blocks, is_told=True), asked, self._commas(asked))

    @property
    def about_n_rows(self) -> int | None:
        """As many as the lines at the beginning let expect; None for a compressed file."""
        return about_n_lines(self.path)

    def read_blocks(self, asked: ReadOptions, n_rows: int) -> FileBlocks:
        """Return the columns of some rows at a time."""
        commas = self._commas(asked)
        groups = grouped(self._blocks(), n_rows)
        blocks = (self._columns(partial(iter, group), asked, commas, is_part=True) for group in groups)
        return FileBlocks(blocks, self._notes_on(commas, asked))

    def _commas(self, asked: ReadOptions) -> CommasInFile:
        """Return which columns hold numbers with commas, and what these are: only the whole file tells."""
        if self.delimiter == "," or not has_comma(self.path):
            return NO_COMMAS
        as_they_are = asked.categorical.union(asked.apart) - {asked.label}
        commas = commas_in(self._blocks(is_told=True), [None if name in as_they_are else name for name in self.names])
        why = "" if asked.label is None else commas.why_unclear(asked.label)
        if why:
            raise ValueError(f"the label column {asked.label!r} of {self.path} {why}")
        return commas

    def _columns(
        self,
        blocks: Callable[[], Iterator[TextRows]],
        asked: ReadOptions,
        commas: CommasInFile,
        *,
        is_part: bool = False,
    ) -> FileColumns:
        """Return the columns that are asked for, of these blocks."""
        wanted: list[ReadAs] = [asked.read_as(name) for name in self.names]
        for k, name in enumerate(self.names):
            if wanted[k] == "guess" and commas.why_unclear(name):
                wanted[k] = "skip"
            elif wanted[k] == "guess" and name in commas.examples:
                wanted[k] = "commas"
        read = collect(blocks, wanted, asked.rounding, is_part=is_part)
        columns = {name: column for name, column in zip(self.names, read, strict=True) if asked.wants(name)}
        apart = {name: columns.pop(name) for name in asked.apart}
        labels = None
        if asked.label is not None:
            cells = columns.pop(asked.label)
            labels = LabelColumn(_with_points(cells) if asked.label in commas.examples else cells, is_text=False)
        for name in columns:
            if why := commas.why_unclear(name):
                columns[name] = UnusableColumn(why, is_at_fault=True)
        return FileColumns(columns, labels, self._notes_on(commas, asked), apart)

    def _notes_on(self, commas: CommasInFile, asked: ReadOptions) -> tuple[str, ...]:
        if not commas.are_decimal:
            return ()
        names = [name for name in self.names if name in commas.examples and asked.wants(name)]
        if not names:
            return ()
        others = len(names) - 1
        more = f" and of {others} other{'s' if others > 1 else ''}" if others else ""
        return (f"Numbers of column {names[0]!r}{more} have decimal commas.",)

    def _blocks(self, *, is_told: bool = False) -> Iterator[TextRows]:
        with opened(self.path) as file:
            for _ in range(self.n_above):
                next(file)
            rows = _rows(file, self.delimiter, strict=True)
            if self.has_names:
                next(rows)
            n_cells = len(self.names) + self.n_unnamed
            for block in blocks_of(rows):
                if set(map(len, block)) != {n_cells}:
                    raise ValueError(_ragged(self))
                if self.n_unnamed:
                    if any(row[-1].strip() for row in block):
                        raise ValueError(_ragged(self))
                    block = [row[:-1] for row in block]
                if is_told:
                    tell_how_far(self.path, file)
                yield block


def delimited(path: Path) -> Delimited:
    """Return a reader for a text file: its delimiter and the names of its columns.

    The first line holds the names, unless all its cells are numbers, or some are and all others occur again below:
    then columns are called by their numbers, from 0. Numbers in a row, 0, 1, 2 and so on, are names all the same, as
    other programs write them, also beside an empty first cell. If there is a name too few, the first column names the
    rows, as R writes it, or, where every row ends with a delimiter, the last column is none.
    """
    sample = sample_of(path)
    delimiter, n_above = _said_delimiter(sample)
    if n_above:
        sample = sample.partition("\n")[2]
    delimiter = delimiter or _delimiter(sample, path)
    rows = [[cell.strip() for cell in row] for row in _some_rows(sample, delimiter)]
    if not rows:
        raise ValueError(f"{path} is empty: there are no rows below a line of names")
    first, below = rows[0], rows[1:]
    numbers = tuple(map(str, range(len(first))))
    if not _are_names(first, below, may_have_commas=delimiter != ","):
        note = f"The first line holds values, not column names: the columns are called 0 to {len(first) - 1}."
        return Delimited(path, delimiter, numbers, False, (note,) if len(first) > 1 else (), n_above)
    names = tuple(name or f"unnamed: {number}" for name, number in zip(first, numbers, strict=True))
    n_unnamed = 0
    if below and delimiter != BLANKS and all(len(row) == len(names) + 1 for row in below):
        if all(not row[-1] for row in below):
            n_unnamed = 1
        elif ROW_NAMES not in names:
            names = (ROW_NAMES, *names)
    return Delimited(path, delimiter, names, True, (), n_above, n_unnamed)


def _said_delimiter(sample: str) -> tuple[str | None, int]:
    """Return the delimiter that a line above the table says, and the number of such lines."""
    line = sample.partition("\n")[0].strip().strip('"')
    said = line[len(SAYS_DELIMITER) :]
    if line[: len(SAYS_DELIMITER)].lower() != SAYS_DELIMITER or said not in (*DELIMITERS, "\\t", ""):
        return None, 0
    return {"\\t": "\t", "": "\t"}.get(said, said), 1


def _are_names(first: list[str], below: list[list[str]], *, may_have_commas: bool) -> bool:
    """Return whether the cells of the first line are the names of the columns."""
    are_numbers = [is_number(cell) or (may_have_commas and is_with_comma(cell)) for cell in first]
    if all(are_numbers):
        return all(map(is_missing, first)) or _counts(first)
    if not any(is_it and not is_missing(cell) for cell, is_it in zip(first, are_numbers, strict=True)):
        return True
    again = [{row[k] for row in below if k < len(row)} for k in range(len(first))]
    occur = (cell in again[k] for k, cell in enumerate(first) if not are_numbers[k])
    return not all(occur)


def _with_points(cells: NDArray[Any]) -> NDArray[Any]:
    """Return labels that are numbers with decimal commas as others are written."""
    new = np.empty(len(cells), object)
    new[:] = list(map(with_point, cells.tolist()))
    return new


def _some_rows(sample: str, delimiter: str) -> list[Sequence[str]]:
    """Return the first rows of a sample, as far as its quotes are closed."""
    rows: list[Sequence[str]] = []
    try:
        for row in _rows(sample.splitlines(keepends=True), delimiter):
            rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _rows(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Iterator[Sequence[str]]:
    """Return the cells of each line that has any; where strict, a quote that is not closed is an error."""
    lines = _lines(lines, delimiter)
    return filter(None, csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict))


def _lines(lines: Iterable[str], delimiter: str) -> Iterable[str]:
    return (line.strip().replace("\t", " ") + "\n" for line in lines) if delimiter == BLANKS else lines


def _counts(cells: list[str]) -> bool:
    """Return whether cells are numbers in a row, beside an empty first one if there are names of rows below it."""
    if len(cells) < 3:
        return False
    counting = cells[1:] if not cells[0] else cells
    return counting in ([str(k + start) for k in range(len(counting))] for start in (0, 1))


def _delimiter(sample: str, path: Path) -> str:
    """Return the delimiter by which most lines have as many cells as the first."""
    lines = sample.splitlines(keepends=True)
    agreeing: dict[str, float] = {}
    below: dict[str, tuple[float, int]] = {}
    for delimiter in (*DELIMITERS, BLANKS):
        try:
            widths = [len(row) for row in _rows(lines, delimiter)][:SAMPLE_ROWS]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            agreeing[delimiter] = sum(width == widths[0] for width in widths) / len(widths)
        if len(widths) > FEW_LINES:
            width, times = Counter(widths).most_common(1)[0]
            below[delimiter] = (times / len(widths), width)
    if any(agreeing.get(delimiter, 0.0) >= 0.5 for delimiter in DELIMITERS):
        agreeing.pop(BLANKS, None)
    if max(agreeing.values(), default=0.0) < 0.5:
        by_rows = [name for name in DELIMITERS if name in below and below[name][0] >= 0.5 and below[name][1] > 1]
        if by_rows:
            best = max(by_rows, key=lambda name: below[name][0])
            _check_first(lines, best, below[best][1], path)
            return best
    return max(agreeing, key=lambda delimiter: agreeing[delimiter], default=",")


def _check_first(lines: list[str], delimiter: str, width: int, path: Path) -> None:
    """Raise ValueError for a first line that is neither one of names nor like those below it."""
    first = next(_rows(lines, delimiter))
    if len(first) != width - 1:
        what = f"{len(first)} cell{'s' if len(first) > 1 else ''}, {short(first[0].strip())}"
        raise ValueError(
            f"the first line of {path} has {what}, and most below it have {width}: remove what stands above the line "
            "of column names"
        )


def _ragged(table: Delimited) -> str:
    """Say which line has too few or too many cells."""
    n_columns = len(table.names)
    n_expected = n_columns + table.n_unnamed
    with opened(table.path) as file:
        for _ in range(table.n_above):
            next(file)
        reader = csv.reader(_lines(file, table.delimiter), delimiter=table.delimiter, skipinitialspace=True)
        rows = (row for row in reader if row)
        if table.has_names:
            next(rows)
        row = next(row for row in rows if len(row) != n_expected or (table.n_unnamed and row[-1].strip()))
        number = reader.line_num + table.n_above
    remedy = "put cells that hold the delimiter in quotes"
    if len(row) < n_columns:
        remedy = "complete the line or remove it"
    return f"line {number} of {table.path} has {len(row)} cells; there are {n_columns} columns: {remedy}"
