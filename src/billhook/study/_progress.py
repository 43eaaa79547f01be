import threading
import time
from collections.abc import Callable
from types import TracebackType

from billhook._interruption import join, not_interrupted
from billhook.study._store import Store
from billhook.study._study import Unit

PAUSE = 0.5


class ProgressMonitor:
    """Looks now and then how many runs there are, and tells."""

    def __init__(self, store: Store, n_runs: int, progress: Callable[[int, int, str], None] | None) -> None:
        self.store, self.n_runs, self.progress = store, n_runs, progress
        self.start = time.perf_counter()
        self.note = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="progress", daemon=True)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.start

    def done(self, unit: Unit, seconds: float) -> None:
        """Take note of a unit that is done."""
        self.note = f"{unit.data}, fold {unit.fold}, {unit.base}: {seconds:.0f} s"
        self._tell()

    def say(self, note: str) -> None:
        """Tell something else of the work."""
        self.note = note
        self._tell()

    def __enter__(self) -> "ProgressMonitor":
        with not_interrupted():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        join(self._thread)
        self.store.set_meta("seconds", self.seconds + self.store.get_meta("seconds", 0.0))
        if error is None:
            self._tell()

    def _look(self) -> None:
        while self.progress is not None and not self._ended.wait(PAUSE):
            self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(self.store.count(), self.n_runs, self.note)
