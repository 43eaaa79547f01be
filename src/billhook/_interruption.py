"""Ctrl-C: whether an error is one, and which threads and processes hear it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

# A thread that waits without end may miss Ctrl-C: it is told of it just before it falls asleep, or another thread is.
SECONDS_DEAF = 0.1


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is, or comes of, an interruption: compiled code says it in its own way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def not_interrupted() -> Iterator[None]:
    """Put Ctrl-C off; threads and processes that are started meanwhile never hear of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def join(thread: Thread) -> None:
    """Wait for a thread to end, and hear Ctrl-C meanwhile."""
    while thread.is_alive():
        thread.join(SECONDS_DEAF)
