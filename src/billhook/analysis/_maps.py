"""Tables as figures: the shade says at a glance what the number in the cell says exactly."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from billhook.analysis._extras import new_figure
from billhook.analysis._scores import rounded, wins

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LETTERS = 7.5
CELL_WIDTH = 0.54
CELL_HEIGHT = 0.22
LETTER_WIDTH = 0.075
# Only the pale part of the colours: black letters can be read on all of it, on paper too.
DARKEST = 0.5


def score_map(scores: "DataFrame", *, title: str = "", digits: int = 4) -> "Figure":
    """Return a figure of the scores of methods (columns) on data sets (rows): the darker a cell, the better its rank.

    The best of a row is bold, and a score that is missing an empty cell.
    """
    table = rounded(scores)
    ranks = table.rank(axis="columns", ascending=False).to_numpy()
    shade = DARKEST * (1 - (ranks - 1) / max(table.shape[1] - 1, 1))
    cells = [["" if np.isnan(value) else f"{value:.{digits}f}" for value in row] for row in table.to_numpy()]
    is_best = table.eq(table.max(axis="columns"), axis="index").to_numpy()
    return _map(cells, shade, "Blues", is_best, table, title)


def win_map(scores: "DataFrame", *, title: str = "wins/ties/losses") -> "Figure":
    """Return a figure of the wins, ties and losses of the methods of rows against those of columns.

    The more orange a cell, the more losses, the more purple, the more wins.
    """
    table = wins(scores)
    cells = table.to_numpy().tolist()
    shade = np.array([[0.5 + 0.5 * DARKEST * _lead(cell) for cell in row] for row in cells])
    return _map(cells, shade, "PuOr", np.zeros(table.shape, bool), table, title)


def _lead(cell: str) -> float:
    """Return how far a method is ahead of another, from -1 to 1; nothing of itself."""
    if not cell:
        return np.nan
    won, tied, lost = map(int, cell.split("/"))
    return (won - lost) / max(won + tied + lost, 1)


def _map(
    cells: Sequence[Sequence[str]],
    shade: NDArray[np.float64],
    colours: str,
    is_bold: NDArray[np.bool_],
    table: "DataFrame",
    title: str,
) -> "Figure":
    rows, columns = ([str(name) for name in names] for names in (table.index, table.columns))
    is_tilted = max(map(len, columns)) > 6
    above = 0.6 * LETTER_WIDTH * max(map(len, columns)) if is_tilted else 0.2
    width = max(3.0, 0.4 + LETTER_WIDTH * max(map(len, rows)) + CELL_WIDTH * len(columns))
    figure = new_figure(width, 0.5 + CELL_HEIGHT * len(rows) + above)
    axes = figure.add_subplot()
    axes.imshow(np.ma.masked_invalid(shade), cmap=colours, vmin=0.0, vmax=1.0, aspect="auto")
    for i, row in enumerate(cells):
        for j, text in enumerate(row):
            weight = "bold" if is_bold[i, j] else "normal"
            axes.text(j, i, text, ha="center", va="center", fontsize=LETTERS - 0.5, fontweight=weight)
    turned: dict[str, Any] = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if is_tilted else {}
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_xticks(range(len(columns)), columns, fontsize=LETTERS, **turned)
    axes.set_yticks(range(len(rows)), rows, fontsize=LETTERS)
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=LETTERS + 1.5)
    return figure
