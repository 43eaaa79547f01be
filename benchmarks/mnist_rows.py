"""On how many rows of mnist the paper's forests were trained: accuracy of random forests on its 1,000 test rows.

    BILLHOOK_DATA=... python benchmarks/mnist_rows.py

In print, random forests below 64 KB, as these are, reach 84.2 %, and the area under their Pareto front is 0.9366:
more than forests of 6,000 rows reach at any size.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

SHAPES = ((8, 64), (128, 1024))


def main() -> None:
    data = bh.datasets.load("mnist", rows="all")
    test = np.arange(60_000, 61_000)
    for n_rows in (6_000, 60_000):
        for n_trees, n_leaves in SHAPES:
            forest = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=0)
            forest.fit(data.X[:n_rows], data.y[:n_rows])
            right = 100 * np.mean(forest.predict(data.X[test]) == data.y[test])
            print(f"{n_rows:,} rows, {n_trees} trees of {n_leaves} leaves: {right:.1f} %", flush=True)


if __name__ == "__main__":
    main()
