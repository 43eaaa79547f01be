"""Axes as SVG. Places are in percent of the box, so that a chart has any width and its letters keep their size."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from billhook.html._formats import size_text

MOST_TICKS = 6
# A narrower chart would have less than two powers of two to label.
LEAST_OCTAVES = 2.0
PAD = 0.05


class Scale(NamedTuple):
    """The numbers at both ends of an axis."""

    low: float
    high: float

    def at(self, number: float) -> float:
        """Return where a number is, in percent from the low end; at an end if it is beyond."""
        return 100.0 * min(max((number - self.low) / (self.high - self.low), 0.0), 1.0)


def byte_scale(sizes: Sequence[int]) -> Scale:
    """Return the ends of an axis of bytes, as logarithms of 2."""
    low, high = log2(min(sizes)), log2(max(sizes))
    pad = max(PAD * (high - low), (LEAST_OCTAVES - (high - low)) / 2)
    return Scale(low - pad, high + pad)


def padded(low: float, high: float) -> Scale:
    """Return an axis a little longer than from `low` to `high`, which may be the same."""
    size = max(abs(low), abs(high))
    is_flat = high - low <= 1e-9 * size
    pad = (0.02 * size or 1.0) if is_flat else PAD * (high - low)
    return Scale(low - pad, high + pad)


def round_ticks(scale: Scale) -> tuple[list[float], float]:
    """Return round numbers along an axis, and the step between them."""
    least = (scale.high - scale.low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return [k * step for k in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)], step


def log2(nbytes: int) -> float:
    """Return the logarithm of a size, of none as of one byte."""
    return math.log2(max(nbytes, 1))


def byte_axis(x: Scale) -> str:
    """Return marks at powers of two along an axis of bytes."""
    first, last = math.ceil(x.low), math.floor(x.high)
    step = -(-(last - first + 1) // MOST_TICKS)
    powers = [power for power in range(first, last + 1) if power % step == 0]
    return "".join(tick_across(x.at(power), size_text(2.0**power)) for power in powers)


def tick_across(at: float, text: str) -> str:
    """Return a mark, and a grid line, at so many percent from the left."""
    return (
        f'{line("grid", at, 0, at, 100)}<text class="tick" x="{at:.2f}%" y="100%" dy="17" '
        f'text-anchor="middle">{escape(text)}</text>'
    )


def tick_up(at: float, text: str) -> str:
    """Return a mark, and a grid line, at so many percent from below."""
    return (
        f'{line("grid", 0, 100 - at, 100, 100 - at)}<text class="tick" x="0%" y="{100 - at:.2f}%" dx="-7" dy="4" '
        f'text-anchor="end">{escape(text)}</text>'
    )


def axis_names(across: str, up: str) -> str:
    """Return what is along both axes."""
    return (
        f'<text class="axis" x="100%" y="100%" dy="36" text-anchor="end">{escape(across)}</text>'
        f'<text class="axis" x="0%" y="0%" dx="-48" dy="-26">{escape(up)}</text>'
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a line between two places in percent from the left and from above."""
    return f'<line class="{kind}" x1="{x1:.2f}%" y1="{y1:.2f}%" x2="{x2:.2f}%" y2="{y2:.2f}%"/>'


def legend_item(mark: str, text: str) -> str:
    """Return what a mark stands for."""
    return f'<li><svg width="18" height="18" aria-hidden="true">{mark}</svg>{escape(text)}</li>'
