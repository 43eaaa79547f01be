"""Tables as text: separated by commas, semicolons, tabs, bars or spaces."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from billhook.tables._collect import (
    BlockOptions,
    FileColumns,
    LabelColumn,
    ReadAs,
    TextRows,
    blocks_of,
    collect,
    grouped,
    is_missing,
    is_number,
)
from billhook.tables._text import about_n_lines, opened, sample_of

BLANKS = " "
# A cell may well hold a comma or blanks, seldom the others.
DELIMITERS = ("\t", ";", "|", ",")
SAMPLE_ROWS = 100


class Delimited(NamedTuple):
    """A table as text."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_names: bool
    notes: tuple[str, ...]

    def read(self, label: str | None, categorical: frozenset[str], rounding: str) -> FileColumns:
        """Return the columns."""
        return self._columns(self._blocks, BlockOptions(None, label, categorical, rounding, 0))

    @property
    def about_n_rows(self) -> int | None:
        """As many as the lines at the beginning let expect; None for a compressed file."""
        return about_n_lines(self.path)

    def read_blocks(self, block: BlockOptions) -> Iterator[FileColumns]:
        """Return the columns of some rows at a time."""
        for group in grouped(self._blocks(), block.n_rows):
            yield self._columns(partial(iter, group), block)

    def _columns(self, blocks: Callable[[], Iterator[TextRows]], asked: BlockOptions) -> FileColumns:
        """Return the columns that are asked for, of these blocks."""
        wanted: list[ReadAs] = [
            "label"
            if name == asked.label
            else "skip"
            if not asked.wants(name)
            else "text"
            if name in asked.categorical
            else "guess"
            for name in self.names
        ]
        columns = {
            name: column
            for name, column in zip(self.names, collect(blocks, wanted, asked.rounding), strict=True)
            if asked.wants(name)
        }
        labels = None if asked.label is None else LabelColumn(columns.pop(asked.label), is_text=False)
        return FileColumns(columns, labels)

    def _blocks(self) -> Iterator[TextRows]:
        with opened(self.path) as file:
            rows = _rows(file, self.delimiter, strict=True)
            if self.has_names:
                next(rows)
            for block in blocks_of(rows):
                if set(map(len, block)) != {len(self.names)}:
                    raise ValueError(_ragged(self))
                yield block


def delimited(path: Path) -> Delimited:
    """Return a reader for a text file: its delimiter and the names of its columns.

    The first line holds the names, unless all its cells are numbers: then columns are called by their numbers, from
    0. Numbers in a row, 0, 1, 2 and so on, are names all the same, as other programs write them.
    """
    sample = sample_of(path)
    delimiter = _delimiter(sample)
    first = [cell.strip() for cell in next(_rows(sample.splitlines(keepends=True), delimiter))]
    has_names = not all(map(is_number, first)) or all(map(is_missing, first)) or _counts(first)
    numbers = tuple(map(str, range(len(first))))
    if not has_names:
        note = f"The first line holds numbers, not column names: the columns are called 0 to {len(first) - 1}."
        return Delimited(path, delimiter, numbers, False, (note,) if len(first) > 1 else ())
    names = tuple(name or f"unnamed: {number}" for name, number in zip(first, numbers, strict=True))
    return Delimited(path, delimiter, names, True, ())


def _rows(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Iterator[Sequence[str]]:
    """Return the cells of each line that has any; where strict, a quote that is not closed is an error."""
    lines = _lines(lines, delimiter)
    return filter(None, csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict))


def _lines(lines: Iterable[str], delimiter: str) -> Iterable[str]:
    return (line.strip().replace("\t", " ") + "\n" for line in lines) if delimiter == BLANKS else lines


def _counts(cells: list[str]) -> bool:
    return len(cells) > 2 and cells in ([str(k + start) for k in range(len(cells))] for start in (0, 1))


def _delimiter(sample: str) -> str:
    """Return the delimiter by which most lines have as many cells as the first."""
    lines = sample.splitlines(keepends=True)
    agreeing: dict[str, float] = {}
    for delimiter in (*DELIMITERS, BLANKS):
        try:
            widths = [len(row) for row in _rows(lines, delimiter)][:SAMPLE_ROWS]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            agreeing[delimiter] = sum(width == widths[0] for width in widths) / len(widths)
    if any(agreeing.get(delimiter, 0.0) >= 0.5 for delimiter in DELIMITERS):
        agreeing.pop(BLANKS, None)
    return max(agreeing, key=lambda delimiter: agreeing[delimiter], default=",")


def _ragged(table: Delimited) -> str:
    """Say which line has too few or too many cells."""
    n_columns = len(table.names)
    with opened(table.path) as file:
        reader = csv.reader(_lines(file, table.delimiter), delimiter=table.delimiter, skipinitialspace=True)
        number, n_cells = next((reader.line_num, len(row)) for row in reader if row and len(row) != n_columns)
    return (
        f"line {number} of {table.path} has {n_cells} cells; there are {n_columns} columns: put cells that hold the "
        "delimiter in quotes"
    )
