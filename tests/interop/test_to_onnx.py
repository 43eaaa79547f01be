"""Forests written as graphs of ONNX, run by ONNX Runtime."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import IsolationForest

import billhook as bh
from billhook.interop.onnx import _categories
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import N_ROWS, categorical_forests, forests, random_forest, rows_of_categories, tricky_rows, with_sets

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'billhook[onnx]'")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'billhook[onnx]'")

from onnx_graphs import run  # noqa: E402 - where it is installed

# Of the active profile: an example starts a session of ONNX Runtime.
FEWER = settings(max_examples=settings.default.max_examples // 3)
X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def magnitudes(forest, X):
    """Return the sums of the magnitudes of all that is added to the raw scores."""
    whole = replace(
        forest, value=np.abs(forest.value), tree_weight=np.abs(forest.tree_weight), base=np.abs(forest.base)
    )
    return whole.decision_function(X)


def assert_same(forest, model, X):
    """Assert that ONNX Runtime answers as the forest does, up to the rounding of float32 sums."""
    onnx.checker.check_model(model)
    answer = run(model, X)
    raw = forest.decision_function(X)
    allowed = 1e-6 * magnitudes(forest, X)
    assert answer["scores"].shape == raw.shape
    assert (np.abs(answer["scores"] - raw) <= allowed).all()
    if forest.classes is None:
        np.testing.assert_allclose(
            answer["prediction"], forest.predict(X), rtol=1e-5, atol=np.max(allowed, initial=0)
        )
        return
    # A probability changes by less than the scores do, and is itself rounded.
    worst = np.max(allowed, initial=0)
    np.testing.assert_allclose(answer["probabilities"], forest.predict_proba(X), rtol=1e-5, atol=2e-7 + worst)
    margin = np.abs(raw) if raw.ndim == 1 else np.diff(np.sort(raw)[:, -2:])[:, 0]
    clear = margin > 2 * (allowed if raw.ndim == 1 else allowed.max(axis=1))
    assert (answer["label"][clear] == forest.predict(X)[clear]).all()


@FEWER
@given(forests(), st.integers(0, 2**32), st.sampled_from([0, 1, N_ROWS]))
def test_made_up_forests_answer_the_same(forest, seed, n_rows):
    X = tricky_rows(np.random.default_rng(seed), n_rows, forest.n_features)
    model = bh.to_onnx(forest)
    assert_same(forest, model, X)
    again = bh.as_forest(model)
    np.testing.assert_array_equal(again.apply(X), forest.apply(X))
    assert (again.link, again.ties, again.averages) == (forest.link, forest.ties, forest.averages)


@FEWER
@given(categorical_forests(), st.integers(0, 2**32))
def test_categorical_splits_answer_the_same(forest, seed):
    X = rows_of_categories(np.random.default_rng(seed), N_ROWS, forest.n_features)
    model = bh.to_onnx(forest)
    assert_same(forest, model, X)
    np.testing.assert_array_equal(bh.as_forest(model).apply(X), forest.apply(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", [(X2, y2), (X3, np.array(["a", "b", "ü"])[y3])], ids=["two", "three"])
def test_classifiers_answer_the_same(name, data):
    X, y = data
    model = CLASSIFIERS[name].fit(X, y)
    assert_same(bh.as_forest(model), bh.to_onnx(model), X.astype(np.float32))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_answer_the_same(name):
    model = REGRESSORS[name].fit(X_n, y_n)
    assert_same(bh.as_forest(model), bh.to_onnx(model), X_n.astype(np.float32))


def test_refined_leaves_are_not_scaled_to_probabilities():
    forest = bh.as_forest(CLASSIFIERS["random forest, best-first"].fit(X2, y2)).truncate(max_leaves=8)
    refined = replace(bh.refine(forest, X2, y2), value=1.7 * forest.value - 0.5, link="identity", refined=True)
    answer = run(bh.to_onnx(refined), X2.astype(np.float32))
    assert answer["probabilities"].min() < 0
    assert_same(refined, bh.to_onnx(refined), X2.astype(np.float32))
    assert bh.as_forest(bh.to_onnx(refined)).refined


@pytest.mark.parametrize("ties", ["first", "last"])
def test_a_tie_goes_to_the_same_class(ties):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(3, 4), n_classes=1, weights="sum")
    forest = replace(
        forest,
        value=rng.choice([-1.0, 0.0, 1.0], forest.value.shape),
        base=np.zeros(1),
        link="logistic",
        task="classification",
        classes=np.array(["no", "yes"]),
        ties=ties,
    )
    X = tricky_rows(rng, 200, 3)
    answer = run(bh.to_onnx(forest), X)
    assert (forest.decision_function(X) == 0).any()
    assert (answer["label"] == forest.predict(X)).all()
    assert bh.as_forest(bh.to_onnx(forest)).ties == ties
    three = random_forest(rng, sizes=(2, 2), n_classes=3, weights="sum")
    three = replace(three, value=rng.choice([0.0, 1.0], three.value.shape), base=np.zeros(3))
    assert (run(bh.to_onnx(three), X)["label"] == three.predict(X)).all()


@pytest.mark.parametrize(
    "labels",
    [
        [7, 3, 5],
        ["c", "", "ü"],
        [0.5, -1.0, 2.0],
        np.array([3, 1, 2], np.uint8),
        np.array(["x", "y", "z"], object),
        np.array([1, 2, 3], object),
    ],
)
def test_labels_of_any_type_come_out(labels):
    forest = replace(random_forest(np.random.default_rng(0)), classes=np.array(labels))
    X = tricky_rows(np.random.default_rng(1), 30, 3)
    assert run(bh.to_onnx(forest), X)["label"].tolist() == forest.predict(X).tolist()
    assert bh.as_forest(bh.to_onnx(forest)).classes.tolist() == forest.classes.tolist()


def test_boolean_labels_come_out():
    forest = replace(random_forest(np.random.default_rng(0), n_classes=2), classes=np.array([False, True]))
    X = tricky_rows(np.random.default_rng(1), 30, 3)
    assert run(bh.to_onnx(forest), X)["label"].tolist() == forest.predict(X).tolist()


def test_labels_of_several_types_are_refused():
    forest = replace(random_forest(np.random.default_rng(0)), classes=np.array([1, "a", 2.0], object))
    with pytest.raises(TypeError, match="class labels are of the types float, int, str; a graph of ONNX holds"):
        bh.to_onnx(forest)


def test_values_beyond_float32_are_refused():
    forest = random_forest(np.random.default_rng(0), n_classes=1)
    with pytest.raises(ValueError, match=r"add float32 numbers, and -?[\d.]+e\+29\d is beyond them"):
        bh.to_onnx(forest.with_values(forest.value * 1e299))
    tiny = forest.with_values(forest.value * 1e-300)
    assert_same(
        replace(tiny, base=np.ones(1)), bh.to_onnx(replace(tiny, base=np.ones(1))), np.zeros((2, 3), np.float32)
    )


def test_tables_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr(_categories, "MAX_TABLE_BYTES", 20_000)
    rng = np.random.default_rng(0)
    forest = with_sets(rng, random_forest(rng, sizes=(60,), n_features=1), 1.0, 12)
    with pytest.raises(ValueError, match=r"sets of up to 1,001 categories take more than 20,000 bytes as tables"):
        bh.to_onnx(forest)


def test_names_stay_and_a_changed_graph_is_not_taken_for_our_own():
    forest = replace(random_forest(np.random.default_rng(0)), feature_names=("a", "b", "ü"))
    model = bh.to_onnx(forest)
    assert bh.as_forest(model).feature_names == ("a", "b", "ü")
    assert [output.name for output in model.graph.output] == ["label", "probabilities", "scores"]
    next(node for node in model.graph.node if node.op_type == "ArgMax").attribute[0].i = 0
    with pytest.raises(ValueError, match="the model has 3 outputs, and a forest has one"):
        bh.as_forest(model)
    model = bh.to_onnx(random_forest(np.random.default_rng(0), n_classes=1))
    model.graph.node[-1].op_type = "Sqrt"
    with pytest.raises(TypeError, match="the graph has Add after its trees"):
        bh.as_forest(model)


def test_a_packed_model_is_written():
    packed = bh.pack(bh.as_forest(CLASSIFIERS["random forest, best-first"].fit(X2, y2)), X=X2)
    answer = run(bh.to_onnx(packed), X2.astype(np.float32))
    assert (answer["label"] == packed.predict(X2.astype(np.float32))).mean() > 0.99
    assert_same(packed.to_forest(), bh.to_onnx(packed), X2.astype(np.float32))


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"cannot read a int"):
        bh.to_onnx(3)


def test_isolation_forests_answer_the_same():
    model = IsolationForest(n_estimators=12, contamination=0.2, random_state=0).fit(X2)
    forest = bh.as_forest(model)
    written = bh.to_onnx(forest)
    assert_same(forest, written, X2.astype(np.float32))
    again = bh.as_forest(written)
    assert again.link == "isolation"
    np.testing.assert_array_equal(again.predict(X2), model.predict(X2))
