"""Numbers, sizes and times as text."""

import math

MINUS = "\N{MINUS SIGN}"


def number_text(value: float, step: float) -> str:
    """Return a number for an axis with this step between two marks."""
    if abs(value) >= 1e6 or step < 1e-6:
        return minus(f"{value:.6g}")
    return minus(f"{value + 0.0:,.{_decimals(step)}f}")


def share_text(value: float, step: float) -> str:
    """Return a share in percent, for an axis with this step between two marks."""
    return minus(f"{value + 0.0:.{_decimals(100 * step)}%}")


def size_text(nbytes: float) -> str:
    """Return a size in bytes, KB or MB of 1024.

    Examples
    --------
    >>> size_text(512), size_text(16384), size_text(20000)
    ('512 B', '16 KB', '19.5 KB')
    """
    for unit, factor in (("MB", 2**20), ("KB", 2**10)):
        if nbytes >= factor:
            return f"{nbytes / factor:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{nbytes:.0f} B"


def time_text(seconds: float) -> str:
    """Return a span of time.

    Examples
    --------
    >>> time_text(7.25), time_text(200), time_text(7320)
    ('7.2 s', '3 min 20 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number of things, as "1 row" or "2,000 rows"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def minus(number: str) -> str:
    """Return a number with a minus sign in place of a hyphen."""
    return number.replace("-", MINUS)


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))
