"""What every method starts from: the leaves, values and weights that trees are evaluated by."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.pruning._evaluation import evaluate_trees

X, y = load_iris(return_X_y=True)
OF_NUMBERS = [m.name for m in bh.pruning_methods() if m.regression and not {"score", "pair"} & set(m.options)]


@pytest.fixture(scope="module")
def forest():
    return bh.as_forest(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y))


def test_on_rows_that_it_was_grown_on_a_tree_predicts_what_its_root_does(forest):
    in_bag = np.random.default_rng(0).random((6, len(X))) < 0.5
    evaluated = evaluate_trees(forest, X, y, None, in_bag)
    np.testing.assert_array_equal(evaluated.leaf, np.where(in_bag, 0, forest.apply(X).T))


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (None, [1, 1, 1]),
        ([1, 2, 3], [1, 2, 3]),
        ([10**6, 0, 1], [10**6, 0, 1]),
        ([10**6 + 1, 0, 1], [10**6, 0, 1]),
        ([2 * 10**6, 10**6, 0], [10**6, 5 * 10**5, 0]),
        ([0.5, 0.25, 0.1], [10**6, 5 * 10**5, 2 * 10**5]),
    ],
)
def test_weights_are_whole_numbers(forest, given, used):
    evaluated = evaluate_trees(forest, X[:3], y[:3], given)
    assert evaluated.weight.tolist() == used
    assert evaluated.weight.dtype == np.int64


def test_the_values_of_trees_weigh_as_the_trees_do(forest):
    weighted = forest.with_weights([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_array_equal(evaluate_trees(forest, X, y, None).value, forest.value)
    evaluated = evaluate_trees(weighted, X, y, None)
    for tree, factor in enumerate([3.0, 0.6, 0.6, 0.6, 0.6, 0.6]):
        own = forest.value[forest.offset[tree] : forest.offset[tree + 1]]
        np.testing.assert_allclose(evaluated.leaf_value(tree), own * factor, rtol=1e-14)


def test_one_score_of_two_classes_is_that_of_both():
    forest = bh.as_forest(IsolationForest(n_estimators=7, max_samples=16, random_state=0).fit(X))
    evaluated = evaluate_trees(forest, X, forest.predict(X), None)
    scores = np.mean([evaluated.leaf_value(tree)[evaluated.leaf[tree]] for tree in range(7)], axis=0)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], forest.decision_function(X).ravel(), rtol=1e-12)
    np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])


@pytest.mark.parametrize("method", OF_NUMBERS)
@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_the_unit_of_the_target_does_not_matter(method, factor):
    Xd, yd = load_diabetes(return_X_y=True)
    forest = bh.as_forest(RandomForestRegressor(20, max_depth=4, random_state=0).fit(Xd[::2], yd[::2]))
    options = {"method": method, "n_trees": 6, "random_state": 0, "return_report": True}
    _, report = bh.prune(forest, Xd, yd, **options)
    _, in_other_units = bh.prune(forest.with_values(forest.value * factor), Xd, yd * factor, **options)
    assert report.trees.tolist() == in_other_units.trees.tolist()
