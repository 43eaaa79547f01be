import argparse
import errno
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from subprocess import SubprocessError

import numpy as np

from billhook.budget import FitReport, FitResult, OtherModel, Search, fit_table, resume_fit
from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._names import check_and_say_name
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_fields
from billhook.cli.options import parser_of_all
from billhook.codegen import LayoutCost, MissingToolError, measure, most_flash, target_named
from billhook.forest import count_of
from billhook.packing import Packed
from billhook.tables import Table

DEMO_BUDGET = "4KB"
SHOWN_TARGETS = 4
# What a fit is gone on with may be given with; all other options are as they were when it began.
OF_RESUMING = frozenset({"table", "demo", "time_limit", "trials", "jobs", "compare", "resume"})
# Of a command that wrote a model: one that takes more cycles than were asked for, or the best until memory ran out.
TOO_SLOW_STATUS, OUT_OF_MEMORY_STATUS = 4, 5


def run(arguments: argparse.Namespace) -> None:
    """Fit, and say what came of it."""
    _check(arguments)
    notes: list[str] = []

    def log(note: str) -> None:
        notes.append(note)
        print(as_options(note), file=sys.stderr)

    with ProgressDisplay("reading") as display:
        result = (
            _resumed(arguments, display, log)
            if arguments.resume
            else fit_table(
                _demo_table() if arguments.demo else arguments.table,
                arguments.label,
                budget=arguments.budget,
                target=arguments.target,
                reserve=arguments.reserve,
                max_cycles=arguments.max_cycles,
                out=arguments.out,
                force=arguments.force,
                name=arguments.name,
                task=arguments.task,
                loss=arguments.loss,
                quantile=arguments.quantile,
                scoring=arguments.scoring,
                class_weight=arguments.class_weight,
                costs=arguments.costs,
                categorical=arguments.categorical,
                group=arguments.group,
                split=arguments.split,
                max_features=arguments.max_features,
                max_projections=arguments.max_projections,
                model=arguments.model,
                time_limit=arguments.time_limit,
                n_trials=arguments.trials,
                random_state=arguments.seed,
                n_jobs=arguments.jobs,
                compare=arguments.compare,
                scheduler=arguments.scheduler,
                keep_best=True,
                progress=partial(_show, display),
                log=log,
                started=arguments.started,
            )
        )
        summary = _summary(result)
    print_fields(summary)
    arguments.out = arguments.resume or arguments.out
    for note in result.report.notes:
        if note not in notes:
            print(as_options(note))
    out = Path(arguments.out)
    test = f"make -C {quote(str(out / 'c'))} test"
    print(f"Wrote {out / 'model.bhk'}, {out / 'report.html'} and {out / 'c'}; `{test}` tests the C.")
    if result.report.too_slow:
        print(f"billhook: {as_options(result.report.too_slow)}", file=sys.stderr)
    if result.was_interrupted:
        why = "memory ran out" if result.ran_out_of_memory else "interrupted"
        print(f"billhook: {why}; the best model found until then is in {out}", file=sys.stderr)
        sys.exit(OUT_OF_MEMORY_STATUS if result.ran_out_of_memory else _interrupt.STATUS)
    if result.report.too_slow:
        sys.exit(TOO_SLOW_STATUS)


def _resumed(arguments: argparse.Namespace, display: ProgressDisplay, log: Callable[[str], None]) -> FitResult:
    """Go on with an earlier fit."""
    return resume_fit(
        arguments.resume,
        _demo_table() if arguments.demo else arguments.table,
        time_limit=arguments.time_limit,
        n_trials=arguments.trials,
        n_jobs=arguments.jobs,
        compare=arguments.compare,
        keep_best=True,
        progress=partial(_show, display),
        log=log,
        started=arguments.started,
    )


def _check_resume(arguments: argparse.Namespace) -> None:
    """Refuse what was said when the fit began."""
    if arguments.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    for option, default in vars(parser_of_all().parse_args(["fit"])).items():
        if option not in OF_RESUMING and getattr(arguments, option) != default:
            flag = {"scoring": "metric"}.get(option, option).replace("_", "-")
            raise ValueError(
                f"--{flag} was said when {arguments.resume} was fitted: with --resume give no more than TABLE, if it "
                "has moved, --time-limit, --trials, --jobs and --compare"
            )


