"""The time that a fit may take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from billhook._deadline import OutOfTimeError, TimeLimit, within

# The share of the time at which the last model has to be there. The rest is for the report and the files.
LAST_UNTIL = 0.96
# That at which the rows have to be there: in the rest, a model can be learned from some of them. Where the time is
# short, to import what reads them may take as long: then it is a second after the end, but no more than these.
READ_UNTIL, SHORT = 0.85, 5.0


@dataclass
class Clock:
    """How much of the time is gone, since it `started` or was made; without a limit, none ever."""

    limit: float | None
    now: Callable[[], float] = time.perf_counter
    started: float | None = None

    def __post_init__(self) -> None:
        self.start = self.now() if self.started is None else self.started

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.now() - self.start

    def at(self, share: float) -> float:
        """Return the seconds after which this share of the time is gone."""
        return np.inf if self.limit is None else share * self.limit

    @property
    def end(self) -> float:
        """The seconds after which the last model has to be there."""
        return self.at(LAST_UNTIL)

    @property
    def end_of_reading(self) -> float:
        """The seconds after which the rows have to be there."""
        return np.inf if self.limit is None else max(self.at(READ_UNTIL), min(self.limit + 1.0, SHORT))

    def until(self, seconds: float) -> TimeLimit | None:
        """Return the moment so many seconds after the start; None without a limit."""
        return None if self.limit is None else TimeLimit(self.start + seconds, self.now)


@contextmanager
def in_time(clock: Clock, doing: str, what: str) -> Iterator[None]:
    """Break off what is done in this context while so much of the time is left that a model can still be learned."""
    try:
        with within(clock.until(clock.end_of_reading)):
            yield
    except OutOfTimeError:
        raise TimeoutError(
            f"{doing} {what} was broken off after {clock.seconds:.1f} s: time_limit={clock.limit:g} leaves no time "
            "to learn from it; allow several times as long, or give fewer rows or columns (Parquet files are read in "
            "less time than text)"
        ) from None
