"""How good is a model after 2, 5, 10, ... seconds, and how many configurations does a second try? Beside 0.1.0.

    BILLHOOK_DATA=... python benchmarks/fit_anytime.py --results anytime.jsonl           # hours, on one core
    BILLHOOK_DATA=... python benchmarks/fit_anytime.py --results anytime.jsonl --jobs 2 --data eeg chess --folds 1
    python benchmarks/fit_anytime.py --results anytime.jsonl --show --markdown --draw anytime.svg

Every run is a fit with a time limit of its own, in a process and an environment of its own: what somebody gets who
allows so much time. The first of five folds is held out of it and tells its accuracy, then the second. Seconds are
those of the processor, and a fit has one thread: how busy the machine is hardly matters. What release 0.1.0 compiles
on its first run is compiled beforehand.

Runs that are in the results already are not made again: an interrupted benchmark goes on when it is called again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
from environments import RELEASE, environment_of, environment_variables, install_too

KB = 1024
DATA = (
    "eeg", "elec", "chess", "satimage", "mnist", "connect", "avila", "magic", "japanese-vowels", "anura", "nomao",
    "adult", "bank", "mozilla",
)  # fmt: skip
LIMITS = (2, 5, 10, 20, 60, 240)
NOW = "now"
# What is to be reached: at 10 s what the release has at 60 s, on so many data sets; and so many times its throughput.
EARLY, LATE, WANTED_SETS = 10, 60, 12
WANTED_THROUGHPUT = {"chess": 4.0, "satimage": 4.0, "mnist": 4.0, "eeg": 2.0, "elec": 2.0}
THROUGHPUT_BUDGET = 4 * KB
# Libraries with threads of their own.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Job(NamedTuple):
    """A fit to make: by which release, of what, and with how much time."""

    release: str
    data: str
    budget: int
    fold: int
    limit: int


class Outcome(NamedTuple):
    """What came of it: accuracy on the test fold, bytes, configurations that were tried, seconds of the processor."""

    accuracy: float
    nbytes: int
    n_trials: int
    seconds: float


# In the process of a fit


def rows_of(name: str, fold: int):
    """Return the rows to learn from and those to test with."""
    import pandas as pd
    from sklearn.model_selection import StratifiedKFold

    frame = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet").drop(
        columns="split", errors="ignore"
    )
    if name == "mnist":  # 6,000 and 1,000 rows, as the paper
        frame = pd.concat([frame[:6_000], frame[60_000:61_000]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        splits = list(StratifiedKFold(5, shuffle=True, random_state=12345).split(frame, frame["label"]))
    train, test = splits[fold]
    return frame.iloc[train].reset_index(drop=True), frame.iloc[test].reset_index(drop=True)


def fit(job: Job) -> Outcome:
    train, test = rows_of(job.data, job.fold)
    time.perf_counter = time.process_time  # before it is imported: the clock of the search
    return fit_with_release(job, train, test) if job.release == RELEASE else fit_now(job, train, test)


def fit_now(job: Job, train, test) -> Outcome:
    import billhook as bh

    start = time.process_time()
    result = bh.fit_table(train, "label", budget=job.budget, time_limit=job.limit, random_state=job.fold, n_jobs=1)
    seconds = time.process_time() - start
    predicted = result.packed.predict(test.drop(columns="label"))
    return Outcome(accuracy_of(predicted, test), result.packed.nbytes, result.report.n_trials, seconds)


def fit_with_release(job: Job, train, test) -> Outcome:
    """Do what `billhook fit` of 0.1.0 does with a table."""
    import tempfile
    from dataclasses import replace

    import pandas as pd

    from billhook.budget import Ordered, choose_encoding, find, has_orders, rows_of
    from billhook.datasets import encode, read_table

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.parquet"
        pd.concat([train, test]).to_parquet(path, index=False)  # read together: columns without two values go
        both = read_table(path, "label", task="classification")
    table, others = both.take(np.arange(len(train))), both.take(np.arange(len(train), len(both.y)))
    n_trials = 0

    def progress(search) -> None:
        nonlocal n_trials
        n_trials = search.n_done

    start = time.process_time()
    X, encoding = encode(table, choose_encoding(table, job.budget, job.fold))
    is_ordered = has_orders(table) and all(column.kind != "one_hot" for column in encoding.columns)
    rows = replace(rows_of(table, X), recode=Ordered(table) if is_ordered else None)
    found = find(rows, job.budget, time_limit=job.limit, seed=job.fold, n_jobs=1, progress=progress)
    seconds = time.process_time() - start
    features = encoding.apply(dict(zip(others.names, others.columns, strict=True)))
    return Outcome(accuracy_of(found.packed.predict(features), test), found.packed.nbytes, n_trials, seconds)


def accuracy_of(predicted: np.ndarray, test) -> float:
    return float(np.mean(predicted.astype(str) == test["label"].to_numpy().astype(str)))


# All of them


def run_apart(job: Job) -> Outcome:
    python = sys.executable if job.release == NOW else environment_of(job.release).python
    words = [python, __file__, "--one", json.dumps(job)]
    variables = dict(os.environ) if job.release == NOW else environment_variables()
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=variables | ONE_THREAD)
    return Outcome(*json.loads(done.stdout.splitlines()[-1]))


def read_results(path: Path) -> dict[Job, Outcome]:
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("]]")]
    return {Job(*job): Outcome(*outcome) for job, outcome in lines}


def jobs_of(arguments: argparse.Namespace) -> Iterator[Job]:
    of_release = arguments.limits if arguments.release_limits is None else arguments.release_limits
    limits = {NOW: arguments.limits, RELEASE: of_release}
    for fold in range(arguments.first_fold, arguments.first_fold + arguments.folds):
        for kilobytes in arguments.kilobytes:
            for data in arguments.data:
                for release, seconds in limits.items():
                    yield from (Job(release, data, KB * kilobytes, fold, limit) for limit in seconds)


def run_all(jobs: list[Job], path: Path, n_at_once: int) -> None:
    """Run jobs, and write what comes of each when it is done."""
    if any(job.release == RELEASE for job in jobs) and not any(job.release == RELEASE for job in read_results(path)):
        install_too(environment_of(RELEASE), "pandas", "pyarrow")
        for data in ("eeg", "satimage", "adult"):  # compiles for one number a leaf, for several, and for names
            print(
                f"compiling what release {RELEASE} compiles on its first run, with {data}",
                file=sys.stderr,
                flush=True,
            )
            run_apart(Job(RELEASE, data, 2 * KB, 4, 40))
    with ThreadPoolExecutor(n_at_once) as pool, path.open("a") as file:
        futures = {pool.submit(run_apart, job): job for job in jobs}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                job, outcome = futures[future], future.result()
                file.write(json.dumps([job, outcome]) + "\n")
                file.flush()
                words = f"{job.release} {job.data} {job.budget // KB} KB, fold {job.fold}, {job.limit} s"
                print(
                    f"{number}/{len(jobs)} {words}: {outcome.accuracy:.2%}, {outcome.n_trials} configurations, "
                    f"{outcome.seconds:.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# What came of them


def mean_accuracy(results: dict[Job, Outcome], release: str, data: str, budget: int, limit: int) -> float:
    """Return the mean over folds, in percent; NaN if there is none."""
    known = [
        outcome.accuracy
        for job, outcome in results.items()
        if (job.release, job.data, job.budget, job.limit) == (release, data, budget, limit)
    ]
    return 100.0 * float(np.mean(known)) if known else np.nan


def of_all(results: dict[Job, Outcome], release: str, budget: int, limit: int, data: Iterable[str]) -> float:
    return float(np.mean([mean_accuracy(results, release, name, budget, limit) for name in data]))


def show_table(head: list[str], lines: list[list[str]], *, is_markdown: bool) -> None:
    if is_markdown:
        print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}")
        for cells in lines:
            print(f"| {' | '.join(cells)} |")
    else:
        for cells in (head, *lines):
            print("".join(f"{cell:>18}" for cell in cells))
    print()


def show(results: dict[Job, Outcome], *, is_markdown: bool) -> None:
    budgets = sorted({job.budget for job in results})
    data = [name for name in DATA if any(job.data == name for job in results)]
    limits = {release: sorted({job.limit for job in results if job.release == release}) for release in (RELEASE, NOW)}
    columns = [(release, limit) for release in (RELEASE, NOW) for limit in limits[release]]
    head = [f"{'0.1.0' if release == RELEASE else 'now'}, {limit} s" for release, limit in columns]

    def cell(number: float) -> str:
        return "" if np.isnan(number) else f"{number:.2f}"

    for budget in budgets:
        lines = [
            [name, *(cell(mean_accuracy(results, *column[:1], name, budget, column[1])) for column in columns)]
            for name in data
        ]
        lines.append(["mean", *(cell(of_all(results, column[0], budget, column[1], data)) for column in columns)])
        show_table([f"{budget // KB} KB", *head], lines, is_markdown=is_markdown)
    folds = len({job.fold for job in results})
    for budget in budgets:
        gaps = np.array([
            mean_accuracy(results, NOW, name, budget, EARLY) - mean_accuracy(results, RELEASE, name, budget, LATE)
            for name in data
        ])  # fmt: skip
        gaps = gaps[~np.isnan(gaps)]
        if gaps.size:
            print(
                f"{budget // KB} KB: at {EARLY} s, {gaps.mean():+.2f} points on 0.1.0 at {LATE} s in the mean; no "
                f"worse on {(gaps >= 0).sum()} of {gaps.size} (wanted: {WANTED_SETS} of {len(DATA)}); {folds} folds\n"
            )
    show_throughput(results, is_markdown=is_markdown)


def show_throughput(results: dict[Job, Outcome], *, is_markdown: bool) -> None:
    """Show how many configurations a second were tried, in fits that had the same time."""
    lines = []
    for name, wanted in WANTED_THROUGHPUT.items():
        speed = {}
        for release in (RELEASE, NOW):
            same = [
                outcome
                for job, outcome in results.items()
                if (job.release, job.data, job.budget, job.limit) == (release, name, THROUGHPUT_BUDGET, LATE)
            ]
            seconds = sum(outcome.seconds for outcome in same)
            speed[release] = sum(outcome.n_trials for outcome in same) / seconds if same else np.nan
        if not np.isnan(speed[RELEASE] + speed[NOW]):
            ratio = speed[NOW] / speed[RELEASE]
            lines.append([name, f"{speed[RELEASE]:.2f}", f"{speed[NOW]:.2f}", f"{ratio:.1f}", f"{wanted:g}"])
    if lines:
        head = ["configurations a second", "0.1.0", "now", "times", "wanted"]
        show_table(head, lines, is_markdown=is_markdown)


def draw(results: dict[Job, Outcome], path: Path) -> None:
    """Draw accuracy over time, a panel for each data set."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "billhook", "font.size": 8})
    data = [name for name in DATA if any(job.data == name for job in results)]
    n_columns = min(5, len(data))
    figure, axes = plt.subplots(-(-len(data) // n_columns), n_columns, figsize=(2.4 * n_columns, 6), squeeze=False)
    for axis in axes.flat[len(data) :]:
        axis.set_axis_off()
    for name, axis in zip(data, axes.flat, strict=False):
        for budget, marker in zip(sorted({job.budget for job in results}), "os^", strict=False):
            for release, color in ((RELEASE, "0.6"), (NOW, "C0")):
                limits = sorted({job.limit for job in results if job.release == release})
                means = [mean_accuracy(results, release, name, budget, limit) for limit in limits]
                known = ~np.isnan(means)
                label = f"{'0.1.0' if release == RELEASE else 'now'}, {budget // KB} KB"
                axis.plot(np.array(limits)[known], np.array(means)[known], color=color, marker=marker, ms=3, lw=1,
                          label=label)  # fmt: skip
        axis.set(title=name, xscale="log")
        axis.set_xticks(LIMITS, [str(limit) for limit in LIMITS])
        axis.minorticks_off()
    figure.supxlabel("time limit, seconds")
    figure.supylabel("test accuracy, %")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, metavar="FILE", help="lines of JSON, of what was run")
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA, metavar="NAME")
    parser.add_argument("--kilobytes", nargs="+", type=int, default=(2, 4), metavar="N")
    parser.add_argument("--folds", type=int, default=2, metavar="N", help="of the five (default: %(default)s)")
    parser.add_argument("--first-fold", type=int, default=0, metavar="N", help="the first of them, from 0")
    parser.add_argument("--limits", nargs="*", type=int, default=LIMITS, metavar="S", help="seconds that fits have")
    parser.add_argument("--release-limits", nargs="*", type=int, metavar="S", help="of 0.1.0 (default: the same)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="fits at once (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw accuracy over time: SVG, PNG or PDF")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(fit(Job(*json.loads(arguments.one)))))
        return
    if arguments.results is None:
        parser.error("--results must name a file, which is made if it is not there")
    if not arguments.show:
        if "BILLHOOK_DATA" not in os.environ:
            parser.error("BILLHOOK_DATA must name the folder of the paper's data sets")
        known = read_results(arguments.results)
        run_all([job for job in jobs_of(arguments) if job not in known], arguments.results, arguments.jobs)
    results = read_results(arguments.results)
    show(results, is_markdown=arguments.markdown)
    if arguments.draw:
        draw(results, arguments.draw)


if __name__ == "__main__":
    main()