def _check_demo(arguments: argparse.Namespace) -> None:
    """Refuse what says which rows to learn from, or what they are."""
    if arguments.table is not None:
        raise ValueError(f"--demo brings its own rows, and {arguments.table} are others: leave one of them out")
    for option in ("label", "task", "group", "split", "model"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--demo brings its own rows and labels: leave --{option} out")


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what only the command line can say, before anything is read."""
    if arguments.resume is not None:
        _check_resume(arguments)
        return
    if arguments.demo:
        _check_demo(arguments)
        arguments.budget = arguments.budget or (None if arguments.target else DEMO_BUDGET)
    elif arguments.table is None:
        raise ValueError("give a table to learn from, as in `billhook fit TABLE --label COLUMN`; or --demo")
    elif arguments.label is None:
        raise ValueError("--label says which column of the table to predict; -1 is the last one")
    if not arguments.out:
        raise ValueError("--out names the folder to write to")
    check_and_say_name(arguments.name)
    if arguments.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    if (arguments.backend == "dask") != (arguments.scheduler is not None):
        raise ValueError("--backend dask and --scheduler, the address of a Dask cluster, go together")
    if not arguments.demo and not Path(arguments.table).exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file", arguments.table)
    if not arguments.demo and arguments.scheduler is None and Path(arguments.table).is_dir():
        raise ValueError(
            f"{arguments.table} is a folder, and the files of a folder are read by a Dask cluster: "
            "name one with --backend dask --scheduler ADDRESS, or give a single file"
        )


def _demo_table() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))
    columns = tuple(np.ascontiguousarray(column, np.float32) for column in X.T)
    return Table("scikit-learn's digits", names, columns, y, "classification")


def _show(display: ProgressDisplay, search: Search) -> None:
    """Show how far a search has come, and say what Ctrl-C may do by then."""
    best = search.best(search.budgets[-1])
    if search.is_built:
        _interrupt.finish()
    elif best is not None:
        # There is something to write: an interruption ends the search, not the command.
        _interrupt.can_stop()
    note = "" if best is None else f"best so far {best.score:.4f} in {best.nbytes:,} bytes"
    if search.n_trials is not None:
        amount = f"{search.n_done:,} of {search.n_trials:,} configurations"
        display(search.n_done, search.n_trials, note, doing=search.stage, amount=amount)
    elif search.clock.limit is not None:
        display(
            search.clock.seconds,
            search.clock.limit,
            note,
            doing=search.stage,
            amount=count_of(search.n_done, "configuration"),
        )


def _summary(result: FitResult) -> list[tuple[str, str]]:
    """Return what there is to say about a model, as names and texts."""
    packed, report = result.packed, result.report
    predicts = f"{len(report.classes)} classes" if report.classes else "regression"
    fields = [
        (
            "learned from",
            f"{report.title}: {count_of(report.n_rows, 'row')}, {count_of(report.n_features, 'feature')}, {predicts}",
        ),
        (f"held-out {report.scoring.replace('_', ' ')}", _score_text(report)),
        ("model", f"{packed.nbytes:,} bytes of {report.budget:,}; {_shape(packed)}"),
    ]
    if report.error_measures is not None:
        r2, absolute, squared = report.error_measures
        of_r2 = "" if report.scoring == "R2" else f"; R2 {r2:.4g}"
        fields.insert(2, ("held-out errors", f"mean absolute {absolute:.4g}, root mean squared {squared:.4g}{of_r2}"))
    fields += [(other.name, _other_text(other, report)) for other in report.others]
    if report.target is not None:
        fields.append((f"on {report.target}", _flash_on(report.target, result)))
    fields += [(f"{cost.layout} layout", _cost_text(cost, report)) for cost in report.layouts]
    return [
        *fields,
        ("fits", _targets_that_fit(report)),
        ("evaluated", f"{count_of(report.n_trials, 'configuration')} in {report.seconds:.0f} s"),
    ]


def _cost_text(cost: LayoutCost, report: FitReport) -> str:
    about = "about " if cost.is_estimated else ""
    mark = " <- written" if cost.layout == report.layout else "" if cost.fits else ", does not fit"
    mark += ", more than asked for" if mark.endswith("written") and report.too_slow else ""
    return f"{about}{cost.cycles:,} cycles a row, {cost.flash:,} bytes of flash{mark}"


def _other_text(other: OtherModel, report: FitReport) -> str:
    form = ".2%" if report.scoring in ("accuracy", "balanced_accuracy") else ".4g"
    return f"{other.score:{form}} in {other.nbytes:,} bytes, {other.settings}"


def _score_text(report: FitReport) -> str:
    form = ".2%" if report.scoring in ("accuracy", "balanced_accuracy") else ".4g"
    if report.interval is None:
        return format(report.score, form)
    low, high = (format(end, form) for end in report.interval)
    return f"{report.score:{form}} (95% interval: {low} to {high})"


def _shape(packed: Packed) -> str:
    layout = packed.layout
    trees, leaves = count_of(layout.n_trees, "tree"), count_of(layout.n_leaves, "leaf", "leaves")
    projections = f", {count_of(layout.n_projections, 'projection')}" if layout.n_projections else ""
    return f"{trees}, {leaves}, {count_of(packed.n_used, 'feature')}{projections}"


def _flash_on(name: str, result: FitResult) -> str:
    """Return what the model takes of a target's flash: compiled, if there is a compiler."""
    target = target_named(name)
    try:
        rows = result.examples[:10]
        measured = measure(result.packed, rows, target=name, max_rows=5, layout=result.report.layout)
    except (MissingToolError, SubprocessError, RuntimeError):
        flash = f" of {target.flash:,}" if target.flash else ""
        return f"at most {most_flash(result.packed, target):,}{flash} bytes of flash (not compiled)"
    left = "" if measured.flash_left is None else f", {measured.flash_left:,} left"
    return f"{measured.flash:,} bytes of flash with the code that reads it{left}"


def _targets_that_fit(report: FitReport) -> str:
    fitting = [target for target in report.targets if target.fits]
    if not fitting:
        return f"none of the {len(report.targets)} targets with a known flash size"
    if len(fitting) == len(report.targets):
        smallest = min(fitting, key=lambda target: target.flash).name
        return f"all {len(fitting)} targets with a known flash size, from {smallest} up"
    shown = ", ".join(target.name for target in fitting[:SHOWN_TARGETS])
    return shown + (f" and {len(fitting) - SHOWN_TARGETS} more" if len(fitting) > SHOWN_TARGETS else "")
