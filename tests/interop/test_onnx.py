"""Tree ensembles of ONNX, compared with the answers of ONNX Runtime."""

import tempfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import billhook as bh
from billhook.interop.onnx import read, read_file
from made_up import N_ROWS, random_forest, tricky_rows

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'billhook[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'billhook[onnx]'")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - where it is installed

from onnx_graphs import (  # noqa: E402
    MODES,
    changed,
    classifier,
    ensemble,
    graph,
    probabilities,
    regressor,
    run,
)

# Of the active profile: an example starts a session of ONNX Runtime.
FEWER = settings(max_examples=settings.default.max_examples // 3)
X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
# Members of sets: ONNX Runtime tests those up to 30 for equality, and cuts numbers off where there are others.
SMALL, LARGE = [0, 1, 2, 3, 7, 30], [0, 1, 2, 31, 33, 100]


def near_thresholds(rng, X, forest):
    """Return rows with values on the thresholds, one float beside them, missing and infinite ones."""
    thresholds = forest.threshold[forest.feature >= 0]
    near = np.concatenate(
        [thresholds, np.nextafter(thresholds, np.float32(np.inf)), np.nextafter(thresholds, np.float32(-np.inf))]
    )
    near = np.append(near, [0.0, np.inf, -np.inf, 1e-45]).astype(np.float32)
    return np.where(rng.random(X.shape) < 0.3, rng.choice(near, X.shape), X.astype(np.float32))


def assert_same(forest, answer, X):
    """Assert that ONNX Runtime's answer is the forest's."""
    if forest.classes is None:
        # It adds float32 numbers, which are wrong by half a unit in the last place each time.
        np.testing.assert_allclose(forest.predict(X), next(iter(answer.values())).ravel(), rtol=1e-6)
        return
    label, found = answer.values()
    if isinstance(found, list):
        found = probabilities(found, forest.classes)
    np.testing.assert_allclose(forest.predict_proba(X), found, atol=1e-6)
    raw = forest.decision_function(X)
    margin = np.abs(raw) if raw.ndim == 1 else -np.diff(np.sort(raw)[:, -2:])[:, 0]
    clear = np.abs(margin) > 1e-6
    assert (forest.predict(X)[clear] == np.asarray(label)[clear]).all()


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (RandomForestClassifier(5, random_state=0), X3, y3),
        (RandomForestClassifier(5, random_state=0), X2, y2),
        (RandomForestClassifier(5, random_state=0), X3, np.array(["a", "b", "ü"])[y3]),
        (ExtraTreesClassifier(5, random_state=0), X2, np.array(["no", "yes"])[y2]),
        (DecisionTreeClassifier(random_state=0), X2, y2),
        (GradientBoostingClassifier(n_estimators=5, random_state=0), X2, y2),
        (GradientBoostingClassifier(n_estimators=5, random_state=0), X3, y3),
        (RandomForestRegressor(5, random_state=0), X_n, y_n),
        (DecisionTreeRegressor(random_state=0), X_n, y_n),
        (GradientBoostingRegressor(n_estimators=5, random_state=0), X_n, y_n),
    ],
)
def test_models_of_skl2onnx_are_read(model, X, y):
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx").to_onnx
    converted = to_onnx(model.fit(X, y), X[:1].astype(np.float32), target_opset={"": 15, "ai.onnx.ml": 3})
    forest = bh.as_forest(converted)
    rows = near_thresholds(np.random.default_rng(0), X, forest)
    assert_same(forest, run(converted, rows), rows)
    own = bh.as_forest(model)
    assert forest.n_leaves == own.n_leaves
    assert forest.origin.startswith("onnx.TreeEnsemble")


