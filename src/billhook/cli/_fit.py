import argparse
import errno
import sys
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import numpy as np

from billhook.budget import FitReport, FitResult, fit_table
from billhook.cli import _interrupt
from billhook.cli._fit_progress import FitProgress
from billhook.codegen import MissingToolError, flash_with_reader, measure, target_named
from billhook.packing import Packed
from billhook.tables import Table

DEMO_BUDGET = "4KB"
SHOWN_TARGETS = 4


def add_to(commands: Any) -> None:
    """Add `billhook fit`."""
    parser = commands.add_parser(
        "fit",
        allow_abbrev=False,
        help="learn the most accurate model that fits a number of bytes, or a target",
        description="Learn from a table the most accurate model that fits a number of bytes, or a target. Writes the "
        "model, a C project that tests itself, and a report.",
    )
    parser.add_argument("table", nargs="?", metavar="TABLE", help="rows to learn from: CSV, Parquet or ARFF")
    parser.add_argument("--label", metavar="COLUMN", help="the column to predict; -1 is the last one")
    parser.add_argument("--budget", metavar="SIZE", help="how many bytes the model may take, as 4KB")
    parser.add_argument("--target", metavar="NAME", help="a target it has to fit: see `billhook targets`")
    parser.add_argument("--reserve", metavar="SIZE", default=0, help="bytes of its flash for your own code, as 20KB")
    parser.add_argument("--out", metavar="DIR", help="the folder to write to")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")
    parser.add_argument("--task", choices=("classification", "regression"), help="if it is guessed wrong")
    parser.add_argument("--scoring", metavar="NAME", help="what is best: accuracy (default), balanced_accuracy, ...")
    parser.add_argument("--class-weight", choices=("balanced",), help="count rare classes as much as others")
    parser.add_argument(
        "--categorical",
        choices=("one_hot", "ordered"),
        help="how categorical columns are encoded (default: what does better on held-out rows)",
    )
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="S", help="seconds (default: 60)")
    parser.add_argument(
        "--trials", type=int, metavar="N", help="evaluate so many configurations, instead of a time: repeatable"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random (default: 0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="trials at a time (default: one a core)")
    parser.add_argument("--model", metavar="FILE", help="compress this saved forest, instead of growing one")
    parser.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    parser.add_argument("--backend", choices=("threads", "dask"), default="threads", help="where trials run")
    parser.add_argument("--scheduler", metavar="ADDR", help="of a Dask cluster, as tcp://host:8786")
    parser.add_argument("--demo", action="store_true", help="learn scikit-learn's digits: needs no table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Fit, and say what came of it."""
    _check(arguments)
    notes: list[str] = []

    def log(note: str) -> None:
        notes.append(note)
        print(note, file=sys.stderr)

    with FitProgress(time_limit=arguments.time_limit, n_trials=arguments.trials) as progress:
        result = fit_table(
            _demo_table() if arguments.demo else arguments.table,
            arguments.label,
            budget=arguments.budget,
            target=arguments.target,
            reserve=arguments.reserve,
            out=arguments.out,
            force=arguments.force,
            name=arguments.name,
            task=arguments.task,
            scoring=arguments.scoring,
            class_weight=arguments.class_weight,
            categorical=arguments.categorical,
            model=arguments.model,
            time_limit=arguments.time_limit,
            n_trials=arguments.trials,
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            progress=progress,
            log=log,
        )
    _print_summary(result, Path(arguments.out), frozenset(notes))
    if result.was_interrupted:
        print(f"billhook: interrupted; the best model found until then is in {arguments.out}", file=sys.stderr)
        sys.exit(_interrupt.STATUS)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what only the command line can say, before anything is read."""
    if arguments.demo:
        arguments.budget = arguments.budget or (None if arguments.target else DEMO_BUDGET)
    elif arguments.table is None:
        raise ValueError("give a table to learn from, as in `billhook fit TABLE --label COLUMN`; or --demo")
    elif arguments.label is None:
        raise ValueError("--label says which column of the table to predict; -1 is the last one")
    if not arguments.out:
        raise ValueError("--out names the folder to write to")
    if arguments.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    if (arguments.backend == "dask") != (arguments.scheduler is not None):
        raise ValueError("--backend dask and --scheduler, the address of a Dask cluster, go together")
    if not arguments.demo and not Path(arguments.table).exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file", arguments.table)


def _demo_table() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))
    columns = tuple(np.ascontiguousarray(column, np.float32) for column in X.T)
    return Table("scikit-learn's digits", names, columns, y, "classification")


def _print_summary(result: FitResult, out: Path, shown_notes: frozenset[str]) -> None:
    packed, report = result.packed, result.report
    shape = f"{report.n_rows:,} rows, {report.n_features:,} features"
    predicts = f"{len(report.classes)} classes" if report.classes else "regression"
    print(f"{'learned from':21} {report.title}: {shape}, {predicts}")
    print(f"{report.scoring + ', held out':21} {_score_text(report)}")
    print(f"{'model':21} {packed.nbytes:,} bytes of {report.budget:,}; {_shape(packed)}")
    if report.target is not None:
        print(f"{'on ' + report.target:21} {_flash_on(report.target, result)}")
    print(f"{'fits':21} {_targets_that_fit(report)}")
    print(f"{'evaluated':21} {report.n_trials:,} configurations in {report.seconds:.0f} s")
    for note in report.notes:
        if note not in shown_notes:
            print(f"{'':22}{note}")
    print(
        f"Wrote {out / 'model.bhk'}, {out / 'report.html'} and {out / 'c'}; `make -C {out / 'c'} test` tests the C."
    )


def _score_text(report: FitReport) -> str:
    form = ".2%" if report.scoring in ("accuracy", "balanced_accuracy") else ".4g"
    if len(report.scores) == 1:
        return format(report.score, form)
    low, high = (format(end, form) for end in (min(report.scores), max(report.scores)))
    return f"{report.score:{form}} ({low} to {high} on {len(report.scores)} splits)"


def _shape(packed: Packed) -> str:
    layout = packed.layout
    return f"{layout.n_trees:,} trees, {layout.n_leaves:,} leaves, {layout.n_used:,} features"


def _flash_on(name: str, result: FitResult) -> str:
    """Return what the model takes of a target's flash: compiled, if there is a compiler."""
    target = target_named(name)
    try:
        measured = measure(result.packed, result.examples[:10], target=name, max_rows=5)
    except (MissingToolError, SubprocessError, RuntimeError):
        flash = f" of {target.flash:,}" if target.flash else ""
        return f"at most {flash_with_reader(result.packed.nbytes, target):,}{flash} bytes of flash (not compiled)"
    left = "" if measured.flash_left is None else f", {measured.flash_left:,} left"
    return f"{measured.flash:,} bytes of flash with the code that reads it{left}"


def _targets_that_fit(report: FitReport) -> str:
    fitting = [target for target in report.targets if target.fits]
    if not fitting:
        return "none of the targets of `billhook targets`"
    if len(fitting) == len(report.targets):
        smallest = min(fitting, key=lambda target: target.flash).name
        return f"all {len(fitting)} targets of `billhook targets`, from {smallest} up"
    shown = ", ".join(target.name for target in fitting[:SHOWN_TARGETS])
    return shown + (f" and {len(fitting) - SHOWN_TARGETS} more" if len(fitting) > SHOWN_TARGETS else "")
