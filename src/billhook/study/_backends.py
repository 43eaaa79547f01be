"""Who does the units of a study: processes of this machine, or the workers of a Dask cluster."""

import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from billhook.cluster import connect, send, wait_for, was_lost, workers_of
from billhook.datasets import DataSet
from billhook.study._data import load_again
from billhook.study._store import ResultsError, Run, Store, Work
from billhook.study._study import Source, Study, Unit
from billhook.study._unit import run_unit

if TYPE_CHECKING:
    from distributed import Future

Done = tuple[Unit, float]
TOPIC = "billhook-study"
WATCH_SECONDS = 0.2


@dataclass(frozen=True)
class Job:
    """A unit that is not finished: the runs of it that are known, and about how much memory it takes."""

    study: Study
    unit: Unit
    source: Source
    contents: str
    known: frozenset[tuple[Any, ...]]
    time_limit: float | None
    n_bytes: int


class Workers(Protocol):
    """Whoever does jobs."""

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        """Do jobs, so many at once, and yield which are done, and how long they took."""

    def close(self) -> None:
        """Leave them."""


@dataclass
class LocalBackend:
    """Processes of this machine, which write to the results themselves."""

    store: Store

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        """Do jobs, so many at once, and yield which are done, and how long they took."""
        if n_at_once == 1:
            yield from (_do(job, self.store) for job in jobs)
            return
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        parallel = Parallel(
            n_at_once, backend="loky", return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            with _not_interrupted():
                done = parallel(
                    delayed(_do_in_process)(job, self.store.path.parent.resolve(), os.getpid()) for job in jobs
                )
            yield from done
        except TerminatedWorkerError as error:
            raise ResultsError(
                f"a worker process was killed, perhaps for want of memory ({_first_line(error)}). What was finished "
                "is there: run it again, with fewer jobs or a memory limit"
            ) from error

    def close(self) -> None:
        """Nothing is left to do: processes end when nobody has work for them."""


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Start processes that a Ctrl-C in the terminal does not reach: it is this one that ends them."""
    from joblib.externals.loky.backend import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which, when it starts, lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _do_in_process(job: Job, folder: Path, parent: int) -> Done:
    _end_with(parent)
    store = Store(folder)
    try:
        return _do(job, store)
    finally:
        store.close()


def _do(job: Job, store: Store) -> Done:
    start = time.perf_counter()
    run_unit(job.study, job.unit, load_again(job.source, job.contents), set(job.known), store.add, job.time_limit)
    return job.unit, time.perf_counter() - start


@lru_cache(maxsize=1)
def _end_with(parent: int) -> None:
    """Have this process end when its parent does, which may be killed: else it would work on for nobody."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class DaskBackend:
    """Workers of a Dask cluster: they tell of each run as it finishes, and it is written here.

    A worker that dies costs time, not results: what it had told is known, and another does the rest.
    """

    def __init__(self, address: str, store: Store) -> None:
        self.client = connect(address)
        self.store = store

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:  # noqa: ARG002 - it has the workers it has
        """Do jobs, as many at once as the workers have threads, and yield which are done, and how long they took."""
        client = self.client
        topic = f"{TOPIC}-{os.getpid()}-{time.time_ns()}"
        client.subscribe_topic(topic, lambda event: self._write(event[1]))
        try:
            waiting = list(jobs)
            running: dict[Future[Any], Job] = {}
            data: dict[Source, Future[Any]] = {}
            while waiting or running:
                n_threads = max(1, sum(workers_of(client).values()))
                while waiting and len(running) < n_threads:
                    job = waiting.pop(0)
                    if job.source not in data:
                        data[job.source] = send(client, load_again(job.source, job.contents))
                    job = replace(job, known=job.known | frozenset(self.store.known()))
                    running[client.submit(_do_there, job, data[job.source], topic, pure=False)] = job
                wait_for(client, running, one=True)
                for future in [one for one in running if one.status != "pending"]:
                    job = running.pop(future)
                    if was_lost(client, future):
                        data.pop(job.source, None)
                        waiting.insert(0, job)
                        continue
                    rows, seconds = future.result()
                    self._write(rows)
                    yield job.unit, seconds
                for source in [
                    one for one in data if all(one != job.source for job in (*waiting, *running.values()))
                ]:
                    del data[source]
        finally:
            client.unsubscribe_topic(topic)

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        runs = [Run(**row) for row in rows if "status" in row]
        steps = [Work(**row) for row in rows if "step" in row]
        self.store.add(runs)
        self.store.add(steps)


def _do_there(job: Job, data: DataSet, topic: str) -> tuple[list[dict[str, Any]], float]:
    """Do a job on a worker, telling of each run; return the runs once more, as what was told may be lost."""
    from dataclasses import asdict

    from distributed import get_worker

    start = time.perf_counter()
    worker = get_worker()
    told: list[dict[str, Any]] = []

    def record(rows: list[Run] | list[Work]) -> None:
        some = [asdict(row) for row in rows]
        if isinstance(rows[0], Run):
            told.extend(some)
        worker.log_event(topic, some)

    run_unit(job.study, job.unit, data, set(job.known), record, job.time_limit)
    return told, time.perf_counter() - start


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
