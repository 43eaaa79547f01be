"""What Ctrl-C does, by what a command has come to.

- While nothing can be lost (imports, options, reading, computing), the command says so and leaves at once.
- Where something has to be put in order first (`stoppable`), it gets one KeyboardInterrupt. Another Ctrl-C while it
  puts things in order is not heard; a third ends the process.
- When the result is about to be written (`finish`), Ctrl-C comes too late: it is written, whole.

This module is imported before all others, and imports little: what is imported next can be interrupted already.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

STATUS = 130
NOTHING_WRITTEN = "billhook: interrupted; nothing was written"
KILLED = "billhook: interrupted; it did not end by itself"
SECONDS_UNTIL_AGAIN = 0.01

_LEAVING, _STOPPABLE, _STOPPING, _FINISHING = range(4)


class _Handler:
    """The process's handler of SIGINT; until it is installed, as in a program that calls `main`, it does nothing."""

    def __init__(self) -> None:
        self.stage = _LEAVING
        self.is_installed = False
        self.n_unheard = 0

    def install(self, instead_of: "Any") -> None:
        """Take the place of a handler, unless another is there or signals are ignored, as under nohup."""
        if signal.getsignal(signal.SIGINT) is not instead_of:
            return
        signal.signal(signal.SIGINT, self)
        self.is_installed = True
        sys.unraisablehook = self.not_raised

    def __call__(self, _number: int, _frame: "FrameType | None") -> None:
        if self.stage == _LEAVING:
            _leave(NOTHING_WRITTEN)
        if self.stage == _STOPPABLE:
            self.stage, self.n_unheard = _STOPPING, 0
            raise KeyboardInterrupt
        if self.stage == _STOPPING:
            self.n_unheard += 1
            if self.n_unheard > 1:
                _leave(KILLED)

    def not_raised(self, unraisable: "Any") -> None:
        """Raise once more what came up where nothing can be raised, as in a callback from compiled code."""
        if unraisable.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(unraisable)
            return
        from threading import Timer, get_ident

        thread = get_ident()  # signals are handled in the main thread only

        def again() -> None:
            if self.stage == _STOPPING:
                self.stage = _STOPPABLE
                _interrupt_thread(thread)

        timer = Timer(SECONDS_UNTIL_AGAIN, again)
        timer.daemon = True
        timer.start()


_handler = _Handler()


def install(instead_of: "Any" = signal.default_int_handler) -> None:
    """Have Ctrl-C do what this module says, and not what a handler does, from now to the end of the process."""
    _handler.install(instead_of)


def can_stop() -> None:
    """Have the next Ctrl-C raise a KeyboardInterrupt, which the command knows what to do with."""
    if _handler.is_installed:
        _handler.stage = _STOPPABLE


class stoppable:  # noqa: N801 - it reads like a function; contextlib takes long to import
    """A context in which Ctrl-C raises one KeyboardInterrupt, which the command knows what to do with."""

    def __enter__(self) -> None:
        can_stop()

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        if error is None and _handler.stage == _STOPPABLE:
            _handler.stage = _LEAVING


def finish() -> None:
    """Let the command come to its end: what it has found is about to be written, or is."""
    if _handler.is_installed:
        _handler.stage = _FINISHING


def _interrupt_thread(thread: int) -> None:
    """Send SIGINT to the main thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)  # ends what it waits for, too
    else:  # on Windows
        from _thread import interrupt_main

        interrupt_main(signal.SIGINT)


def _leave(line: str) -> None:
    """End the process now, whatever it is in the middle of; a bar on a terminal gives way to the line."""
    # From here on no other thread, such as the one that draws the bar, writes to stderr.
    stderr = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    start = "\r\x1b[K\x1b[?25h" if os.isatty(stderr) else ""
    os.write(stderr, f"{start}{line}\n".encode())
    os._exit(STATUS)
