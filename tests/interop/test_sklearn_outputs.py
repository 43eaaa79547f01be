"""Each output of a scikit-learn model with several is a forest of its own."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import billhook as bh

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5)).astype(np.float32)
LABELS = np.stack([np.where(X[:, 0] > 0, "yes", "no"), rng.choice(["a", "b", "c"], 300), np.full(300, "one")], axis=1)
NUMBERS = np.stack([X[:, 0] + X[:, 1], X[:, 2] ** 2], axis=1)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, max_leaf_nodes=20, random_state=0),
        DecisionTreeClassifier(random_state=0),
        ExtraTreeClassifier(random_state=0),
        RandomForestRegressor(5, random_state=0),
        ExtraTreesRegressor(5, random_state=0),
        DecisionTreeRegressor(random_state=0),
        ExtraTreeRegressor(random_state=0),
        BaggingRegressor(n_estimators=4, max_features=0.6, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_each_output_is_a_forest(model):
    y = LABELS if is_classifier(model) else NUMBERS
    model.fit(X[::2], y[::2])
    expected = model.predict(X)
    for k in range(y.shape[1]):
        forest = bh.as_forest(model, output=k)
        np.testing.assert_array_equal(forest.predict(X), expected[:, k])
        if is_classifier(model):
            assert forest.classes.tolist() == model.classes_[k].tolist()
            np.testing.assert_array_equal(forest.predict_proba(X), model.predict_proba(X)[k])
        np.testing.assert_array_equal(bh.to_estimator(forest).predict(X), expected[:, k])
        if forest.n_classes == 2 or not is_classifier(model):
            packed = bh.pack(forest)
            assert packed.predict(X).shape == (len(X),)


def test_one_of_several_labels_is_pruned_and_refined():
    forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X, LABELS), output=1)
    small = bh.prune(forest, X, LABELS[:, 1], method="reduced_error", n_trees=3)
    assert bh.refine(small, X, LABELS[:, 1]).n_trees == 3


def test_several_outputs_must_be_asked_for_one_by_one():
    model = RandomForestRegressor(2).fit(X, NUMBERS)
    with pytest.raises(
        ValueError, match="Regressor has 2 outputs, and a forest has one: choose it with output=0 to 1"
    ):
        bh.as_forest(model)
    with pytest.raises(ValueError, match="no output 2; the RandomForestRegressor has 2 outputs, numbered from 0"):
        bh.as_forest(model, output=2)
    with pytest.raises(ValueError, match="no output -1"):
        bh.as_forest(model, output=-1)
    for odd in (True, 0.0, "0"):
        with pytest.raises(TypeError, match="output must be a whole number"):
            bh.as_forest(model, output=odd)


@pytest.mark.parametrize("y", [NUMBERS, NUMBERS[:, 0]], ids=["two outputs", "one output"])
def test_all_outputs_are_read_at_once(y):
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    forests = bh.as_forests(model)
    expected = model.predict(X).reshape(len(X), -1)
    np.testing.assert_array_equal(np.stack([forest.predict(X) for forest in forests], axis=1), expected)
    assert bh.as_forests(forests[0]) == [forests[0]]


def test_of_one_output_there_is_number_0():
    model = GradientBoostingRegressor(n_estimators=2).fit(X, NUMBERS[:, 0])
    forest = bh.as_forest(model, output=0)
    assert forest == bh.as_forest(model) == bh.as_forest(forest, output=0)
    with pytest.raises(ValueError, match="no output 1; the GradientBoostingRegressor has one output"):
        bh.as_forest(model, output=1)
    with pytest.raises(ValueError, match="a Forest has one output"):
        bh.as_forest(forest, output=1)
