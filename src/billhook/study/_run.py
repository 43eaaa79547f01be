"""Running a study: workers do its units, runs are written as they finish, and what is there is not made again."""

import fcntl
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from billhook.study._backends import Cluster, Here, Job, Workers
from billhook.study._data import load_source
from billhook.study._store import FILE, ResultsError, Store, skipped
from billhook.study._study import SEARCH, Study, Unit, configurations_of, units_of
from billhook.study._watch import Watch

if TYPE_CHECKING:
    import pandas as pd

LOCK = ".running"
PRUNED_BY = {"training": "the training rows", "dedicated": "a third of the training rows, kept for it"}
VERSIONED = ("billhook", "numpy", "scikit-learn")
Progress = Callable[[int, int, str], None]


def run(
    study: Study,
    folder: str | PathLike[str],
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    memory_limit: int | None = None,
    time_limit: float | None = None,
    skip_missing: bool = False,
    retry: bool = False,
    any_version: bool = False,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Make all runs of a study that are not in the folder yet; return the table of all.

    Interrupted or killed at any moment, it goes on where it was when called again. The numbers depend on the study
    alone: not on how many workers there are, where, or how often it was interrupted.

    Parameters
    ----------
    study : Study
    folder : path
        Where `results.sqlite` is, or will be. One of another study is refused.
    n_jobs : int
        Processes on this machine.
    scheduler : str, optional
        The address of a Dask scheduler, tcp://...; then its workers do the work.
    memory_limit : int, optional
        Bytes that all processes together may take, as far as that can be told from the numbers of rows and trees:
        then fewer work at once on large data sets.
    time_limit : float, optional
        Seconds that a run may take.
    skip_missing : bool
        Whether data sets that cannot be found are skipped; else that is an error, before anything is run.
    retry : bool
        Whether runs that failed or timed out are made again.
    any_version : bool
        Whether to go on with results of other versions of Billhook, NumPy or scikit-learn.
    progress : function, optional
        Told how many runs are there, of how many, and what was finished last.
    """
    folder = Path(folder)
    with _alone(folder):
        store = _open(folder, study, any_version)
        try:
            store.forget(("skipped", "failed", "timed_out") if retry else ("skipped",))
            jobs, n_runs = _plan(study, store, skip_missing, time_limit)
            store.tell("runs", n_runs)
            shares = list(_by_memory(jobs, n_jobs, memory_limit))
            workers: Workers = Here(store) if scheduler is None else Cluster(scheduler, store)
            with closing(workers), Watch(store, n_runs, progress) as watch:
                for some, n_at_once in shares:
                    for unit, seconds in workers.map(some, n_at_once):
                        watch.done(unit, seconds)
            store.tell("seconds", watch.seconds + store.told("seconds", 0.0))
            return store.frame()
        finally:
            store.close()


def results(folder: str | PathLike[str]) -> "pd.DataFrame":
    """Return the table of all runs in a folder, whether a study is finished or not."""
    store = Store(Path(folder))
    try:
        return store.frame()
    finally:
        store.close()


def about(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return what is known of the results in a folder, as `write_report` takes it.

    `study` is its name, `runs` how many there are to be; `counts` are by status, `seconds` by data set and then by
    method or step; the rest is in words: settings, versions, machine, and how long it took in all.
    """
    import pandas as pd

    store = Store(Path(folder))
    try:
        runs, work = store.frame(), store.frame("work")
        of_steps = work.assign(method=work["step"])
        seconds = pd.concat([runs, of_steps]).groupby(["data", "method"])["seconds"].sum()
        study = json.loads(store.told("study", "{}"))
        machine = store.told("machine", {})
        return {
            "study": study["name"],
            "runs": store.told("runs", 0),
            "base ensembles": f"{', '.join(study['bases'])} of {study['n_base_trees']} trees",
            "most leaves of a tree": ", ".join(map(str, study["max_leaves"])),
            "trees left": ", ".join(map(str, study["n_trees"])),
            "folds": study["folds"],
            "pruned and refined by": "the training rows"
            if study["pruning_data"] == "training"
            else "a third of them",
            "seed": study["seed"],
            "versions": ", ".join(f"{name} {number}" for name, number in store.told("versions", {}).items()),
            "machine": f"{machine.get('system')} {machine.get('machine')}, {machine.get('cores')} cores",
            "time from start to end": f"{store.told('seconds', 0.0) / 60:.1f} min",
            "counts": store.statuses(),
            "seconds": {name: some.droplevel(0).to_dict() for name, some in seconds.groupby(level=0)},
        }
    finally:
        store.close()


def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    return {name: version(name) for name in VERSIONED}


def _open(folder: Path, study: Study, any_version: bool) -> Store:
    """Return the store of a study, a new one if there is none."""
    if not (folder / FILE).exists():
        others = [path.name for path in folder.iterdir() if path.name != LOCK and FILE not in path.name]
        if others:
            raise ResultsError(f"{folder} holds {others[0]} and no results: give a new or an empty folder")
        store = Store.create(folder, study, versions())
        store.tell("machine", {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()})
        return store
    store = Store(folder)
    try:
        if different := study.differences(store.told("study", "{}")):
            raise ResultsError(
                f"{folder} holds the results of another study ({'; '.join(different[:3])}): give another folder"
            )
        then, now = store.told("versions", {}), versions()
        if then != now and not any_version:
            told = ", ".join(
                f"{name} {then.get(name)} there, {now[name]} here" for name in now if then.get(name) != now[name]
            )
            raise ResultsError(
                f"{folder} holds results of other versions ({told}), and numbers may differ: give another folder, or "
                "allow any version"
            )
    except BaseException:
        store.close()
        raise
    return store


def _plan(study: Study, store: Store, skip_missing: bool, time_limit: float | None) -> tuple[list[Job], int]:
    """Return what is left to do, the largest first, and how many runs there are in all."""
    n_folds: dict[str, int] = {}
    shapes: dict[str, tuple[int, int, int]] = {}
    missing: dict[str, str] = {}
    for source in study.data:
        try:
            data = load_source(source)
        except OSError as error:
            missing[source.name] = str(error)
            continue
        if data.classes is None:
            raise ValueError(f"{source.name} has numbers to predict, and a study compares classifiers")
        n_folds[source.name] = sum(1 for _ in data.folds(study.folds, study.seed))
        shapes[source.name] = (*data.X.shape, data.classes.size)
    if missing and not skip_missing:
        first = next(iter(missing))
        raise FileNotFoundError(
            f"{len(missing)} of {len(study.data)} data sets cannot be found, the first being {missing[first]} "
            "Or skip those that are missing."
        )
    if not n_folds:
        raise FileNotFoundError("none of the data sets can be found")
    known = store.known()
    jobs, n_runs = [], 0
    for unit in units_of(study, {**n_folds, **dict.fromkeys(missing, study.folds)}):
        keys = {one.key: one for one in configurations_of(study, unit)}
        n_runs += len(keys)
        todo = [one for key, one in keys.items() if key not in known]
        if unit.data in missing:
            store.add([skipped(one, missing[unit.data], study.seed) for one in todo])
        elif todo:
            source = next(one for one in study.data if one.name == unit.data)
            n_bytes = _bytes_of(study, unit, shapes[unit.data])
            jobs.append(Job(study, unit, source, frozenset(key for key in keys if key in known), time_limit, n_bytes))
    return sorted(jobs, key=lambda job: (-job.n_bytes, job.unit)), n_runs


def _bytes_of(study: Study, unit: Unit, shape: tuple[int, int, int]) -> int:
    """Return about how much memory a unit takes: its rows, its trees, and the leaves of all rows in all trees."""
    n_rows, n_features, n_classes = shape
    n_nodes = 2 * study.n_base_trees * max(study.max_leaves)
    n_nodes = min(n_nodes, 2 * study.n_base_trees * n_rows)
    trees = n_nodes * (3 * 8 * n_classes + 3 * 60)
    rows = n_rows * (3 * 4 * n_features + 4 * study.n_base_trees + 4 * 8 * n_classes)
    return 200_000_000 + rows + (0 if unit.base == SEARCH else trees)


def _by_memory(jobs: list[Job], n_jobs: int, limit: int | None) -> Iterator[tuple[list[Job], int]]:
    """Yield jobs, and how many of them may be done at once."""
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        n_at_once = n_jobs if limit is None else min(n_jobs, limit // job.n_bytes)
        if n_at_once < 1:
            raise ValueError(
                f"the memory limit of {limit:,} bytes is too low for {job.unit.data}, which takes about "
                f"{job.n_bytes:,}: raise it, or leave that data set out"
            )
        groups.setdefault(n_at_once, []).append(job)
    yield from ((some, n) for n, some in groups.items())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from running a study in the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"another process is running a study in {folder}: wait for it, or stop it") from None
        yield
