"""ARFF: the file format of Weka and OpenML."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
from billhook.tables._columns import Categorical
from billhook.tables._text import about_n_lines, opened, sample_of, tell_how_far

NUMBERS = ("numeric", "real", "integer")
# A quoted text, in which a backslash takes away a quote's meaning; or anything up to a comma.
CELL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,]*))\s*(,|$)""")
# What stands before a comment: quoted texts, and all else but quotes and the sign of percent.
ROW = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"%])*""")
NAME = re.compile(r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s*(.*)""", re.IGNORECASE)


class Attribute(NamedTuple):
    """A column as the file declares it: its name, its type and, if it is categorical, its categories."""

    name: str
    type: str
    categories: frozenset[str] = frozenset()


class Arff(NamedTuple):
    """A table in an ARFF file."""

    path: Path
    attributes: tuple[Attribute, ...]
    n_lines: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing is guessed."""
        return ()

    def read(self, asked: ReadOptions) -> FileColumns:
        """Return the columns."""
        return self._columns(partial(self._blocks, is_told=True), asked)

    @property
    def about_n_rows(self) -> int | None:
        """As many as the lines at the beginning let expect; None for a compressed file."""
        return about_n_lines(self.path)

    def read_blocks(self, asked: ReadOptions, n_rows: int) -> FileBlocks:
        """Return the columns of some rows at a time."""
        groups = grouped(self._blocks(), n_rows)
        return FileBlocks(self._columns(partial(iter, group), asked, is_part=True) for group in groups)

    def _columns(
        self, blocks: Callable[[], Iterator[TextRows]], asked: ReadOptions, *, is_part: bool = False
    ) -> FileColumns:
        """Return the columns that are asked for, of these blocks."""
        columns = {}
        wanted = [self._wanted(attribute, asked) for attribute in self.attributes]
        read = collect(blocks, wanted, asked.rounding, is_part=is_part)
        for attribute, column in zip(self.attributes, read, strict=True):
            if not asked.wants(attribute.name):
                continue
            if not asked.wants_cells(attribute.name):
                column = UnusableColumn("holds dates, which are not read") if attribute.type == "date" else column
                self._check(attribute, column, is_asked=attribute.name in asked.categorical)
            columns[attribute.name] = column
        apart = {name: columns.pop(name) for name in asked.apart}
        if asked.label is None:
            return FileColumns(columns, None, apart=apart)
        of_label = next(attribute for attribute in self.attributes if attribute.name == asked.label)
        labels = LabelColumn(columns.pop(asked.label), of_label.type not in NUMBERS)
        if of_label.type == "categorical":
            self._check_declared(of_label, [cell for cell in set(labels.cells.tolist()) if not is_missing(cell)])
        return FileColumns(columns, labels, apart=apart)

    def _wanted(self, attribute: Attribute, asked: ReadOptions) -> ReadAs:
        if attribute.type in NUMBERS:
            return asked.read_as(attribute.name)
        return "text" if asked.read_as(attribute.name) == "guess" else asked.read_as(attribute.name)

    def _check(self, attribute: Attribute, column: object, *, is_asked: bool) -> None:
        """Raise ValueError for cells that are not what the file declares."""
        if not isinstance(column, Categorical):
            return
        if attribute.type in NUMBERS and not is_asked:
            raise ValueError(
                f"{self.path} declares {attribute.name!r} as {attribute.type}, but it holds {_odd(column)!r}"
            )
        if attribute.type == "categorical":
            self._check_declared(attribute, column.categories)

    def _check_declared(self, attribute: Attribute, categories: Iterable[str]) -> None:
        unknown = sorted(set(categories) - attribute.categories)
        if unknown:
            raise ValueError(f"{self.path} does not declare {unknown[0]!r} as a value of {attribute.name!r}")

    def _blocks(self, *, is_told: bool = False) -> Iterator[TextRows]:
        with opened(self.path) as file:
            for block in blocks_of(self._rows(file)):
                if is_told:
                    tell_how_far(self.path, file)
                yield block

    def _rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        for number, line in enumerate(lines, start=1):
            text = line.strip()
            if number <= self.n_lines or not text or text[0] == "%":
                continue
            if text[0] == "{":
                raise ValueError(
                    f"line {number} of {self.path} is sparse, {text[:30]!r}; write the table out, for example with "
                    "Weka's filter SparseToNonSparse"
                )
            cells = self._cells(text)
            if len(cells) != len(self.attributes):
                raise ValueError(
                    f"line {number} of {self.path} has {len(cells)} cells; there are {len(self.attributes)} columns"
                )
            yield cells

    def _cells(self, text: str) -> list[str]:
        """Return the cells of a row; Weka takes blanks for delimiters too, and what follows % for a comment."""
        if "%" in text:
            text = _without_comment(text)
        is_quoted = "'" in text or '"' in text
        if "," not in text and not is_quoted:
            return text.split()
        cells = _cells(text) if is_quoted else text.split(",")
        return cells[:-1] if len(cells) == len(self.attributes) + 1 and not cells[-1].strip() else cells


def looks_like_arff(path: Path) -> bool:
    """Return whether a text file begins as ARFF does, whatever it is called."""
    lines = (line.strip().lower() for line in sample_of(path).splitlines())
    return next((line for line in lines if line and line[0] != "%"), "").startswith("@relation")


def arff(path: Path) -> Arff:
    """Return the table in an ARFF file: the columns that it declares and where its rows begin."""
    sample_of(path)
    attributes: list[Attribute] = []
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.strip()
            word = text.split(None, 1)[0].lower() if text else ""
            if word == "@attribute":
                attributes.append(_attribute(text, f"line {number} of {path}"))
            elif word == "@data":
                return Arff(path, tuple(attributes), number)
            elif word and word != "@relation" and word[0] != "%":
                raise ValueError(f"line {number} of {path} is not ARFF: {text[:40]!r}")
    raise ValueError(f"{path} has no line @data, as an ARFF file must")


def _attribute(text: str, where: str) -> Attribute:
    match = NAME.fullmatch(text)
    if match is None:
        raise ValueError(f"{where} declares no attribute: {text[:40]!r}")
    name, declared = _plain(match), match[4].strip()
    if declared.startswith("{") and declared.endswith("}"):
        return Attribute(name, "categorical", frozenset(_cells(declared[1:-1])))
    type_ = declared.split(None, 1)[0].lower() if declared else ""
    if type_ not in (*NUMBERS, "string", "date"):
        raise ValueError(
            f"{where} declares {name!r} as {declared[:30]!r}; known are {', '.join(NUMBERS)}, string, date and "
            "categories in braces"
        )
    return Attribute(name, type_)


def _cells(text: str) -> list[str]:
    """Return the cells of a line with quotes in it."""
    cells, at = [], 0
    while True:
        match = CELL.match(text, at)
        if match is None:  # a quote within a cell, or one that is not closed
            end = text.find(",", at)
            cells.append(text[at : end if end >= 0 else len(text)].strip())
            at = end + 1
            if end < 0:
                return cells
            continue
        cells.append(_plain(match).strip())
        at = match.end()
        if not match[4]:
            return cells


def _without_comment(text: str) -> str:
    """Return a row up to a % that is not within quotes."""
    match = ROW.match(text)
    return text[: match.end()].rstrip() if match is not None and text[match.end() : match.end() + 1] == "%" else text


def _plain(match: re.Match[str]) -> str:
    """Return what is quoted, or stands there without quotes."""
    quoted = match[1] if match[1] is not None else match[2]
    return str(match[3]) if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _odd(column: Categorical) -> str:
    return next(category for category in column.categories if not is_number(category))
