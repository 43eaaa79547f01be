"""How fast are boosted trees grown, beside XGBoost and LightGBM? The same bins and settings, one thread, one run.

    BILLHOOK_DATA=folder python benchmarks/growing.py [--only NAME ...] [--rounds N] [--markdown]

Every time is the CPU seconds from bins to trees that can be packed: matrices and reading the trees back are part of
it for the other libraries, as the search would pay for them. The best of several rounds, in which all take turns.
LightGBM has no trees with a number for each class: with several classes it grows a tree for each class and round,
which is as many leaves in all. Accuracy is that on rows that were held out.
"""

import argparse
import math
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from billhook.growing import BinnedRows, Boosting
from billhook.growing import forest_of_trees as as_one
from billhook.interop import as_forest

LEAVES, RATE = 32, 0.3


class Case(NamedTuple):
    """A data set, how many bins a feature has, how many trees are grown, on at most how many rows, and the target."""

    name: str
    n_bins: int
    n_trees: int
    most_rows: int
    wanted: float


CASES = (
    Case("eeg", 255, 100, 100_000, 3.0),
    Case("elec", 255, 100, 100_000, 3.0),
    Case("chess", 16, 60, 100_000, 7.0),
    Case("satimage", 64, 60, 100_000, 12.0),
    Case("mnist", 16, 60, 20_000, 15.0),
)


def rows_of(case):
    """Return bins of training and test rows, their class numbers, and how many bins each feature has."""
    import pandas as pd

    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{case.name}.parquet")
    y = np.unique(table.pop("label"), return_inverse=True)[1]
    X = pd.get_dummies(table).to_numpy(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    n_train = min(int(0.8 * len(X)), case.most_rows)
    train, test = order[:n_train], order[n_train:]
    codes = np.empty(X.shape, np.uint8)
    n_bins = np.empty(X.shape[1], np.int64)
    for k, x in enumerate(X.T):
        edges = np.unique(np.quantile(x[train], np.arange(1, case.n_bins) / case.n_bins))
        codes[:, k], n_bins[k] = np.searchsorted(edges, x), edges.size + 1
    return np.ascontiguousarray(codes[train]), y[train], np.ascontiguousarray(codes[test]), y[test], n_bins


def ours(case, codes, y, n_bins):
    n_classes = int(y.max()) + 1
    rows = BinnedRows.of(codes, n_bins, np.zeros(codes.shape[1], np.bool_))
    loss = "logistic" if n_classes == 2 else "softmax"
    boosting = Boosting(
        rows, y, np.ones(len(y)), loss=loss, n_classes=n_classes, max_leaves=LEAVES, learning_rate=RATE
    )
    for _ in range(case.n_trees):
        boosting.grow()
    return as_one(
        boosting.trees,
        tree_weight=np.ones(case.n_trees),
        averages=False,
        tree_column=np.zeros(case.n_trees, np.int32),
        base=boosting.base,
        link=loss,
        task="classification",
        n_features=codes.shape[1],
        classes=np.arange(n_classes),
    )


def xgboost(case, codes, y, n_bins):
    import xgboost as library

    n_classes = int(y.max()) + 1
    parameters = {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES,
                  "eta": RATE, "max_bin": int(n_bins.max()), "nthread": 1}  # fmt: skip
    if n_classes > 2:
        of_classes = {"num_class": n_classes, "multi_strategy": "multi_output_tree"}
        parameters |= {"objective": "multi:softprob", **of_classes}
    else:
        parameters["objective"] = "binary:logistic"
    data = library.QuantileDMatrix(codes, y, max_bin=int(n_bins.max()), nthread=1)
    return as_forest(library.train(parameters, data, case.n_trees))


def lightgbm(case, codes, y, n_bins):
    import lightgbm as library

    n_classes = int(y.max()) + 1
    parameters = {"objective": "binary" if n_classes == 2 else "multiclass", "num_leaves": LEAVES, "verbosity": -1,
                  "learning_rate": RATE, "max_bin": int(n_bins.max()), "num_threads": 1, "lambda_l2": 1.0,
                  "min_sum_hessian_in_leaf": 1.0, "min_data_in_leaf": 1, "min_data_in_bin": 1}  # fmt: skip
    n_rounds = case.n_trees
    if n_classes > 2:
        parameters |= {"num_class": n_classes, "num_leaves": max(2, LEAVES // n_classes)}
    return library.train(parameters, library.Dataset(codes, y), n_rounds)


def accuracy(model, codes, y):
    predicted = model.predict(codes)
    if predicted.ndim == 2:
        predicted = predicted.argmax(axis=1)
    elif predicted.dtype.kind == "f":
        predicted = predicted > 0.5
    return float((predicted == y).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of these data sets")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    arguments = parser.parse_args()
    if "BILLHOOK_DATA" not in os.environ:
        parser.error("BILLHOOK_DATA must name the folder of the paper's data sets")
    growers = [ours]
    for grower in (xgboost, lightgbm):
        try:
            __import__(grower.__name__)
            growers.append(grower)
        except ImportError:
            print(f"{grower.__name__} is not installed: left out")
    line = "| {} |" if arguments.markdown else "{}"
    between = " | " if arguments.markdown else "  "
    head = ["data", "rows", "features", "classes", "bins", "trees", "billhook s"]
    head += [f"{g.__name__} / billhook" for g in growers[1:]] + [f"accuracy {g.__name__}" for g in growers]
    print(line.format(between.join(head)))
    if arguments.markdown:
        print("|" + "---|" * len(head))
    ratios = []
    for case in CASES:
        if arguments.only and case.name not in arguments.only:
            continue
        codes, y, test, y_test, n_bins = rows_of(case)
        seconds, models = dict.fromkeys(growers, math.inf), {}
        for _ in range(arguments.rounds):
            for grower in growers:
                start = time.process_time()
                models[grower] = grower(case, codes, y, n_bins)
                seconds[grower] = min(seconds[grower], time.process_time() - start)
        times = [seconds[g] / seconds[ours] for g in growers[1:]]
        cells = [case.name, f"{len(codes):,}", codes.shape[1], int(y.max()) + 1, case.n_bins, case.n_trees]
        cells += [f"{seconds[ours]:.3f}", *(f"{t:.1f}" for t in times)]
        cells += [f"{100.0 * accuracy(models[g], test, y_test):.2f}" for g in growers]
        print(line.format(between.join(map(str, cells))), flush=True)
        ratios += [(case, times[0])] if times else []
    for case, ratio in ratios:
        if ratio < case.wanted:
            print(f"{case.name}: {ratio:.1f} times XGBoost's speed; {case.wanted:g} are wanted")


if __name__ == "__main__":
    main()
