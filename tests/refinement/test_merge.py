import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from ensembles import CLASSIFIERS, REGRESSORS

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def splits(forest):
    """Return each tree's splits as (feature, threshold), trees that are a single leaf left out."""
    of_trees = []
    for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        inner = forest.feature[begin:end] >= 0
        if inner.any():
            of_trees.append(
                list(zip(forest.feature[begin:end][inner], forest.threshold[begin:end][inner], strict=True))
            )
    return of_trees


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_classifier_shrinks_to_what_is_asked(name, classes):
    X, y = (X2, y2) if classes == 2 else (X3, y3)
    forest = bh.as_forest(clone(CLASSIFIERS[name]).fit(X, y))
    wanted = max(2, forest.n_leaves // 3)
    small = bh.merge(forest, X, y, max_leaves=wanted)
    assert small.n_leaves <= wanted
    assert small.n_leaves >= wanted - forest.n_trees  # a tree that vanishes takes its last leaf along
    assert np.mean(small.predict(X) == y) > 0.75
    # What is left are splits of the trees there were.
    before = splits(forest)
    assert all(any(set(tree) <= set(old) for old in before) for tree in splits(small))


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_shrinks_to_what_is_asked(name):
    forest = bh.as_forest(clone(REGRESSORS[name]).fit(X_n, y_n))
    small = bh.merge(forest, X_n, y_n, max_leaves=max(2, forest.n_leaves // 2))
    assert small.n_leaves <= max(2, forest.n_leaves // 2)
    assert np.mean((small.predict(X_n) - y_n) ** 2) < np.var(y_n)


@pytest.mark.parametrize("size", [40_000, 5_000, 700])
def test_it_fits_the_bytes(size):
    X, y = load_digits(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(12, max_leaf_nodes=64, random_state=0).fit(X, y))
    small = bh.merge(forest, X, y, size=size)
    assert small.size() <= size
    assert small.size() > size - 4 * (17 + 4 * 10)  # no more was merged than had to be
    own = bh.merge(forest, X, y, size=200, accounting=lambda f: 2 * f.n_leaves)
    assert own.n_leaves <= 100


def test_merging_to_one_leaf_leaves_the_shares_of_the_classes():
    small = bh.merge(RandomForestClassifier(5, random_state=0).fit(X3, y3), X3, y3, max_leaves=1, l2=1e-6)
    assert (small.n_trees, small.n_leaves) == (1, 1)
    np.testing.assert_allclose(small.predict_proba(X3), 1 / 3, atol=1e-4)
    number = bh.merge(RandomForestRegressor(5, random_state=0).fit(X_n, y_n), X_n, y_n, max_leaves=1, l2=1e-6)
    np.testing.assert_allclose(number.predict(X_n), y_n.mean(), rtol=1e-6)


@pytest.mark.parametrize("trees", [1, 5])
def test_trees_that_are_single_leaves_can_be_merged_too(trees):
    constant = RandomForestClassifier(trees, random_state=0).fit(X3, np.ones(150, int))
    assert bh.merge(constant, X3, np.ones(150, int), max_leaves=1).n_leaves == 1
    numbers = RandomForestRegressor(trees, random_state=0).fit(X_n, np.full(y_n.size, 3.0))
    np.testing.assert_allclose(bh.merge(numbers, X_n, np.full(y_n.size, 3.0), max_leaves=1).predict(X_n), 3.0)
    stumps = bh.as_forest(RandomForestClassifier(trees, random_state=0).fit(X3, y3)).truncate(max_leaves=1)
    assert bh.merge(stumps, X3, y3, max_leaves=1).n_leaves == 1


def test_trees_of_weight_zero_are_no_trouble():
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=5, random_state=0).fit(X3, y3))
    forest = forest.with_weights([0.5, 0.0, 0.25, 0.25])
    assert bh.merge(forest, X3, y3, max_leaves=1).n_leaves == 1
    fewer = bh.refine(forest, X3, y3, penalty="group_l1", strength=5.0, loss="mse", validation_fraction=None)
    assert fewer.n_trees < 4
    assert (fewer.tree_weight != 0).all()


def test_huber_is_not_led_astray_by_outliers():
    y = y_n.copy()
    y[::50] += 10_000
    forest = bh.as_forest(RandomForestRegressor(10, max_leaf_nodes=16, random_state=0).fit(X_n, y))
    kept = np.ones(y.size, bool)
    kept[::50] = False
    merged = bh.merge(forest, X_n, y, max_leaves=forest.n_leaves, loss="huber")
    assert np.abs(merged.predict(X_n) - y_n)[kept].mean() < np.abs(forest.predict(X_n) - y_n)[kept].mean()


def test_an_accounting_that_does_not_shrink_is_refused():
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=5, random_state=0).fit(X3, y3))
    with pytest.raises(ValueError, match="does not make the forest smaller than 100"):
        bh.merge(forest, X3, y3, size=50, accounting=lambda f: 100 if f.n_leaves > 1 else 1)


