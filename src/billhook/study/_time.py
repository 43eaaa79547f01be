import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TimedOut(Exception):  # noqa: N818 - it is no error of the program
    """A run took longer than it may."""


def was_time(error: BaseException | None) -> bool:
    """Whether an error is, or comes of, the time being up: compiled code says it in its own way."""
    while error is not None and not isinstance(error, TimedOut):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise `TimedOut` in this thread when the time is up, as soon as it is back from compiled code."""
    if seconds is None:
        yield
        return
    thread = threading.get_ident()
    lock = threading.Lock()
    is_over = False

    def end() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimedOut))

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()
