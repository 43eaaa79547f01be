"""Tables as the template `html/tables.html` takes them."""

from collections.abc import Sequence
from typing import NamedTuple


class Head(NamedTuple):
    """The name of a column or of a row, and whether it stands over numbers, or is one."""

    text: str
    is_number: bool = False


class Cell(NamedTuple):
    """A cell: its text, its class, how strong its shade is from 0 to 1, and a small text behind the other."""

    text: str
    kind: str = ""
    depth: float | None = None
    small: str = ""


class TableRow(NamedTuple):
    """A row of a table: its names, its cells and its class."""

    heads: Sequence[Head]
    cells: Sequence[Cell]
    kind: str = ""


class PageTable(NamedTuple):
    """A table. It is below the heading of the same name."""

    name: str
    heads: Sequence[Head]
    rows: Sequence[TableRow]


def number_heads(names: Sequence[str]) -> list[Head]:
    """Return heads of columns of numbers."""
    return [Head(name, is_number=True) for name in names]
