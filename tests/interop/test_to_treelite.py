"""Forests written as treelite's models."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import IsolationForest

import billhook as bh
from billhook.interop.treelite import _write
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import N_ROWS, categorical_forests, forests, random_forest, rows_of_categories, tricky_rows

treelite = pytest.importorskip("treelite", reason="treelite is not installed: pip install 'billhook[treelite]'")
from treelite import gtil  # noqa: E402 - where it is installed

# Of the active profile: an example is predicted five times.
FEWER = settings(max_examples=settings.default.max_examples // 3)
X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def assert_same(forest, X):
    """Assert that treelite, and the forest that is read from its model, answer as the forest does."""
    model = bh.to_treelite(forest)
    rows = X.astype(np.float64)
    np.testing.assert_array_equal(gtil.predict_leaf(model, rows), forest.apply(X))
    raw = forest.decision_function(X).reshape(len(X), -1)
    # Weights are multiplied in before the sum, and divided by the number of trees after it.
    np.testing.assert_allclose(gtil.predict(model, rows, pred_margin=True)[:, 0], raw, rtol=1e-12, atol=1e-12)
    found = gtil.predict(model, rows)[:, 0]
    if forest.classes is None:
        np.testing.assert_allclose(found[:, 0], forest.predict(X), rtol=1e-12, atol=1e-12)
    else:
        # Treelite's softmax rounds to float32.
        np.testing.assert_allclose(found, forest.predict_proba(X)[:, -found.shape[1] :], rtol=1e-5, atol=1e-7)
    again = bh.as_forest(model)
    np.testing.assert_array_equal(again.apply(X), forest.apply(X))
    np.testing.assert_allclose(again.decision_function(X).reshape(raw.shape), raw, rtol=1e-12, atol=1e-12)
    assert (again.link, again.ties, again.feature_names) == (forest.link, forest.ties, forest.feature_names)
    assert again.n_classes == forest.n_classes
    if forest.classes is not None:
        assert again.classes.tolist() == forest.classes.tolist()


@FEWER
@given(forests(), st.integers(0, 2**32), st.sampled_from([1, N_ROWS]))
def test_made_up_forests_answer_the_same(forest, seed, n_rows):
    assert_same(forest, tricky_rows(np.random.default_rng(seed), n_rows, forest.n_features))


@FEWER
@given(categorical_forests(), st.integers(0, 2**32))
def test_categorical_splits_answer_the_same(forest, seed):
    X = rows_of_categories(np.random.default_rng(seed), N_ROWS, forest.n_features)
    # Treelite has numbers between -1 and 0 in no category, and a Forest in category 0.
    assert_same(forest, np.where((X > -1) & (X < 0), -1, X).astype(np.float32))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", [(X2, y2), (X3, np.array(["a", "b", "ü"])[y3])], ids=["two", "three"])
def test_classifiers_answer_the_same(name, data):
    X, y = data
    assert_same(bh.as_forest(CLASSIFIERS[name].fit(X, y)), X.astype(np.float32))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_answer_the_same(name):
    assert_same(bh.as_forest(REGRESSORS[name].fit(X_n, y_n)), X_n.astype(np.float32))


@pytest.mark.parametrize("scale", [1e300, 1e-300, -2.0])
def test_values_of_any_size_stay(scale):
    forest = random_forest(np.random.default_rng(0), n_classes=2)
    X = tricky_rows(np.random.default_rng(1), 20, 3)
    assert_same(replace(forest.with_values(forest.value * scale), base=np.zeros(2), refined=True), X)


@pytest.mark.parametrize("labels", [[True, False], [3, 1], ["", "ü"], [0.5, 2.0], np.array([1, "a"], object)])
def test_labels_and_names_come_back(labels):
    forest = random_forest(np.random.default_rng(0), n_classes=2)
    forest = replace(forest, classes=np.array(labels), feature_names=("a", "ü", "c"))
    assert_same(forest, tricky_rows(np.random.default_rng(1), 20, 3))


def test_a_mean_stays_one_and_a_sum_too():
    for weights in ("equal", "sum", "any"):
        forest = random_forest(np.random.default_rng(0), weights=weights)
        assert bh.as_forest(bh.to_treelite(forest)).averages == (weights == "equal")


@pytest.mark.parametrize("contamination", ["auto", 0.2])
def test_isolation_forests_are_written(contamination):
    model = IsolationForest(n_estimators=8, max_samples=64, contamination=contamination, random_state=0).fit(X2)
    forest = bh.as_forest(model)
    rows = X2.astype(np.float32)
    written = bh.to_treelite(forest)
    np.testing.assert_array_equal(gtil.predict_leaf(written, rows.astype(np.float64)), forest.apply(rows))
    outlier = gtil.predict(written, rows.astype(np.float64)).ravel()
    np.testing.assert_allclose(np.minimum(outlier, 1.0), forest.predict_proba(rows)[:, 0], rtol=1e-6)
    again = bh.as_forest(written)
    assert (again.link, again.ties, again.classes.tolist()) == ("isolation", "last", [-1, 1])
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_allclose(again.decision_function(rows), forest.decision_function(rows), atol=1e-12)


def test_a_packed_model_is_written():
    packed = bh.pack(bh.as_forest(CLASSIFIERS["random forest, best-first"].fit(X2, y2)), X=X2)
    found = gtil.predict(bh.to_treelite(packed), X2.astype(np.float32).astype(np.float64))[:, 0]
    np.testing.assert_allclose(found, packed.to_forest().predict_proba(X2.astype(np.float32)), rtol=1e-12)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="'model' is a path, and no fitted model: read a model file with"):
        bh.to_treelite("model")


def test_only_leaves_have_vectors():
    forest = random_forest(np.random.default_rng(0), (3, 6), n_classes=3, weights="sum")
    (tree, _) = _write._trees(forest, forest.value)
    own = slice(0, forest.offset[1])
    for node, feature in enumerate(forest.feature[own]):
        begin, end = tree["leaf_vector_begin"][node], tree["leaf_vector_end"][node]
        if feature < 0:
            assert tree["leaf_vector"][begin:end].tolist() == forest.value[node].tolist()
        else:
            assert begin == end
