"""How long does refinement take, per row and tree, and how much memory? One thread.

    BILLHOOK_DATA=folder python benchmarks/refinement_speed.py          # eeg and chess, 32 trees x 64 leaves
    python benchmarks/refinement_speed.py --large                       # a million rows, 64 trees, 2 classes

Without BILLHOOK_DATA the rows are made up, as many and with as many classes. The time of gradient descent is for 50
epochs with the paper's settings, that of block coordinate descent until the objective falls by less than 0.1 % in a
pass; both with the leaves of all rows known, and the best of five runs, taken in turn. Memory is the peak that the
process took beyond what it had with X and the forest in memory (Linux), beside the size of the leaf numbers.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

import billhook as bh
from billhook.refinement._data import read_rows
from billhook.refinement._fitting import LeafFitter
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem

SHAPES = {"eeg": (11_984, 14, 2), "chess": (22_444, 23, 18)}


def rows_of(name):
    n_rows, n_features, n_classes = SHAPES[name]
    path = Path(os.environ.get("BILLHOOK_DATA", "")) / f"{name}.parquet"
    if not path.exists():
        X, y = make_classification(
            n_rows, n_features, n_informative=n_features - 4, n_classes=n_classes, flip_y=0.05, random_state=0
        )
        return f"made-up rows, {name}-sized", X.astype(np.float32), y
    import pandas as pd

    table = pd.read_parquet(path)
    y = table.pop("label").to_numpy()
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return name, np.ascontiguousarray(pd.get_dummies(table), np.float32)[chosen], y[chosen]


def seconds(forest, X, y, **options):
    """Return the seconds that the passes take, how many there were, and the accuracy on the rows."""
    settings = RefinementOptions(**options)
    problem = Problem(forest, settings.keeps_pairs(settings.losses(forest)))
    data = read_rows(
        problem,
        X,
        y,
        None,
        by_row=settings.solver == "sgd",
        validation=None,
        validation_fraction=None,
        in_bag=None,
        model=forest,
        n_jobs=None,
        random=np.random.RandomState(0),
    )
    fitter = LeafFitter(problem, settings, data, 0, 1, None)
    loss = settings.losses(forest)[0]
    start = time.perf_counter()
    fit = fitter.fit_all(loss, loss.l2, settings.n_passes, rows=data.is_own, until_converged=True)
    elapsed = time.perf_counter() - start
    return elapsed, fit.n_passes, np.mean(fit.forest.predict(X) == y)


def compare():
    print(f"{'':28}{'passes':>8}{'seconds':>10}{'ns per row':>12}{'times as fast':>15}{'accuracy':>10}")
    print(f"{'':28}{'':>8}{'':>10}{'and tree':>12}{'as sgd, mse':>15}{'(training)':>10}")
    for name in SHAPES:
        title, X, y = rows_of(name)
        rf = RandomForestClassifier(32, max_leaf_nodes=64, random_state=0, n_jobs=-1).fit(X, y)
        forest = bh.as_forest(rf)
        print(f"{title}: {len(y):,} rows, {forest!r}")
        ways = [(solver, loss) for solver in ("sgd", "bcd") for loss in ("mse", "cross_entropy", "squared_hinge")]
        best = {}
        for _ in range(6):  # the first one compiles
            for solver, loss in ways:
                took = seconds(forest, X, y, solver=solver, loss=loss)
                best[solver, loss] = min(best.get((solver, loss), took), took)
        for (solver, loss), (elapsed, n_passes, accuracy) in best.items():
            per_update = elapsed / n_passes / len(y) / forest.n_trees * 1e9
            ratio = best["sgd", "mse"][0] / elapsed
            print(f"  {solver}, {loss:20}{n_passes:8}{elapsed:10.4f}{per_update:12.2f}{ratio:15.1f}{accuracy:10.3f}")


def memory(name):
    """Return VmRSS (now) or VmHWM (the peak) of the process in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def large():
    rng = np.random.default_rng(0)
    n_rows, n_trees = 1_000_000, 64
    X = rng.normal(size=(n_rows + 50_000, 16)).astype(np.float32)
    y = (X[:, :8].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0).astype(np.int64)
    rf = RandomForestClassifier(n_trees, max_leaf_nodes=128, random_state=0, n_jobs=-1).fit(X[n_rows:], y[n_rows:])
    forest, X, y = bh.as_forest(rf), X[:n_rows], y[:n_rows]
    few = slice(2_000)
    for solver in ("bcd", "sgd"):  # compile, and take the memory that this takes
        bh.refine(forest, X[few], y[few], solver=solver, epochs=2, random_state=0)
    ids = n_rows * n_trees * 2 / 2**20
    print(f"{n_rows:,} rows, {forest!r}; leaf numbers take {ids:.0f} MB")
    for solver in ("bcd", "sgd"):
        Path("/proc/self/clear_refs").write_text("5")  # the peak is now what there is
        before = memory("VmRSS")
        start = time.perf_counter()
        _, report = bh.refine(forest, X, y, solver=solver, random_state=0, return_report=True)
        elapsed = time.perf_counter() - start
        print(
            f"  {solver}: {elapsed:5.1f} s in all, {report.n_passes} passes kept, "
            f"{memory('VmHWM') - before:6.0f} MB more, l2 {report.l2:g}, validated on {report.validated_on}, "
            f"error held out {report.validation[0]:.4f} -> {min(report.validation):.4f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large", action="store_true")
    data = parser.parse_args()
    if data.large:
        large()
    else:
        compare()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
