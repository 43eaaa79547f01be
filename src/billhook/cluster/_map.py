"""One way to have work done on a cluster: what is lost with a worker is submitted again."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from billhook.cluster._client import ATTEMPTS, ClusterError, address_of, reach, send, wait_for, was_lost, workers_of

if TYPE_CHECKING:
    from distributed import Client, Future

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")


def map_on_cluster(
    client: "Client",
    submit: Callable[[list[Item], bool], "Iterable[Future[Any]]"],
    items: Iterable[Item],
    *,
    take: Callable[["Future[Any]"], Any] | None = None,
    n_at_once: Callable[[], int] | None = None,
    name_of: Callable[[Item], str] = repr,
) -> Iterator[tuple[Item, Any]]:
    """Yield each item and its result, as they are done; what is lost with a worker is submitted again.

    An error of the work is raised here, with a note that names the item. What is under way when the caller stops, or
    an error ends it all, is cancelled.

    Parameters
    ----------
    client : distributed.Client
    submit : function
        Takes items, and whether they were lost before: then what was sent for them may be lost as well. Returns a
        new future for each item.
    items : iterable
        Taken from as they are submitted.
    take : function, optional
        What to yield of a future that has finished; by default its result, fetched from the worker.
    n_at_once : function, optional
        How many items may be under way, asked each time that one is done; by default all. One is in any case.
    name_of : function
        What the note of an error calls an item.
    """
    from distributed import CancelledError

    waiting = iter(items)
    n_lost: dict[int, int] = {}  # by the number of the item
    numbered: dict[int, Item] = {}
    under_way: dict[Future[Any], int] = {}
    again: list[int] = []
    try:
        while True:
            n_busy = len(under_way) + len(again)
            # With nothing under way there is one more at least, which waits for workers where there are none.
            n_new = None if n_at_once is None else max(0 if n_busy else 1, n_at_once() - n_busy)
            first = len(n_lost)
            new = dict(enumerate(islice(waiting, n_new), first))
            numbered |= new
            n_lost |= dict.fromkeys(new, 0)
            for numbers, is_again in ((again, True), (list(new), False)):
                if numbers:
                    workers_of(client)
                    futures = submit([numbered[number] for number in numbers], is_again)
                    under_way |= dict(zip(futures, numbers, strict=True))
            if not under_way:
                return
            again = []
            wait_for(client, under_way, first=True)
            for future in [future for future in under_way if future.status != "pending"]:
                number = under_way.pop(future)
                try:
                    if was_lost(client, future):
                        raise CancelledError
                    result = reach(client, future.result) if take is None else take(future)
                except CancelledError:  # lost, even if just now
                    n_lost[number] += 1
                    again.append(number)
                except Exception as error:
                    error.add_note(f"while a worker of the cluster tried {name_of(numbered[number])}")
                    raise
                else:
                    yield numbered.pop(number), result
            if any(n_lost[number] >= ATTEMPTS for number in again):
                raise ClusterError(
                    f"the same work was lost {ATTEMPTS} times with workers of the cluster at {address_of(client)}; "
                    "see their logs, which may speak of too little memory"
                )
    finally:
        _cancel(client, under_way)


class ClusterWorkers(Generic[Data]):
    """Workers that try things out on the same data, which is sent once and copied from worker to worker.

    Parameters
    ----------
    client : distributed.Client
    data : object
        What every trial needs; not changed by any.
    """

    def __init__(self, client: "Client", data: Data) -> None:
        self.client, self.data = client, data
        self._sent: Future[Any] | None = None
        self._submitted: WeakSet[Future[Any]] = WeakSet()

    def map(self, function: Callable[[Data, Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item and ``function(data, item)``, as they are done.

        The function must depend on nothing else: then it does not matter how many workers there are, or that one
        dies, whose items others take over. An error in it is raised here, and names the item.

        Parameters
        ----------
        function : function
            Of the data and an item. It must be importable on the workers, as Billhook must.
        items : iterable
        """

        def submit(batch: list[Item], is_again: bool) -> "list[Future[Any]]":
            if self._sent is None or is_again:
                self._sent = send(self.client, self.data)
            futures = [
                reach(self.client, self.client.submit, function, self._sent, item, pure=False) for item in batch
            ]
            self._submitted.update(futures)
            return futures

        yield from map_on_cluster(self.client, submit, items)

    def close(self) -> None:
        """Cancel what is under way, and let the workers forget the data."""
        _cancel(self.client, self.pending())
        self._sent = None

    def pending(self) -> "list[Future[Any]]":
        """Return the futures of what is under way."""
        return [future for future in self._submitted if future.status == "pending"]


def _cancel(client: "Client", futures: "Collection[Future[Any]]") -> None:
    if futures and client.status == "running":
        client.cancel(list(futures))
