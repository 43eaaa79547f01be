"""Units of a study done by processes of this machine."""

import threading
from collections.abc import Generator
from contextlib import closing
from functools import partial
from queue import Empty, SimpleQueue

from billhook._interruption import SECONDS_DEAF, join, not_interrupted
from billhook.study._data import load_again
from billhook.study._job import Done, Job
from billhook.study._store import Store
from billhook.study._unit_process import UnitProcess


class LocalBackend:
    """One process of this machine, which is this one, or several, which tell this one of each run as it finishes.

    These share nothing with this one but two pipes each, and end when the pipes do, however this one ends: no
    semaphores, no files, and so nothing that a Ctrl-C, at whatever moment, could leave behind.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        """Do jobs, so many at once, and yield which are done, and how long they took."""
        if n_at_once > 1:
            yield from self._in_processes(jobs, min(n_at_once, len(jobs)))
            return
        with closing(UnitProcess()) as process:
            for job in jobs:
                yield self._do(job, None if job.time_limit is None else process)

    def close(self) -> None:
        """Do nothing: processes end with the jobs that they were started for."""

    def _in_processes(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        processes = [UnitProcess() for _ in range(n_at_once)]
        left, ended = SimpleQueue[Job | None](), SimpleQueue[Done | BaseException]()
        for job in (*jobs, *(None for _ in processes)):
            left.put(job)

        def work(process: UnitProcess) -> None:
            try:
                for job in iter(left.get, None):
                    ended.put(self._do(job, process))
            except BaseException as error:
                ended.put(error)
            finally:
                process.close()

        threads = [threading.Thread(target=work, args=(process,), daemon=True) for process in processes]
        try:
            with not_interrupted():  # nor are, then, these threads, nor the processes that they start
                for thread in threads:
                    thread.start()
            for _ in jobs:
                done = _next(ended)
                if isinstance(done, BaseException):
                    raise done
                yield done
        finally:
            for process in processes:
                process.kill()
            for thread in threads:
                if thread.ident is not None:
                    join(thread)

    def _do(self, job: Job, process: UnitProcess | None) -> Done:
        return job.unit, job.run(partial(load_again, job.source, job.contents), self.store.add, process)


def _next(ended: SimpleQueue[Done | BaseException]) -> Done | BaseException:
    while True:
        try:
            return ended.get(timeout=SECONDS_DEAF)
        except Empty:
            continue
