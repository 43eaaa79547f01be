"""Does a busy machine make models worse? Accuracy of `fit_table` after the same CPU seconds, busy against idle.

    BILLHOOK_DATA=... python benchmarks/fit_busy.py              # chess and digits, 4 KB; about half an hour
    python benchmarks/fit_busy.py --data digits --quick          # two splits, a minute or two

Each split of the rows is learned from twice, in a process of its own: alone, and then beside four processes that do
nothing but compute. The scheduler gives every thread that wants to run the same. A fit that kept u cores busy when
alone, u threads in the mean, so has a fair share of u times what one of the busy processes got; and with a time limit
that is (u + 4) / cores times as long, the same CPU seconds. What it did use is printed: a fit whose threads wait for
one another gets less than its share, or has less to show for it. Run it on a machine with nothing else to do.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

BUDGET = "4KB"
N_BUSY = 4
TEST_SHARE = 0.25
# Seconds that a fit may take alone.
SECONDS = {"chess": 40.0, "digits": 15.0}
QUICK_SECONDS = {"chess": 20.0, "digits": 6.0}
# Ends by itself, should this process be killed.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(10**6): pass"


class Run(NamedTuple):
    """A fit: accuracy on test rows, configurations tried, bytes, seconds on the clock, and of the processor.

    `of_busy` are the cores that each of the busy processes had meanwhile.
    """

    accuracy: float
    n_trials: int
    nbytes: int
    seconds: float
    cpu_seconds: float
    of_busy: float = 1.0

    @property
    def cores(self) -> float:
        """How many cores it had in the mean."""
        return self.cpu_seconds / self.seconds


def frame_of(name: str) -> "pd.DataFrame":
    import pandas as pd
    from sklearn.datasets import load_digits

    if name == "digits":
        return load_digits(as_frame=True).frame.rename(columns={"target": "label"})
    return pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")


def fit(name: str, seed: int, time_limit: float, n_jobs: int) -> Run:
    """Learn from a split of the rows, in this process."""
    from sklearn.model_selection import train_test_split

    import billhook as bh

    frame = frame_of(name)
    train, test = train_test_split(frame, test_size=TEST_SHARE, stratify=frame["label"], random_state=seed)
    start, cpu_start = time.perf_counter(), _cpu_seconds()
    result = bh.fit_table(train, "label", budget=BUDGET, time_limit=time_limit, random_state=seed, n_jobs=n_jobs)
    seconds, cpu_seconds = time.perf_counter() - start, _cpu_seconds() - cpu_start
    predicted = result.packed.predict(test.drop(columns="label"))
    accuracy = float(np.mean(predicted == test["label"].to_numpy()))
    return Run(accuracy, result.report.n_trials, result.packed.nbytes, seconds, cpu_seconds)


def _cpu_seconds() -> float:
    """Return the seconds of this process, all its threads, and the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fit_apart(name: str, seed: int, time_limit: float, n_jobs: int) -> Run:
    """Learn in a process of its own."""
    words = [sys.executable, __file__, "--one", name, str(seed), str(time_limit), str(n_jobs)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return Run(*json.loads(done.stdout.splitlines()[-1]))


def fit_beside(n_processes: int, name: str, seed: int, time_limit: float, n_jobs: int) -> Run:
    """Learn beside processes that keep the processor busy."""
    start = time.perf_counter()
    before = _cpu_seconds_of_children()
    processes = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(n_processes)]
    try:
        run = fit_apart(name, seed, time_limit, n_jobs)
        fitted = _cpu_seconds_of_children() - before
    finally:
        for process in processes:
            process.kill()
            process.wait()
    used = _cpu_seconds_of_children() - before - fitted
    return run._replace(of_busy=used / n_processes / (time.perf_counter() - start))


def _cpu_seconds_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def warm_up(name: str, n_jobs: int) -> None:
    """Have the files of all libraries read, and what is compiled on its first use compiled."""
    fit_apart(name, 0, QUICK_SECONDS[name], n_jobs)


