import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from billhook._checks import as_bytes, resolve_name
from billhook._interruption import is_interruption
from billhook.analysis import DONE, FAILED, SIZES, STATUSES, TIMED_OUT
from billhook.cli import _interrupt
from billhook.cli._progress import ProgressBar


def add_to(commands: Any) -> None:
    """Add `billhook study`."""
    parser = commands.add_parser("study", help="run the paper's experiments, or your own, and compare methods")
    parser.set_defaults(run=lambda _: parser.print_help())
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="list the studies that come with Billhook")
    listing.set_defaults(run=run_list)
    _add_run(actions)
    state = actions.add_parser("status", help="tell how far a study has come, and where its time went")
    state.add_argument("folder", metavar="DIR", help="the folder that it runs in")
    state.set_defaults(run=run_status)
    for name, what, made in (
        ("report", "write a page to look at: which method is best at each model size", "the page, as report.html"),
        ("tables", "write all tables as CSV and LaTeX, and all figures as PNG and PDF", "the folder to write to"),
    ):
        writing = actions.add_parser(name, allow_abbrev=False, help=what)
        writing.add_argument("folder", metavar="DIR", help="the folder that the study ran in")
        writing.add_argument("--out", required=True, metavar="PATH", help=made)
        writing.add_argument(
            "--size", choices=tuple(SIZES), default="paper", help="how bytes are counted (default: paper)"
        )
        writing.set_defaults(run=run_report if name == "report" else run_tables)


def _add_run(actions: Any) -> None:
    parser = actions.add_parser(
        "run",
        allow_abbrev=False,
        help="run a study; if it was interrupted, go on",
        description="Run a study. Runs are written as they finish: interrupted, even killed, it then goes on.",
    )
    parser.add_argument("study", metavar="STUDY", help="a TOML file, or a name of `billhook study list`")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the results")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these data sets of the study")
    parser.add_argument("--methods", nargs="+", metavar="LABEL", help="only these methods of the study")
    parser.add_argument("--folds", type=int, metavar="N", help="other than in the file")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--backend", choices=("loky", "dask"), help="processes here (default), or a Dask cluster")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, as tcp://10.0.0.1:8786")
    parser.add_argument("--memory-limit", metavar="SIZE", help="for all processes together, as 8GB")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds that a single run may take")
    parser.add_argument("--resume", action="store_true", help="go on; an error if there is nothing to go on with")
    parser.add_argument("--retry", action="store_true", help="make runs again that failed or took too long")
    parser.add_argument("--skip-missing", action="store_true", help="leave out data sets that cannot be found")
    parser.add_argument("--any-version", action="store_true", help="go on with results of other versions")
    parser.set_defaults(run=run_run)


def run_list(_: argparse.Namespace) -> None:
    """Print the studies that come with Billhook."""
    from billhook import study

    for name in study.shipped():
        one = study.read(name)
        labels = ", ".join(method.label for method in one.methods)
        print(f"{name:20}{len(one.data):2} data sets, {len(one.methods):2} methods: {labels}")


def run_run(given: argparse.Namespace) -> None:
    """Run a study, show how far it is, and say what came of it."""
    from billhook import study as studies

    _check(given)
    study = studies.read(given.study)
    if given.data is not None:
        known = {source.name: source for source in study.data}
        study = replace(study, data=_chosen(given.data, known, f"the study {study.name} has no data set"))
    if given.methods is not None:
        by_label = {method.label: method for method in study.methods}
        study = replace(study, methods=_chosen(given.methods, by_label, f"the study {study.name} has no method"))
    if given.folds is not None:
        study = replace(study, folds=given.folds)
    folder = Path(given.out)
    if given.resume and not (folder / studies.FILE).exists():
        raise FileNotFoundError(f"{folder} holds no results to go on with: leave --resume out to begin")
    shown = _Shown()
    try:
        with _interrupt.stoppable():
            table = studies.run(
                study,
                folder,
                n_jobs=given.jobs,
                scheduler=given.scheduler,
                memory_limit=None if given.memory_limit is None else as_bytes(given.memory_limit, "--memory-limit"),
                time_limit=given.time_limit,
                skip_missing=given.skip_missing,
                retry=given.retry,
                any_version=given.any_version,
                progress=shown,
            )
            _interrupt.finish()
    except BaseException as error:
        if not is_interruption(error):
            raise
        shown.end()
        command = "billhook study run ... --resume"
        print(f"billhook: interrupted; what was finished is in {folder}. To go on: {command}", file=sys.stderr)
        sys.exit(_interrupt.STATUS)
    finally:
        shown.end()
    _print_counts(table["status"].value_counts().to_dict(), folder)
    for reason, some in table[table["status"] != DONE].groupby("reason"):
        where = "; ".join(", ".join(sorted(set(some[name]))) for name in ("method", "data"))
        print(f"  {len(some):,} {some['status'].iloc[0]} ({where}): {reason}")
    if (table["status"] == DONE).any():
        print(f"Look at it: billhook study report {folder} --out report.html")
    if table["status"].isin([FAILED, TIMED_OUT]).any():
        sys.exit(1)


