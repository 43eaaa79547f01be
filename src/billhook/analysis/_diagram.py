"""The critical-difference diagram (Demsar 2006), for pairwise tests: bars join what does not differ."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from billhook.analysis._comparison import Comparison
from billhook.analysis._extras import new_figure
from billhook.analysis._style import marker_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches, but for the sizes of letters and lines, which are points.
WIDTH = 7.0
MARGIN = 0.12
AXIS_AT = 0.5
BAR_STEP = 0.13
ROW_STEP = 0.23
LETTERS = 9.0
POINTS = 72


def critical_difference_diagram(comparison: Comparison) -> "Figure":
    """Return a figure of the mean ranks on a line, the best on the left; bars join methods that do not differ."""
    from matplotlib.transforms import Affine2D

    ranks = [(str(name), float(mean)) for name, mean in comparison.mean_ranks.items()]
    left, right = ranks[: (len(ranks) + 1) // 2], ranks[(len(ranks) + 1) // 2 :][::-1]
    names = {name: f"{name}  {mean:.2f}" for name, mean in ranks}
    start, end = (2 * MARGIN + 0.3 + _widest([names[name] for name, _ in side]) for side in (left, right))
    width = max(WIDTH, start + end + 3.0)
    levels = _levels([(ranks_of(comparison, clique)) for clique in comparison.cliques])
    first_row = AXIS_AT + BAR_STEP * (max(levels, default=-1) + 1) + 0.28
    height = first_row + ROW_STEP * max(len(left), len(right)) + 0.28

    figure = new_figure(width, height, makes_room=False)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    n = len(ranks)
    # From ranks to inches: the first rank on the left, the last on the right.
    place = Affine2D().translate(-1, 0).scale((width - start - end) / (n - 1), 1).translate(start, 0)

    def x_of(rank: float) -> float:
        return float(place.transform((rank, 0.0))[0])

    _draw_axis(axes, [x_of(rank) for rank in range(1, n + 1)])
    for clique, level in zip(comparison.cliques, levels, strict=True):
        best, worst = ranks_of(comparison, clique)
        at = AXIS_AT + 0.16 + BAR_STEP * level
        axes.plot([x_of(best) - 0.05, x_of(worst) + 0.05], [at, at], color="0.25", linewidth=4, solid_capstyle="butt")
    for side, edge, inward, align in ((left, MARGIN, 1, "left"), (right, width - MARGIN, -1, "right")):
        for row, (name, mean) in enumerate(side):
            at = first_row + ROW_STEP * row
            dot = edge + inward * (_widest([names[name]]) + 0.14)
            axes.plot([x_of(mean), x_of(mean), dot], [AXIS_AT, at, at], color="0.45", linewidth=0.8, zorder=1)
            axes.plot([x_of(mean)], [AXIS_AT], ".", color="0", markersize=5, zorder=3)
            axes.plot([dot], [at], linestyle="", zorder=3, **marker_style(name, 6.5))
            axes.text(edge, at, names[name], ha=align, va="center", fontsize=LETTERS)
    axes.text(
        width / 2, height - 0.12, _about(comparison), ha="center", va="center", fontsize=LETTERS - 1.5, color="0.35"
    )
    return figure


def ranks_of(comparison: Comparison, methods: Sequence[str]) -> tuple[float, float]:
    """Return the best and the worst mean rank of some methods."""
    means = [float(comparison.mean_ranks[name]) for name in methods]
    return min(means), max(means)


def _draw_axis(axes: "Axes", places: Sequence[float]) -> None:
    axes.plot([places[0], places[-1]], [AXIS_AT, AXIS_AT], color="0", linewidth=1.2, zorder=2)
    for rank, x in enumerate(places, start=1):
        axes.plot([x, x], [AXIS_AT - 0.07, AXIS_AT], color="0", linewidth=1.0)
        axes.text(x, AXIS_AT - 0.11, str(rank), ha="center", va="bottom", fontsize=LETTERS)
    axes.text(
        sum(places) / len(places), 0.14, "mean rank (left is better)", ha="center", va="center", fontsize=LETTERS - 1
    )


def _levels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return how deep each bar lies: as high as the bars before it leave room, with a gap in between."""
    ends: list[float] = []
    levels = []
    for best, worst in spans:  # by rank, from the best
        level = next((k for k, end in enumerate(ends) if end < best - 0.25), len(ends))
        ends[level : level + 1] = [worst]
        levels.append(level)
    return levels


def _about(comparison: Comparison) -> str:
    tested = f"Wilcoxon's test with Holm's correction at {comparison.alpha:g}, {comparison.n_data} data sets"
    if math.isnan(comparison.friedman_p):
        return tested
    return f"Friedman's test: p = {comparison.friedman_p:.2g}.  Bars: no difference by {tested}"


def _widest(texts: Sequence[str]) -> float:
    """Return the width of the widest text, in inches."""
    from matplotlib.textpath import TextPath

    return (
        max((float(TextPath((0, 0), text, size=LETTERS).get_extents().width) for text in texts), default=0.0) / POINTS
    )
