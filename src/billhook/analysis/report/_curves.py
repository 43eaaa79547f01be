"""Accuracy over memory of a data set: what is drawn where, in percent from the left and from above."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from billhook.analysis.report._methods import Look
from billhook.html import Scale, Tick, log2, padded, round_ticks, share_text

if TYPE_CHECKING:
    import pandas as pd

# So many of the configurations, the least accurate, may be drawn at the lower edge.
HOPELESS = 0.04


class Curve(NamedTuple):
    """The configurations of a method, and those on its front by ascending size."""

    number: int
    fill: str
    dots: list[tuple[float, float]]
    steps: list[tuple[float, float]]


class CurvesPlot(NamedTuple):
    """The plot of a data set; without an axis of accuracies there is nothing to draw."""

    number: int
    data: str
    accuracy: Scale | None
    up: list[Tick]
    curves: list[Curve]


def curves_plot(number: int, data: str, table: "pd.DataFrame", looks: Sequence[Look], x: Scale) -> CurvesPlot:
    """Return the plot of a data set.

    Parameters
    ----------
    number : int
        Of the data set.
    data : str
        Its name.
    table : DataFrame
        Its configurations.
    looks : sequence of Look
    x : Scale
        Of bytes, as logarithms.
    """
    if table.empty:
        return CurvesPlot(number, data, None, [], [])
    y = accuracy_scale(table)
    curves = [
        _curve(m, look, table[table["method"] == look.name], x, y)
        for m, look in enumerate(looks)
        if look.name in set(table["method"])
    ]
    return CurvesPlot(number, data, y, round_ticks(y, share_text, at_most=1.0), curves)


def accuracy_scale(table: "pd.DataFrame") -> Scale:
    """Return the ends of an axis of accuracies: a few hopeless configurations do not flatten the others."""
    return padded(float(table["accuracy"].quantile(HOPELESS)), float(table["accuracy"].max()))


def _curve(number: int, look: Look, rows: "pd.DataFrame", x: Scale, y: Scale) -> Curve:
    steps = rows[rows["front"]].sort_values("nbytes")
    return Curve(number, look.fill, _places(rows, x, y), _places(steps, x, y))


def _places(rows: "pd.DataFrame", x: Scale, y: Scale) -> list[tuple[float, float]]:
    return [
        (x.at(log2(nbytes)), 100 - y.at(accuracy))
        for nbytes, accuracy in zip(rows["nbytes"], rows["accuracy"], strict=True)
    ]
