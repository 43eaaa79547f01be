"""Running a study: workers do its units, runs are written as they finish, and what is there is not made again."""

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import effective_n_jobs

from billhook.analysis import FAILED, TIMED_OUT
from billhook.cluster import MOST_SECONDS, WORKER_TIMEOUT, check_worker_timeout
from billhook.study._dask_backend import DaskBackend
from billhook.study._local_backend import LocalBackend
from billhook.study._plan import DatasetSummary, by_memory, plan_of
from billhook.study._progress import ProgressMonitor
from billhook.study._store import FILE, ResultsError, Store
from billhook.study._study import Study

if TYPE_CHECKING:
    import pandas as pd

    from billhook.study._job import Backend

LOCK = ".running"
PRUNED_BY = {"training": "the training rows", "dedicated": "a third of the training rows, kept for it"}
# Results depend on these.
VERSIONED = ("billhook", "numpy", "scikit-learn", "scipy", "xgboost", "xgboost-cpu")
RETRIED = (FAILED, TIMED_OUT)
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
    worker_timeout: float = WORKER_TIMEOUT,
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
        Seconds that a run may take: what a method does with a base ensemble, or growing boosted trees, or a search.
    skip_missing : bool
        Whether data sets that cannot be found are skipped; else that is an error, before anything is run.
    retry : bool
        Whether runs that failed or timed out are made again.
    any_version : bool
        Whether to go on with results of other versions of Billhook, NumPy or scikit-learn.
    worker_timeout : float
        Seconds to wait while the cluster has no worker at all; then the study ends, and can be gone on with.
    progress : function, optional
        Told how many runs are there, of how many, and what was finished last, or that there is no worker.
    """
    folder = Path(folder).resolve()
    n_jobs = effective_n_jobs(n_jobs)
    if time_limit is not None and not 0.0 < time_limit < MOST_SECONDS:
        raise ValueError(f"time_limit must be above 0 seconds and at most {MOST_SECONDS:,}, not {time_limit:g}")
    check_worker_timeout(worker_timeout)
    datasets = DatasetSummary(study, skip_missing)
    with _alone(folder), closing(_open(folder, study, datasets, any_version)) as store:
        plan = plan_of(study, store, datasets, time_limit, RETRIED if retry else ())
        shares = list(by_memory(plan.jobs, n_jobs, memory_limit))
        monitor = ProgressMonitor(store, len(plan.keys), progress)
        backend: Backend = (
            LocalBackend(store)
            if scheduler is None
            else DaskBackend(scheduler, store, worker_timeout=worker_timeout, say=monitor.say)
        )
        with closing(backend):
            store.set_meta("runs", len(plan.keys))
            store.set_meta("data", store.get_meta("data", {}) | datasets.contents)
            store.set_meta("missing", list(datasets.missing))
            store.delete(plan.repeated)
            store.add(plan.skipped)
            with monitor:
                for jobs, n_at_once in shares:
                    with closing(backend.map(jobs, n_at_once)) as done:
                        for unit, seconds in done:
                            monitor.done(unit, seconds)
        if lost := len(plan.keys - store.keys()):
            raise ResultsError(f"{lost:,} runs were made, but are not in {store.path}: was it moved? Run it again")
        return store.frame()


def results(folder: str | PathLike[str]) -> "pd.DataFrame":
    """Return the table of all runs in a folder, whether a study is finished or not."""
    with closing(Store(Path(folder), is_read=True)) as store:
        return store.frame()


def about(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return what is known of the results in a folder, as `write_report` takes it.

    `study` is its name, `runs` how many there are to be; `counts` are by status, `seconds` by data set and then by
    method or step; the rest is in words: settings, versions, machine, and how long it took in all.
    """
    import pandas as pd

    with closing(Store(Path(folder), is_read=True)) as store:
        runs, work = store.frame(), store.frame("work")
        of_steps = work.assign(method=work["step"])
        seconds = pd.concat([runs, of_steps]).groupby(["data", "method"])["seconds"].sum()
        study = json.loads(store.get_meta("study", "{}"))
        machine = store.get_meta("machine", {})
        return {
            "study": study["name"],
            "runs": store.get_meta("runs", 0),
            "base ensembles": f"{', '.join(study['bases'])} of {study['n_base_trees']} trees",
            "most leaves of a tree": ", ".join(map(str, study["max_leaves"])),
            "trees left": ", ".join(map(str, study["n_trees"])),
            "folds": study["folds"],
            "pruned and refined by": PRUNED_BY[study["pruning_data"]],
            "seed": study["seed"],
            "versions": ", ".join(f"{name} {number}" for name, number in store.get_meta("versions", {}).items()),
            "machine": f"{machine.get('system')} {machine.get('machine')}, {machine.get('cores')} cores",
            "time from start to end": f"{store.get_meta('seconds', 0.0) / 60:.1f} min",
            "counts": store.statuses(),
            "seconds": {name: steps.droplevel(0).to_dict() for name, steps in seconds.groupby(level=0)},
        }


def caps(folder: str | PathLike[str]) -> tuple[float, ...]:
    """Return the memory caps of the study in a folder, in kilobytes, as `write_report` takes them."""
    with closing(Store(Path(folder), is_read=True)) as store:
        return tuple(json.loads(store.get_meta("study", "{}"))["caps"])


def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    installed = {}
    for name in VERSIONED:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def _open(folder: Path, study: Study, datasets: DatasetSummary, any_version: bool) -> Store:
    """Return the store of a study, a new one if there is none, or none with runs."""
    if not (folder / FILE).exists():
        others = [path.name for path in folder.iterdir() if path.name != LOCK and FILE not in path.name]
        if others:
            raise ResultsError(f"{folder} holds {others[0]} and no results: give a new or an empty folder")
        return _new(folder, study)
    store = Store(folder)
    try:
        if store.count() == 0:
            store.close()
            (folder / FILE).unlink()
            return _new(folder, study)
        if different := study.differences(store.get_meta("study", "{}")):
            raise ResultsError(
                f"{folder} holds the results of another study ({'; '.join(different[:3])}): give another folder"
            )
        before = store.get_meta("data", {})
        for name, contents in datasets.contents.items():
            if before.get(name, contents) != contents:
                raise ResultsError(
                    f"{name} is not what it was when the results in {folder} were made: put the old data back, or "
                    "give another folder"
                )
        then, now = store.get_meta("versions", {}), versions()
        others = [name for name in now if then.get(name) != now[name]]
        if others and not any_version:
            words = ", ".join(f"{name} {then.get(name)} there, {now[name]} here" for name in others)
            raise ResultsError(
                f"{folder} holds results of other versions ({words}), and numbers may differ: give another folder, "
                "or allow any version (any_version=True)"
            )
    except BaseException:
        store.close()
        raise
    return store


def _new(folder: Path, study: Study) -> Store:
    store = Store.create(folder, study, versions())
    store.set_meta("machine", {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()})
    return store


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from running a study in the same folder."""
    try:
        from filelock import FileLock, Timeout
    except ImportError:
        raise ImportError("to run a study, pip install 'billhook[study]'") from None
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCK, blocking=False):
            yield
    except Timeout:
        raise ResultsError(f"another process is running a study in {folder}: wait for it, or stop it") from None
    except BaseException:
        if is_new and {path.name for path in folder.glob("*")} <= {LOCK}:
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
        raise
