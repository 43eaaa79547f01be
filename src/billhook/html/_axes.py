"""Axes: what is where, in percent of the box. The template `html/axes.html` draws them."""

import math
from collections.abc import Callable, Sequence
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


class Tick(NamedTuple):
    """A mark on an axis: where it is, in percent from the low end, and what it says."""

    at: float
    text: str


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


def byte_ticks(scale: Scale) -> list[Tick]:
    """Return marks at powers of two along an axis of bytes."""
    first, last = math.ceil(scale.low), math.floor(scale.high)
    step = -(-(last - first + 1) // MOST_TICKS)
    powers = [power for power in range(first, last + 1) if power % step == 0]
    return [Tick(scale.at(power), size_text(2.0**power)) for power in powers]


def round_ticks(scale: Scale, to_text: Callable[[float, float], str], *, at_most: float = math.inf) -> list[Tick]:
    """Return marks at round numbers along an axis.

    Parameters
    ----------
    scale : Scale
    to_text : callable
        What a mark says, of its number and the step between two marks.
    at_most : float
        Larger numbers have no mark: there is no share above 1.
    """
    least = (scale.high - scale.low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    numbers = [k * step for k in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)]
    return [Tick(scale.at(number), to_text(number, step)) for number in numbers if number <= at_most + 1e-9]


def log2(nbytes: int) -> float:
    """Return the logarithm of a size, of none as of one byte."""
    return math.log2(max(nbytes, 1))
