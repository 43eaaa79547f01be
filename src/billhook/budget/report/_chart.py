"""The charts of a search: what is drawn where, in percent of the chart from the left and from above."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget.report._words import in_words, is_share, score_text, scoring_text
from billhook.html import (
    Scale,
    Tick,
    byte_scale,
    byte_ticks,
    count_text,
    log2,
    number_text,
    padded,
    round_ticks,
    share_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from billhook.budget.report._report import FitReport, Point

# Scores further below the best than so many times the spread of the best nine tenths are drawn at the lower edge.
MOST_SPREAD = 4.0
MOST_DOTS = 2_000
# Marks of an axis have so much room, in percent.
LEAST_APART = 4.0
RADIUS = {"once": 3, "final": 3.5, "front": 4.5, "chosen": 7}
KINDS = {
    "once": "evaluated once",
    "final": "evaluated on several splits",
    "front": "on the Pareto front",
    "chosen": "chosen",
}


class Dot(NamedTuple):
    """A configuration as it is drawn."""

    number: int
    kind: str
    x: float
    y: float
    label: str
    settings: str


class CandidatesChart(NamedTuple):
    """All configurations, score over bytes; the most important dots come last and are drawn on top."""

    described: str
    across: list[Tick]
    up: list[Tick]
    budget_at: float
    budget_anchor: str
    front: list[tuple[float, float, float, float]]
    dots: list[Dot]
    below: str


class ScatterChart(NamedTuple):
    """Predicted over true values, both on the same scale."""

    ticks: list[Tick]
    dots: list[tuple[float, float]]


class ResidualsChart(NamedTuple):
    """True less predicted values over predicted ones, each on its own scale; `zero` is where they are equal."""

    across: list[Tick]
    up: list[Tick]
    zero: float
    dots: list[tuple[float, float]]


class ColumnDot(NamedTuple):
    """A number of columns as it is drawn."""

    x: float
    y: float
    is_chosen: bool


class ColumnsChart(NamedTuple):
    """Scores over the number of columns that models read; lines go from one to the next."""

    across: list[Tick]
    up: list[Tick]
    lines: list[tuple[float, float, float, float]]
    dots: list[ColumnDot]


class LayoutDot(NamedTuple):
    """A layout as it is drawn."""

    layout: str
    x: float
    y: float
    is_chosen: bool


class LayoutsChart(NamedTuple):
    """What layouts take: bytes of flash over cycles for a row."""

    across: list[Tick]
    up: list[Tick]
    dots: list[LayoutDot]


def candidates_chart(report: "FitReport") -> CandidatesChart | None:
    """Return the chart of all configurations, with the front and the budget; None if none has a score."""
    points = {k: point for k, point in enumerate(report.points) if math.isfinite(point.score)}
    if not points:
        return None
    x = byte_scale([report.budget, *(point.nbytes for point in points.values())])
    y = score_scale(list(points.values()))
    front = sorted((p for p in points.values() if p.is_on_front), key=lambda p: (p.nbytes, p.score))
    order = list(RADIUS)
    drawn = sorted(points, key=lambda k: order.index(kind_of(points[k])))
    budget_at = x.at(log2(report.budget))
    return CandidatesChart(
        described=f"{count_text(len(points), 'configuration')} by size in bytes, on a logarithmic scale, and by "
        f"{scoring_text(report.scoring)}. The arrow keys go from one to the next.",
        across=byte_ticks(x),
        up=round_ticks(y, share_text, at_most=1.0) if is_share(report.scoring) else round_ticks(y, number_text),
        budget_at=budget_at,
        budget_anchor="end" if budget_at > 75 else "middle" if budget_at > 25 else "start",
        front=_front_line(front, x, y, report.budget),
        dots=[_dot(k, points[k], x, y, report.scoring) for k in drawn],
        below=_below(sum(point.score < y.low for point in points.values()), y.low, report.scoring),
    )


def _drawn_rows(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows that have both values, a sample if there are many."""
    rows = errors[np.isfinite(errors).all(axis=1)]
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_DOTS)).astype(np.int64)]


def residuals_chart(errors: NDArray[np.float64]) -> ResidualsChart | None:
    """Return true less predicted values over predicted ones; None if no row has both values."""
    rows = _drawn_rows(errors)
    if not rows.size:
        return None
    predicted, residual = rows[:, 1], rows[:, 0] - rows[:, 1]
    across = padded(float(predicted.min()), float(predicted.max()))
    up = padded(min(float(residual.min()), 0.0), max(float(residual.max()), 0.0))
    dots = [(across.at(x), 100 - up.at(y)) for x, y in zip(predicted.tolist(), residual.tolist(), strict=True)]
    return ResidualsChart(round_ticks(across, number_text), round_ticks(up, number_text), 100 - up.at(0.0), dots)


