"""How much memory does a fit of 1,000,000 rows take? Peak resident set, as a multiple of the float32 table.

    python benchmarks/fit_memory.py                      # an array, a Parquet file and a CSV file; about five minutes
    python benchmarks/fit_memory.py --from array --seconds 120 --jobs 4

The rows are made up: 50 features, 10 classes that depend on some of them. Each fit is a process of its own, in which
the array is made, or `billhook fit` reads the file. What counts is its peak resident set, the rows included, less
that of a process that imports the same and learns from a few rows.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_FEATURES, N_CLASSES = 50, 10
FEW_ROWS = 300
BUDGET = "8KB"
BLOCK = 50_000
# Runs the words after the first in this process, and prints how much memory that took: KB, on Linux.
MEASURED = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__") if sys.argv[0].endswith(".py") else runpy.run_module(
        sys.argv[0], run_name="__main__")
except SystemExit as end:
    if end.code: raise
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class Run(NamedTuple):
    """A fit: how many bytes it held at most, and how many seconds it took."""

    nbytes: int
    seconds: float


def made_up(n_rows: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows and their classes; little more memory is taken than what is returned."""
    X, y = np.empty((n_rows, N_FEATURES), np.float32), np.empty(n_rows, np.int64)
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(10, N_CLASSES))
    for begin in range(0, n_rows, BLOCK):
        part = rng.normal(size=(min(BLOCK, n_rows - begin), N_FEATURES)).astype(np.float32)
        X[begin : begin + BLOCK] = part
        score = part[:, :10] @ direction + np.abs(part[:, 10:20]) @ direction[::-1]
        y[begin : begin + BLOCK] = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return X, y


def fit_array(n_rows: int, seconds: float, n_jobs: int) -> None:
    """Learn from an array, in this process."""
    import billhook as bh

    X, y = made_up(n_rows)
    bh.CompactForestClassifier(BUDGET, time_limit=seconds, random_state=0, n_jobs=n_jobs).fit(X, y)


def write_table(path: Path, n_rows: int) -> None:
    """Write the rows to a Parquet or CSV file."""
    import pandas as pd

    X, y = made_up(n_rows)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(N_FEATURES)]).assign(label=y)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False, float_format="%.6g")
    else:
        frame.to_parquet(path)


def measured(words: list[str]) -> Run:
    """Run a module or a script in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", MEASURED, *words], stdout=subprocess.PIPE, text=True, check=True)
    return Run(1024 * int(done.stdout.splitlines()[-1]), time.perf_counter() - start)


def fit_apart(source: str, n_rows: int, seconds: float, n_jobs: int, folder: Path) -> Run:
    """Learn from an array, or from a file by the command line."""
    if source == "array":
        return measured([__file__, "--one", str(n_rows), str(seconds), str(n_jobs)])
    path = folder / f"{n_rows}.{source}"
    subprocess.run([sys.executable, __file__, "--write", str(path), str(n_rows)], check=True)
    words = ["billhook", "fit", str(path), "--label", "label", "--budget", BUDGET, "--time-limit", str(seconds)]
    run = measured([*words, "--jobs", str(n_jobs), "--out", str(folder / f"{source}-{n_rows}")])
    path.unlink()
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--from", nargs="+", choices=("array", "parquet", "csv"), dest="sources")
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="time limit (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="threads of a fit (default: %(default)s)")
    parser.add_argument("--one", nargs=3, metavar=("ROWS", "SECONDS", "JOBS"), help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, metavar=("PATH", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        n_rows, seconds, n_jobs = arguments.one
        fit_array(int(n_rows), float(seconds), int(n_jobs))
        return
    if arguments.write:
        write_table(Path(arguments.write[0]), int(arguments.write[1]))
        return
    table = 4 * arguments.rows * N_FEATURES
    print("| from | seconds allowed | taken | peak, MB | above a fit of a few rows, MB | times the table |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.sources or ("array", "parquet", "csv"):
            few = fit_apart(source, FEW_ROWS, 4.0, arguments.jobs, Path(folder))
            run = fit_apart(source, arguments.rows, arguments.seconds, arguments.jobs, Path(folder))
            above = run.nbytes - few.nbytes
            cells = f"{arguments.seconds:g} | {run.seconds:.1f} | {run.nbytes / 1e6:,.0f} | {above / 1e6:,.0f}"
            print(f"| {source} | {cells} | {above / table:.2f} |", flush=True)


if __name__ == "__main__":
    main()
