"""What a cell of a file holds: a number, a missing value or text."""

import re
from collections.abc import Collection
from reprlib import repr as short
from typing import Any

import numpy as np

# Lower case: what R, pandas and spreadsheets write for a value that is not there.
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "?", "<na>", "-nan", "#n/a", "#na", "#n/a n/a"}
    | {"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"}
)
# Missing too, but only in a column that else holds numbers.
MARKS = frozenset({"-", "--", "---", ".", "..", "...", "*", "\u2013", "\u2014"})
# Up to this share of different texts that are no numbers, the others are what is meant.
STRAY = 0.1
# Dates and times of day, as years come first or last.
DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ]+\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(?::\d{2}.*)?"
)
# A number that is written for people: with a unit of money, percent, blanks between thousands, another minus.
FOR_PEOPLE = re.compile(r"[^\w,.;:/]{0,2}\s?\d[\d\s.,'\u2019]*(?:[eEdD][+-]?\d+)?\s?[^\w,.;:/]{0,2}")


def is_missing(cell: Any) -> bool:
    """Return whether a cell stands for a missing value."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING) or cell != cell


def as_number(cell: str | None) -> float:
    """Return the number that a cell holds, NaN if it is missing; ValueError if it holds something else."""
    if cell is None or is_missing(cell):
        return np.nan
    if "_" in cell:  # which Python would skip
        raise ValueError(f"not a number: {cell!r}")
    return float(cell)


def as_number_or_mark(cell: str) -> float:
    """Return the number that a cell holds, NaN if it is missing or a mark such as "-"."""
    try:
        return as_number(cell)
    except ValueError:
        if is_mark(cell):
            return np.nan
        raise


def is_mark(cell: str) -> bool:
    """Return whether a cell is a mark that stands for a missing number."""
    return cell.strip() in MARKS


def is_number(cell: str) -> bool:
    """Return whether a cell holds a number or a missing value."""
    try:
        as_number(cell)
    except ValueError:
        return False
    return True


def are_dates(texts: Collection[str]) -> bool:
    """Return whether all texts are dates or times of day."""
    return len(texts) > 0 and all(map(DATE.fullmatch, texts))


def stray_in(texts: Collection[str]) -> str | None:
    """Return the first of few texts among many different numbers."""
    odd = [text for text in texts if not is_number(text)]
    return odd[0] if odd and len(odd) <= STRAY * len(texts) else None


def too_many(texts: Collection[str], count: str) -> str:
    """Return why a column of so many different texts is not used: words that follow its name."""
    odd = [text for text in texts if not is_number(text)]
    if not odd:
        return f"is text, {count}, though all are numbers: make it a column of numbers"
    if len(odd) <= STRAY * len(texts):
        return f"holds text, {short(odd[0])}, among numbers: correct it, or mark missing values with NA"
    if sum(FOR_PEOPLE.fullmatch(text) is not None for text in odd) >= (1.0 - STRAY) * len(odd):
        return f"holds {short(odd[0])}, which is not read as a number: write digits and a decimal point only"
    return f"is text with {count}: an identifier or free text"