def run_status(given: argparse.Namespace) -> None:
    """Print how far a study is, and where its time went."""
    from billhook import study as studies

    about = studies.about(given.folder)
    print(f"study {about['study']}: {sum(about['counts'].values()):,} of {about['runs']:,} runs")
    _print_counts(about["counts"], Path(given.folder))
    steps: dict[str, float] = {}
    for by_step in about["seconds"].values():
        for step, seconds in by_step.items():
            steps[step] = steps.get(step, 0.0) + seconds
    total = sum(steps.values())
    for step, seconds in sorted(steps.items(), key=lambda one: -one[1]):
        print(f"  {step:20}{seconds:10,.1f} s  {seconds / total if total else 0.0:4.0%}")


def run_report(given: argparse.Namespace) -> None:
    """Write the page of a study."""
    from billhook import analysis
    from billhook import study as studies

    if Path(given.out).resolve() == (Path(given.folder) / studies.FILE).resolve():
        raise ValueError(f"--out {given.out} holds the results: give another file for the page")
    about = studies.about(given.folder)
    caps = studies.caps(given.folder)
    results = studies.results(given.folder)
    with _interrupt.stoppable():
        path = analysis.write_report(results, given.out, about=about, size=given.size, caps=caps)
        _interrupt.finish()
    print(f"wrote {path}")


def run_tables(given: argparse.Namespace) -> None:
    """Write the tables and figures of a study."""
    from billhook import analysis
    from billhook import study as studies

    caps = studies.caps(given.folder)
    results = studies.results(given.folder)
    try:
        with _interrupt.stoppable():
            paths = analysis.write_tables(results, given.out, size=given.size, caps=caps)
            _interrupt.finish()
    except KeyboardInterrupt:
        print(
            f"billhook: interrupted; of the files in {given.out} each is whole, others are missing",
            file=sys.stderr,
        )
        sys.exit(_interrupt.STATUS)
    print(f"wrote {len(paths)} files to {given.out}")


def _chosen(names: list[str], known: dict[str, Any], missing: str) -> tuple[Any, ...]:
    """Return what is named, in the order of the study."""
    for name in names:
        resolve_name(name, known, missing)
    return tuple(one for name, one in known.items() if name in names)


def _check(given: argparse.Namespace) -> None:
    if given.backend == "dask" and given.scheduler is None:
        raise ValueError("--backend dask needs the address of a scheduler: --scheduler tcp://...")
    if given.backend == "loky" and given.scheduler is not None:
        raise ValueError("--scheduler is for --backend dask")
    if given.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    if given.folds is not None and given.folds < 2:
        raise ValueError(f"--folds must be 2 or more, not {given.folds}")


def _print_counts(counts: dict[str, int], folder: Path) -> None:
    told = ", ".join(f"{counts[status]:,} {word}" for status, word in STATUSES.items() if counts.get(status))
    print(f"{told or 'no runs'}; results in {folder}")


class _Shown:
    """A bar on a terminal; elsewhere a line for each unit that is done."""

    def __init__(self) -> None:
        self.bar = ProgressBar(sys.stderr)
        self.start = time.monotonic()
        self.at_start: int | None = None
        self.note = ""

    def __call__(self, done: int, n_runs: int, note: str) -> None:
        if self.at_start is None:
            self.at_start = done
        rate = (done - self.at_start) / max(time.monotonic() - self.start, 1e-9)
        if sys.stderr.isatty():
            if done > self.at_start:
                self.bar(done - self.at_start, max(n_runs - self.at_start, 1), f"{rate:.0f} a second")
        elif note != self.note:
            print(f"{done:,} of {n_runs:,} runs, {rate:.0f} a second; {note}", file=sys.stderr, flush=True)
        self.note = note

    def end(self) -> None:
        """Clear the bar."""
        if self.bar.shown:
            sys.stderr.write("\r" + " " * 100 + "\r")
            self.bar.shown = False
