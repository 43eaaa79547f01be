"""Tables as commands print them: aligned, without lines, plain where stdout is not a terminal."""

import re
import sys
from collections.abc import Collection, Iterable, Sequence

# Between columns: where there is enough width, and where there is not.
GAPS = (2, 1)
TRAILING_SPACES = re.compile(r" +((?:\x1b\[\d*m)*)$", re.MULTILINE)


def bar_text(share: float, width: int) -> str:
    """Return a bar that is as long as a share of `width` letters.

    Examples
    --------
    >>> bar_text(0.25, 8), bar_text(0.01, 8), bar_text(0.0, 8)
    ('##', '#', '')
    """
    length = min(max(round(share * width), int(share > 0.0)), width)
    return "#" * length


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()) -> None:
    """Print a table; columns with a heading in `numbers` are right-aligned, and those with empty cells only left out.

    On a terminal, columns of text are folded between words where the table is wider. Numbers and the first column
    never are: a terminal that is too narrow for these breaks lines itself.
    """
    cells = [list(row) for row in rows]
    used = [k for k in range(len(headings)) if not cells or any(row[k] for row in cells)]
    _print(
        [headings[k] for k in used],
        [[row[k] for k in used] for row in cells],
        right=[headings[k] in numbers for k in used],
        folded=[place > 0 and headings[k] not in numbers for place, k in enumerate(used)],
    )


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print lines of a name and what is to be said about it."""
    _print(None, [list(field) for field in fields], right=[False, False], folded=[False, True])


def _print(
    headings: list[str] | None, rows: list[list[str]], *, right: Sequence[bool], folded: Sequence[bool]
) -> None:
    from rich.console import Console
    from rich.table import Table

    is_terminal = sys.stdout.isatty()
    console = Console(
        file=sys.stdout, force_terminal=is_terminal, force_jupyter=False, highlight=False, markup=False, emoji=False
    )
    if not is_terminal:
        console.width = sys.maxsize
    columns = list(zip(*rows, strict=True)) if headings is None else list(zip(headings, *rows, strict=True))
    least = [_width(column, is_folded=fold) for column, fold in zip(columns, folded, strict=True)]
    gap = next((gap for gap in GAPS if sum(least) + gap * (len(least) - 1) <= console.width), GAPS[-1])
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=headings is not None)
    for number, (is_right, is_folded) in enumerate(zip(right, folded, strict=True)):
        table.add_column(
            "" if headings is None else headings[number],
            justify="right" if is_right else "left",
            no_wrap=not is_folded,
            min_width=least[number],
        )
    for row in rows:
        table.add_row(*row)
    console.width = max(console.width, sum(least) + gap * len(least))
    with console.capture() as captured:
        console.print(table)
    sys.stdout.write(TRAILING_SPACES.sub(r"\1", captured.get()))


def _width(cells: Iterable[str], *, is_folded: bool) -> int:
    """Return what a column takes at least: its widest word, or if it must not be folded its widest cell."""
    return max((len(text) for cell in cells for text in (cell.split() if is_folded else [cell])), default=0)
