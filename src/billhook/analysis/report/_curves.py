"""Accuracy over memory of a data set, drawn as SVG."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from billhook.analysis.report._methods import Look
from billhook.html import Scale, axis_names, byte_axis, log2, padded, round_ticks, share_text, tick_up

if TYPE_CHECKING:
    import pandas as pd

# So many of the configurations, the least accurate, may be drawn at the lower edge.
HOPELESS = 0.04


def marks_of(looks: Sequence[Look]) -> str:
    """Return the marks of all methods, for the plots to refer to."""
    marks = "".join(
        f'<symbol id="mark-{m}" overflow="visible"><path d="{look.mark}"/></symbol>' for m, look in enumerate(looks)
    )
    return f'<svg width="0" height="0" class="marks" aria-hidden="true">{marks}</svg>\n'


def curves(number: int, table: "pd.DataFrame", looks: Sequence[Look], x: Scale) -> str:
    """Return the plot of a data set: a dot for every configuration, and a line of steps for each method's front.

    Parameters
    ----------
    number : int
        Of the data set.
    table : DataFrame
        Its configurations.
    looks : sequence of Look
    x : Scale
        Of bytes, as logarithms.
    """
    if table.empty:
        return '<p class="aside">No model is small enough to be drawn.</p>'
    y = accuracy_scale(table)
    name = escape(str(table["data"].iloc[0]))
    drawn = [_method(m, look, table[table["method"] == look.name], x, y) for m, look in enumerate(looks)]
    return (
        f'<div class="plot"><svg class="curves" data-number="{number}" data-accuracy="{y.low:.6f} {y.high:.6f}" '
        f'tabindex="0" role="group" aria-labelledby="plot-{number}-title plot-{number}-desc">'
        f'<title id="plot-{number}-title">Accuracy over memory on {name}</title>'
        f'<desc id="plot-{number}-desc">A line for each method: its best accuracy with so many bytes at most. '
        f"The arrow keys go along the configurations on the lines.</desc>"
        f"{byte_axis(x)}{_accuracy_axis(y)}{''.join(reversed(drawn))}"
        f'<line class="cap" x1="0%" y1="0%" x2="0%" y2="100%"/><circle class="told" r="7"/></svg></div>'
    )


def accuracy_scale(table: "pd.DataFrame") -> Scale:
    """Return the ends of an axis of accuracies: a few hopeless configurations do not flatten the others."""
    return padded(float(table["accuracy"].quantile(HOPELESS)), float(table["accuracy"].max()))


def _accuracy_axis(y: Scale) -> str:
    ticks, step = round_ticks(y)
    marks = "".join(tick_up(y.at(tick), share_text(tick, step)) for tick in ticks if tick <= 1 + 1e-9)
    return marks + axis_names("size of the model", "accuracy")


def _method(m: int, look: Look, rows: "pd.DataFrame", x: Scale, y: Scale) -> str:
    """Return all that is drawn for a method."""
    if rows.empty:
        return ""
    dots = "".join(f"M{across:.2f} {down:.2f}h0" for across, down in _places(rows, x, y))
    steps = _places(rows[rows["front"]].sort_values("nbytes"), x, y)
    path = "".join(f"H{across:.2f}V{down:.2f}" for across, down in steps[1:])
    marks = "".join(f'<use href="#mark-{m}" x="{across:.2f}%" y="{down:.2f}%"/>' for across, down in steps)
    return (
        f'<g class="own-{m} {look.fill}"><svg viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<path class="dots" d="{dots}"/>'
        f'<path class="steps" d="M{steps[0][0]:.2f} {steps[0][1]:.2f}{path}H100"/></svg>{marks}</g>'
    )


def _places(rows: "pd.DataFrame", x: Scale, y: Scale) -> list[tuple[float, float]]:
    """Return where configurations are, in percent from the left and from above."""
    return [
        (x.at(log2(nbytes)), 100 - y.at(accuracy))
        for nbytes, accuracy in zip(rows["nbytes"], rows["accuracy"], strict=True)
    ]
