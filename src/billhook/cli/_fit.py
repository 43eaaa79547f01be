import argparse
import errno
import os
import secrets
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from billhook.budget import (
    DaskExecutor,
    FitReport,
    FitResult,
    OrderedFeatures,
    Search,
    TrainingRows,
    UserEnsemble,
    choose_encoding,
    fit,
    fit_on_cluster,
    has_categories_to_order,
    limit_for,
    training_rows,
)
from billhook.cli import _interrupt
from billhook.cluster import Partitions, connect
from billhook.codegen import MissingToolError, emit, flash_with_reader, measure, target_named
from billhook.forest import load
from billhook.packing import Packed
from billhook.tables import Encoding, Table, encode, features_of, read_features, read_table

DEMO_BUDGET = "4KB"
SHOWN_BOARDS = 4


def add_to(commands: Any) -> None:
    """Add `billhook fit`."""
    parser = commands.add_parser(
        "fit",
        allow_abbrev=False,
        help="learn the most accurate model that fits a number of bytes, or a device",
        description="Learn from a table the most accurate model that fits a number of bytes, or a device. Writes the "
        "model, a C project that tests itself, and a report.",
    )
    parser.add_argument("table", nargs="?", metavar="TABLE", help="rows to learn from: CSV, Parquet or ARFF")
    parser.add_argument("--label", metavar="COLUMN", help="the column to predict; -1 is the last one")
    parser.add_argument("--budget", metavar="SIZE", help="how many bytes the model may take, as 4KB")
    parser.add_argument("--target", metavar="NAME", help="a device it has to fit: see `billhook targets`")
    parser.add_argument("--reserve", metavar="SIZE", help="what your own program needs of its flash, as 20KB")
    parser.add_argument("--out", metavar="DIR", help="the folder to write to")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")
    parser.add_argument("--task", choices=("classification", "regression"), help="if it is guessed wrong")
    parser.add_argument("--scoring", metavar="NAME", help="what is best: accuracy (default), balanced_accuracy, ...")
    parser.add_argument("--class-weight", choices=("balanced",), help="count rare classes as much as others")
    parser.add_argument(
        "--nominal", choices=("one_hot", "ordered"), help="what becomes of columns of names (default: what does best)"
    )
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="S", help="seconds (default: 60)")
    parser.add_argument("--trials", type=int, metavar="N", help="try so many ways, instead of a time: repeatable")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random (default: 0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="trials at a time (default: one a core)")
    parser.add_argument("--model", metavar="FILE", help="make this saved forest fit, instead of growing one")
    parser.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    parser.add_argument("--backend", choices=("threads", "dask"), default="threads", help="where trials run")
    parser.add_argument("--scheduler", metavar="ADDR", help="of a Dask cluster, as tcp://host:8786")
    parser.add_argument("--demo", action="store_true", help="learn scikit-learn's digits: needs no table")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, search, write, and say what came of it."""
    _check(given)
    with nullcontext() if given.scheduler is None else connect(given.scheduler) as client:
        fitted = _fit_parts(given, client) if _is_folder(given) else _fit_table(given, client)
    _interrupt.finish()
    _write(given, Path(given.out), fitted)
    _say(given, fitted)
    if fitted.is_stopped:
        print(f"billhook: interrupted; the best model found until then is in {given.out}", file=sys.stderr)
        sys.exit(_interrupt.STATUS)


class _Fitted(NamedTuple):
    """A model, what there is to say about it, and some rows to test it with."""

    packed: Packed
    report: FitReport
    X: NDArray[np.float32]
    n_told: int  # of the report's notes
    is_stopped: bool


def _fit_table(given: argparse.Namespace, client: Any) -> _Fitted:
    """Learn from one table."""
    table = _demo_table() if given.demo else read_table(given.table, given.label, task=given.task)
    _tell(table.notes)
    X, encoding = encode(table, given.nominal or choose_encoding(table, _room(given), given.seed, given.scoring))
    is_ordered = has_categories_to_order(table) and all(column.kind != "one_hot" for column in encoding.columns)
    rows = replace(training_rows(table, X), recode=OrderedFeatures(table) if is_ordered else None)
    if given.class_weight is not None:
        if rows.classes is None:
            raise ValueError("--class-weight is for classes, and the labels are numbers")
        from sklearn.utils import compute_sample_weight

        rows = replace(rows, weight=compute_sample_weight(given.class_weight, rows.y))
    if rows.classes is not None and rows.classes.size < 2:
        raise ValueError(f"{table.path} has one class only, {rows.classes[0]!r}: there is nothing to tell apart")
    title, notes = str(table.path), (*table.notes, *_notes_on(encoding, given))
    n_told = len(table.notes)
    del table  # its numbers are in X
    found = _find(given, rows, client, title=title, notes=notes)
    return _Fitted(found.packed.with_encoding(encoding), found.report, X, n_told, found.is_stopped)


def _fit_parts(given: argparse.Namespace, client: Any) -> _Fitted:
    """Learn from the files of a folder, which the workers read."""
    files = sorted(path for path in Path(given.table).iterdir() if path.is_file() and path.name[0] not in "._")
    if not files:
        raise ValueError(f"{given.table} has no files")
    for option in ("nominal", "class_weight", "model"):
        if getattr(given, option) is not None:
            raise ValueError(f"--{option.replace('_', '-')} does not go with a folder of files on a cluster")
    first = read_table(files[0], given.label, task=given.task)
    _tell(first.notes)
    parts = Partitions.from_files(client, files, label=given.label)
    with _Progress(given) as progress:
        found = fit_on_cluster(
            client,
            parts,
            _room(given),
            is_classes=first.task == "classification",
            title=given.table,
            progress=progress,
            **_options(given),
        )
    rows = read_features(files[0], given.label)
    return _Fitted(found.packed, found.report, features_of(rows, found.packed)[:1_000], 0, found.is_stopped)


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(note, file=sys.stderr)


def _is_folder(given: argparse.Namespace) -> bool:
    return not given.demo and Path(given.table).is_dir()


def _check(given: argparse.Namespace) -> None:
    """Refuse what cannot work before anything is read."""
    if given.demo:
        given.budget = given.budget or (None if given.target else DEMO_BUDGET)
    elif given.table is None:
        raise ValueError("give a table to learn from, as in `billhook fit TABLE --label COLUMN`; or --demo")
    elif given.label is None:
        raise ValueError("--label says which column of the table to predict; -1 is the last one")
    if not given.out:
        raise ValueError("--out names the folder to write to")
    for option, least in (("trials", 1), ("seed", 0)):
        if getattr(given, option) is not None and getattr(given, option) < least:
            raise ValueError(f"--{option} must be at least {least}, not {getattr(given, option)}")
    if not given.time_limit > 0.0:
        raise ValueError(f"--time-limit must be above 0 seconds, not {given.time_limit:g}")
    if given.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    if (given.backend == "dask") != (given.scheduler is not None):
        raise ValueError("--backend dask and --scheduler, the address of a Dask cluster, go together")
    if _is_folder(given) and given.backend != "dask":
        raise ValueError(f"{given.table} is a folder: its files are read by a cluster, with --backend dask")
    _room(given)
    out = Path(given.out)
    if out.resolve() == out.resolve().parent:
        raise ValueError(f"--out takes a folder of its own, not {given.out}")
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; --out takes the name of a folder", given.out)
    if out.is_dir() and any(out.iterdir()) and not given.force:
        raise FileExistsError(errno.EEXIST, "the folder is not empty; --force replaces files in it", given.out)
    if not out.resolve().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(out.resolve().parent))
    for name in ("model.bhk", "report.html"):
        if (out / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder, and a file is to be written", str(out / name))
    if (out / "c").exists() and not (out / "c" / "selftest.c").is_file():
        raise FileExistsError(errno.EEXIST, "this was not written by billhook: move it away", str(out / "c"))
    if not os.access(out if out.is_dir() else out.resolve().parent, os.W_OK):
        raise PermissionError(errno.EACCES, "nothing can be written there", given.out)


def _room(given: argparse.Namespace) -> int:
    """Return how many bytes of data the model may have."""
    return limit_for(given.budget, given.target, given.reserve, "--")


def _demo_table() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))
    columns = tuple(np.ascontiguousarray(column, np.float32) for column in X.T)
    return Table(Path("scikit-learn's digits"), names, columns, y, "classification")


def _notes_on(encoding: Encoding, given: argparse.Namespace) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if given.model is not None:
        notes = (f"If {given.model} has learned from these rows, it looks better on them than on others.",)
    nominal = {column.kind for column in encoding.columns if len(column.categories or ()) > 2}
    if not nominal:
        return notes
    how = "a feature for each category" if "one_hot" in nominal else "one feature, the place of the category"
    return (*notes, f"Columns of names are {how}; functions in the C header put categories into a row.")


def _find(given: argparse.Namespace, rows: TrainingRows, client: Any, **more: Any) -> FitResult:
    with _Progress(given) as progress:
        return fit(
            rows,
            _room(given),
            given=_given(given, rows),
            n_jobs=effective_n_jobs(given.jobs),
            workers=None if client is None else DaskExecutor(client),
            progress=progress,
            **_options(given),
            **more,
        )


def _options(given: argparse.Namespace) -> dict[str, Any]:
    return {
        "scoring": given.scoring,
        "time_limit": given.time_limit,
        "trials": given.trials,
        "seed": given.seed,
        "target": None if given.target is None else target_named(given.target),
        "keeps_best": True,
    }


def _given(given: argparse.Namespace, rows: TrainingRows) -> UserEnsemble | None:
    """Return the saved forest that is to be made to fit, if there is one."""
    if given.model is None:
        return None
    forest = load(given.model)
    if (forest.classes is None) != (rows.classes is None):
        what = "numbers" if rows.classes is None else "classes"
        raise ValueError(f"{given.model} is for {forest.task}, and the labels are {what}: see --task")
    if forest.n_features != rows.X.shape[1]:
        raise ValueError(f"{given.model} takes {forest.n_features} features, and the table has {rows.X.shape[1]}")
    return UserEnsemble.fitted(forest)


class _Progress:
    """A line on a terminal: how much of the time or the trials is gone, and the best model so far."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.out = sys.stderr
        self.width = 0

    def __call__(self, search: Search) -> None:
        if search.is_built:
            _interrupt.finish()
        elif search.best(search.budgets[-1]) is not None:
            # There is something to write: an interruption ends the search, not the command.
            _interrupt.can_stop()
        if not self.out.isatty():
            return
        clock, trials = search.clock, self.given.trials
        share = search.n_done / trials if trials else clock.seconds / self.given.time_limit
        full = int(24 * min(share, 1.0))
        best = search.best(search.budgets[-1])
        so_far = "" if best is None else f"; best so far {best.score:.4f} in {best.nbytes:,} bytes"
        how_far = (
            f"{search.n_done} of {trials} trials" if trials else f"{clock.seconds:.0f} s, {search.n_done} trials"
        )
        line = f"[{'#' * full}{'.' * (24 - full)}] {search.stage}: {how_far}{so_far}"
        line = line[: shutil.get_terminal_size().columns - 1]
        self.out.write("\r" + line + " " * (self.width - len(line)))
        self.out.flush()
        self.width = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()


