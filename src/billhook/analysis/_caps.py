"""Memory caps: the sizes below which methods are compared."""

from collections.abc import Iterable
from itertools import pairwise
from numbers import Real
from typing import Any

from billhook.analysis._schema import KB

CAPS = (32, 64, 128, 256)
MOST_CAPS = 8
# One byte, which no model is smaller than, and 1 TB: a slider that goes further stops at nothing of use.
LEAST, MOST = 1 / KB, 2**30


def checked_caps(caps: Any) -> tuple[float, ...]:
    """Return memory caps in KB, whole numbers as such, or say what is wrong with them.

    Examples
    --------
    >>> checked_caps([0.5, 2.0, 64])
    (0.5, 2, 64)
    """
    if not isinstance(caps, Iterable) or isinstance(caps, (str, bytes)):
        raise TypeError(f"caps must be a list of sizes in KB, as in (32, 64), not {caps!r}")
    checked = tuple(_checked(cap) for cap in caps)
    if not 1 <= len(checked) <= MOST_CAPS:
        raise ValueError(f"caps must be 1 to {MOST_CAPS} sizes in KB, not {len(checked)}")
    for before, after in pairwise(checked):
        if before >= after:
            raise ValueError(
                f"caps must be in ascending order, each once, but {before} comes before {after}; "
                f"use {tuple(sorted(set(checked)))}"
            )
    return checked


def _checked(cap: Any) -> float:
    if isinstance(cap, bool) or not isinstance(cap, Real):
        raise TypeError(f"a cap must be a number of KB, not {cap!r}")
    number: Any = cap
    if not number > 0:
        raise ValueError(f"a cap must be a positive number of KB, not {cap}")
    if not LEAST <= number <= MOST:
        raise ValueError(f"a cap must be from 1 byte to 1 TB ({MOST} KB), not {cap} KB")
    return int(number) if number == int(number) else float(number)
