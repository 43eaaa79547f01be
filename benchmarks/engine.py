"""How fast is each kernel beside that of release 0.1.0? Public calls, one thread, one run, ratios.

    python benchmarks/engine.py                       # some minutes; the first time 0.1.0 is installed beside
    python benchmarks/engine.py --only refine --only merge --rounds 15
    python benchmarks/engine.py --markdown            # the table of the docs

Two processes, one in this environment and one in that of 0.1.0 (build/environments), take turns at short runs of the
same task, with the same tables and model files, until neither becomes faster; of each the shortest run counts, after
one that may compile. Times are those of the processor, all threads together: what else runs on the machine changes
little, and threads gain nothing. The answers are compared too. The tables are eeg, satimage and chess where
BILLHOOK_DATA names a folder that has them, and otherwise made up with the same shape.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from engine_tasks import TASKS
from environments import RELEASE, ROOT, environment_of, environment_variables
from sklearn.datasets import make_classification, make_regression

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
# By default glibc keeps memory or gives it back by what the process did before, and some tasks take three times as
# long in one case as in the other. With fixed limits both processes keep it.
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
SETTINGS = ONE_THREAD | KEPT_MEMORY
# Turns go on until so many in a row lower neither time by this share; but no task takes more than so many seconds.
LASTING_TURNS, LOWER = 5, 0.01
LONGEST_TASK = 20.0
MANY_CLASSES = 18
EIGHT_TREES = "one row, 2 classes, 8 x 64"
# Rows, features and classes of the tables, and the data set that has this shape.
TABLES = {
    "two": ("eeg", 14_980, 14, 2),
    "six": ("satimage", 6_430, 36, 6),
    "eighteen": ("chess", 28_056, 23, 18),
    "twenty_six": (None, 16_000, 16, 26),
}


def write_tables(folder: Path) -> None:
    for table, (name, n_rows, n_features, n_classes) in TABLES.items():
        found = data_set(name) if name else None
        if found is None:
            X, y = make_classification(
                n_rows, n_features, n_informative=n_features - 4, n_classes=n_classes, flip_y=0.05, random_state=0
            )
            found = X, y
        _write(folder, table, *found)
    _write(folder, "numbers", *make_regression(10_000, 12, noise=5.0, random_state=0))


def _write(folder: Path, table: str, X: np.ndarray, y: np.ndarray) -> None:
    chosen = np.random.default_rng(0).permutation(len(y))
    np.savez(folder / f"{table}.npz", X=np.ascontiguousarray(X, np.float32)[chosen], y=y[chosen])


def data_set(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    path = Path(os.environ.get("BILLHOOK_DATA", "")) / f"{name}.parquet"
    if not path.exists():
        return None
    import pandas as pd

    frame = pd.read_parquet(path)
    _, y = np.unique(frame.pop("label").to_numpy(), return_inverse=True)
    return np.asarray(pd.get_dummies(frame), np.float32), y


class Worker:
    """A process that runs tasks in some environment."""

    def __init__(self, python: Path | str, inputs: Path, variables: dict[str, str]) -> None:
        command = [python, Path(__file__).with_name("engine_tasks.py"), inputs]
        self.process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request: object) -> float:
        """Have something done; return the seconds that one run took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            raise RuntimeError(f"the process of {self.process.args[0]} ended while it had to do {request}")
        return float(json.loads(reply))

    def end(self) -> None:
        """Let the process end."""
        self.process.stdin.close()
        self.process.wait()


class Measured(NamedTuple):
    """A task, the seconds that it takes before and now, and what is to be said of the answers if they differ."""

    name: str
    n_classes: int
    before: float
    now: float
    difference: str

    @property
    def ratio(self) -> float:
        """How many times as fast it is now."""
        return self.before / self.now


def measure(name: str, before: Worker, now: Worker, n_rounds: int, folder: Path) -> Measured:
    answers = [folder / "before.npz", folder / "now.npz"]
    for worker, path in zip((before, now), answers, strict=True):
        worker.ask(do="prepare", task=name, answer=str(path))
    best = [math.inf, math.inf]
    n_turns, n_lasting, end = 0, 0, time.perf_counter() + LONGEST_TASK
    while (n_turns < n_rounds or n_lasting < LASTING_TURNS) and (n_turns < 2 or time.perf_counter() < end):
        n_turns, n_lasting = n_turns + 1, n_lasting + 1
        for place in (0, 1) if n_turns % 2 else (1, 0):
            seconds = (before, now)[place].ask(do="run")
            if seconds < (1 - LOWER) * best[place]:
                n_lasting = 0
            best[place] = min(best[place], seconds)
    return Measured(name, TASKS[name].n_classes, *best, difference(*answers))


