"""The charts of a search."""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from billhook.budget.report._words import in_words, is_share, score_text, scoring_text
from billhook.html import (
    Scale,
    axis_names,
    byte_axis,
    byte_scale,
    count_text,
    legend_item,
    line,
    log2,
    number_text,
    padded,
    round_ticks,
    share_text,
    size_text,
    tick_across,
    tick_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from billhook.budget.report._report import FitReport, Point

# Below the best by so many times what the best nine tenths are, candidates are drawn at the lower edge.
MOST_SPREAD = 4.0
MOST_DOTS = 2_000
RADIUS = {"once": 3, "final": 3.5, "front": 4.5, "chosen": 7}
KINDS = {
    "once": "tried once",
    "final": "compared on several splits",
    "front": "on the front",
    "chosen": "chosen",
}


def candidates_chart(report: "FitReport") -> str:
    """Return all candidates, score over bytes, with the front, the budget and what was chosen."""
    points = {k: point for k, point in enumerate(report.points) if math.isfinite(point.score)}
    if not points:
        return "<p>There is no candidate with a score to draw.</p>"
    x = byte_scale([report.budget, *(point.nbytes for point in points.values())])
    y = score_scale(list(points.values()))
    front = sorted((p for p in points.values() if p.is_on_front), key=lambda p: (p.nbytes, p.score))
    ranks = list(RADIUS)
    drawn = sorted(points, key=lambda k: ranks.index(kind_of(points[k])))  # what matters most on top
    focused = drawn[-1]
    described = (
        f"{count_text(len(points), 'candidate')} by bytes, on a logarithmic scale, "
        f"and {scoring_text(report.scoring)}. The arrow keys go from one to the next."
    )
    inner = [
        byte_axis(x),
        _score_axis(y, report.scoring),
        _budget_line(x, report.budget),
        _front_line(front, x, y, report.budget),
        *(_dot(k, points[k], x, y, report.scoring, is_focused=k == focused) for k in drawn),
    ]
    n_below = sum(point.score < y.low for point in points.values())
    return (
        f'<div class="plot wide"><svg id="candidates" role="group" aria-labelledby="chart-title chart-desc">'
        f'<title id="chart-title">Score over size</title><desc id="chart-desc">{escape(described)}</desc>'
        f"{''.join(inner)}</svg></div>{_below(n_below, y.low, report.scoring)}"
    )


def scatter_chart(errors: NDArray[np.float64]) -> str:
    """Return predicted over true numbers, with the line where they are the same; of many rows some."""
    rows = errors[np.isfinite(errors).all(axis=1)]
    if not rows.size:
        return "<p>There is no row to draw.</p>"
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_DOTS)).astype(np.int64)]
    scale = padded(float(rows.min()), float(rows.max()))
    dots = "".join(
        f'<circle class="row" r="2.5" cx="{scale.at(true):.2f}%" cy="{100 - scale.at(said):.2f}%"/>'
        for true, said in rows.tolist()
    )
    ticks, step = round_ticks(scale)
    marks = [tick_across(scale.at(tick), number_text(tick, step)) for tick in ticks]
    marks += [tick_up(scale.at(tick), number_text(tick, step)) for tick in ticks]
    return (
        f'<div class="plot square"><svg id="rows" role="img" aria-labelledby="rows-title rows-desc">'
        f'<title id="rows-title">Predicted over true numbers</title>'
        f'<desc id="rows-desc">{count_text(len(rows), "row")} held out; on the line both are the same.</desc>'
        f'{"".join(marks)}<line class="same" x1="0%" y1="100%" x2="100%" y2="0%"/>{dots}'
        f"{axis_names('true', 'predicted')}</svg></div>"
    )


def legend() -> str:
    """Return what the dots and lines of the candidates' chart are."""
    dots = "".join(
        legend_item(f'<circle class="dot {kind}" cx="9" cy="9" r="{RADIUS[kind]}"/>', KINDS[kind]) for kind in KINDS
    )
    budget = legend_item('<line class="budget" x1="9" y1="1" x2="9" y2="17"/>', "budget")
    return f'<ul class="legend">{dots}{budget}</ul>'


def kind_of(point: "Point") -> str:
    """Return how a candidate is drawn: as the most that can be said of it."""
    if point.is_chosen:
        return "chosen"
    if point.is_on_front:
        return "front"
    return "final" if point.is_final else "once"


def label_of(point: "Point", scoring: str) -> str:
    """Return size, score and standing of a candidate."""
    kinds = [KINDS["final" if point.is_final else "once"]]
    kinds += [KINDS["front"]] * point.is_on_front + [KINDS["chosen"]] * point.is_chosen
    return f"{point.nbytes:,} bytes, {score_text(point.score, scoring)}, {', '.join(kinds)}"


def score_scale(points: "Sequence[Point]") -> Scale:
    """Return the ends of an axis of scores: the few hopeless ones do not flatten the others."""
    scores = np.array([point.score for point in points])
    least, tenth, best = np.quantile(scores, (0.0, 0.1, 1.0)).tolist()
    low = max(least, best - MOST_SPREAD * (best - tenth)) if tenth < best else least
    return padded(min([low, *(point.score for point in points if point.is_on_front or point.is_chosen)]), best)


def _dot(number: int, point: "Point", x: Scale, y: Scale, scoring: str, *, is_focused: bool) -> str:
    kind = kind_of(point)
    return (
        f'<circle id="dot-{number}" class="dot {kind}" r="{RADIUS[kind]}" '
        f'cx="{x.at(log2(point.nbytes)):.2f}%" cy="{100 - y.at(point.score):.2f}%" '
        f'tabindex="{0 if is_focused else -1}" role="img" aria-label="{escape(label_of(point, scoring))}" '
        f'data-settings="{escape(in_words(point.settings))}"/>'
    )


def _front_line(front: "Sequence[Point]", x: Scale, y: Scale, budget: int) -> str:
    """Return a step at every candidate of the front, and the last as far as the budget."""
    lines = []
    for here, after in zip(front, [*front[1:], None], strict=True):
        ends = max(budget, here.nbytes) if after is None else after.nbytes
        left, right = x.at(log2(here.nbytes)), x.at(log2(ends))
        level = 100 - y.at(here.score)
        lines.append(line("front", left, level, right, level))
        if after is not None:
            lines.append(line("front", right, level, right, 100 - y.at(after.score)))
    return "".join(lines)


def _budget_line(x: Scale, budget: int) -> str:
    at = x.at(log2(budget))
    anchor = "end" if at > 75 else "middle" if at > 25 else "start"
    name = (
        f'<text class="budget" x="{at:.2f}%" y="0%" dy="-7" text-anchor="{anchor}">budget {size_text(budget)}</text>'
    )
    return line("budget", at, 0, at, 100) + name


def _score_axis(y: Scale, scoring: str) -> str:
    ticks, step = round_ticks(y)
    words: Callable[[float, float], str] = number_text
    if is_share(scoring):
        ticks, words = [tick for tick in ticks if tick <= 1 + 1e-9], share_text
    marks = "".join(tick_up(y.at(tick), words(tick, step)) for tick in ticks)
    return marks + axis_names("size of the model's data", scoring_text(scoring))


def _below(n_below: int, low: float, scoring: str) -> str:
    if not n_below:
        return ""
    few = count_text(n_below, "candidate")
    return f'<p class="aside">{few} below {score_text(low, scoring)}, drawn at the lower edge.</p>'
