"""How far the work of a command has come: a bar on a terminal, a line now and then where there is none."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TextIO

from billhook._progress import shown_by

if TYPE_CHECKING:
    from billhook.cli._bar import Bar

# Work that takes less than this, in seconds, shows no bar, and no line.
UNTIL_BAR, UNTIL_FIRST_LINE = 0.5, 2.0
BETWEEN_LINES = 10.0


class ProgressDisplay:
    """Shows what is being done, how much of it is done, how long the rest takes, and a note, as the best so far.

    It is called with what is done and with all there is to do, as often as one likes, from any thread; as a context
    it shows what loops tell of themselves too, such as those that read a table. What is shown goes to stderr. On a
    terminal, it is gone when the display ends.

    Parameters
    ----------
    doing : str
        What the command does, as "pruning".
    unit : str
        What is counted, as "trees".
    patience : float
        The seconds that work takes at least to be shown on a terminal.
    each_note : bool
        Whether each new note is a line where there is no terminal, however soon it comes.
    out : text stream, optional
        By default stderr.
    now : function, optional
        Returns the time in seconds.
    """

    def __init__(
        self,
        doing: str,
        *,
        unit: str = "steps",
        patience: float = UNTIL_BAR,
        each_note: bool = False,
        out: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing, self.unit, self.patience, self.each_note = doing, unit, patience, each_note
        self.out = sys.stderr if out is None else out
        self.now = now
        self.start = now()
        self.is_terminal = self.out.isatty() and os.environ.get("TERM") != "dumb"
        self._bar: Bar | None = None
        self._first: tuple[float, float] | None = None
        self._total = 0.0
        self._shown = ExitStack()
        self._next_line = UNTIL_FIRST_LINE
        self._last_note = ""
        self._lock = threading.Lock()
        self._is_ended = False

    def __call__(
        self, done: float, total: float, note: str = "", *, doing: str | None = None, amount: str | None = None
    ) -> None:
        """Show that so much of all is done; `amount` says it in words, by default "3 of 8 steps"."""
        self.doing = self.doing if doing is None else doing
        seconds = self.now() - self.start
        if self._first is None or total != self._total:  # other work goes at another pace
            self._first, self._total = (seconds, done), total
        left = seconds_left(seconds - self._first[0], done - self._first[1], total - done)
        share = min(done / total, 1.0) if total else 0.0
        text = f"{done:,} of {total:,} {self.unit}" if amount is None else amount
        with self._lock:
            if self._is_ended:
                return
            if self.is_terminal:
                self._show(seconds, share, text, left, note)
            else:
                self._write_line(seconds, share, text, left, note)

    def _show(self, seconds: float, share: float, amount: str, left: float | None, note: str) -> None:
        if self._bar is None:
            if seconds < self.patience:
                return
            from billhook.cli._bar import Bar

            self._bar = Bar(self.out)
        self._bar.show(self.doing, share, amount, left, note)

    def _write_line(self, seconds: float, share: float, amount: str, left: float | None, note: str) -> None:
        is_due = seconds >= self._next_line
        is_new = self.each_note and note != self._last_note
        self._last_note = note
        if is_due or is_new:
            print(progress_line(self.doing, share, amount, left, note), file=self.out, flush=True)
            self._next_line = seconds + BETWEEN_LINES

    def __enter__(self) -> Self:
        self._shown.enter_context(shown_by(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()
        self.end()

    def end(self) -> None:
        """Clear the bar, if there is one, and show nothing more."""
        with self._lock:
            self._is_ended = True
            if self._bar is not None:
                self._bar.end()
                self._bar = None


def seconds_left(seconds: float, done: float, to_do: float) -> float | None:
    """Return how long the rest takes at the pace so far; None as long as there is no pace.

    Examples
    --------
    >>> seconds_left(6.0, done=3, to_do=5)
    10.0
    """
    return seconds / done * max(to_do, 0.0) if done > 0 else None


def duration(seconds: float) -> str:
    """Return a time in the largest units that say enough.

    Examples
    --------
    >>> duration(8.4), duration(75.0), duration(7300.0)
    ('8 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def progress_line(doing: str, share: float, amount: str, left: float | None, note: str) -> str:
    """Return a line on how far the work has come.

    Examples
    --------
    >>> progress_line("pruning", 0.25, "4 of 16 trees", 12.0, "")
    'pruning: 4 of 16 trees (25%), 12 s left'
    """
    remaining = "" if left is None or share >= 1.0 else f", {duration(left)} left"
    return f"{doing}: {amount} ({share:.0%}){remaining}" + (f"; {note}" if note else "")
