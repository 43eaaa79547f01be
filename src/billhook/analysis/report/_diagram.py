"""The critical-difference diagram (Demšar, 2006), drawn as SVG."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from billhook.analysis.report._methods import Look
from billhook.html import Scale

if TYPE_CHECKING:
    from billhook.analysis._comparison import Comparison

MOST_LETTERS, MOST_RANKS = 24, 12
# Pixels: the axis, then the bars of cliques, then the names.
AXIS, FIRST_BAR, BAR_STEP, NAME_STEP, MARGIN = 34, 14, 11, 24, 16


class Tail(NamedTuple):
    """Where a method's line goes: from its rank down to its name at a side."""

    number: int
    look: Look
    rank: float
    side: str
    level: int


def diagram(comparison: "Comparison", looks: Sequence[Look]) -> str:
    """Return methods by mean rank; bars join those that the tests cannot tell apart.

    Parameters
    ----------
    comparison : Comparison
    looks : sequence of Look
        In any order.
    """
    ranks = comparison.mean_ranks.sort_values(kind="stable")
    by_name = {look.name: (number, look) for number, look in enumerate(looks)}
    cliques = [clique for clique in comparison.cliques if len(clique) > 1]
    x = Scale(1.0, float(max(len(ranks), 2)))
    bars = "".join(_bar(k, clique, ranks, x) for k, clique in enumerate(cliques))
    first_name = AXIS + FIRST_BAR + BAR_STEP * len(cliques) + MARGIN
    tails = _tails([(*by_name[name], float(rank)) for name, rank in ranks.items()])
    height = first_name + NAME_STEP * math.ceil(len(ranks) / 2)
    room = min(max(map(len, ranks.index)), MOST_LETTERS) + len(" 10.00 ")
    said = "; ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
    joined = " ".join(f"Not told apart: {', '.join(clique)}." for clique in cliques)
    return (
        f'<div class="diagram" role="region" tabindex="0" aria-labelledby="together-heading" style="--room:{room}">'
        f'<div><svg id="diagram" role="img" height="{height}" '
        f'aria-labelledby="diagram-title diagram-desc"><title id="diagram-title">Critical-difference diagram</title>'
        f'<desc id="diagram-desc">Mean ranks, 1 is best: {escape(said)}. {escape(joined)}</desc>'
        f"{_axis(x)}{bars}{''.join(_tail(tail, x, first_name) for tail in tails)}</svg></div></div>"
    )


def _axis(x: Scale) -> str:
    """Return the ranks along the top, the best at the left."""
    step = math.ceil(x.high / MOST_RANKS)
    marks = "".join(
        f'<line class="tick" x1="{x.at(k):.2f}%" y1="{AXIS - 6}" x2="{x.at(k):.2f}%" y2="{AXIS}"/>'
        f'<text x="{x.at(k):.2f}%" y="{AXIS - 11}" text-anchor="middle">{k}</text>'
        for k in range(1, round(x.high) + 1, step)
    )
    return f'<line class="tick" x1="0%" y1="{AXIS}" x2="100%" y2="{AXIS}"/>{marks}'


def _bar(number: int, clique: Sequence[str], ranks: "dict[str, float]", x: Scale) -> str:
    places = [x.at(float(ranks[name])) for name in clique]
    level = AXIS + FIRST_BAR + BAR_STEP * number
    return (
        f'<line class="clique" x1="{min(places):.2f}%" y1="{level}" x2="{max(places):.2f}%" y2="{level}">'
        f"<title>{escape(', '.join(clique))}</title></line>"
    )


def _tails(ranked: list[tuple[int, Look, float]]) -> list[Tail]:
    """Return the better half at the left from above, the other at the right from below, so that no lines cross."""
    half = math.ceil(len(ranked) / 2)
    left = [Tail(*method, "left", k) for k, method in enumerate(ranked[:half])]
    rest = ranked[half:]
    return left + [Tail(*method, "right", len(rest) - 1 - k) for k, method in enumerate(rest)]


def _tail(tail: Tail, x: Scale, first_name: int) -> str:
    at, level = x.at(tail.rank), first_name + NAME_STEP * tail.level
    end, anchor, dx = (0, "end", -8) if tail.side == "left" else (100, "start", 8)
    return (
        f'<g class="own-{tail.number}"><line class="tail" x1="{at:.2f}%" y1="{AXIS}" x2="{at:.2f}%" y2="{level}"/>'
        f'<line class="tail" x1="{at:.2f}%" y1="{level}" x2="{end}%" y2="{level}"/>'
        f'<circle cx="{at:.2f}%" cy="{AXIS}" r="4.5"/>'
        f'<text class="name" x="{end}%" y="{level}" dx="{dx}" dy="4" text-anchor="{anchor}">'
        f'{escape(_short(tail.look.name))} <tspan class="rank">{tail.rank:.2f}</tspan></text></g>'
    )


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