def compare(name: str, n_splits: int, seconds: float, n_jobs: int, n_cores: int) -> list[tuple[Run, Run]]:
    """Return pairs of a fit alone and one beside busy processes."""
    warm_up(name, n_jobs)
    pairs = []
    for seed in range(n_splits):
        idle = fit_apart(name, seed, seconds, n_jobs)
        print(f"{name}, split {seed}, idle: {_words(idle)}", file=sys.stderr, flush=True)
        limit = seconds * max(1.0, (idle.cores + N_BUSY) / n_cores)
        busy = fit_beside(N_BUSY, name, seed, limit, n_jobs)
        print(f"{name}, split {seed}, busy: {_words(busy)} of {limit:.0f} s", file=sys.stderr, flush=True)
        pairs.append((idle, busy))
    return pairs


def _words(run: Run) -> str:
    return (
        f"{run.accuracy:.2%}, {run.n_trials} configurations, {run.nbytes:,} bytes, {run.seconds:.1f} s, "
        f"{run.cpu_seconds:.1f} CPU s"
    )


def summary(name: str, pairs: list[tuple[Run, Run]]) -> tuple[str, ...]:
    """Return the cells of a line of the table."""
    accuracy, trials, cpu, cores, of_busy = (
        np.array([[getattr(run, part) for run in pair] for pair in pairs])
        for part in ("accuracy", "n_trials", "cpu_seconds", "cores", "of_busy")
    )
    gap = 100 * (accuracy[:, 1] - accuracy[:, 0])
    error = gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else float("nan")
    fair = cores[:, 0] * of_busy[:, 1]
    return (
        f"{name}, {BUDGET}",
        str(len(pairs)),
        " / ".join(f"{100 * mean:.2f}" for mean in accuracy.mean(axis=0)),
        f"{gap.mean():+.2f} ± {error:.2f}",
        " / ".join(f"{mean:.0f}" for mean in trials.mean(axis=0)),
        " / ".join(f"{mean:.1f}" for mean in cpu.mean(axis=0)),
        " / ".join(f"{mean:.2f}" for mean in cores.mean(axis=0)),
        f"{fair.mean():.2f}",
        f"{np.mean(cores[:, 1] / fair):.0%}",
    )


HEADINGS = (
    "data",
    "splits",
    "accuracy, idle / busy, %",
    "difference, points",
    "configurations",
    "CPU seconds",
    "cores",
    "fair share of cores, busy",
    "got of it",
)


def show(lines: list[tuple[str, ...]], *, is_markdown: bool) -> None:
    if is_markdown:
        print(f"| {' | '.join(HEADINGS)} |\n|---|{'---:|' * (len(HEADINGS) - 1)}")
        for cells in lines:
            print(f"| {' | '.join(cells)} |")
        return
    for cells in lines:
        for heading, cell in zip(HEADINGS, cells, strict=True):
            print(f"{heading:26}{cell}")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=tuple(SECONDS), help="(default: those that are here)")
    parser.add_argument("--splits", type=int, default=6, metavar="N", help="of the rows (default: %(default)s)")
    parser.add_argument("--seconds", type=float, metavar="S", help="that a fit may take alone (default: 40 or 15)")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads of a fit (default: one a core)")
    parser.add_argument("--quick", action="store_true", help="two splits, and less time for each")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--one", nargs=4, metavar=("DATA", "SPLIT", "SECONDS", "JOBS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, seed, limit, jobs = arguments.one
        print(json.dumps(fit(name, int(seed), float(limit), int(jobs))))
        return
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_jobs = arguments.jobs or n_cores
    names = arguments.data or [name for name in SECONDS if name == "digits" or "BILLHOOK_DATA" in os.environ]
    n_splits = min(2, arguments.splits) if arguments.quick else arguments.splits
    lines = []
    for name in names:
        seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else SECONDS)[name]
        lines.append(summary(name, compare(name, n_splits, seconds, n_jobs, n_cores)))
    print(f"{n_cores} cores, fits of {n_jobs} threads, {N_BUSY} busy processes", file=sys.stderr)
    show(lines, is_markdown=arguments.markdown)


if __name__ == "__main__":
    main()
