"""Units of a study done by the workers of a Dask cluster."""

import os
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from billhook.cluster import WORKER_TIMEOUT, connect, map_on_cluster, reach, send, workers_of
from billhook.datasets import DataSet
from billhook.study._data import load_again
from billhook.study._job import Done, Job
from billhook.study._store import RunRecord, StepRecord, Store
from billhook.study._unit_process import UnitProcess

if TYPE_CHECKING:
    from distributed import Future

    from billhook.study._study import DataSource

TOPIC = "billhook-study"


class DaskBackend:
    """Workers of a Dask cluster: they tell of each run as it finishes, and it is written here.

    A worker that dies costs time, not results: what it had told is known, and another does the rest.
    """

    def __init__(
        self, address: str, store: Store, *, worker_timeout: float = WORKER_TIMEOUT, say: Callable[[str], None]
    ) -> None:
        self.client = connect(address, worker_timeout=worker_timeout, say=say)
        self.store = store

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:  # noqa: ARG002 - it has the workers it has
        """Do jobs, as many at once as the workers have threads, and yield which are done, and how long they took."""
        client = self.client
        topic = f"{TOPIC}-{os.getpid()}-{time.time_ns()}"
        sent: dict[DataSource, Future[Any]] = {}
        n_left = Counter(job.source for job in jobs)

        def submit(batch: list[Job], is_again: bool) -> "list[Future[Any]]":
            if is_again:
                for source in {job.source for job in batch}:
                    sent.pop(source, None)
            futures = []
            known = frozenset(self.store.keys())
            for job in batch:
                if job.source not in sent:
                    sent[job.source] = send(client, load_again(job.source, job.contents))
                job = replace(job, known=job.known | known)
                futures.append(reach(client, client.submit, _do_there, job, sent[job.source], topic, pure=False))
            return futures

        client.subscribe_topic(topic, lambda event: self._write(event[1]))
        try:
            for job, (rows, seconds) in map_on_cluster(
                client, submit, jobs, n_at_once=self._n_threads, name_of=lambda job: str(job.unit)
            ):
                self._write(rows)
                n_left[job.source] -= 1
                if not n_left[job.source]:
                    sent.pop(job.source, None)
                yield job.unit, seconds
        finally:
            client.unsubscribe_topic(topic)

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()

    def _n_threads(self) -> int:
        return max(1, sum(workers_of(self.client).values()))

    def _write(self, rows: list[dict[str, Any]]) -> None:
        self.store.add([RunRecord(**row) for row in rows if "status" in row])
        self.store.add([StepRecord(**row) for row in rows if "step" in row])


def _do_there(job: Job, data: DataSet, topic: str) -> tuple[list[dict[str, Any]], float]:
    """Do a job on a worker, telling of each run; return the runs once more, as what was told may be lost."""
    from distributed import get_worker

    worker = get_worker()
    runs: list[dict[str, Any]] = []

    def record(records: list[RunRecord] | list[StepRecord]) -> None:
        rows = [asdict(row) for row in records]
        if isinstance(records[0], RunRecord):
            runs.extend(rows)
        worker.log_event(topic, rows)

    with closing(UnitProcess()) as process:
        return runs, job.run(partial(_as_it_is, data), record, None if job.time_limit is None else process)


def _as_it_is(data: DataSet) -> DataSet:
    return data
