"""How long does each pruning method take, how much memory, and does time grow with the rows? One thread.

    python benchmarks/pruning_speed.py             # EEG-sized: 256 trees, 12,000 rows, 2 classes
    python benchmarks/pruning_speed.py --large     # 256 trees, 60,000 rows, 10 classes

Selection alone, after the leaves of all rows are known. Nested methods put all 256 trees in order, the others choose
32. Memory is the highest that numpy's arrays took above what stood before, in a run of its own; the work space inside
compiled code, at most a few numbers for each row and class, is not in it.
"""

import argparse
import inspect
import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

import billhook as bh
from billhook.pruning import evaluate_trees, select_trees


def eeg():
    path = Path(os.environ.get("BILLHOOK_DATA", "")) / "eeg.parquet"
    if path.exists():
        import pandas as pd

        table = pd.read_parquet(path)
        X, y = np.ascontiguousarray(table.drop(columns="label"), np.float32), table["label"].to_numpy()
        name = "eeg"
    else:
        X, y = make_classification(14_980, 14, n_informative=10, flip_y=0.05, random_state=0)
        name = "made-up rows, eeg-sized"
    rows = np.random.default_rng(0).permutation(len(y))[:11_984]
    rf = RandomForestClassifier(256, max_leaf_nodes=1024, random_state=0, n_jobs=-1).fit(X[rows], y[rows])
    return name, bh.as_forest(rf), X[rows], y[rows]


def large():
    X, y = make_classification(60_000, 20, n_informative=15, n_classes=10, flip_y=0.05, random_state=0)
    rf = RandomForestClassifier(256, max_leaf_nodes=256, random_state=0, n_jobs=-1).fit(X[:12_000], y[:12_000])
    return "made-up rows", bh.as_forest(rf), X.astype(np.float32), y


def run(method, evaluated):
    """Select once, from what is known after prediction; return the CPU seconds."""
    start = time.process_time()
    select_trees(evaluated, method.name, evaluated.n_trees if method.nested else 32, 0, {})
    return time.process_time() - start


def prepared(forest, X, y):
    evaluated = evaluate_trees(forest, X, y, None)
    assert evaluated.votes.shape == evaluated.right.shape  # computed when first asked for
    return evaluated


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    name, forest, X, y = large() if given.large else eeg()
    print(f"{name}: {X.shape[0]:,} rows, {forest!r}")
    start = time.perf_counter()
    prepared(forest, X, y)
    print(f"leaves and votes of all rows: {time.perf_counter() - start:.2f} s\n")
    print(f"{'method':25}{'seconds':>9}{'peak MB':>9}{'N/4':>9}{'N/2':>9}{'N':>9}   (seconds by rows)")
    for method in bh.pruning_methods():
        if inspect.Parameter.empty in method.options.values():
            continue
        by_rows = []
        for share in (4, 2, 1):
            n = len(y) // share
            repeats = 1 if given.large else 2
            by_rows.append(min(run(method, prepared(forest, X[:n], y[:n])) for _ in range(repeats)))
        judged = prepared(forest, X, y)
        tracemalloc.start()
        run(method, judged)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        seconds = "".join(f"{s:9.3f}" for s in by_rows)
        print(f"{method.name:25}{by_rows[-1]:9.3f}{peak:9.0f}{seconds}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
