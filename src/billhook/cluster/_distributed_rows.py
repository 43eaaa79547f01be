"""The workers of a cluster as holders of the parts of a descent."""

import asyncio
from collections import defaultdict
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.cluster._client import ATTEMPTS, ClusterError, address_of, reach, send
from billhook.cluster._map import map_on_cluster
from billhook.cluster._partitions import Partition, Partitions
from billhook.forest import Forest
from billhook.refinement import DescentPartition, DistributedDescent, LeafLayout, Loss, PartitionTask, Problem

if TYPE_CHECKING:
    from distributed import Client, Future

Answer = tuple[NDArray[Any], ...]


class HeldPart(DescentPartition):
    """A part on a worker, and how many tasks it has done: one that missed a task, or did one twice, is not used."""

    n_done = 0


# The parts on this worker, by its address and their names. Dask holds them, as results of tasks, and drops them once
# the client lets go of them or goes itself.
HELD: WeakValueDictionary[tuple[str, str], HeldPart] = WeakValueDictionary()


class PartStart(NamedTuple):
    """What a part is made from, beside its rows."""

    forest: Forest
    loss: Loss
    layout: LeafLayout | None
    table: Vector | None
    n_done: int


class PartLocation(NamedTuple):
    """Where a part is: the worker, if it is known, the name there, and what keeps it."""

    address: str | None
    name: str
    future: "Future[Any]"


class DistributedRows:
    """Workers that hold the parts of the rows, as leaf numbers and scores, and add up what the descent asks for.

    A part that is lost with its worker is made anew, from its rows and the table of leaves as it is then.

    Parameters
    ----------
    client : distributed.Client
    parts : Partitions
    forest : Forest
    loss : Loss
    """

    def __init__(self, client: "Client", parts: Partitions, forest: Forest, loss: Loss) -> None:
        self.client, self.parts, self.forest, self.loss = client, parts, forest, loss
        self.n_tasks = 0
        self._layout: LeafLayout | None = None
        self._table: Vector | None = None
        self._places: dict[int, PartLocation] = {}
        self._name, self._number = f"part-{uuid4().hex}", count()

        self._make(list(range(len(parts))), n_done=0)

    def close(self) -> None:
        """Let the workers forget the parts."""
        self._places.clear()

    def begin(self, layout: LeafLayout, table: Vector) -> None:
        """Give all rows the scores of this table, which the caller goes on to change."""
        self._layout, self._table = layout, table
        self.total(PartitionTask("restart", (layout, table)), PartitionTask("rest"))

    def total(self, task: PartitionTask, anew: PartitionTask | None = None) -> Answer:
        """Return the sums of the answers of all parts; `anew` is for a part that was lost and made again."""
        self.n_tasks += 1
        answers: list[Answer] = []
        wanted = set(self._places)
        for _ in range(ATTEMPTS):
            found, wanted = self._ask(wanted, task)
            answers += found
            if not wanted:
                return reduce(_add, answers)
            self._make(sorted(wanted), n_done=self.n_tasks - 1)
            task = task if anew is None else anew
        raise ClusterError(
            f"{len(wanted)} of {len(self.parts)} parts of the rows were lost {ATTEMPTS} times in a row on the "
            f"cluster at {address_of(self.client)}; see the logs of its workers, which may have too little memory"
        )

    def descent(self, problem: Problem, loss: Loss, l2: float, anchor: Vector) -> DistributedDescent:
        """Return a descent of the leaf values on these rows."""
        return DistributedDescent(problem, self, loss, l2, anchor)

    def follow(self, problem: Problem, number: NDArray[np.int64], stays: NDArray[np.bool_], to: Forest) -> None:
        """Give the rows the numbers that their leaves have in the forest `to`, and keep only the trees that stay."""
        self.forest, self._layout, self._table = to, None, None
        self.total(PartitionTask("follow", (problem.first, number, stays)), PartitionTask("rest"))

    def _ask(self, wanted: set[int], task: PartitionTask) -> tuple[list[Answer], set[int]]:
        """Return the answers of these parts, added up by worker, and which parts are lost."""
        names: dict[str, dict[str, int]] = defaultdict(dict)
        lost = set()
        for number in sorted(wanted):
            address, name, _ = self._places[number]
            if address is None:
                lost.add(number)
            else:
                names[address][name] = number
        asked = {address: list(of_worker) for address, of_worker in names.items()}
        replies = reach(
            self.client,
            self.client.run,
            _answer,
            asked,
            task,
            self.n_tasks,
            workers=list(asked),
            on_error="return",
        )
        answers = []
        for address, reply in replies.items():
            if isinstance(reply, OSError):  # nobody there
                lost |= set(names[address].values())
            elif isinstance(reply, Exception):
                raise reply
            else:
                answer, missing = reply
                answers += [] if answer is None else [answer]
                lost |= {names[address][name] for name in missing}
        return answers, lost

    def _make(self, numbers: list[int], n_done: int) -> None:
        """Have parts made on any workers, as they are after so many tasks, and note where they are."""
        start = PartStart(self.forest, self.loss, self._layout, self._table, n_done)
        names: dict[int, str] = {}

        def submit(batch: list[int], is_again: bool) -> "list[Future[Any]]":  # noqa: ARG001 - all is sent each time
            names.update({number: f"{self._name}-{number}-{next(self._number)}" for number in batch})
            return reach(self.client, self._submit, {number: names[number] for number in batch}, start)

        futures = dict(
            map_on_cluster(
                self.client, submit, numbers, take=lambda future: future, name_of="part {} of the rows".format
            )
        )
        workers = reach(self.client, self.client.who_has, list(futures.values()))
        for number, future in futures.items():
            at = workers.get(future.key, ())
            self._places[number] = PartLocation(at[0] if at else None, names[number], future)

    def _submit(self, names: dict[int, str], start: PartStart) -> "list[Future[Any]]":
        """Return the futures of parts, by their numbers, that will have these names on their workers."""
        from dask.delayed import delayed

        sent = send(self.client, start)
        hold = delayed(_hold, pure=False)
        parts = [hold(self.parts.loaders[number](self.client), sent, name) for number, name in names.items()]
        futures: list[Future[Any]] = self.client.compute(parts)
        return futures


