"""How honest the held-out score of `fit` is: what it prints, and what the model scores on rows it never saw.

    BILLHOOK_DATA=folder python benchmarks/honest_scores.py --data eeg magic --folds 5 --budget 2048 --time-limit 10

For each data set and fold the model is fitted to the other folds. Printed are the mean difference of the score that
is printed and that on the fold's rows, in points, with its standard error over the folds; and how often the interval
that is printed, from the lowest to the highest score of the final splits, holds the score on the fold, as it is and
widened by 1.96 standard errors of a share of the fold's rows.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from billhook import fit_table
from billhook.tables import Table, encode, features_of, table_of_frame

NAMES = ["adult", "anura", "avila", "bank", "chess", "connect", "eeg", "elec", "japanese-vowels", "magic"]
NAMES += ["mnist", "mozilla", "nomao", "satimage"]


def folds_of(table: Table, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, classes spread evenly."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(table.y))
    ranked = order[np.argsort(table.y[order], kind="stable")]
    fold = np.empty(len(order), np.int64)
    fold[ranked] = np.arange(len(order)) % n_folds
    return fold


def one_fold(table: Table, fold: np.ndarray, number: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Return what is printed for a model of all other folds, and its accuracy on this one."""
    test = np.flatnonzero(fold == number)
    result = fit_table(
        table.take(np.flatnonzero(fold != number)),
        budget=arguments.budget,
        n_trials=arguments.trials,
        time_limit=arguments.time_limit,
        random_state=number,
        n_jobs=1,
    )
    rows = table.take(test)
    predicted = result.packed.predict(features_of(rows, result.packed))
    accuracy = float(np.mean(predicted == rows.y))
    low, high = min(result.report.scores), max(result.report.scores)
    return {
        "printed": result.report.score,
        "test": accuracy,
        "low": low,
        "high": high,
        "error": float(np.sqrt(accuracy * (1 - accuracy) / len(test))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", type=int, help="so many of the folds")
    parser.add_argument("--rows", type=int, default=20_000, help="at most so many rows of each, by chance")
    parser.add_argument("--budget", default=2048, type=int)
    parser.add_argument("--trials", type=int, help="so many configurations, instead of a time")
    parser.add_argument("--time-limit", type=float, default=10.0)
    arguments = parser.parse_args()
    folder = os.environ.get("BILLHOOK_DATA")
    if not folder:
        sys.exit("BILLHOOK_DATA names the folder with the data sets")
    found = []
    for name in arguments.data:
        path = Path(folder) / f"{name}.parquet"
        if not path.exists():
            print(f"{name}: there is no {path}")
            continue
        frame = pd.read_parquet(path)
        if len(frame) > arguments.rows:
            frame = frame.sample(arguments.rows, random_state=0)
        table = table_of_frame(frame.reset_index(drop=True), "label", task="classification")
        encode(table)  # fails early where a column cannot be encoded
        fold = folds_of(table, arguments.folds, 0)
        these = [one_fold(table, fold, number, arguments) for number in range(arguments.only or arguments.folds)]
        found += these
        print(f"{name:16s} {summary(these)}", flush=True)
    if len(found) > 1:
        print(f"{'all':16s} {summary(found)}")


def summary(runs: list[dict[str, float]]) -> str:
    """Return the mean difference in points, and how often the interval holds the score on the fold."""
    columns = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    difference = 100 * (columns["printed"] - columns["test"])
    spread = difference.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    held = (columns["low"] <= columns["test"]) & (columns["test"] <= columns["high"])
    margin = 1.96 * columns["error"]
    wide = (columns["low"] - margin <= columns["test"]) & (columns["test"] <= columns["high"] + margin)
    return (
        f"printed {100 * columns['printed'].mean():6.2f} test {100 * columns['test'].mean():6.2f} "
        f"difference {difference.mean():+.2f} +- {spread:.2f}; interval holds it in {100 * held.mean():.0f} %, "
        f"widened in {100 * wide.mean():.0f} % of {len(runs)}"
    )


if __name__ == "__main__":
    main()
