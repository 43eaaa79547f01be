"""How long does it take to analyse a study of the paper's size? One core.

    python benchmarks/analysis_speed.py
    python benchmarks/analysis_speed.py --figures     # and to write every table and figure

The results are made up: 16 data sets, 10 methods, 25 shapes, six rho for DREP, 5 folds.
"""

import argparse
import itertools
import tempfile
import time

import numpy as np
import pandas as pd

import billhook as bh

METHODS = ("RF", "RE", "IC", "IE", "COMP", "DREP", "LMD", "CA", "RF-LR", "GB")
RHO = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
LEAVES = (64, 128, 256, 512, 1024)
TREES = (8, 16, 32, 64, 128)


def made_up() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    keys = [
        (f"data {d}", method, rho, leaves, trees, fold)
        for d, method, leaves, trees, fold in itertools.product(range(16), METHODS, LEAVES, TREES, range(5))
        for rho in (RHO if method == "DREP" else (None,))
    ]
    table = pd.DataFrame(keys, columns=["data", "method", "rho", "n_leaves", "n_trees", "fold"])
    is_boosting = table["method"] == "GB"
    return table.assign(
        base=np.where(is_boosting, "gradient_boosting", "random_forest"),
        options=[f'{{"rho": {rho}}}' if rho == rho and rho else "{}" for rho in table["rho"]],
        status="done",
        accuracy=np.log2(table["n_leaves"] * table["n_trees"]) / 20 + rng.normal(0, 0.005, len(table)),
        size_paper=25 * table["n_trees"] * (2 * table["n_leaves"] - 1),
    )


def analyse(results: pd.DataFrame) -> dict[str, float]:
    seconds = {}

    def timed(name, function, *arguments):
        start = time.perf_counter()
        result = function(*arguments)
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
        return result

    table = timed("configurations", bh.analysis.configurations, results)
    timed("pareto_fronts", bh.analysis.pareto_fronts, table)
    areas = timed("areas", bh.analysis.areas, table)
    for cap in (32, 64, 128, 256):
        timed("best_below, four sizes", bh.analysis.best_below, table, cap)
    for data in table["data"].unique():
        timed("by_shape, all data sets", bh.analysis.by_shape, table, data)
    timed("compare", bh.analysis.compare, areas)
    timed("rank, wins", lambda: (bh.analysis.rank(areas), bh.analysis.wins(areas)))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    results = made_up()
    analyse(results[results["data"].isin(["data 0", "data 1"])])  # imports pandas and scipy
    print(f"{len(results):,} runs")
    seconds = analyse(results)
    for name, taken in seconds.items():
        print(f"{name:25}{taken:8.3f} s")
    print(f"{'all':25}{sum(seconds.values()):8.3f} s")
    if options.figures:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            files = bh.analysis.write_tables(results, folder)
            print(f"{f'write {len(files)} files':25}{time.perf_counter() - start:8.1f} s")


if __name__ == "__main__":
    main()
