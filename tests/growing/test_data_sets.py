"""Boosted trees of our own and XGBoost's on the paper's data sets: as accurate on rows that were held out."""

import numpy as np
import pytest

from billhook.growing import BinnedRows, Boosting, forest_of_trees

NAMES = (
    "adult", "anura", "avila", "bank", "chess", "connect", "eeg", "elec", "japanese-vowels", "magic", "mnist",
    "mozilla", "nomao", "satimage",
)  # fmt: skip
N_BINS, N_TREES, LEAVES, RATE = 32, 20, 16, 0.3
# Enough for a standard error of half a point on each data set, and a tenth of a point on the mean of the differences:
# both see the same rows.
N_TRAIN, N_TEST = 3_000, 4_000


def accuracies(X, y):
    """Return the accuracy of our trees and of XGBoost's."""
    import xgboost

    y = np.unique(y, return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST]
    edges = [np.unique(np.quantile(x[train], np.arange(1, N_BINS) / N_BINS)) for x in X.T]
    codes = np.stack([np.searchsorted(e, x) for e, x in zip(edges, X.T, strict=True)], axis=1).astype(np.uint8)
    rows = BinnedRows.of(codes[train], np.array([e.size + 1 for e in edges]), np.zeros(X.shape[1], np.bool_))
    loss = "logistic" if n_classes == 2 else "softmax"
    boosting = Boosting(
        rows, y[train], np.ones(train.size), loss=loss, n_classes=n_classes, max_leaves=LEAVES, learning_rate=RATE
    )
    for _ in range(N_TREES):
        boosting.grow()
    ours = forest_of_trees(
        boosting.trees, tree_weight=np.ones(N_TREES), averages=False, tree_column=np.zeros(N_TREES, np.int32),
        base=boosting.base, link=loss, task="classification", n_features=X.shape[1], classes=np.arange(n_classes),
    )  # fmt: skip
    vector = {"objective": "multi:softprob", "num_class": n_classes, "multi_strategy": "multi_output_tree"}
    parameters = {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES,
                  "eta": RATE, "max_bin": N_BINS, "nthread": 1}  # fmt: skip
    parameters |= {"objective": "binary:logistic"} if n_classes == 2 else vector
    data = xgboost.QuantileDMatrix(codes[train], y[train], max_bin=N_BINS, nthread=1)
    theirs = xgboost.train(parameters, data, N_TREES).predict(xgboost.DMatrix(codes[test]))
    predicted = theirs > 0.5 if n_classes == 2 else theirs.argmax(axis=1)
    return (ours.predict(codes[test]) == y[test]).mean(), (predicted == y[test]).mean()


def test_they_are_as_accurate_on_the_mean_of_fourteen_data_sets(load_table):
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    found = np.array([accuracies(*load_table(name)) for name in NAMES])
    assert abs((found[:, 0] - found[:, 1]).mean()) < 0.002, dict(zip(NAMES, found.tolist(), strict=True))
