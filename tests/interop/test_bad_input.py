import os

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import billhook as bh
from billhook.interop.sklearn._tree import HIST_NODE_FIELDS, NODE_FIELDS, checked_nodes

X, y = load_iris(return_X_y=True)


class HardForest(RandomForestClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X).round()


class HardTree(DecisionTreeClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X).round()


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(), DecisionTreeClassifier(), HistGradientBoostingClassifier()]
)
def test_an_estimator_must_be_fitted(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        bh.as_forest(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "LogisticRegression; supported are AdaBoostClassifier, .*RandomForestRegressor"),
        (RandomForestClassifier, "not the class RandomForestClassifier"),
        (object(), r"object; supported are, fitted, .*RandomForest\*"),
        (None, "cannot read a NoneType"),
        (b"model", "cannot read a bytes; supported are, fitted"),
        (
            bh.CompactForestClassifier("4KB"),
            "this CompactForestClassifier is not fitted yet: call fit first, and use",
        ),
        ("model.bhk", "'model.bhk' is a path, and no fitted model: read a model file with billhook.load"),
        ([RandomForestClassifier()], "reads one fitted model, not a list of 1: pass one of them"),
    ],
)
def test_what_is_no_tree_ensemble_is_named_and_refused(model, message):
    with pytest.raises(TypeError, match=message):
        bh.as_forest(model)


def test_a_packed_model_is_refused():
    with pytest.raises(TypeError, match="a Packed, which keeps no nodes: pass the forest, or the fitted model"):
        bh.as_forest(bh.pack(RandomForestClassifier(2, max_leaf_nodes=4).fit(X, y)))


def test_an_estimator_of_billhook_says_where_its_forest_is():
    model = bh.PrunedForestClassifier(RandomForestClassifier(4, max_leaf_nodes=4), n_trees=2).fit(X, y)
    with pytest.raises(TypeError, match="cannot read a PrunedForestClassifier: pass its forest_"):
        bh.as_forest(model)
    assert bh.as_forest(model.forest_) is model.forest_


@pytest.mark.parametrize("output", ["a", True, 1.0, [0]])
def test_an_output_is_a_whole_number(output, tmp_path):
    forest = bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=4).fit(X, y))
    forest.save(tmp_path / "model.bhk")
    for ask in (lambda: bh.as_forest(forest, output=output), lambda: bh.load(tmp_path / "model.bhk", output=output)):
        with pytest.raises(TypeError, match="output must be a whole number, not"):
            ask()


def test_every_step_of_a_pipeline_must_be_fitted():
    fitted = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(NotFittedError, match="This StandardScaler instance is not fitted yet"):
        bh.as_forest(make_pipeline(StandardScaler(), fitted))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(bh.ModelFileError, match="pipe: this is a pipe or a device: write the model to a file first"):
        bh.load(tmp_path / "pipe")


def test_a_search_is_read_as_its_best_estimator():
    search = GridSearchCV(RandomForestClassifier(3), {"max_depth": [2, 3]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(bh.as_forest(search).predict_proba(X), search.predict_proba(X))
    with pytest.raises(TypeError, match="the GridSearchCV kept no estimator; fit it with refit=True"):
        bh.as_forest(GridSearchCV(RandomForestClassifier(3), {}, cv=2, refit=False).fit(X, y))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        bh.as_forest(make_pipeline(StandardScaler(), RandomForestClassifier()))


def test_ensembles_of_other_things_than_trees_are_refused():
    with pytest.raises(TypeError, match="BaggingClassifier over decision trees of its own task, not over Logistic"):
        bh.as_forest(BaggingClassifier(LogisticRegression(max_iter=1000), n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="not over DecisionTreeClassifier"):
        bh.as_forest(BaggingRegressor(DecisionTreeClassifier(), n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="not over DecisionTreeRegressor"):
        bh.as_forest(BaggingClassifier(DecisionTreeRegressor(), n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="not over RandomForestClassifier"):
        bh.as_forest(AdaBoostClassifier(RandomForestClassifier(2), n_estimators=2).fit(X, y))


def test_several_outputs_are_refused():
    with pytest.raises(ValueError, match="has 2 outputs, and a forest has one: choose it with output=0 to 1"):
        bh.as_forest(RandomForestRegressor(2).fit(X, X[:, :2]))


def test_boosting_from_another_model_is_refused():
    model = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression(max_iter=1000)).fit(X, y)
    with pytest.raises(TypeError, match="starts from a LogisticRegression; fit it with init=None"):
        bh.as_forest(model)


def test_boosting_from_chance_is_refused():
    model = GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="stratified")).fit(X, y)
    with pytest.raises(TypeError, match="starts from a DummyClassifier"):
        bh.as_forest(model)


def test_a_subclass_with_predictions_of_its_own_is_refused():
    with pytest.raises(TypeError, match="HardForest: it is a RandomForestClassifier with a predict_proba of its own"):
        bh.as_forest(HardForest(3).fit(X, y))
    with pytest.raises(TypeError, match="HardTree: it is a DecisionTreeClassifier with a predict_proba of its own"):
        bh.as_forest(BaggingClassifier(HardTree(), n_estimators=2).fit(X, y))


def test_a_loss_given_as_an_object_is_refused():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    model.loss = type(model._loss)(n_classes=3)
    with pytest.raises(TypeError, match="losses given by name"):
        bh.as_forest(model)


def test_thresholds_beyond_float32_are_refused():
    far = np.concatenate([np.linspace(1e39, 1e40, 50), np.linspace(1e50, 1e51, 50)]).reshape(-1, 1)
    model = HistGradientBoostingClassifier(max_iter=2).fit(far, np.arange(100) // 50)
    with pytest.raises(ValueError, match=r"beyond float32 .* scale the features"):
        bh.as_forest(model)


def test_categories_that_are_no_whole_numbers_are_refused():
    rng = np.random.default_rng(0)
    for shift in (0.5, -3):
        codes = np.stack([rng.normal(size=400), rng.integers(0, 4, 400) + shift], axis=1)
        model = HistGradientBoostingClassifier(categorical_features=[1], max_iter=3).fit(codes, codes[:, 0] > 0)
        with pytest.raises(TypeError, match=r"encodes the numbers of the column 1, .*whole numbers from 0 on"):
            bh.as_forest(model)


def test_one_class_is_not_enough_to_boost():
    for model in (AdaBoostClassifier(n_estimators=2), HistGradientBoostingClassifier(max_iter=2)):
        with pytest.raises(ValueError, match="needs two or more"):
            bh.as_forest(model.fit(X[:20], np.zeros(20)))


def test_a_forest_may_know_one_class_only():
    model = RandomForestClassifier(3).fit(X[:20], np.full(20, "only"))
    assert set(bh.as_forest(model).predict(X)) == {"only"}
    np.testing.assert_array_equal(bh.as_forest(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("known", [NODE_FIELDS, HIST_NODE_FIELDS])
def test_nodes_of_a_kind_not_known_are_refused(known):
    with_one_more = np.zeros(3, dtype=[(name, "f8") for name in (*known, "oblique_weights")])
    with pytest.raises(TypeError, match=r"scikit-learn .* unknown to this Billhook .*oblique_weights"):
        checked_nodes(with_one_more, known)
    with pytest.raises(TypeError, match=known[0]):
        checked_nodes(np.zeros(3, dtype=[(name, "f8") for name in known[1:]]), known)
