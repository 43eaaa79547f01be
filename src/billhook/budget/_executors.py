"""Where trials run: threads of this process, or anything else that can map."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from billhook._interruption import SECONDS_DEAF
from billhook.budget._trial_outcome import TrialBatch, TrialOutcome
from billhook.budget._trial_runner import TrialRunner


class Executor(Protocol):
    """Runs batches of trials: on this machine, or on a cluster."""

    def map(self, runner: TrialRunner, batches: Iterable[TrialBatch]) -> Iterator[list[TrialOutcome]]:
        """Yield the outcomes of each batch, as they end."""


@dataclass
class ThreadExecutor:
    """Runs batches in threads of this process.

    These are started once: where memory runs out, CPython may wait for ever for a thread that could not begin.
    """

    n_threads: int

    def __post_init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None  # its threads end when nothing refers to it

    def map(self, runner: TrialRunner, batches: Iterable[TrialBatch]) -> Iterator[list[TrialOutcome]]:
        """Yield the outcomes of each batch, as they end; a batch that has begun is not stopped."""
        pool = self._pool = self._pool or ThreadPoolExecutor(self.n_threads)
        waiting = iter(batches)
        is_done = False
        running: set[Future[list[TrialOutcome]]] = set()
        try:
            while True:
                while len(running) < self.n_threads and (batch := next(waiting, None)) is not None:
                    running.add(pool.submit(runner.run, batch))
                if not running:
                    is_done = True
                    return
                done, running = wait(running, timeout=SECONDS_DEAF, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            if not is_done:
                self._pool = None
                pool.shutdown(cancel_futures=True)
