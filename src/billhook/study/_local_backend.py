"""Units of a study done by processes of this machine."""

import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

from billhook.study._data import load_again
from billhook.study._job import Done, Job
from billhook.study._store import ResultsError, Store
from billhook.study._unit_process import UnitProcess

WATCH_SECONDS = 0.2


class LocalBackend:
    """Processes of this machine, which write to the results themselves."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._process = UnitProcess()

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        """Do jobs, so many at once, and yield which are done, and how long they took."""
        if n_at_once == 1:
            yield from (_do(job, self.store, self._process) for job in jobs)
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
        """End the process of units with a time limit; others end when nobody has work for them."""
        self._process.close()


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
    with closing(Store(folder)) as store:
        return _do(job, store, _process_of_worker())


def _do(job: Job, store: Store, process: UnitProcess) -> Done:
    return job.unit, job.run(load_again(job.source, job.contents), store.add, process)


@lru_cache(maxsize=1)
def _process_of_worker() -> UnitProcess:
    """Return the process in which this one has units done that have a time limit; it ends with this one."""
    return UnitProcess()


@lru_cache(maxsize=1)
def _end_with(parent: int) -> None:
    """Have this process end when its parent does, which may be killed: else it would work on for nobody."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
