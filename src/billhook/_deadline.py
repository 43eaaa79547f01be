"""Work that can be broken off: loops that may take long look at the time after each of their steps."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


class OutOfTimeError(Exception):
    """Work was broken off because its time is over."""


@dataclass(frozen=True)
class TimeLimit:
    """A moment of a clock. Sent to another process, it is as far away as it was here: clocks differ."""

    at: float
    now: Callable[[], float] = time.perf_counter

    @classmethod
    def after(cls, seconds: float) -> "TimeLimit":
        """Return the moment so many seconds from now."""
        return cls(time.perf_counter() + seconds)

    @property
    def seconds(self) -> float:
        """How far away the moment is; below 0 once it has passed."""
        return self.at - self.now()

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return self.seconds < 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return TimeLimit.after, (self.seconds,)


_LIMIT: ContextVar[TimeLimit | None] = ContextVar("time limit", default=None)


@contextmanager
def within(limit: TimeLimit | None) -> Iterator[None]:
    """Break off what is done in this context, in this thread only, once the limit is over; None lets it go on.

    Examples
    --------
    >>> with within(TimeLimit.after(-1.0)):
    ...     check_time()
    Traceback (most recent call last):
        ...
    billhook._deadline.OutOfTimeError: the time is over
    """
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_time() -> None:
    """Raise OutOfTimeError if the time for what is being done is over."""
    limit = _LIMIT.get()
    if limit is not None and limit.is_over:
        raise OutOfTimeError("the time is over")


def seconds_left() -> float:
    """Return how long what is being done may take; infinity without a limit."""
    limit = _LIMIT.get()
    return math.inf if limit is None else limit.seconds
