"""How time and memory grow with rows, classes, features and trees: the exponents of fits on logarithms.

    python benchmarks/scale.py                       # all but the cluster; some minutes
    python benchmarks/scale.py rows --sizes 50000 100000 200000 400000
    python benchmarks/scale.py cluster --sizes 625000 1250000 2500000 5000000

Each size is a process of its own. Printed are its CPU seconds, those of its threads and processes included, and its
peak resident set less that of a process with a few rows; and the exponent p of size**p, by least squares on the
logarithms of both: 1 is linear. Made-up tables are learned from with a single configuration, in 4 KB, or in 4 KB
for each 20 classes. `trees` reads a forest of scikit-learn, packs it, writes it as C, saves and loads it.

`cluster` writes Parquet files of 50 features and learns from them with `billhook fit --scheduler`, on four workers of
4 GB each, one of which is killed half-way through the time that the size before took.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIZES = {
    "rows": [50_000, 100_000, 200_000, 400_000],
    "classes": [50, 100, 200, 400],
    "features": [2_500, 5_000, 10_000, 20_000],
    "trees": [1_250, 2_500, 5_000, 10_000],
    "cluster": [100_000, 200_000, 400_000],
}
FEWEST = {"rows": 2_000, "classes": 10, "features": 50, "trees": 10}
BLOCK, PART = 50_000, 100_000
N_WORKERS, WORKER_MEMORY = 4, "4GB"


class Run(NamedTuple):
    """What a size took."""

    size: int
    seconds: float
    megabytes: float


def made_up(
    n_rows: int, n_features: int, n_classes: int, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows and their classes; little more memory is taken than what is returned."""
    X, y = np.empty((n_rows, n_features), np.float32), np.empty(n_rows, np.int64)
    direction = np.random.default_rng(0).normal(size=(10, n_classes))
    rng = np.random.default_rng(seed)
    for begin in range(0, n_rows, BLOCK):
        part = rng.standard_normal((min(BLOCK, n_rows - begin), n_features), np.float32)
        X[begin : begin + BLOCK] = part
        score = 3 * part[:, :10] @ direction
        y[begin : begin + BLOCK] = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def fit_table(n_rows: int, n_features: int, n_classes: int) -> None:
    """Learn from a made-up table, with one configuration."""
    import billhook as bh

    X, y = made_up(n_rows, n_features, n_classes)
    budget = 4_096 * max(1, n_classes // 20)
    bh.CompactForestClassifier(budget, n_trials=1, random_state=0, n_jobs=1).fit(X, y)


def use_trees(n_trees: int) -> None:
    """Read, pack, write, save and load so many trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    import billhook as bh

    X, y = made_up(400, 10, 3)
    forest = bh.as_forest(ExtraTreesClassifier(n_trees, max_leaf_nodes=16, random_state=0, n_jobs=1).fit(X, y))
    packed = bh.pack(forest, leaf_bits=5)
    with tempfile.TemporaryDirectory() as folder:
        bh.emit(packed, Path(folder) / "c")
        packed.save(Path(folder) / "packed.bhk")
        forest.save(Path(folder) / "forest.bhk")
        assert bh.load(Path(folder) / "packed.bhk") == packed
        assert bh.load(Path(folder) / "forest.bhk").n_trees == n_trees
    assert (packed.predict(X) == forest.predict(X)).mean() > 0.9


def use(what: str, size: int) -> None:
    """Do what is measured, in this process."""
    if what == "trees":
        use_trees(size)
        return
    shape = {"rows": (size, 50, 10), "classes": (12_000, 20, size), "features": (1_000, size, 3)}[what]
    fit_table(*shape)


def measured(what: str, size: int) -> Run:
    """Run a size in a process of its own; print what it took."""
    command = [sys.executable, __file__, what, "--child", str(size)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds, kilobytes = map(float, done.stdout.split()[-2:])
    return Run(size, seconds, kilobytes / 1e3)


def write_parts(folder: Path, n_rows: int) -> None:
    """Write Parquet files with so many rows in all."""
    import pandas as pd

    for part, begin in enumerate(range(0, n_rows, PART)):
        X, y = made_up(min(PART, n_rows - begin), 50, 10, part)
        pd.DataFrame(X, columns=[f"x{k}" for k in range(50)]).assign(label=y).to_parquet(folder / f"{part}.parquet")


def fit_on_cluster(n_rows: int, kill_after: float | None) -> tuple[Run, float]:
    """Learn from files on four workers; return what it took, and the seconds on the clock."""
    import dask
    from dask.distributed import LocalCluster

    # By default a worker that takes longer to start again is given up for ever.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "rows").mkdir()
        write_parts(folder / "rows", n_rows)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=WORKER_MEMORY,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=str(folder),
        ) as cluster:
            command = [sys.executable, "-m", "billhook", "fit", "rows", "--label", "label", "--budget", "4KB"]
            command += ["--trials", "1", "--out", "out", "--backend", "dask"]
            command += ["--scheduler", cluster.scheduler_address]
            begin = time.monotonic()
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            most = 0.0
            while process.poll() is None:
                pids = [process.pid, *(worker.pid for worker in cluster.workers.values() if worker.pid)]
                most = max(most, sum(map(resident, pids)))
                if kill_after is not None and time.monotonic() - begin > kill_after:
                    os.kill(next(worker.pid for worker in cluster.workers.values() if worker.pid), signal.SIGKILL)
                    print(f"a worker is killed after {kill_after:.0f} s of the clock", flush=True)
                    kill_after = None
                time.sleep(0.2)
            said, errors = (text.decode() for text in process.communicate())
            if process.returncode or "has learned from all" not in said:
                sys.exit(f"the fit failed: {said}{errors}")
            seconds = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(n_rows, used, most), seconds


def resident(pid: int) -> float:
    """Return how many megabytes a process holds; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS")), 0.0)


def exponent(runs: list[Run], field: str) -> float:
    """Return p of the power of the size that comes nearest to what was measured."""
    sizes = np.log([run.size for run in runs])
    values = np.log([max(getattr(run, field), 1e-3) for run in runs])
    return float(np.polyfit(sizes, values, 1)[0])


def measure_all(what: str, sizes: list[int]) -> None:
    """Print what each size takes, and the exponents."""
    runs, fewest, seconds = [], None, None
    if what != "cluster":
        fewest = measured(what, FEWEST[what])
    for size in sizes:
        if fewest is None:
            run, seconds = fit_on_cluster(size, None if seconds is None else seconds / 2)
            print(f"{seconds:.0f} s of the clock", flush=True)
        else:
            run = measured(what, size)
            run = run._replace(seconds=run.seconds - fewest.seconds, megabytes=run.megabytes - fewest.megabytes)
        runs.append(run)
        print(f"{what:9s}{run.size:12,d}{run.seconds:10.1f} CPU s{run.megabytes:10,.0f} MB", flush=True)
    if len(runs) > 1:
        print(f"{what:9s}exponents: time {exponent(runs, 'seconds'):.2f}, memory {exponent(runs, 'megabytes'):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[*SIZES, []], default=[])
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        use(arguments.what[0], arguments.child)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
        return
    for what in arguments.what or [name for name in SIZES if name != "cluster"]:
        measure_all(what, arguments.sizes or SIZES[what])


if __name__ == "__main__":
    main()
