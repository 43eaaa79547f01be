"""Accuracy of boosted trees whose leaves are rounded to few bits: each alone, with rows, with rows and labels.

    BILLHOOK_DATA=... python benchmarks/leaf_rounding.py

Points of accuracy lost on the test fold (one of five), of 100 rounds of 16 leaves.
"""

import argparse

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import billhook as bh

BITS = (2, 3, 4, 6, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["adult", "bank", "eeg", "elec", "magic", "mozilla", "nomao"])
    given = parser.parse_args()
    print(f"{'data':10}{'whole':>8}   " + "".join(f"{bits} bits: alone, X, X and y   " for bits in BITS))
    for name in given.data:
        data = bh.datasets.load(name)
        train, test = next(data.folds(5, 12345))
        model = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=16, learning_rate=0.15, early_stopping=False, random_state=0
        )
        forest = bh.as_forest(model.fit(data.X[train], data.y[train]))
        X, y = data.X[train], data.y[train]

        def right(fitted: bh.Forest | bh.Packed, data: bh.datasets.DataSet = data, test: np.ndarray = test) -> float:
            return 100 * float(np.mean(fitted.predict(data.X[test]) == data.y[test]))

        line = f"{name:10}{right(forest):8.2f}   "
        for bits in BITS:
            ways = ({}, {"X": X}, {"X": X, "y": y})
            lost = [
                right(forest) - right(bh.pack(forest, threshold_bits="exact", leaf_bits=bits, **way)) for way in ways
            ]
            line += "   ".join(f"{points:6.2f}" for points in lost) + "     "
        print(line, flush=True)


if __name__ == "__main__":
    main()
