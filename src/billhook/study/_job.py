"""What a backend is given to do, and what it is."""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from billhook.datasets import DataSet
from billhook.study._study import DataSource, Study, Unit
from billhook.study._unit import Record, run_unit
from billhook.study._unit_process import UnitProcess

Done = tuple[Unit, float]


@dataclass(frozen=True)
class Job:
    """A unit that is not finished: the runs of it that are known, and about how much memory it takes."""

    study: Study
    unit: Unit
    source: DataSource
    contents: str
    known: frozenset[tuple[Any, ...]]
    time_limit: float | None
    n_bytes: int

    def run(self, load: Callable[[], DataSet], record: Record, process: UnitProcess | None) -> float:
        """Make the runs that are not known, in a process if one is given, else here; return the seconds it took."""
        start = time.perf_counter()
        if process is None:
            run_unit(self.study, self.unit, load(), set(self.known), record)
        else:
            process.run_unit(self.study, self.unit, load, set(self.known), record, self.time_limit)
        return time.perf_counter() - start


class Backend(Protocol):
    """Whoever does jobs."""

    def map(self, jobs: list[Job], n_at_once: int) -> Generator[Done, None, None]:
        """Do jobs, so many at once, and yield which are done, and how long they took."""

    def close(self) -> None:
        """Leave them."""
