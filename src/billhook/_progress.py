"""How far work has come: loops that may take long tell it to whoever shows it, as a command does."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class ShowsProgress(Protocol):
    """What shows how far work has come."""

    def __call__(
        self, done: float, total: float, note: str = "", *, doing: str | None = None, amount: str | None = None
    ) -> None:
        """Show that so much of all is done."""


_SHOWS: ContextVar[ShowsProgress | None] = ContextVar("what shows progress", default=None)


@contextmanager
def shown_by(display: ShowsProgress | None) -> Iterator[None]:
    """Have what is done in this context, in this thread only, shown; by None it is not.

    Examples
    --------
    >>> def display(done, total, note="", *, doing=None, amount=None):
    ...     print(f"{doing}: {amount}")
    >>> with shown_by(display):
    ...     tell_progress("reading", 1, 4, "1 of 4 columns")
    reading: 1 of 4 columns
    """
    token = _SHOWS.set(display)
    try:
        yield
    finally:
        _SHOWS.reset(token)


def is_shown() -> bool:
    """Whether somebody looks on."""
    return _SHOWS.get() is not None


def tell_progress(doing: str, done: float, total: float, amount: str) -> None:
    """Tell how much of what is being done is done, in numbers and in words."""
    display = _SHOWS.get()
    if display is not None:
        display(done, total, doing=doing, amount=amount)
