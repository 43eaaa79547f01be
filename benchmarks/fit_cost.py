"""What a search costs: time to the first model and in all, and peak memory on a large table.

    BILLHOOK_DATA=... python benchmarks/fit_cost.py

Times are those of the whole command, reading and writing included, over what it was allowed; they are of one machine
on one day.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import billhook as bh
from billhook.budget import encode_table, fit

LARGE = (500_000, 54)


def first_model(name: str, budget: int) -> float:
    """Return the seconds to the first model that fits, in a new process."""
    code = f"import fit_cost; fit_cost.report({name!r}, {budget})"
    words = [sys.executable, "-c", code]
    return float(subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent).stdout)


def report(name: str, budget: int) -> None:
    from fit_true_bytes import read

    rows = encode_table(read(name), budget).rows
    start = time.perf_counter()

    def stop(search: object) -> None:
        if search.best(budget) is not None:
            print(time.perf_counter() - start)
            sys.stdout.flush()
            os._exit(0)

    fit(rows, budget, progress=stop)


def command(table: Path, label: str, budget: str, limit: float) -> tuple[float, int]:
    """Return the seconds and the peak bytes of a command."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "billhook", "fit", table, "--label", label, "--budget", budget]
        start = time.perf_counter()
        subprocess.run([*words, "--time-limit", str(limit), "--out", Path(folder) / "o"], check=True)
        seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def large_table(path: Path) -> None:
    """Write a table of the shape of covtype: ten numbers, 44 columns of 0 and 1, seven classes."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join([*(f"c{k}" for k in range(LARGE[1])), "kind"]) + "\n")
        for _ in range(50):
            n_rows = LARGE[0] // 50
            numbers = rng.integers(0, 4000, (n_rows, 10))
            bits = rng.random((n_rows, 44)) < 0.1
            score = numbers[:, 0] / 600 + numbers[:, 1] / 2000 + 2 * bits[:, 3] + rng.normal(size=n_rows)
            kind = np.clip(score, 0, 6.99).astype(int)
            np.savetxt(file, np.column_stack([numbers, bits, kind]), fmt="%d", delimiter=",")


def main() -> None:
    data = Path(os.environ["BILLHOOK_DATA"])
    for name, budget in (("eeg", 4096), ("chess", 16 * 1024)):
        print(f"{name}, {budget // 1024} KB: first model after {first_model(name, budget):.1f} s", flush=True)
        seconds, _ = command(data / f"{name}.parquet", "label", f"{budget}B", 60.0)
        print(f"{name}, {budget // 1024} KB: {seconds:.0f} s in all, of a limit of 60 s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        large_table(path)
        seconds, peak = command(path, "kind", "8KB", 60.0)
        print(f"{LARGE[0]:,} x {LARGE[1]} rows of CSV, 8 KB: {seconds:.0f} s, peak memory {peak / 2**20:.0f} MB")


if __name__ == "__main__":
    print(f"billhook {bh.__version__}, {os.cpu_count()} cores")
    main()
