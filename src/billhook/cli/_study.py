import argparse
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from billhook._checks import as_bytes, resolve_name
from billhook._interruption import is_interruption
from billhook.analysis import DONE, FAILED, STATUSES, TIMED_OUT
from billhook.cli import _interrupt
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table


def run_list(_: argparse.Namespace) -> None:
    """Print the studies that come with Billhook."""
    from billhook import study

    rows = []
    for name in study.shipped():
        definition = study.read(name)
        labels = ", ".join(method.label for method in definition.methods)
        rows.append((name, str(len(definition.data)), str(len(definition.methods)), labels))
    print_table(("study", "data sets", "methods", "labels"), rows, numbers=("data sets", "methods"))


def run_run(arguments: argparse.Namespace) -> None:
    """Run a study, show how far it is, and say what came of it."""
    from billhook import study as studies
    from billhook.cluster import WORKER_TIMEOUT

    _check(arguments)
    study = studies.read(arguments.study)
    if arguments.data is not None:
        known = {source.name: source for source in study.data}
        study = replace(study, data=_chosen(arguments.data, known, f"the study {study.name} has no data set"))
    if arguments.methods is not None:
        by_label = {method.label: method for method in study.methods}
        study = replace(study, methods=_chosen(arguments.methods, by_label, f"the study {study.name} has no method"))
    if arguments.folds is not None:
        study = replace(study, folds=arguments.folds)
    folder = Path(arguments.out)
    if arguments.resume and not (folder / studies.FILE).exists():
        raise FileNotFoundError(f"{folder} holds no results to go on with: leave --resume out to begin")
    display = ProgressDisplay("running", unit="runs", each_note=True)
    try:
        with _interrupt.stoppable(), display:
            table = studies.run(
                study,
                folder,
                n_jobs=arguments.jobs,
                scheduler=arguments.scheduler,
                memory_limit=None
                if arguments.memory_limit is None
                else as_bytes(arguments.memory_limit, "--memory-limit"),
                time_limit=arguments.time_limit,
                skip_missing=arguments.skip_missing,
                retry=arguments.retry,
                any_version=arguments.any_version,
                worker_timeout=WORKER_TIMEOUT if arguments.worker_timeout is None else arguments.worker_timeout,
                progress=display,
            )
            _interrupt.finish()
    except BaseException as error:
        if not is_interruption(error):
            raise
        command = "billhook study run ... --resume"
        print(f"billhook: interrupted; what was finished is in {folder}. To go on: {command}", file=sys.stderr)
        sys.exit(_interrupt.STATUS)
    _print_counts(table["status"].value_counts().to_dict(), folder)
    for reason, runs in table[table["status"] != DONE].groupby("reason"):
        where = "; ".join(", ".join(sorted(set(runs[name]))) for name in ("method", "data"))
        print(f"  {len(runs):,} {runs['status'].iloc[0]} ({where}): {reason}")
    if (table["status"] == DONE).any():
        print(f"Look at it: billhook study report {quote(str(folder))} --out report.html")
    if table["status"].isin([FAILED, TIMED_OUT]).any():
        sys.exit(1)


def run_status(arguments: argparse.Namespace) -> None:
    """Print how far a study is, and where its time went."""
    from billhook import study as studies

    about = studies.about(arguments.folder)
    print(f"study {about['study']}: {sum(about['counts'].values()):,} of {about['runs']:,} runs")
    _print_counts(about["counts"], Path(arguments.folder))
    steps: dict[str, float] = {}
    for by_step in about["seconds"].values():
        for step, seconds in by_step.items():
            steps[step] = steps.get(step, 0.0) + seconds
    total = sum(steps.values())
    rows = [
        (step, f"{seconds:,.1f}", f"{seconds / total if total else 0.0:.0%}")
        for step, seconds in sorted(steps.items(), key=lambda item: -item[1])
    ]
    if rows:
        print_table(("step", "seconds", "share"), rows, numbers=("seconds", "share"))


def run_report(arguments: argparse.Namespace) -> None:
    """Write the page of a study."""
    from billhook import analysis
    from billhook import study as studies

    if Path(arguments.out).resolve() == (Path(arguments.folder) / studies.FILE).resolve():
        raise ValueError(f"--out {arguments.out} holds the results: give another file for the page")
    about = studies.about(arguments.folder)
    caps = studies.caps(arguments.folder)
    results = studies.results(arguments.folder)
    with _interrupt.stoppable():
        path = analysis.write_report(results, arguments.out, about=about, size=arguments.size, caps=caps)
        _interrupt.finish()
    print(f"wrote {path}")


def run_tables(arguments: argparse.Namespace) -> None:
    """Write the tables and figures of a study."""
    from billhook import analysis
    from billhook import study as studies

    caps = studies.caps(arguments.folder)
    results = studies.results(arguments.folder)
    try:
        with _interrupt.stoppable():
            paths = analysis.write_tables(results, arguments.out, size=arguments.size, caps=caps)
            _interrupt.finish()
    except KeyboardInterrupt:
        print(
            f"billhook: interrupted; of the files in {arguments.out} each is whole, others are missing",
            file=sys.stderr,
        )
        sys.exit(_interrupt.STATUS)
    print(f"wrote {len(paths)} files to {arguments.out}")


def _chosen(names: list[str], known: dict[str, Any], missing: str) -> tuple[Any, ...]:
    """Return what is named, in the order of the study."""
    for name in names:
        resolve_name(name, known, missing)
    return tuple(value for name, value in known.items() if name in names)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.backend == "dask" and arguments.scheduler is None:
        raise ValueError("--backend dask needs the address of a scheduler: --scheduler tcp://...")
    if arguments.backend == "local" and arguments.scheduler is not None:
        raise ValueError("--scheduler is for --backend dask")
    if arguments.worker_timeout is not None and arguments.scheduler is None:
        raise ValueError("--worker-timeout is for the workers of a cluster: give its --scheduler, or leave it out")
    if arguments.jobs == 0:
        raise ValueError("--jobs must be a number of jobs, or -1 for one a core, not 0")
    if arguments.folds is not None and arguments.folds < 2:
        raise ValueError(f"--folds must be 2 or more, not {arguments.folds}")


def _print_counts(counts: dict[str, int], folder: Path) -> None:
    summary = ", ".join(f"{counts[status]:,} {word}" for status, word in STATUSES.items() if counts.get(status))
    print(f"{summary or 'no runs'}; results in {folder}")
