"""The critical-difference diagram (Demšar, 2006): what is drawn where, the best on the left."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from billhook.analysis.report._methods import Look
from billhook.html import Scale, Tick

if TYPE_CHECKING:
    from billhook.analysis._comparison import Comparison

MOST_LETTERS, MOST_RANKS = 24, 12
# Pixels: the axis, then the bars of cliques, then the names.
AXIS, FIRST_BAR, BAR_STEP, NAME_STEP, MARGIN = 34, 14, 11, 24, 16


class CliqueBar(NamedTuple):
    """A bar that joins methods: from where to where in percent, and how far down in pixels."""

    left: float
    right: float
    level: int
    words: str


class Tail(NamedTuple):
    """Where a method's line goes: from its rank, in percent, down to its name at a side, in pixels."""

    number: int
    name: str
    rank: float
    at: float
    is_left: bool
    level: int


class Diagram(NamedTuple):
    """The whole diagram, its height in pixels and the width of the names in letters."""

    described: str
    axis: int
    height: int
    name_width: int
    ticks: list[Tick]
    bars: list[CliqueBar]
    tails: list[Tail]


def diagram(comparison: "Comparison", looks: Sequence[Look]) -> Diagram:
    """Return methods by mean rank; bars join those that do not differ significantly.

    Parameters
    ----------
    comparison : Comparison
    looks : sequence of Look
        In any order.
    """
    ranks = {str(name): float(rank) for name, rank in comparison.mean_ranks.sort_values(kind="stable").items()}
    cliques = [clique for clique in comparison.cliques if len(clique) > 1]
    x = Scale(1.0, float(max(len(ranks), 2)))
    first_name = AXIS + FIRST_BAR + BAR_STEP * len(cliques) + MARGIN
    means = "; ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
    joined = " ".join(f"No significant difference between {', '.join(clique)}." for clique in cliques)
    return Diagram(
        described=f"Mean ranks, 1 is best: {means}. {joined}",
        axis=AXIS,
        height=first_name + NAME_STEP * math.ceil(len(ranks) / 2),
        name_width=min(max(map(len, ranks)), MOST_LETTERS) + len(" 10.00 "),
        ticks=[Tick(x.at(k), str(k)) for k in range(1, round(x.high) + 1, math.ceil(x.high / MOST_RANKS))],
        bars=[_bar(k, clique, ranks, x) for k, clique in enumerate(cliques)],
        tails=_tails(ranks, {look.name: number for number, look in enumerate(looks)}, x, first_name),
    )


def _bar(number: int, clique: Sequence[str], ranks: dict[str, float], x: Scale) -> CliqueBar:
    places = [x.at(ranks[name]) for name in clique]
    return CliqueBar(min(places), max(places), AXIS + FIRST_BAR + BAR_STEP * number, ", ".join(clique))


def _tails(ranks: dict[str, float], numbers: dict[str, int], x: Scale, first_name: int) -> list[Tail]:
    """Return the better half on the left from above, the other on the right from below, so that no lines cross."""
    half = math.ceil(len(ranks) / 2)
    tails = []
    for k, (name, rank) in enumerate(ranks.items()):
        row = k if k < half else len(ranks) - 1 - k
        level = first_name + NAME_STEP * row
        tails.append(Tail(numbers[name], _short(name), rank, x.at(rank), k < half, level))
    return tails


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
