"""Does refinement lose where there is nothing to gain? Large models of noisy rows, refined by default and not.

    BILLHOOK_DATA=folder python benchmarks/refinement_acceptance.py [--folds 2] [magic adult]

For each model, the mean test accuracy over the folds as it is, refined as a Forest (which can only be judged by rows
it was grown on), and refined as a fitted estimator (a second one is grown without the rows held out); and the worst
fold's loss.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import billhook as bh

MODELS = {
    "boosted, 30 x 16 leaves": HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=16, early_stopping=False, random_state=0
    ),
    "boosted, 300 x 31 leaves": HistGradientBoostingClassifier(max_iter=300, early_stopping=False, random_state=0),
    "boosted, 1000 x 31 leaves": HistGradientBoostingClassifier(max_iter=1000, early_stopping=False, random_state=0),
    "forest, 32 x 64 leaves": RandomForestClassifier(32, max_leaf_nodes=64, random_state=0, n_jobs=-1),
    "forest, 32 x 512 leaves": RandomForestClassifier(32, max_leaf_nodes=512, random_state=0, n_jobs=-1),
    "forest, 128 x 1024 leaves": RandomForestClassifier(128, max_leaf_nodes=1024, random_state=0, n_jobs=-1),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("names", nargs="*", default=["magic", "adult"])
    given = parser.parse_args()
    print(f"{'':34}{'as it is':>10}{'Forest':>10}{'worst fold':>12}{'estimator':>11}{'worst fold':>12}")
    for name in given.names:
        table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
        y = table.pop("label").to_numpy()
        X = np.ascontiguousarray(pd.get_dummies(table), np.float32)
        folds = list(StratifiedKFold(5, shuffle=True, random_state=12345).split(X, y))[: given.folds]
        for title, model in MODELS.items():
            accuracies = []
            for train, test in folds:
                model.fit(X[train], y[train])
                found = [
                    model,
                    *(bh.refine(m, X[train], y[train], random_state=0) for m in (bh.as_forest(model), model)),
                ]
                accuracies.append([100 * np.mean(m.predict(X[test]) == y[test]) for m in found])
            mean = np.mean(accuracies, axis=0)
            worst = (np.array(accuracies) - np.array(accuracies)[:, :1]).min(axis=0)
            print(
                f"{name:8}{title:26}{mean[0]:10.2f}{mean[1]:10.2f}{worst[1]:+12.2f}{mean[2]:11.2f}{worst[2]:+12.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
