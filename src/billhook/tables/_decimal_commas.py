"""Numbers with a decimal comma, as half of Europe writes them; spreadsheets then separate cells by semicolons."""

import re
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as short
from types import MappingProxyType
from typing import NamedTuple

from billhook._deadline import check_time
from billhook.tables._cells import is_mark, is_number

# Points may stand between thousands, before the comma only.
WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d*(?:[eE][+-]?\d+)?")
# What could be thousands as well as a number with three decimals.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
WITH_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
WRITE_POINTS = "write numbers with a decimal point, and without commas between thousands"
# So many cells are remembered by what stands in the file.
MOST_KNOWN = 2**16


def is_with_comma(cell: str) -> bool:
    """Return whether a cell is a number with a comma, of decimals or of thousands."""
    text = cell.strip()
    if WITH_COMMA.fullmatch(text) is not None:
        return any(letter.isdigit() for letter in text.partition("e")[0])
    return THOUSANDS.fullmatch(text) is not None


def comma_in(texts: Iterable[str]) -> str | None:
    """Return the first number with a comma if all texts that are no numbers are such."""
    odd = [text for text in texts if not is_number(text)]
    return odd[0] if odd and all(map(is_with_comma, odd)) else None


def with_point(cell: str) -> str:
    """Return a number with a decimal comma as others are written; points in it stand between thousands."""
    return cell.replace(".", "").replace(",", ".")


class CommasInFile(NamedTuple):
    """What the whole of a file tells of numbers with commas.

    Attributes
    ----------
    examples : dict
        For each column of such numbers, by its name, the first.
    are_decimal : bool
        Whether one of them cannot be a number with commas between thousands.
    unclear : dict
        For each column, beside those, of numbers whose points may stand between thousands, the first such number.
    """

    examples: Mapping[str, str]
    are_decimal: bool
    unclear: Mapping[str, str] = MappingProxyType({})

    def why_unclear(self, name: str) -> str:
        """Return why a column cannot be read, in words that follow its name; nothing if it can."""
        if not self.are_decimal:
            return thousands_or_decimals(self.examples[name]) if name in self.examples else ""
        if name not in self.unclear:
            return ""
        return (
            f"holds {short(self.unclear[name])}, thousands or decimals, as numbers of other columns have decimal "
            "commas: write thousands without points, and decimals in one way"
        )


NO_COMMAS = CommasInFile({}, are_decimal=False)


def commas_in(blocks: Iterable[Sequence[Sequence[str]]], names: Sequence[str | None]) -> CommasInFile:
    """Return which columns of a file hold numbers with commas.

    Parameters
    ----------
    blocks : iterable
        All rows of the file, some at a time.
    names : sequence of str or None
        What each column is called; None for those that do not hold numbers, whatever they look like.
    """
    columns = {k: _CommaColumn() for k, name in enumerate(names) if name is not None}
    for rows in blocks:
        check_time()
        for k, cells in enumerate(zip(*rows, strict=True)):
            if k in columns and not columns[k].may_hold(cells):
                del columns[k]
        if not columns:
            break
    found = {str(names[k]): column for k, column in columns.items()}
    are_decimal = any(column.has_commas and column.is_decimal for column in found.values())
    examples = {name: column.example for name, column in found.items() if column.has_commas}
    if not are_decimal:
        return CommasInFile(examples, are_decimal)
    with_points = {name: column for name, column in found.items() if column.point and not column.example}
    examples |= {name: column.point for name, column in with_points.items() if column.has_thousands}
    unclear = {name: column.point for name, column in with_points.items() if not column.has_thousands}
    return CommasInFile(examples, are_decimal, unclear)


class _CommaColumn:
    """What the cells of a column tell so far: none is kept, however many there are.

    `example` is the first number with a comma, `point` the first with points only. `has_thousands` says that one
    has points that stand between thousands for sure.
    """

    def __init__(self) -> None:
        self.example = self.point = ""
        self.is_decimal = self.has_thousands = False
        self.known: set[str] = set()

    @property
    def has_commas(self) -> bool:
        """Whether it is a column of numbers with commas."""
        # A point between thousands is told from a decimal one by a number with both, or with two points.
        return bool(self.example) and (self.has_thousands or not self.point)

    def may_hold(self, cells: Sequence[str]) -> bool:
        """Return whether all cells are numbers with a comma, whole ones or missing."""
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        new = [cell for cell in dict.fromkeys(cells) if cell not in self.known]
        self.known.update(new)
        return all(self._fits(cell.strip()) for cell in new)

    def _fits(self, text: str) -> bool:
        if "," not in text:
            if "." not in text or is_mark(text):
                return is_number(text) or is_mark(text)
            self.point = self.point or text
            self.has_thousands |= text.count(".") > 1
            return WITH_POINTS.fullmatch(text) is not None
        if WITH_COMMA.fullmatch(text) is None or not is_number(with_point(text)):
            return False
        self.example = self.example or text
        self.is_decimal |= THOUSANDS.fullmatch(text) is None
        self.has_thousands |= "." in text
        return True


def thousands_or_decimals(example: str) -> str:
    """Say that a number can be read in two ways: words that follow the name of its column."""
    return f"holds {short(example)}, thousands or decimals: {WRITE_POINTS}"