def test_a_random_forest_stays_an_average_when_trees_are_selected():
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx").to_onnx
    model = RandomForestClassifier(6, random_state=0).fit(X2, y2)
    forest = bh.as_forest(to_onnx(model, X2[:1].astype(np.float32)))
    few = forest.select([0, 3, 4])
    expected = bh.as_forest(model).select([0, 3, 4]).predict_proba(X2)
    np.testing.assert_allclose(few.predict_proba(X2), expected, atol=1e-6)  # a sixth is rounded to float32


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("task", ["two", "three", "number", "count"])
def test_models_of_onnxmltools_are_read(kind, task):
    onnxmltools = pytest.importorskip("onnxmltools", reason="onnxmltools is not installed: pip install onnxmltools")
    library = pytest.importorskip(kind, reason=f"{kind} is not installed: pip install 'billhook[{kind}]'")
    from onnxmltools.convert.common.data_types import FloatTensorType

    X, y = {"two": (X2, y2), "three": (X3, y3)}.get(task, (X_n, y_n))
    name = {"lightgbm": "LGBM", "xgboost": "XGB"}[kind] + ("Classifier" if task in ("two", "three") else "Regressor")
    options = {"verbose": -1} if kind == "lightgbm" else {}
    if task == "count":
        options["objective"] = "poisson" if kind == "lightgbm" else "reg:absoluteerror"
    model = getattr(library, name)(n_estimators=5, **options).fit(X, y)
    convert = getattr(onnxmltools, f"convert_{kind}")
    converted = convert(model, initial_types=[("X", FloatTensorType([None, X.shape[1]]))], target_opset=15)
    forest = bh.as_forest(converted)
    rows = near_thresholds(np.random.default_rng(0), X, forest)
    assert_same(forest, run(converted, rows), rows)


@FEWER
@given(
    st.integers(0, 2**32), st.sampled_from([*MODES, "all"]), st.booleans(), st.sampled_from([np.float32, np.float64])
)
def test_every_comparison_is_read(seed, modes, has_tracks, dtype):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(0, 1, 3, 8), n_classes=1, weights="sum", n_features=3)
    forest = replace(forest, base=np.zeros(1))
    chosen = rng.choice(MODES if modes == "all" else [modes], forest.n_nodes)
    tracks = rng.random(forest.n_nodes) < 0.5 if has_tracks else None
    options = {"aggregate_function": "AVERAGE"} if seed % 2 else {}
    if seed % 3:
        options["base_values"] = [0.25]
    model = regressor(forest, chosen, tracks, dtype, **(options if dtype == np.float32 else {}))
    X = tricky_rows(rng, N_ROWS, 3).astype(dtype)
    found = run(model, X)["Y"][:, 0]
    # Float32 sums of a handful of numbers around 1.
    np.testing.assert_allclose(bh.as_forest(model).predict(X), found, atol=1e-6)


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 21),
    reason="ONNX Runtime runs TreeEnsemble of version 5 from 1.21 on",
)
@FEWER
@given(st.integers(0, 2**32), st.sampled_from([SMALL, LARGE]), st.sampled_from([np.float32, np.float64]))
def test_ensembles_of_version_5_are_read(seed, categories, dtype):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(1, 2, 5), n_classes=1, weights="sum", n_features=2)
    modes = rng.integers(0, 7, forest.n_nodes)
    tracks = rng.random(forest.n_nodes) < 0.5
    n_sets = int(np.count_nonzero((modes == 6) & (forest.feature >= 0)))
    members = [rng.choice(categories, rng.integers(1, 5), replace=False) for _ in range(n_sets)]
    if categories is LARGE:  # or ONNX Runtime would test it for equality
        members = [np.append(some, 40) for some in members]
    model = ensemble(forest, modes, tracks, members, dtype, aggregate_function=seed % 2)
    shape = (N_ROWS, 2)
    X = np.where(rng.random(shape) < 0.5, tricky_rows(rng, *shape), rng.choice(categories, shape))
    X = np.float32(X + rng.choice([0.0, 0.5], X.shape, p=[0.9, 0.1]))
    X = np.where(np.abs(X) > 1e9, 1e9, X).astype(dtype)  # beyond 32 bits it is the processor that decides
    np.testing.assert_allclose(bh.as_forest(model).predict(X), run(model, X)["Y"][:, 0], atol=1e-6)


@FEWER
@given(st.integers(0, 2**32), st.sampled_from(["NONE", "SOFTMAX"]), st.booleans(), st.booleans())
def test_classifiers_of_three_classes_are_read(seed, post, has_base, is_text):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(0, 2, 6), n_classes=3, weights="sum")
    options = {"base_values": rng.normal(size=3).tolist()} if has_base else {}
    labels = {"classlabels_strings": ["b", "a", "ü"]} if is_text else {"classlabels_int64s": [7, -2, 2**40]}
    model = classifier(forest, post_transform=post, **options, **labels)
    X = tricky_rows(rng, N_ROWS, 3)
    assert_same(bh.as_forest(model), run(model, X), X)