def scatter_chart(errors: NDArray[np.float64]) -> ScatterChart | None:
    """Return predicted over true values, of a sample if there are many rows; None if no row has both values."""
    rows = _drawn_rows(errors)
    if not rows.size:
        return None
    scale = padded(float(rows.min()), float(rows.max()))
    dots = [(scale.at(true), 100 - scale.at(predicted)) for true, predicted in rows.tolist()]
    return ScatterChart(round_ticks(scale, number_text), dots)


def columns_chart(report: "FitReport") -> ColumnsChart | None:
    """Return scores over numbers of columns, these on a logarithmic scale; None if there are none."""
    points = report.columns
    if not points:
        return None
    x = padded(0.0, log2(points[-1].n_columns))
    y = padded(min(point.score for point in points), max(point.score for point in points))
    dots = [ColumnDot(x.at(log2(point.n_columns)), 100 - y.at(point.score), point.is_chosen) for point in points]
    across: list[Tick] = []
    for dot, point in zip(dots, points, strict=True):
        if not across or dot.x - across[-1].at > LEAST_APART:
            across.append(Tick(dot.x, f"{point.n_columns:,}"))
    up = round_ticks(y, share_text, at_most=1.0) if is_share(report.scoring) else round_ticks(y, number_text)
    return ColumnsChart(across, up, [(a.x, a.y, b.x, b.y) for a, b in pairwise(dots)], dots)


def layouts_chart(report: "FitReport") -> LayoutsChart | None:
    """Return the layouts, bytes of flash over cycles, both on logarithmic scales; None if there are none."""
    if not report.layouts:
        return None
    x = byte_scale([cost.cycles for cost in report.layouts])
    y = byte_scale([cost.flash for cost in report.layouts])
    dots = [
        LayoutDot(
            cost.layout,
            x.at(log2(max(cost.cycles, 1))),
            100 - y.at(log2(max(cost.flash, 1))),
            cost.layout == report.layout,
        )
        for cost in report.layouts
    ]
    return LayoutsChart(_power_ticks(x), byte_ticks(y), dots)


def _power_ticks(scale: Scale) -> list[Tick]:
    """Return ticks at powers of two of a logarithmic scale of counts."""
    powers = range(math.ceil(scale.low), math.floor(scale.high) + 1)
    return [Tick(scale.at(power), f"{2**power:,}") for power in powers]


def kind_of(point: "Point") -> str:
    """Return how a configuration is drawn: by the strongest of its marks."""
    if point.is_chosen:
        return "chosen"
    if point.is_on_front:
        return "front"
    return "final" if point.is_final else "once"


def label_of(point: "Point", scoring: str) -> str:
    """Return size, score and marks of a configuration, as the panel below the chart shows them."""
    kinds = [KINDS["final" if point.is_final else "once"]]
    kinds += [KINDS["front"]] * point.is_on_front + [KINDS["chosen"]] * point.is_chosen
    return f"{point.nbytes:,} bytes, {score_text(point.score, scoring)}, {', '.join(kinds)}"


def score_scale(points: "Sequence[Point]") -> Scale:
    """Return the ends of the axis of scores, so that a few poor ones do not flatten the others."""
    scores = np.array([point.score for point in points])
    least, tenth, best = np.quantile(scores, (0.0, 0.1, 1.0)).tolist()
    low = max(least, best - MOST_SPREAD * (best - tenth)) if tenth < best else least
    return padded(min([low, *(point.score for point in points if point.is_on_front or point.is_chosen)]), best)


def _dot(number: int, point: "Point", x: Scale, y: Scale, scoring: str) -> Dot:
    across, down = x.at(log2(point.nbytes)), 100 - y.at(point.score)
    return Dot(number, kind_of(point), across, down, label_of(point, scoring), in_words(point.settings))


def _front_line(front: "Sequence[Point]", x: Scale, y: Scale, budget: int) -> list[tuple[float, float, float, float]]:
    """Return the lines of the Pareto front: a step at each of its points, and the last one up to the budget."""
    lines = []
    for here, after in zip(front, [*front[1:], None], strict=True):
        ends = max(budget, here.nbytes) if after is None else after.nbytes
        left, right = x.at(log2(here.nbytes)), x.at(log2(ends))
        level = 100 - y.at(here.score)
        lines.append((left, level, right, level))
        if after is not None:
            lines.append((right, level, right, 100 - y.at(after.score)))
    return lines


def _below(n_below: int, low: float, scoring: str) -> str:
    if not n_below:
        return ""
    configurations = count_text(n_below, "configuration")
    return f"{configurations} with a score below {score_text(low, scoring)}, drawn at the lower edge."
