"""The results of a study in one SQLite file: a row for every run, written as it finishes."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from billhook.analysis import RUN_KEY, SKIPPED, STATUSES
from billhook.study._study import Configuration, Study

if TYPE_CHECKING:
    import pandas as pd

FILE = "results.sqlite"
REST = ("-journal", "-wal", "-shm")
# Errors of SQLite that undoing a transaction meets where nothing can be written.
UNDOING = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR_DELETE)
FORMAT = 1
WAIT_SECONDS = 120.0
TABLES = f"""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE runs (
    data TEXT NOT NULL, fold INTEGER NOT NULL, base TEXT NOT NULL, method TEXT NOT NULL, options TEXT NOT NULL,
    n_leaves INTEGER NOT NULL, n_trees INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN {tuple(STATUSES)}), reason TEXT,
    accuracy_train REAL, accuracy REAL, balanced_accuracy REAL, f1 REAL,
    n_nodes INTEGER, size_paper INTEGER, size_published INTEGER, size_packed INTEGER,
    seconds REAL NOT NULL, seed INTEGER NOT NULL,
    PRIMARY KEY ({", ".join(RUN_KEY)})
) STRICT, WITHOUT ROWID;
CREATE TABLE work (
    data TEXT NOT NULL, fold INTEGER NOT NULL, base TEXT NOT NULL, step TEXT NOT NULL, seconds REAL NOT NULL
) STRICT;
"""


class ResultsError(RuntimeError):
    """A folder of results that cannot be used, or written to."""


@dataclass(frozen=True)
class RunRecord:
    """What came of a configuration."""

    data: str
    fold: int
    base: str
    method: str
    options: str
    n_leaves: int
    n_trees: int
    status: str
    seconds: float
    seed: int
    reason: str | None = None
    accuracy_train: float | None = None
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    f1: float | None = None
    n_nodes: int | None = None
    size_paper: int | None = None
    size_published: int | None = None
    size_packed: int | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it apart from all others."""
        return tuple(getattr(self, name) for name in RUN_KEY)


@dataclass(frozen=True)
class StepRecord:
    """How long a step took that serves many runs."""

    data: str
    fold: int
    base: str
    step: str
    seconds: float


class Store:
    """The results file of a folder. Any number of processes of a machine may write to it at once.

    What a process that was killed has written of a transaction is undone by whoever opens the file next, also if it
    `is_read` only: SQLite does that with its journal, and for that it must be allowed to write to the folder.
    """

    def __init__(self, folder: Path, *, is_read: bool = False) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        if not self.path.exists():
            raise ResultsError(f"{folder} holds no results of a study")
        with self._errors():
            where = f"{self.path.resolve().as_uri()}?mode=rw"  # or, of a file that cannot be written to, ro
            self._connection = sqlite3.connect(where, timeout=WAIT_SECONDS, check_same_thread=False, uri=True)
            if is_read:
                self._connection.execute("PRAGMA query_only = 1")
            kept = self._connection.execute("SELECT value FROM about WHERE name = 'format'").fetchone()
            health = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if health != "ok":
                raise sqlite3.DatabaseError(f"malformed: {health}")
        if kept is None or kept[0] != str(FORMAT):
            self.close()
            raise ResultsError(
                f"{self.path} is of format {kept and kept[0]}, and this version of Billhook reads format {FORMAT}: "
                "read it with the version that wrote it"
            )

    @classmethod
    def create(cls, folder: Path, study: Study, versions: dict[str, str]) -> "Store":
        """Return the file of a new study; it appears whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{FILE}.draft"
        # What a run that was killed has left of a file that is gone must not get into this one.
        for leftover in (draft, *(folder / f"{name}{rest}" for name in (FILE, draft.name) for rest in REST)):
            leftover.unlink(missing_ok=True)
        with _said(draft):
            connection = sqlite3.connect(draft)
            try:
                connection.executescript(TABLES)
                about = {
                    "format": str(FORMAT),
                    "study": json.dumps(study.as_json()),
                    "versions": json.dumps(versions),
                }
                connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
                connection.commit()
                connection.close()
                draft.replace(folder / FILE)
            except BaseException:
                connection.close()
                for rest in ("", *REST):
                    Path(f"{draft}{rest}").unlink(missing_ok=True)
                raise
        return cls(folder)

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a value about the study under a name."""
        with self._errors(), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, json.dumps(value)))

    def get_meta(self, name: str, default: Any) -> Any:
        """Return the value that is kept under a name, or the default."""
        with self._errors():
            kept = self._connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return default if kept is None else json.loads(kept[0])

    def keys(self, without: tuple[str, ...] = ()) -> set[tuple[Any, ...]]:
        """Return the keys of all runs that there are, but for those of some statuses."""
        marks = ", ".join("?" * len(without))
        with self._errors():
            keys = f"SELECT {', '.join(RUN_KEY)} FROM runs WHERE status NOT IN ({marks})"
            return set(self._connection.execute(keys, without))

    def count(self) -> int:
        """Return how many runs there are."""
        with self._errors():
            return int(self._connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0])

    def statuses(self) -> dict[str, int]:
        """Return how many runs there are of each status."""
        with self._errors():
            return dict(self._connection.execute("SELECT status, COUNT(*) FROM runs GROUP BY status"))

    def add(self, rows: list[RunRecord] | list[StepRecord]) -> None:
        """Write runs, or steps; a run that is there already stays as it is."""
        if not rows:
            return
        table = "runs" if isinstance(rows[0], RunRecord) else "work"
        values = [asdict(row) for row in rows]
        names = list(values[0])
        question_marks = ", ".join(f":{name}" for name in names)
        with self._errors(), self._connection:
            self._connection.executemany(
                f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({question_marks})", values
            )

    def delete(self, keys: Iterable[tuple[Any, ...]]) -> None:
        """Delete runs, so that they are made again."""
        same = " AND ".join(f"{name} = ?" for name in RUN_KEY)
        with self._errors(), self._connection:
            self._connection.executemany(f"DELETE FROM runs WHERE {same}", list(keys))

    def frame(self, table: str = "runs") -> "pd.DataFrame":
        """Return all runs as a data frame, in an order that does not depend on who was first."""
        import pandas as pd

        with self._errors():
            order = ", ".join(RUN_KEY) if table == "runs" else "data, fold, base, step"
            rows = pd.read_sql_query(f"SELECT * FROM {table} ORDER BY {order}", self._connection)
        if table == "runs":
            for name in ("n_leaves", "n_trees"):
                rows[name] = rows[name].astype("Int64").mask(rows[name] < 0)
        return rows

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self._lock, _said(self.path):
            yield


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Say what is wrong with a file in words."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if Path(f"{path}-journal").exists() and getattr(error, "sqlite_errorcode", None) in UNDOING:
            raise ResultsError(
                f"a process was killed while it wrote to {path}, and what it began has to be undone, but nothing "
                f"can be written there ({text}). Make it and its folder writable, or copy the folder to where it is"
            ) from error
        if "full" in text:
            raise ResultsError(
                f"the disk of {path} is full. What was written before is there: make room, and run it again"
            ) from error
        if "not a database" in text or "malformed" in text or "no such table" in text:
            raise ResultsError(
                f"{path} is damaged ({text}). Move it away to begin anew; nothing was changed"
            ) from error
        raise ResultsError(f"{path} cannot be read or written: {text}") from error


def skipped(configuration: Configuration, reason: str, seed: int, status: str = SKIPPED) -> RunRecord:
    """Return the row of a run that was not made, or failed."""
    return RunRecord(*configuration.key, status, 0.0, seed, reason)