def difference(before: Path, now: Path) -> str:
    """Return how two answers differ by more than rounding does: an empty text if they do not."""
    differences = []
    with np.load(before) as old, np.load(now) as new:
        for part in old.files:
            text = same(part, old[part], new[part])
            if text:
                differences.append(text)
    return "; ".join(differences)


def same(part: str, old: np.ndarray, new: np.ndarray) -> str:
    """Compare a part of two answers: exactly; up to rounding; or how good it is, where a tie may be broken anew."""
    if old.shape != new.shape:
        return f"{part}: shape {old.shape} became {new.shape}"
    if part.startswith("exact"):
        n_others = int((old != new).sum())
        return f"{part}: {n_others:,} of {old.size:,} differ" if n_others else ""
    if part == "labels":
        share = float(np.mean(old == new))
        return f"{part}: {1 - share:.2%} differ" if share < 0.999 else ""
    if part == "accuracy":
        return f"{part}: {old[0]:.2%} became {new[0]:.2%}" if new[0] < old[0] - 0.005 else ""
    largest = float(np.abs(old.astype(float) - new).max() / max(np.abs(old).max(), 1e-300))
    return f"{part}: differ by {largest:.1g} of the largest" if largest > (0.005 if part == "size" else 1e-6) else ""


def show(results: list[Measured], *, is_markdown: bool) -> None:
    if is_markdown:
        print("| task | 0.1.0, ms | now, ms | times as fast | answers |\n|---|---:|---:|---:|---|")
    for one in results:
        cells = (f"{one.before * 1e3:.4g}", f"{one.now * 1e3:.4g}", f"{one.ratio:.2f}", one.difference or "equal")
        print(f"| {one.name} | {' | '.join(cells)} |" if is_markdown else line(one))
    ratios = [one.ratio for one in results]
    least = min(results, key=lambda one: one.ratio)
    print(f"\n{len(results)} tasks, times as fast as 0.1.0: least {least.ratio:.2f} ({least.name}),")
    print(f"geometric mean {geometric_mean(ratios):.2f}.")
    many = [one for one in results if one.n_classes >= MANY_CLASSES]
    if many:
        least = min(many, key=lambda one: one.ratio)
        mean = geometric_mean([one.ratio for one in many])
        print(f"{MANY_CLASSES} classes or more: least {least.ratio:.2f} ({least.name}), geometric mean {mean:.2f}.")
    slower = [f"{one.name} ({one.ratio:.2f})" for one in results if one.ratio < 0.95]
    print(f"Slower than 0.95 times: {', '.join(slower) or 'none'}.")
    others = [one.name for one in results if one.difference]
    print(f"Answers that differ by more than rounding: {', '.join(others) or 'none'}.")
    for one in results:
        if one.name == EIGHT_TREES:
            print(
                f"One row of 8 trees through Forest.predict: {one.now * 1e6:.2f} µs (0.1.0: {one.before * 1e6:.2f})."
            )


def line(one: Measured) -> str:
    return f"{one.name:42}{one.before * 1e3:12.4g}{one.now * 1e3:12.4g}{one.ratio:9.2f}  {one.difference}"


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", metavar="TEXT", help="only tasks with this in their name")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="turns at least (default: %(default)s)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--list", action="store_true", help="only print the names of the tasks")
    arguments = parser.parse_args()
    chosen = [name for name in TASKS if not arguments.only or any(text in name for text in arguments.only)]
    if not chosen or arguments.list:
        print("\n".join(TASKS))
        return 0 if arguments.list else 2
    kind = "of-data-sets" if data_set("eeg") else "made-up"
    inputs = ROOT / "build" / "engine" / f"{RELEASE}-{kind}"
    python = environment_of(RELEASE).python
    if not inputs.exists():
        inputs.mkdir(parents=True)
        write_tables(inputs)
    before = Worker(python, inputs, environment_variables(**SETTINGS))
    now = Worker(sys.executable, inputs, {**os.environ, **SETTINGS})
    before.ask(do="make")
    results = []
    print(f"{'tables ' + kind.replace('-', ' '):42}{'0.1.0, ms':>12}{'now, ms':>12}{'ratio':>9}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            results.append(measure(name, before, now, arguments.rounds, Path(folder)))
            print(line(results[-1]), file=sys.stderr, flush=True)
    before.end()
    now.end()
    print(file=sys.stderr)
    show(results, is_markdown=arguments.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
