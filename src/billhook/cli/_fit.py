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
from numpy.typing import NDArray

from billhook.budget import FitReport, OnCluster, Parts, Search, choose_encoding, connect, find_on_cluster, room_for
from billhook.codegen import MissingToolError, emit, flash_with_reader, measure, target_named
from billhook.datasets import Table, encode, features_of, read_features, read_table
from billhook.forest import load
from billhook.packing import Encoding, Packed

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
    _write(given, Path(given.out), fitted)
    _say(given, fitted)


class _Fitted(NamedTuple):
    """A model, what there is to say about it, and some rows to test it with."""

    packed: Packed
    report: FitReport
    X: NDArray[np.float32]
    n_told: int  # of the report's notes


def _fit_table(given: argparse.Namespace, client: Any) -> _Fitted:
    """Learn from one table."""
    table = _demo_table() if given.demo else read_table(given.table, given.label, task=given.task)
    _tell(table.notes)
    X, encoding = encode(table, given.nominal or choose_encoding(table, _room(given), given.seed))
    table = replace(table, columns=())  # their numbers are in X
    model = _fit(given, table, X, client)
    notes = (*table.notes, *_notes_on(encoding), *model.report_.notes)
    report = replace(model.report_, title=str(table.path), notes=notes, seed=given.seed)
    return _Fitted(model.packed_.with_encoding(encoding), report, X, len(table.notes))


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
    parts = Parts.from_files(client, files, label=given.label)
    with _Progress(given) as progress:
        found = find_on_cluster(
            client,
            parts,
            _room(given),
            is_classes=first.task == "classification",
            scoring=given.scoring,
            time_limit=given.time_limit,
            trials=given.trials,
            seed=given.seed,
            target=None if given.target is None else target_named(given.target),
            title=given.table,
            progress=progress,
        )
    rows = read_features(files[0], given.label)
    return _Fitted(found.packed, found.report, features_of(rows, found.packed)[:1_000], 0)


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
    if given.reserve is not None and given.target is None:
        raise ValueError("--reserve keeps room in the flash of a --target: give one")
    if given.out is None:
        raise ValueError("--out names the folder to write to")
    if (given.backend == "dask") != (given.scheduler is not None):
        raise ValueError("--backend dask and --scheduler, the address of a Dask cluster, go together")
    if _is_folder(given) and given.backend != "dask":
        raise ValueError(f"{given.table} is a folder: its files are read by a cluster, with --backend dask")
    _room(given)
    out = Path(given.out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; --out takes the name of a folder", given.out)
    if out.is_dir() and any(out.iterdir()) and not given.force:
        raise FileExistsError(errno.EEXIST, "the folder is not empty; --force replaces files in it", given.out)
    if not out.resolve().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(out.resolve().parent))


def _room(given: argparse.Namespace) -> int:
    """Return how many bytes of data the model may have."""
    return room_for(given.budget, given.target, given.reserve, "--")


def _demo_table() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))
    columns = tuple(np.ascontiguousarray(column, np.float32) for column in X.T)
    return Table(Path("scikit-learn's digits"), names, columns, y, "classification")


def _notes_on(encoding: Encoding) -> tuple[str, ...]:
    nominal = {column.kind for column in encoding.columns if len(column.categories or ()) > 2}
    if not nominal:
        return ()
    how = "a feature for each category" if "one_hot" in nominal else "one feature, the place of the category"
    return (f"Columns of names are {how}; functions in the C header put categories into a row.",)


def _fit(given: argparse.Namespace, table: Table, X: Any, client: Any) -> Any:
    from billhook.estimators import CompactForestClassifier, CompactForestRegressor

    options: dict[str, Any] = {
        "target": given.target,
        "reserve": given.reserve or 0,
        "estimator": None if given.model is None else load(given.model),
        "scoring": given.scoring,
        "time_limit": given.time_limit,
        "trials": given.trials,
        "random_state": given.seed,
        "n_jobs": given.jobs,
        "workers": None if client is None else OnCluster(client),
    }
    with _Progress(given) as progress:
        if table.task == "regression":
            if given.class_weight is not None:
                raise ValueError("--class-weight is for classes, and the labels are numbers")
            return CompactForestRegressor(given.budget, **options).fit(X, table.y, progress=progress)
        options["class_weight"] = given.class_weight
        return CompactForestClassifier(given.budget, **options).fit(X, table.y, progress=progress)


class _Progress:
    """A line on a terminal: how much of the time or the trials is gone, and the best model so far."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.out = sys.stderr
        self.width = 0

    def __call__(self, search: Search) -> None:
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
    """Write all files to a new folder beside the one asked for, then put them there; other files stay."""
    temporary = out.resolve().parent / f".billhook-{secrets.token_hex(8)}"
    try:
        temporary.mkdir()
        fitted.packed.save(temporary / "model.bhk")
        fitted.report.save(temporary / "report.html")
        emit(fitted.packed, temporary / "c", target=given.target or "generic", name=given.name, X=fitted.X)
        for path in sorted(temporary.rglob("*")):
            there = out / path.relative_to(temporary)
            if path.is_dir():
                there.mkdir(parents=True, exist_ok=True)
            else:
                there.parent.mkdir(parents=True, exist_ok=True)
                path.replace(there)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _say(given: argparse.Namespace, fitted: _Fitted) -> None:
    packed, report = fitted.packed, fitted.report
    rows = f"{report.n_rows:,} rows, {report.n_features:,} features"
    what = f"{len(report.classes)} classes" if report.classes else "a number"
    print(f"{'learned from':22}{report.title}: {rows}, {what}")
    print(f"{report.scoring + ', held out':22}{_quality(report)}")
    print(f"{'model':22}{packed.nbytes:,} bytes of {report.budget:,}; {_shape(packed)}")
    if given.target is not None:
        print(f"{'on ' + given.target:22}{_on_board(given, fitted)}")
    print(f"{'fits':22}{_boards(report)}")
    print(f"{'tried':22}{report.n_trials:,} ways in {report.seconds:.0f} s")
    for note in report.notes[fitted.n_told :]:
        print(f"{'':22}{note}")
    folder = given.out.rstrip(os.sep)
    print(f"Wrote {folder}/model.bhk, {folder}/report.html and {folder}/c; `make -C {folder}/c test` tests the C.")


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
