"""Numbers with a decimal comma, as half of Europe writes them; spreadsheets then separate cells by semicolons."""

import re
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as short
from typing import NamedTuple

from billhook._deadline import check_time
from billhook.tables._cells import is_number

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
    """

    examples: Mapping[str, str]
    are_decimal: bool


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
    found = {str(names[k]): column for k, column in columns.items() if column.has_commas}
    examples = {name: column.example for name, column in found.items()}
    return CommasInFile(examples, any(column.is_decimal for column in found.values()))


class _CommaColumn:
    """What the cells of a column tell so far: none is kept, however many there are."""

    def __init__(self) -> None:
        self.example = ""
        self.is_decimal = self.has_points = self.has_both = False
        self.known: set[str] = set()

    @property
    def has_commas(self) -> bool:
        """Whether it is a column of numbers with commas."""
        # A point between thousands is told from a decimal one by a number with both.
        return bool(self.example) and (self.has_both or not self.has_points)

    def may_hold(self, cells: Sequence[str]) -> bool:
        """Return whether all cells are numbers with a comma, whole ones or missing."""
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        new = [cell for cell in dict.fromkeys(cells) if cell not in self.known]
        self.known.update(new)
        return all(self._fits(cell.strip()) for cell in new)

    def _fits(self, text: str) -> bool:
        if "," not in text:
            if "." not in text:
                return is_number(text)
            self.has_points = True
            return WITH_POINTS.fullmatch(text) is not None
        if WITH_COMMA.fullmatch(text) is None or not is_number(with_point(text)):
            return False
        self.example = self.example or text
        self.is_decimal |= THOUSANDS.fullmatch(text) is None
        self.has_both |= "." in text
        return True


def thousands_or_decimals(example: str) -> str:
    """Say that a number can be read in two ways: words that follow the name of its column."""
    return f"holds {short(example)}, thousands or decimals: {WRITE_POINTS}"
