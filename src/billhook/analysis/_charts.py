"""Figures of accuracy: over memory, and by the shape of the forest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._checks import resolve_name
from billhook.analysis._configurations import of_data
from billhook.analysis._extras import new_figure
from billhook.analysis._fronts import areas, pareto_fronts
from billhook.analysis._schema import BOOSTING, KB
from billhook.analysis._shape import by_shape
from billhook.analysis._style import marker_style, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

LETTERS = 8.0
MOST_TICKS = 8
MOST_LABELS = 6
# Of the methods that are drawn, a row of the legend each.
LEGEND_ROW = 0.17


def accuracy_over_memory(configurations: "DataFrame", data: str) -> "Figure":
    """Return a figure of accuracy over size on one data set: dots for configurations, a line for each method's front.

    The size is on a logarithmic axis. A front goes on flat to the largest model that is not boosting's, as it does
    for the area under it; methods are listed by that area, the best first.
    """
    rows = of_data(configurations, data)
    fronts = pareto_fronts(rows)
    order = areas(rows).iloc[0].sort_values(ascending=False, kind="stable").index
    forests = rows.loc[rows["base"] != BOOSTING, "nbytes"]
    largest = (forests if len(forests) else rows["nbytes"]).max() / KB
    figure = new_figure(7.0, max(4.0, 0.6 + LEGEND_ROW * len(order)))
    axes = figure.add_subplot()
    for method in order:
        style = style_of(method)
        dots, front = (table[table["method"] == method] for table in (rows, fronts))
        axes.plot(
            dots["nbytes"] / KB, 100 * dots["accuracy"], ".", color=style.color, markersize=3, alpha=0.3, zorder=1
        )
        x, y = (front["nbytes"] / KB).to_numpy(), 100 * front["accuracy"].to_numpy()
        if x[-1] < largest:
            axes.plot([x[-1], largest], [y[-1], y[-1]], color=style.color, linestyle=style.linestyle, linewidth=0.9)
        _line(axes, x, y, method)
    lowest = 100 * fronts["accuracy"].min()
    highest = 100 * fronts["accuracy"].max()
    pad = 0.04 * max(highest - lowest, 1.0)
    axes.set_ylim(lowest - pad, highest + pad)
    axes.set_xscale("log", base=2)
    low, high = rows["nbytes"].min() / KB, rows["nbytes"].max() / KB
    axes.set_xlim(low / 1.2, high * 1.2)
    ticks = _powers_of_two(low, high)
    axes.set_xticks(ticks, [_size_text(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_title(data, fontsize=LETTERS + 2)
    _label(axes, "model size", "accuracy, %")
    figure.legend(loc="outside right upper", fontsize=LETTERS, frameon=False, handlelength=3.2)
    return figure


def accuracy_by_shape(configurations: "DataFrame", data: str, *, methods: Sequence[str] | None = None) -> "Figure":
    """Return a figure of accuracy over the number of trees, a panel for each number of leaves: pruning, revisited.

    All panels span the same number of points, each at its own height, so that differences between methods can be
    compared. `methods` names those to draw, and all are drawn without it; the paper has `["RF", "RE"]`.
    """
    table = by_shape(configurations, data)
    if methods is not None:
        known = {str(name): name for name in table.columns}
        table = table[[resolve_name(name, known, f"on {data!r} there is no method") for name in methods]].dropna(
            how="all"
        )
    table = 100 * table
    sizes = list(table.index.unique("n_leaves"))
    n_columns = min(3, len(sizes))
    n_rows = -(-len(sizes) // n_columns)
    figure = new_figure(7.0, max(0.5 + 2.1 * n_rows, 1.0 + LEGEND_ROW * table.shape[1]))
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    values = table.groupby(level="n_leaves")
    span = max(float((values.max().max(axis=1) - values.min().min(axis=1)).max()), 0.5) * 1.12
    for panel in panels.flat[len(sizes) :]:
        panel.set_axis_off()
    for number, (panel, n_leaves) in enumerate(zip(panels.flat, sizes, strict=False)):
        part = table.loc[n_leaves]
        for method in part.columns:
            known_part = part[method].dropna()
            _line(panel, known_part.index.to_numpy(), known_part.to_numpy(), method)
        middle = (part.min().min() + part.max().max()) / 2
        panel.set_ylim(middle - span / 2, middle + span / 2)
        panel.set_title(f"at most {n_leaves} leaves", fontsize=LETTERS + 1)
        panel.set_xscale("log", base=2)
        trees = sorted(table.index.unique("n_trees"))
        # From the largest down, as many as there is room for.
        step = -(-len(trees) // MOST_LABELS)
        panel.set_xticks(trees, ["" if (len(trees) - 1 - k) % step else str(n) for k, n in enumerate(trees)])
        panel.minorticks_off()
        is_lowest = number + n_columns >= len(sizes)
        panel.tick_params(labelbottom=is_lowest)
        _label(panel, "trees" if is_lowest else "", "accuracy, %" if number % n_columns == 0 else "")
    figure.suptitle(data, fontsize=LETTERS + 2)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=LETTERS, frameon=False, handlelength=3.2)
    return figure


def _size_text(kilobytes: float) -> str:
    """Return a size in words: 64 KB, 2 GB; with more digits than pages have, so that ends of a short axis differ."""
    for unit, factor in (("GB", KB * KB), ("MB", KB), ("KB", 1)):
        if kilobytes >= factor:
            return f"{kilobytes / factor:.4g} {unit}"
    return f"{kilobytes * KB:.4g} B"


def _line(axes: "Axes", x: Any, y: Any, method: str) -> None:
    line = style_of(method).linestyle
    axes.plot(x, y, label=method, linestyle=line, linewidth=1.2, zorder=2, **marker_style(method, 4.5))


def _label(axes: "Axes", x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=LETTERS + 1)
    axes.set_ylabel(y, fontsize=LETTERS + 1)
    axes.tick_params(labelsize=LETTERS)
    axes.grid(color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _powers_of_two(low: float, high: float) -> list[float]:
    """Return at most eight powers of two within the range, as many doublings apart; its ends if there are none."""
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = max(1, -(-(last - first + 1) // MOST_TICKS))
    first += -first % step
    return [2.0**k for k in range(first, last + 1, step)] or [low, high]