def _write(given: argparse.Namespace, out: Path, fitted: _Fitted) -> None:
    """Write all files to a new folder inside the one asked for, then put them there; other files stay."""
    is_new = not out.exists()
    out.mkdir(exist_ok=True)
    temporary = out / f".billhook-{secrets.token_hex(8)}"
    try:
        temporary.mkdir()
        fitted.packed.save(temporary / "model.bhk")
        fitted.report.save(temporary / "report.html")
        emit(fitted.packed, temporary / "c", target=given.target or "generic", name=given.name, X=fitted.X)
        if (out / "c").exists():
            (out / "c").replace(temporary / "old")
        for name in ("c", "report.html", "model.bhk"):
            (temporary / name).replace(out / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if is_new and not any(out.iterdir()):
            out.rmdir()


def _say(given: argparse.Namespace, fitted: _Fitted) -> None:
    packed, report = fitted.packed, fitted.report
    rows = f"{report.n_rows:,} rows, {report.n_features:,} features"
    what = f"{len(report.classes)} classes" if report.classes else "a number"
    print(f"{'learned from':21} {report.title}: {rows}, {what}")
    print(f"{report.scoring + ', held out':21} {_quality(report)}")
    print(f"{'model':21} {packed.nbytes:,} bytes of {report.budget:,}; {_shape(packed)}")
    if given.target is not None:
        print(f"{'on ' + given.target:21} {_on_board(given, fitted)}")
    print(f"{'fits':21} {_boards(report)}")
    print(f"{'tried':21} {report.n_trials:,} ways in {report.seconds:.0f} s")
    for note in report.notes[fitted.n_told :]:
        print(f"{'':22}{note}")
    out = Path(given.out)
    print(
        f"Wrote {out / 'model.bhk'}, {out / 'report.html'} and {out / 'c'}; `make -C {out / 'c'} test` tests the C."
    )


def _quality(report: FitReport) -> str:
    is_share = report.scoring in ("accuracy", "balanced_accuracy")
    form = ".2%" if is_share else ".4g"
    if len(report.scores) == 1:
        return format(report.score, form)
    low, high = (format(end, form) for end in (min(report.scores), max(report.scores)))
    return f"{report.score:{form}} ({low} to {high} on {len(report.scores)} parts of the rows)"


def _shape(packed: Packed) -> str:
    layout = packed.layout
    return f"{layout.n_trees:,} trees, {layout.n_leaves:,} leaves, {layout.n_used:,} features"


def _on_board(given: argparse.Namespace, fitted: _Fitted) -> str:
    """Return what the model takes there: compiled, if there is a compiler."""
    board = target_named(given.target)
    try:
        measured = measure(fitted.packed, fitted.X[:10], target=given.target, max_rows=5)
    except (MissingToolError, SubprocessError, RuntimeError):
        room = f" of {board.flash:,}" if board.flash else ""
        return f"at most {flash_with_reader(fitted.packed.nbytes, board):,}{room} bytes of flash (not compiled)"
    left = "" if measured.flash_left is None else f", {measured.flash_left:,} left"
    return f"{measured.flash:,} bytes of flash with the program that reads it{left}"


def _boards(report: FitReport) -> str:
    fitting = [board for board in report.boards if board.fits]
    if not fitting:
        return "none of the devices of `billhook targets`"
    if len(fitting) == len(report.boards):
        return f"all {len(fitting)} devices of `billhook targets`, from {min(fitting, key=lambda b: b.flash).name} up"
    shown = ", ".join(board.name for board in fitting[:SHOWN_BOARDS])
    return shown + (f" and {len(fitting) - SHOWN_BOARDS} more" if len(fitting) > SHOWN_BOARDS else "")
