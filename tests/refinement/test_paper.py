"""On the paper's own data, where they are: one fold, one size; all of it is in benchmarks/reproduce_rf_lr.py."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import billhook as bh


def fold_of(X, y):
    return next(StratifiedKFold(5, shuffle=True, random_state=12345).split(X, y))


@pytest.mark.parametrize(("name", "by_sgd", "by_bcd"), [("eeg", 3.0, 4.0), ("chess", 8.0, 14.0)])
def test_refinement_gains_what_the_paper_gains_and_more(load_table, name, by_sgd, by_bcd):
    X, y = load_table(name)
    train, test = fold_of(X, y)
    rf = RandomForestClassifier(16, max_leaf_nodes=64, random_state=0).fit(X[train], y[train])
    forest = bh.as_forest(rf)

    def accuracy(model):
        return 100 * np.mean(model.predict(X[test]) == y[test])

    sgd = bh.refine(forest, X[train], y[train], solver="sgd", validation_fraction=None, random_state=0)
    bcd = bh.refine(rf, X[train], y[train], random_state=0)
    assert accuracy(sgd) > accuracy(forest) + by_sgd
    assert accuracy(bcd) > accuracy(forest) + by_bcd