def _hold(rows: Partition, start: PartStart, name: str) -> HeldPart:
    """Make a part and keep it; runs on a worker."""
    from distributed import get_worker

    part = HeldPart(Problem(start.forest), *rows, start.loss)
    if start.layout is not None and start.table is not None:
        part.restart(start.layout, start.table)
    part.n_done = start.n_done
    HELD[get_worker().address, name] = part
    return part


async def _answer(
    asked: dict[str, list[str]], task: PartitionTask, number: int, dask_worker: Any
) -> tuple[Answer | None, list[str]]:
    """Return the sums of the answers of this worker's parts, and the names of those it does not have."""
    here = {name: HELD.get((dask_worker.address, name)) for name in asked[dask_worker.address]}
    parts = [part for part in here.values() if part is not None and part.n_done == number - 1]
    missing = [name for name, part in here.items() if part is None or part.n_done != number - 1]
    n_threads = max(1, min(dask_worker.state.nthreads, len(parts)))
    # In threads of their own, so that the worker goes on answering.
    shares = [asyncio.to_thread(_do, parts[k::n_threads], task) for k in range(n_threads) if parts]
    answers = await asyncio.gather(*shares)
    return (reduce(_add, answers) if answers else None), missing


def _do(parts: list[HeldPart], task: PartitionTask) -> Answer:
    answers = []
    for part in parts:
        answers.append(part.do(task))
        part.n_done += 1
    return reduce(_add, answers)


def _add(one: Answer, other: Answer) -> Answer:
    return tuple(a + b for a, b in zip(one, other, strict=True))
