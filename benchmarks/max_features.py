"""How to choose the columns of a model that may read few: by what each gains, by a price, or tried together.

BILLHOOK_DATA=/path/to/datasets python benchmarks/max_features.py --folds 0 1 2

For each data set and number of columns, the accuracy on rows of another fold of models that read the chosen columns
only: the mean of the first three configurations that the search tries, in 4 KB. The ways to choose:

- gain: the columns whose splits gain most in boosted trees that may test all of them;
- first: those that boosted trees test first, as a cap on columns in the grower would leave it;
- price: LightGBM with a price for every column that it begins to test (cegb_penalty_feature_coupled), the lowest with
  which trees test no more columns;
- together: what `max_features` does.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from billhook.budget import build, training_rows
from billhook.budget._column_trials import N_TREES, ColumnTrials
from billhook.budget._columns import TIMES_HELD_OUT, column_order, features_of_columns
from billhook.budget._portfolio import first_trials
from billhook.tables import encode, read_table

BUDGET, N_CONFIGURATIONS = 4096, 3
SETS, NUMBERS = ("eeg", "magic", "satimage", "adult"), (3, 5, 8)
STEPS_OF_PRICE = 25


def by_gain(trials, n):
    """Return the columns that gain most."""
    return trials.by_gain(range(trials.n_columns))[:n]


def first_tested(trials, n):
    """Return the columns that are tested first."""
    every = np.arange(len(trials.n_bins))
    column = np.empty(every.size, np.int64)
    for number, place in enumerate(trials.places):
        column[place] = number
    trees = trials._grown(every, trials.weight).boosting.trees
    return list(dict.fromkeys(column[f] for tree in trees for f in tree.feature.tolist() if f >= 0))[:n]


def by_price(trials, n):
    """Return the columns of LightGBM's trees with the lowest price that leaves so many, or fewer."""
    import lightgbm

    labels = np.unique(trials.rows.y[trials.train], return_inverse=True)[1]
    n_classes = int(labels.max()) + 1
    data = lightgbm.Dataset(trials.codes.astype(np.float64), labels, free_raw_data=False)
    low, high, best = 1e-3, 1e5, []
    for _ in range(STEPS_OF_PRICE):
        price = np.sqrt(low * high)
        options = {
            "objective": "binary" if n_classes == 2 else "multiclass",
            "num_leaves": trials.growth.leaves,
            "learning_rate": trials.growth.learning_rate,
            "cegb_penalty_feature_coupled": [price] * trials.codes.shape[1],
            "verbosity": -1,
            "num_threads": 1,
        }
        if n_classes > 2:
            options["num_class"] = n_classes
        used = lightgbm.train(options, data, N_TREES).feature_importance() > 0
        columns = [number for number, place in enumerate(trials.places) if used[place].any()]
        low, high = (low, price) if len(columns) <= n else (price, high)
        if len(best) < len(columns) <= n:
            best = columns
        if len(columns) == n:
            break
    return best


def together(trials, n):
    """Return the columns that `max_features` takes."""
    return column_order(trials, n, TIMES_HELD_OUT[0])[:n]


WAYS = {"gain": by_gain, "first": first_tested, "price": by_price, "together": together}


def accuracy(X, y, train, test, features):
    """Return the mean accuracy on the test rows of the first configurations."""
    rows = training_rows(np.ascontiguousarray(X[train][:, features]), y[train], is_classification=True)
    trials = first_trials(
        [BUDGET], features.size, rows.n_values, ("boosted",), is_regression=False, others="as_many"
    )[:N_CONFIGURATIONS]
    return float(np.mean([np.mean(build(rows, trial).predict(X[test][:, features]) == y[test]) for trial in trials]))


def main():
    """Print a line for each choice, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, nargs="+", default=[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--columns", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    arguments = parser.parse_args()
    found = {way: [] for way in arguments.ways}
    for fold in arguments.folds:
        for name in arguments.sets:
            table = read_table(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet", "label")
            X, encoding = encode(table, "ordered")  # orders of all rows: the same for all ways
            places = [features_of_columns(encoding, [number]) for number in range(len(encoding.columns))]
            folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, table.y)
            train, test = list(folds)[fold]
            rows = training_rows(X[train], table.y[train], is_classification=True)
            known = {}
            for n in arguments.columns:
                for way in arguments.ways:
                    start = time.process_time()
                    trials = ColumnTrials(rows.X, rows, np.arange(train.size), places, 0)
                    columns = tuple(sorted(WAYS[way](trials, n)))
                    seconds = time.process_time() - start
                    if columns not in known:
                        known[columns] = accuracy(
                            X, table.y, train, test, np.concatenate([places[c] for c in columns])
                        )
                    found[way].append(known[columns])
                    print(
                        f"fold {fold} {name:8} {n} {way:8} {known[columns]:.4f} {seconds:5.2f} s {columns}",
                        flush=True,
                    )
    print(
        "mean of", len(next(iter(found.values()))), {way: round(float(np.mean(of)), 4) for way, of in found.items()}
    )


if __name__ == "__main__":
    main()
