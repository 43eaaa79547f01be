"""Talking to a Dask cluster: reaching it, waiting for what it does, and errors that say what to do."""

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from billhook._deadline import check_time
from billhook._progress import tell_progress

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")
# How often work that was lost with a worker is done again before giving up.
ATTEMPTS = 5
# Seconds: without any worker until giving up, between two looks whether there are any, and until a scheduler answers.
WORKER_TIMEOUT, PAUSE, TO_CONNECT = 600.0, 2.0, 10.0
# Longer than anyone waits.
MOST_SECONDS = 10_000_000.0
# Seconds without any worker until that is said, and until it is said again.
UNTIL_SAID, BETWEEN_SAYINGS = 2.0, 30.0


class WaitingForWorkers(NamedTuple):
    """How long a client waits where there are no workers, and who is told."""

    timeout: float
    say: Callable[[str], None] | None


# A client that was closed has forgotten where its scheduler was.
ADDRESSES: "WeakKeyDictionary[Client, str]" = WeakKeyDictionary()
WAITING: "WeakKeyDictionary[Client, WaitingForWorkers]" = WeakKeyDictionary()


class ClusterError(RuntimeError):
    """The cluster cannot be reached, or has lost all its workers, or loses them again and again."""


def check_worker_timeout(seconds: float) -> None:
    """Raise an error if nobody can wait so long."""
    if not 0.0 <= seconds < MOST_SECONDS:
        raise ValueError(f"worker_timeout must be 0 to {MOST_SECONDS:,.0f} seconds, not {seconds:g}")


def connect(
    address: str,
    *,
    timeout: float = TO_CONNECT,
    worker_timeout: float = WORKER_TIMEOUT,
    say: Callable[[str], None] | None = None,
) -> "Client":
    """Return a client of the scheduler at this address, or say that none answers.

    Parameters
    ----------
    address : str
        As the scheduler prints it, such as ``tcp://10.0.0.1:8786``.
    timeout : float
        Seconds to wait for an answer.
    worker_timeout : float
        Seconds that work on the cluster waits while there is no worker at all, before or after others have died.
    say : function, optional
        Told that there is no worker, again and again, and that there are some again; by default whoever shows how far
        the work has come.
    """
    check_worker_timeout(worker_timeout)
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("to work on a cluster, pip install 'billhook[dask]'") from None
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {address} ({error}); start one with `dask scheduler`, or check the address"
        ) from error
    WAITING[client] = WaitingForWorkers(worker_timeout, say)
    return client


def workers_of(client: "Client") -> dict[str, int]:
    """Return the addresses of the workers, and how many threads each has; wait a while if there are none."""
    timeout, say = WAITING.get(client, WaitingForWorkers(WORKER_TIMEOUT, None))
    start, next_saying = time.monotonic(), UNTIL_SAID
    while True:
        workers: dict[str, int] = reach(client, client.nthreads)
        seconds = time.monotonic() - start
        if workers:
            if say is not None and next_saying > UNTIL_SAID:
                say("there are workers again")
            return workers
        start_some = f"start some with `dask worker {address_of(client)}`"
        if seconds > timeout:
            raise ClusterError(
                f"the scheduler at {address_of(client)} has had no worker for {timeout:g} seconds; {start_some}"
            )
        if seconds >= next_saying:
            text = f"no worker for {seconds:.0f} s, and after {timeout:g} s this ends: {start_some}"
            if say is None:
                tell_progress("waiting for workers", seconds, timeout, text)
            else:
                say(text)
            next_saying += BETWEEN_SAYINGS
        check_time()
        time.sleep(0.1)


def reach(client: "Client", call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Call a method of the client; if the scheduler has gone, say so."""
    address = address_of(client)
    try:
        return call(*arguments, **options)
    except Exception as error:
        if client.status == "running":
            raise
        raise ClusterError(
            f"the scheduler at {address} cannot be reached any more ({error}); start it again, and then this"
        ) from error


def address_of(client: "Client") -> str:
    """Return the address of the scheduler."""
    if client.scheduler is not None:
        ADDRESSES[client] = str(client.scheduler.address)
    return ADDRESSES.get(client, "an unknown address")


def send(client: "Client", data: Any) -> "Future[Any]":
    """Return a future of the data, sent to one worker, from which others fetch it; it may be lost, and sent again.

    Not broadcast: Dask's way to do that waits for ever if a worker dies meanwhile.
    """
    for _ in range(ATTEMPTS):
        workers_of(client)
        try:
            sent: list[Future[Any]] = reach(client, client.scatter, [data], hash=False)
        except (OSError, KeyError):  # the scheduler tried a worker that has just died, and may know by now
            time.sleep(0.2)
        else:
            return sent[0]
    raise ClusterError(
        f"workers of the cluster at {address_of(client)} died {ATTEMPTS} times in a row while data were sent to "
        "them; see their logs"
    )


def wait_for(client: "Client", futures: "Collection[Future[Any]]", *, first: bool = False) -> None:
    """Wait until all of the futures, or the `first`, have ended, as long as there are workers."""
    from distributed import CancelledError, wait

    while any(future.status == "pending" for future in futures):
        if first and any(future.status != "pending" for future in futures):
            return
        pending = [future for future in futures if future.status == "pending"]
        try:
            wait(pending, timeout=PAUSE, return_when="FIRST_COMPLETED" if first else "ALL_COMPLETED")
        except TimeoutError:
            workers_of(client)
        except CancelledError:
            pass


def was_lost(client: "Client", future: "Future[Any]") -> bool:
    """Return whether a future that has settled was lost with a worker; raise its own error if it has one."""
    from distributed import KilledWorker

    if future.status != "error":
        return bool(future.status != "finished")
    error = future.exception()
    assert error is not None
    if isinstance(error, KilledWorker):
        raise ClusterError(
            f"workers of the cluster at {address_of(client)} die of the same work again and again; see their logs: "
            f"they may have too little memory ({error})"
        ) from error
    raise error
