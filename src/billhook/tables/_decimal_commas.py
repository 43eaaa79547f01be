"""Numbers with a decimal comma, as half of Europe writes them; spreadsheets then separate cells by semicolons."""

import re
from collections.abc import Iterable, Sequence
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.tables._cells import as_number, is_missing, is_number
from billhook.tables._rounding import as_float32

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


class CommaNumbers:
    """A column of numbers with decimal commas.

    Attributes
    ----------
    is_sure : bool
        Whether a number in it cannot be one with commas between thousands.
    example : str
        A number with a comma.
    """

    def __init__(self, rounding: str) -> None:
        self.parts: list[NDArray[np.float32]] = []
        self.rounding = rounding
        self.is_sure = self.has_both = False
        self.example = self.pointed = ""
        self.known: dict[str, float] = {}

    def add(self, cells: Sequence[str]) -> bool:
        """Add cells; return whether all are numbers with a comma, whole ones or missing."""
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        try:
            numbers = [self._number(cell) for cell in cells]
        except ValueError:
            return False
        self.parts.append(as_float32(np.array(numbers, np.float64), self.rounding))
        # A point between thousands is told from a decimal one by what stands beside it.
        return not self.pointed or self.has_both

    def finished(self) -> NDArray[np.float32]:
        """Return the column."""
        column = np.concatenate([np.zeros(0, np.float32), *self.parts])
        self.parts.clear()
        return column

    def _number(self, cell: str) -> float:
        number = self.known.get(cell)
        if number is None:
            number = self.known[cell] = self._read(cell.strip())
        return number

    def _read(self, text: str) -> float:
        if "," not in text:
            if "." in text:
                if WITH_POINTS.fullmatch(text) is None:
                    raise ValueError(f"a number with a point among those with commas: {text!r}")
                self.pointed = text
                return float(text.replace(".", ""))
            return as_number(text)
        if WITH_COMMA.fullmatch(text) is None:
            raise ValueError(f"not a number with a decimal comma: {text!r}")
        number = float(text.replace(".", "").replace(",", "."))
        self.example = self.example or text
        self.is_sure |= THOUSANDS.fullmatch(text) is None
        self.has_both |= "." in text
        return number


def are_sure(texts: Iterable[str]) -> bool:
    """Return whether one of some numbers with commas cannot be one with commas between thousands."""
    return any("," in text and THOUSANDS.fullmatch(text) is None for text in texts)


def with_points(cells: NDArray[Any]) -> dict[str, str]:
    """Return how labels that are numbers with decimal commas read with points; nothing if not all are numbers."""
    different = [cell for cell in dict.fromkeys(cells.tolist()) if not is_missing(cell)]
    if comma_in(different) is None:
        return {}
    column = CommaNumbers("nearest")
    if not column.add(different):
        return {}
    return {text: text.replace(".", "").replace(",", ".") for text in different if "," in text or column.pointed}


def thousands_or_decimals(example: str) -> str:
    """Say that a number can be read in two ways: words that follow the name of its column."""
    return f"holds {short(example)}, thousands or decimals: {WRITE_POINTS}"
