"""Work of another library on named workers, which would wait without end for one that has died."""

import time
from collections.abc import Callable, Collection
from threading import Thread
from typing import TYPE_CHECKING, Any

from billhook._interruption import SECONDS_DEAF
from billhook.cluster._client import PAUSE, reach

if TYPE_CHECKING:
    from distributed import Client

# Seconds that work which was cancelled may take to end.
TO_END = 20.0


class LostWorkerError(RuntimeError):
    """A worker died whose rows the work needs."""


def while_they_live(client: "Client", workers: Collection[str], work: Callable[[], Any]) -> Any:
    """Return what the work returns; if one of the workers dies, cancel what it waits for unless it ends by itself.

    It runs in a thread of its own, as nothing else can be done while XGBoost waits.
    """
    before = set(client.futures)
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised where it is waited for
            errors.append(error)

    thread = Thread(target=run, name="growing", daemon=True)
    thread.start()
    try:
        lost = _wait(client, set(workers), thread)
    except BaseException:
        _cancel(client, before)
        raise
    if lost:
        _cancel(client, before)
        thread.join(TO_END)
        if not results:
            raise LostWorkerError(f"a worker died with rows to learn from: {', '.join(sorted(lost))}") from next(
                iter(errors), None
            )
    if errors:
        raise errors[0]
    return results[0]


def _wait(client: "Client", workers: set[str], thread: Thread) -> set[str]:
    """Wait for the thread; return the workers that have been gone for a while, if there are any."""
    next_look, gone_since = time.monotonic() + PAUSE, None
    while thread.is_alive():
        thread.join(SECONDS_DEAF)
        if time.monotonic() < next_look:
            continue
        next_look = time.monotonic() + PAUSE
        lost = workers - set(reach(client, client.nthreads))
        if not lost:
            gone_since = None
            continue
        gone_since = gone_since or time.monotonic()
        if time.monotonic() - gone_since >= 2 * PAUSE:  # most often it says so itself
            return lost
    return set()


def _cancel(client: "Client", before: set[Any]) -> None:
    """Cancel what the client was asked for since then."""
    from distributed import Future

    new: list[Future[Any]] = [Future(key, client) for key in set(client.futures) - before]
    if new and client.status == "running":
        client.cancel(new, force=True)