def test_what_fits_already_is_only_refined():
    forest = bh.as_forest(RandomForestClassifier(5, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    small = bh.merge(forest, X3, y3, max_leaves=20)
    np.testing.assert_array_equal(small.feature, forest.feature)
    assert small.refined


def test_splits_that_tell_nothing_go_first():
    """Trees that split by noise below the split that matters: one leaf on either side of that is all there is."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)).astype(np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    noise = RandomForestClassifier(4, max_features=2, bootstrap=False, random_state=0)
    forest = bh.as_forest(noise.fit(X, 2 * y + (X[:, 1] > 0.3)))  # four classes, four leaves
    assert forest.n_leaves == 16
    small = bh.merge(bh.refine(forest, X, 2 * y, validation_fraction=None), X, 2 * y, max_leaves=2)
    assert small.feature.tolist() == [0, -1, -1]
    assert np.mean(small.predict(X) == 2 * y) == 1.0


def test_boosted_trees_that_vanish_stay_in_the_base():
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X3, y3)
    forest = bh.as_forest(model)
    small = bh.merge(forest, X3, y3, max_leaves=12)
    assert small.n_trees < forest.n_trees
    assert np.mean(small.predict(X3) == y3) > 0.9
    np.testing.assert_allclose(bh.to_estimator(small).decision_function(X3), small.decision_function(X3), atol=1e-9)


def test_the_callers_forest_is_not_changed_and_missing_values_go_their_way():
    X = X2.copy()
    X[::5, 3] = np.nan
    rf = RandomForestClassifier(5, random_state=0).fit(X, y2)
    forest = bh.as_forest(rf)
    before = forest.value.copy()
    small = bh.merge(forest, X, y2, max_leaves=20)
    np.testing.assert_array_equal(forest.value, before)
    assert np.isfinite(small.decision_function(X)).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "either max_leaves or size"),
        ({"max_leaves": 3, "size": 3}, ValueError, "either max_leaves or size"),
        ({"max_leaves": 0}, ValueError, "max_leaves must be at least 1, not 0"),
        ({"max_leaves": 2.5}, TypeError, "max_leaves must be a whole number"),
        ({"size": 10}, ValueError, "a size of 10 bytes cannot be reached: a single leaf takes 29"),
        ({"max_leaves": 3, "loss": "auto"}, ValueError, "one loss, by its name"),
        ({"max_leaves": 3, "l2": -1.0}, ValueError, "l2 must be a finite number"),
        ({"size": 1000, "accounting": "true"}, ValueError, "accounting"),
        ({"max_leaves": 3, "sample_weight": np.zeros(150)}, ValueError, "not all zero"),
    ],
)
def test_what_cannot_be_merged_is_refused(options, error, message):
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    with pytest.raises(error, match=message):
        bh.merge(forest, X3, y3, **options)


def test_the_report_says_what_became_smaller():
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=16, random_state=0).fit(X2, y2))
    small, report = bh.merge(forest, X2, y2, size=forest.size() // 2, return_report=True)
    assert small == bh.merge(forest, X2, y2, size=forest.size() // 2)
    assert (report.n_leaves_before, report.n_leaves_after) == (forest.n_leaves, small.n_leaves)
    assert (report.size_before, report.size_after) == (forest.size(), small.size())
    assert (report.loss, report.l2) == ("cross_entropy", 1.0)
    assert len(report.objective) == report.n_rounds + 2  # before the first round, after each, and at the end
    assert 0 < report.n_passes <= 3 + 2 * report.n_rounds + 5
    assert report.objective[-1] <= report.objective[-2]
