"""Go on with a fit: what was asked for then, and what was found, are in its folder."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from billhook.budget._fit import FitResult
from billhook.budget._fit_table import fit_table
from billhook.budget._record import UNKEPT, read_record
from billhook.budget._search import Search


def resume_fit(
    folder: str | PathLike[str],
    table: Any = None,
    *,
    time_limit: float | None = 60.0,
    n_trials: int | None = None,
    n_jobs: int | None = None,
    compare: bool = False,
    keep_best: bool = False,
    progress: Callable[[Search], None] | None = None,
    log: Callable[[str], None] | None = None,
    started: float | None = None,
) -> FitResult:
    """Go on with the search of an earlier fit, with what was asked for then, and write the result to its folder.

    The best configurations of then are evaluated again, and none of the others, so that the time goes to new ones;
    what is found is at least as good on the rows held out for comparing the best.

    Parameters
    ----------
    folder : path
        What `fit_table` wrote to.
    table : path, data frame or Table, optional
        If it is not where it was then, or was no file.
    time_limit, n_trials, n_jobs, compare, keep_best, progress, log, started
        As for `fit_table`; `n_trials` are new ones.

    Examples
    --------
    >>> import tempfile
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> frame = load_iris(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = bh.fit_table(frame, "target", budget=300, n_trials=2, out=f"{folder}/model")
    ...     second = bh.resume_fit(f"{folder}/model", frame, n_trials=2)
    >>> second.report.score >= first.report.score
    True
    """
    settings = dict(read_record(folder).settings)
    unkept = settings.pop(UNKEPT, [])
    if unkept:
        raise ValueError(
            f"{folder} was fitted with a {unkept[0]} that a file cannot hold: go on in Python with fit_table and all "
            "its arguments, and resume=folder"
        )
    table = settings.pop("table", None) if table is None else table
    if table is None:
        raise ValueError(f"{folder} was fitted from a table in memory: give it as table")
    if isinstance(table, str) and not Path(table).exists():
        raise FileNotFoundError(f"the table that {folder} was fitted from, {table}, is not there any more: name it")
    settings.pop("table", None)
    return fit_table(
        table,
        **settings,
        out=folder,
        force=True,
        time_limit=time_limit,
        n_trials=n_trials,
        n_jobs=n_jobs,
        compare=compare,
        keep_best=keep_best,
        progress=progress,
        log=log,
        started=started,
        resume=folder,
    )
