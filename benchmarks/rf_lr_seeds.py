"""How far do the paper's numbers depend on the seed of the forests? Leaf refinement and random forests, by seed.

    BILLHOOK_DATA=folder python benchmarks/rf_lr_seeds.py chess --forests 24

The forests of all five folds have one seed, as in a script with a fixed `random_state`, and so draw the same
features: their errors go together. For every seed the better of the two shapes that fill 64 KB as the paper's tables
count (16 trees of 64 leaves, 8 of 128) in the mean of the folds; printed are mean and standard deviation over seeds.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import billhook as bh

SHAPES = ((16, 64), (8, 128))
PAPER = {"loss": "mse", "solver": "sgd", "epochs": 50, "step_size": 0.1, "batch_size": 128, "batch_gradient": "last"}


def accuracies(X, y, folds, seed):
    """Return the best mean accuracy over folds of random forests, and of those with refined leaves, in percent."""
    plain, refined = np.zeros(len(SHAPES)), np.zeros(len(SHAPES))
    for train, test in folds:
        n_trees, n_leaves = (max(numbers) for numbers in zip(*SHAPES, strict=True))
        grown = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=seed).fit(X[train], y[train])
        forest = bh.as_forest(grown)
        for place, (trees, leaves) in enumerate(SHAPES):
            small = forest.truncate(max_leaves=leaves).select(range(trees))
            better = bh.refine(small, X[train], y[train], **PAPER, validation_fraction=None, random_state=seed)
            plain[place] += 100 * np.mean(small.predict(X[test]) == y[test]) / len(folds)
            refined[place] += 100 * np.mean(better.predict(X[test]) == y[test]) / len(folds)
    return plain.max(), refined.max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=["chess"])
    parser.add_argument("--forests", type=int, default=24, help="seeds to try (default: %(default)s)")
    arguments = parser.parse_args()
    for name in arguments.names:
        table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
        y = table.pop("label").to_numpy()
        X = np.ascontiguousarray(pd.get_dummies(table), np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes with fewer rows than folds
            folds = list(StratifiedKFold(5, shuffle=True, random_state=12345).split(X, y))
        found = np.array([accuracies(X, y, folds, 1000 + seed) for seed in range(arguments.forests)])
        for label, column in (("RF", found[:, 0]), ("RF-LR", found[:, 1])):
            print(
                f"{name}, {label}, 64 KB: {column.mean():.2f}, standard deviation {column.std(ddof=1):.2f}, "
                f"{column.min():.2f} to {column.max():.2f} over {arguments.forests} seeds"
            )


if __name__ == "__main__":
    main()
