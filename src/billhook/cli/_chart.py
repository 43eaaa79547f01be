"""A small chart of letters."""

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 56, 11
MORE = "*"


class Mark(NamedTuple):
    """A letter, and where it stands: the numbers of the axes."""

    letter: str
    x: float
    y: float


def chart_text(marks: Sequence[Mark], *, x_text: str, y_text: str, as_share: bool) -> str:
    """Return a chart whose axis across is logarithmic, in bytes; where marks of several letters meet stands a star.

    Examples
    --------
    >>> print(chart_text([Mark("A", 1024, 0.5), Mark("B", 4096, 1.0)], x_text="bytes", y_text="accuracy",
    ...                  as_share=True).splitlines()[0])
    accuracy
    """
    low, high = min(mark.y for mark in marks), max(mark.y for mark in marks)
    left, right = (math.log2(end) for end in (min(mark.x for mark in marks), max(mark.x for mark in marks)))
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark in marks:
        column = _place(math.log2(mark.x), left, right, WIDTH)
        row = HEIGHT - 1 - _place(mark.y, low, high, HEIGHT)
        there = cells[row][column]
        cells[row][column] = mark.letter if there in (" ", mark.letter) else MORE
    names = [_number(low + (high - low) * (HEIGHT - 1 - row) / (HEIGHT - 1), as_share) for row in range(HEIGHT)]
    labelled = [name if row % 5 == 0 else "" for row, name in enumerate(names)]
    width = max(map(len, labelled))
    lines = [y_text]
    lines += [f"{name:>{width}} |{''.join(row).rstrip()}" for name, row in zip(labelled, cells, strict=True)]
    lines.append(" " * width + " +" + "-" * WIDTH)
    ends = [_size(2.0**left), _size(2.0 ** ((left + right) / 2)), _size(2.0**right)]
    gap = WIDTH - sum(map(len, ends))
    across = ends[0] + " " * (gap // 2) + ends[1] + " " * (gap - gap // 2) + ends[2]
    lines.append(" " * (width + 2) + across + f"  {x_text}")
    return "\n".join(lines)


def _place(number: float, low: float, high: float, n_places: int) -> int:
    return n_places - 1 if high <= low else round((number - low) / (high - low) * (n_places - 1))


def _number(value: float, as_share: bool) -> str:
    return f"{value:.1%}" if as_share else f"{value:.3g}"


def _size(nbytes: float) -> str:
    return f"{nbytes / 1024:,.0f} KB" if nbytes >= 10_240 else f"{nbytes:,.0f} B"
