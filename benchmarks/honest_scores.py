"""How honest the held-out score of `fit` is: what it prints, and what the model scores on rows it never saw.

    BILLHOOK_DATA=folder python benchmarks/honest_scores.py --data eeg magic --folds 5 --rows 10000 --trials 12

For each data set and fold the model is fitted to the other folds; the test rows are those of the fold, and others of
the data set that are in none. Printed are the mean difference of the score that is printed and that on the test rows,
in points, with its standard error over the folds; and how often the interval that is printed holds the score on the
test rows. That is a matter of chance too, as they are few: an interval of 95 % for all rows to come holds it less
often. So the share is also printed for the interval that is as wide as both chances together make it.
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


def one_fold(
    table: Table, fold: np.ndarray, number: int, others: Table | None, arguments: argparse.Namespace
) -> dict[str, float]:
    """Return what is printed for a model of all other folds, and its accuracy on this one and on other rows."""
    result = fit_table(
        table.take(np.flatnonzero(fold != number)),
        budget=arguments.budget,
        n_trials=arguments.trials,
        time_limit=arguments.time_limit,
        random_state=number,
        n_jobs=1,
    )
    is_right = [
        result.packed.predict(features_of(rows, result.packed)) == rows.y
        for rows in (table.take(np.flatnonzero(fold == number)), others)
        if rows is not None
    ]
    accuracy = float(np.concatenate(is_right).mean())
    interval = result.report.interval
    assert interval is not None
    return {
        "printed": result.report.score,
        "test": accuracy,
        "low": interval.low,
        "high": interval.high,
        "error": float(np.sqrt(accuracy * (1 - accuracy) / sum(map(len, is_right)))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", type=int, help="so many of the folds")
    parser.add_argument("--rows", type=int, default=10_000, help="folds of at most so many rows, by chance")
    parser.add_argument("--others", type=int, default=20_000, help="at most so many other rows to test on")
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
        frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
        whole = table_of_frame(frame, "label", task="classification")
        table, others = whole, None
        if len(frame) > arguments.rows:
            table = whole.take(np.arange(arguments.rows))
            others = whole.take(np.arange(arguments.rows, min(len(frame), arguments.rows + arguments.others)))
        encode(table)  # fails early where a column cannot be encoded
        fold = folds_of(table, arguments.folds, 0)
        these = [
            one_fold(table, fold, number, others, arguments) for number in range(arguments.only or arguments.folds)
        ]
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
    below = np.hypot(columns["printed"] - columns["low"], margin)
    above = np.hypot(columns["high"] - columns["printed"], margin)
    wide = (columns["printed"] - below <= columns["test"]) & (columns["test"] <= columns["printed"] + above)
    return (
        f"printed {100 * columns['printed'].mean():6.2f} test {100 * columns['test'].mean():6.2f} "
        f"difference {difference.mean():+.2f} +- {spread:.2f}; interval of "
        f"{100 * (columns['high'] - columns['low']).mean():.2f} holds it in {100 * held.mean():.0f} %, "
        f"both chances counted in {100 * wide.mean():.0f} % of {len(runs)}"
    )


if __name__ == "__main__":
    main()