@FEWER
@given(st.integers(0, 2**32), st.sampled_from(["NONE", "LOGISTIC"]), st.booleans(), st.booleans())
def test_classifiers_of_two_classes_are_read_as_onnx_runtime_answers(seed, post, is_share, has_base):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(1, 2, 6), n_classes=2, weights="sum")
    value = np.abs(forest.value) / 3 if is_share else forest.value - 10 * (np.arange(forest.n_nodes) == 1)[:, None]
    options = {"base_values": [0.125]} if has_base else {}
    model = classifier(
        forest.with_values(value), n_values=1, post_transform=post, classlabels_int64s=[5, 3], **options
    )
    X = tricky_rows(rng, N_ROWS, 3)
    if is_share and post == "LOGISTIC":
        with pytest.raises(TypeError, match=r"chooses the second class from a score of 0\.5 on"):
            bh.as_forest(model)
        return
    assert_same(bh.as_forest(model), run(model, X), X)


def test_one_target_of_several_is_read():
    forest = random_forest(np.random.default_rng(0), n_classes=3, weights="sum", per_class=False)
    model = regressor(forest, base_values=[0.5, 1.0, -1.0])
    X = tricky_rows(np.random.default_rng(1), 40, 3)
    found = run(model, X)["Y"]
    for target in range(3):
        np.testing.assert_allclose(read(model, output=target).predict(X), found[:, target], atol=1e-6)
    with pytest.raises(ValueError, match="has 3 outputs, and a forest has one: choose it with output=0 to 2"):
        bh.as_forest(model)
    assert len(bh.as_forests(model)) == 3
    with pytest.raises(ValueError, match="output must be the number of one of the model's 3 targets, not 3"):
        read(model, output=3)


def test_a_base_value_that_onnx_runtime_leaves_out_is_refused():
    forest = random_forest(np.random.default_rng(0), n_classes=2, weights="sum")
    model = changed(regressor(forest, base_values=[0.5, 1.0]), target_ids=[0, 0] * forest.n_leaves)
    leaves = np.flatnonzero(forest.feature < 0)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))[leaves]
    number = leaves - forest.offset[tree]
    model = changed(
        model,
        target_ids=[0] * leaves.size,
        target_treeids=tree.tolist(),
        target_nodeids=number.tolist(),
        target_weights=[1.0] * leaves.size,
    )
    X = tricky_rows(np.random.default_rng(1), 10, 3)
    assert (run(model, X)["Y"][:, 1] == 0).all()
    np.testing.assert_array_equal(read(model, output=0).predict(X), run(model, X)["Y"][:, 0])
    with pytest.raises(TypeError, match="ONNX Runtime leaves its base value out"):
        read(model, output=1)


def test_rows_of_float64_go_where_they_went():
    """Thresholds and rows that are float64, and not float32, are compared as such."""
    forest = random_forest(np.random.default_rng(0), sizes=(40,), n_classes=1, thresholds=[0.1, 0.7, 1 / 3])
    model = regressor(forest, dtype=np.float64)
    fine = np.array([0.1, 0.7, 1 / 3])
    values = np.where(forest.feature >= 0, np.random.default_rng(1).choice(fine, forest.n_nodes), 0.0)
    model = changed(model, nodes_values_as_tensor=numpy_helper.from_array(values))
    X = np.random.default_rng(2).choice([*fine, *np.float32(fine), 0.5], (200, 3))
    read_back = bh.as_forest(model)
    assert read_back.rounding == "down"
    np.testing.assert_allclose(read_back.predict(X), run(model, X)["Y"][:, 0], atol=1e-6)


def cast_to(type_, name="X", made="Z"):
    return helper.make_node("Cast", [name], [made], to=type_)


@pytest.mark.parametrize(
    ("dtype", "type_", "rounding"),
    [
        (np.float64, TensorProto.FLOAT, "nearest"),
        (np.int64, TensorProto.FLOAT, "nearest"),
        (np.float32, TensorProto.DOUBLE, "nearest"),
    ],
)
def test_rows_may_be_cast(dtype, type_, rounding):
    forest = random_forest(
        np.random.default_rng(0), sizes=(5, 9), n_classes=1, thresholds=[0.1, 1.0, 2.0, 16777217.0]
    )
    tree = regressor(forest, dtype=np.float64 if type_ == TensorProto.DOUBLE else np.float32).graph.node[0]
    tree.input[0] = "Z"
    model = graph([cast_to(type_), tree], [("Y", TensorProto.FLOAT)], 3, dtype)
    X = np.random.default_rng(1).choice([0, 1, 2, 3, 0.1, 16777217], (60, 3)).astype(dtype)
    read_back = bh.as_forest(model)
    assert read_back.rounding == rounding
    np.testing.assert_allclose(read_back.predict(X), run(model, X)["Y"][:, 0], atol=1e-6)


def shared_chain(n_categories, sign=1):
    """Return a model in which several tests for equality lead to the same node, as LightGBM's converter has it."""
    ids = np.arange(n_categories)
    leaves = n_categories + np.arange(3)
    made = {
        "nodes_treeids": [0] * (n_categories + 4),
        "nodes_nodeids": [*ids.tolist(), *leaves.tolist(), n_categories + 3],
        "nodes_featureids": [0] * n_categories + [1, 0, 0, 0],
        "nodes_modes": ["BRANCH_EQ"] * n_categories + ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        "nodes_values": [float(sign * 2 * k) for k in ids] + [0.5, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [n_categories] * n_categories + [n_categories + 1, 0, 0, 0],
        "nodes_falsenodeids": [*range(1, n_categories), n_categories + 3, n_categories + 2, 0, 0, 0],
        "target_treeids": [0] * 3,
        "target_nodeids": [n_categories + 1, n_categories + 2, n_categories + 3],
        "target_ids": [0] * 3,
        "target_weights": [1.0, 2.0, 3.0],
        "n_targets": 1,
    }
    node = helper.make_node("TreeEnsembleRegressor", ["X"], ["Y"], domain="ai.onnx.ml", **made)
    return graph([node], [("Y", TensorProto.FLOAT)], 2)


def test_branches_that_are_shared_are_copied():
    model = shared_chain(5)
    X = np.array([[a, b] for a in (-0.0, 1, 2, 2.5, 8, 9, np.nan, np.inf) for b in (0, 1, np.nan)], np.float32)
    forest = bh.as_forest(model)
    np.testing.assert_array_equal(forest.predict(X), run(model, X)["Y"][:, 0])
    assert forest.n_leaves == 16


def test_a_tree_that_would_grow_too_much_is_refused():
    with pytest.raises(ValueError, match=r"a tree of 304 nodes tests for equality, .* grow to more than 1,216 nodes"):
        bh.as_forest(shared_chain(300))


def test_what_follows_may_not_change_the_answer():
    model = classifier(random_forest(np.random.default_rng(0), n_classes=3), classlabels_int64s=[0, 1, 2])
    tree = model.graph.node[0]
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    two = numpy_helper.from_array(np.full(1, 2, np.float32), "two")

    def made(*nodes):
        return graph([tree, *nodes], [("L", TensorProto.INT64), ("Z", TensorProto.FLOAT)], 3, initializers=[one, two])

    for node in (
        helper.make_node("Identity", ["P"], ["Z"]),
        helper.make_node("Mul", ["P", "one"], ["Z"]),
        cast_to(TensorProto.DOUBLE, "P"),
        cast_to(TensorProto.INT64, "L"),
        helper.make_node("ZipMap", ["P"], ["Z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ):
        assert bh.as_forest(made(node)) == bh.as_forest(model)
    for node in (
        helper.make_node("Mul", ["P", "two"], ["Z"]),
        helper.make_node("Normalizer", ["P"], ["Z"], domain="ai.onnx.ml", norm="L1"),
        helper.make_node("ArgMax", ["P"], ["Z"], axis=1),
        cast_to(TensorProto.INT64, "P"),
        cast_to(TensorProto.FLOAT, "L"),
        helper.make_node("ZipMap", ["P"], ["Z"], domain="ai.onnx.ml", classlabels_int64s=[0, 2, 1]),
    ):
        with pytest.raises(
            TypeError, match=f"the graph has {node.op_type} after its trees; as_forest reads graphs of"
        ):
            bh.as_forest(made(node))


def test_models_around_trees_are_refused_by_the_operator():
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx").to_onnx
    rows = X3[:1].astype(np.float32)
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X3, y3)
    with pytest.raises(TypeError, match="the graph has Scaler before its trees"):
        bh.as_forest(to_onnx(piped, rows, target_opset={"": 15, "ai.onnx.ml": 3}))
    with pytest.raises(TypeError, match="the graph has 2 tree ensembles, not one"):
        bh.as_forest(to_onnx(BaggingClassifier(n_estimators=2).fit(X3, y3), rows))


def without(model, field):
    """Return the model with an operator that has no inputs, or no outputs."""
    model.graph.node[0].ClearField(field)
    return model


F1 = random_forest(np.random.default_rng(0), sizes=(2, 5), n_classes=1)
F2 = random_forest(np.random.default_rng(0), sizes=(2, 5), n_classes=2)
F3 = random_forest(np.random.default_rng(0), sizes=(2, 5), n_classes=3)
V5 = ensemble(F1, np.zeros(F1.n_nodes, int), np.zeros(F1.n_nodes, bool), [])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (regressor(F1, aggregate_function="MIN"), "reads the aggregate_function SUM and AVERAGE, not MIN"),
        (regressor(F1, post_transform="LOGISTIC"), "post_transform LOGISTIC of a regressor is not applied"),
        (regressor(F1, post_transform="PROBIT"), "post_transform PROBIT of a regressor"),
        (changed(V5, aggregate_function=3), "SUM and AVERAGE, not MAX"),
        (changed(V5, post_transform=1), "post_transform SOFTMAX of a regressor"),
        (changed(V5, post_transform=9), "does not know post_transform 9"),
        (changed(V5, nodes_modes=numpy_helper.from_array(np.full(7, 8, np.uint8))), "does not know the node mode 8"),
        (
            changed(V5, nodes_modes=numpy_helper.from_array(np.array([6] * 6 + [9], np.uint8))),
            "does not know the node mode 9",
        ),
        (changed(regressor(F1), nodes_modes=["BRANCH_FOO"] * 16), "does not know the node mode BRANCH_FOO"),
        (changed(regressor(F1), nodes_modes=["BRANCH_MEMBER"] * 16), "the first node|BRANCH_MEMBER of TreeEnsemble"),
        (changed(regressor(F1), nodes_shiny=[1]), "attributes that as_forest does not know: nodes_shiny"),
        (classifier(F3, classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX_ZERO"), "LOGISTIC, not SOFTMAX_ZERO"),
        (classifier(F3, classlabels_int64s=[0, 1, 2], post_transform="PROBIT"), "LOGISTIC, not PROBIT"),
        (
            classifier(F3, classlabels_int64s=[0, 1, 2], post_transform="LOGISTIC"),
            "LOGISTIC for 3 classes gives each",
        ),
        (classifier(F2, classlabels_int64s=[0, 1]), "does not compare the scores of two classes"),
        (classifier(F2, 1, classlabels_int64s=[0, 1], base_values=[1.0, 2.0]), "the scores of two classes"),
        (classifier(F2, 1, classlabels_int64s=[0, 1], post_transform="SOFTMAX"), "does not apply SOFTMAX"),
        (classifier(F2, 1, classlabels_int64s=[4]), "two or more classes; this one has 1"),
        (classifier(F3, 2, classlabels_int64s=[0, 1, 2]), "never chooses it, even"),
        (
            classifier(F3, 2, classlabels_int64s=[0, 1, 2], class_weights=[0.0, *[0.5] * 17]),
            "never chooses it, even",
        ),
        (helper.make_model(helper.make_graph([], "empty", [], [])), "has 0 tree ensembles, not one"),
        (graph(regressor(F1).graph.node, [("Y", TensorProto.FLOAT)], 3, ml_version=6), "of version 6 of ai.onnx.ml"),
        (without(regressor(F1), "output"), "TreeEnsembleRegressor has no output"),
        (without(regressor(F1), "input"), "TreeEnsembleRegressor has no input"),
    ],
)
def test_what_is_not_known_is_refused(model, message):
    with pytest.raises((TypeError, ValueError), match=message):
        bh.as_forest(model)


@pytest.mark.parametrize("factor", [1, 3])
def test_ids_of_nodes_may_leave_gaps(factor):
    forest = random_forest(np.random.default_rng(3), sizes=(4,) * 5, n_classes=1, weights="sum")
    model = regressor(forest)
    (node,) = model.graph.node
    ids = {"nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "target_nodeids"}
    given = {a.name: [factor * k for k in a.ints] for a in node.attribute if a.name in ids}
    assert set(given) == ids
    model = changed(model, **given)
    rows = tricky_rows(np.random.default_rng(4), N_ROWS, 3)
    answer = run(model, rows)["Y"][:, 0]
    np.testing.assert_allclose(bh.as_forest(model).predict(rows), answer, rtol=1e-5, atol=1e-6)
    if factor > 1:
        named = changed(model, nodes_truenodeids=[k + (k > 0) for k in given["nodes_truenodeids"]])
        with pytest.raises(ValueError, match="a node is named that is not there"):
            bh.as_forest(named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes_treeids": [0] * 15}, "nodes_treeids has 15 entries for 16 nodes"),
        ({"nodes_treeids": [0, 1] * 8}, "the nodes of each tree must stand together"),
        ({"nodes_nodeids": [0] * 16}, "two nodes of a tree have the same id"),
        ({"nodes_nodeids": [-1] * 16}, "node ids must lie between 0"),
        ({"nodes_truenodeids": [99] * 16}, "a node is named that is not there"),
        ({"nodes_truenodeids": [0] * 16}, "the first node of each tree must be its root"),
        ({"nodes_featureids": [2**40] * 16}, "a split has a feature that is not there"),
        ({"nodes_featureids": [3] * 16}, "feature must lie between 0 and 2"),
        ({"nodes_values": [float("nan")] * 16}, "a split compares with NaN"),
        ({"target_ids": [1] * 9}, "weights must be for columns from 0 to 0"),
        ({"target_ids": [0] * 8}, "target_ids has 8 entries for 9 weights"),
        ({"target_treeids": [7] * 9}, "a weight is for a tree that is not there"),
        ({"target_nodeids": [0] * 9, "target_treeids": [0] * 9, "target_weights": [float("inf")] * 9}, None),
        ({"target_weights": [float("inf")] * 9}, "a leaf has a value that is not a finite number"),
        ({"base_values": [1.0, 2.0]}, "base_values has 2 entries for 1 targets"),
        ({"n_targets": 2**62}, "has 4611686018427387904 targets|entries for 4611686018427387904"),
        ({"nodes_modes": None}, "has 16 entries for 0 nodes"),
    ],
)
def test_damaged_attributes_are_refused(options, message, tmp_path):
    model = changed(regressor(F1), **options)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    if message is None:  # weights at splits, which are not added
        assert bh.load(path) == bh.as_forest(model)
        return
    with pytest.raises((ValueError, TypeError), match=message):
        bh.as_forest(model)
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(path)


def test_a_graph_of_very_many_operators_is_refused_before_they_are_read(tmp_path):
    model = bh.to_onnx(bh.as_forest(DecisionTreeRegressor(max_depth=1).fit(np.eye(4), np.arange(4))))
    model.graph.node.extend([helper.make_node("Identity", [], [])] * 10_000)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(bh.ModelFileError, match=r"this ONNX model has 10,0\d\d operators"):
        bh.load(tmp_path / "model.onnx")


@FEWER
@given(st.data())
def test_a_damaged_file_is_refused_or_is_a_forest(data):
    good = regressor(F1).SerializeToString()
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    bad = bytes(bad[: data.draw(st.sampled_from([len(good), len(good) // 2, 5]))])
    with tempfile.NamedTemporaryFile() as file:
        file.write(bad)
        file.flush()
        with suppress(bh.ModelFileError):
            assert isinstance(read_file(file.name), bh.Forest)


def test_a_file_is_known_by_its_content(tmp_path):
    model = regressor(F1)
    path = tmp_path / "model.txt"
    path.write_bytes(model.SerializeToString())
    assert bh.load(path) == bh.as_forest(model)


def test_other_classes_of_onnx_are_refused():
    with pytest.raises(TypeError, match=r"cannot read onnx's GraphProto; pass an onnx\.ModelProto"):
        bh.as_forest(regressor(F1).graph)


def test_the_whole_chain():
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx").to_onnx
    model = RandomForestClassifier(12, random_state=0).fit(X2, y2)
    forest = bh.as_forest(to_onnx(model, X2[:1].astype(np.float32))).truncate(max_leaves=8)
    pruned = bh.prune(forest, X2, y2, method="reduced_error", n_trees=4)
    refined = bh.refine(pruned, X2, y2)
    merged = bh.merge(refined, X2, y2, max_leaves=6)
    packed = bh.pack(merged, X=X2)
    assert np.mean(packed.predict(X2) == merged.predict(X2)) > 0.99
    assert np.mean(packed.predict(X2) == y2) > 0.94
