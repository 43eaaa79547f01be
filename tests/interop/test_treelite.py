"""Treelite's models, compared with the answers of its own GTIL."""

import json
import struct
from contextlib import suppress
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
from billhook.interop.treelite import _read, begins_checkpoint, read, read_file
from billhook.interop.treelite._checkpoint import read_checkpoint, write_checkpoint
from made_up import CATEGORIES, N_ROWS, random_forest, rows_of_categories

treelite = pytest.importorskip("treelite", reason="treelite is not installed: pip install 'billhook[treelite]'")
from treelite import gtil  # noqa: E402 - where it is installed
from treelite.model_builder import (  # noqa: E402
    Metadata,
    ModelBuilder,
    PostProcessorFunc,
    TreeAnnotation,
)
from treelite.sklearn import import_model  # noqa: E402

# Of the active profile: an example builds a model node by node.
FEWER = settings(max_examples=settings.default.max_examples // 3)
X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
COMPARISONS = ("<", "<=", ">", ">=", "==")


def raw_scores(model, X):
    """Return treelite's raw scores of float32 rows: (rows, targets, classes)."""
    return gtil.predict(model, X.astype(model.input_type), pred_margin=True)


def predictions(model, X):
    return gtil.predict(model, X.astype(model.input_type))


def near_thresholds(X, forest):
    """Return float32 rows with values on the thresholds, one float beside them, missing and infinite ones."""
    rng = np.random.default_rng(0)
    thresholds = forest.threshold[(forest.feature >= 0) & (forest.category_set < 0)]
    near = np.concatenate([thresholds, np.nextafter(thresholds, np.float32(np.inf)), [0.0, np.nan, np.inf, -np.inf]])
    return np.where(rng.random(X.shape) < 0.3, rng.choice(near, X.shape), X).astype(np.float32)


def assert_same(forest, model, X, output=0):
    """Assert that the forest answers as treelite does: the same leaves, and scores that are as near as sums are."""
    leaves = gtil.predict_leaf(model, X.astype(model.input_type))
    if leaves.shape[1] == forest.n_trees:
        np.testing.assert_array_equal(forest.apply(X), leaves)
    # XGBoost's models are of float32 numbers, and added so.
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if model.input_type == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    raw = forest.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(raw, raw_scores(model, X)[:, output, : raw.shape[1]], **tolerance)
    expected = predictions(model, X)[:, output, : max(raw.shape[1], 1)]
    if forest.classes is None:
        np.testing.assert_allclose(forest.predict(X), expected[:, 0], **tolerance)
    else:
        # Treelite's softmax rounds to float32.
        found = forest.predict_proba(X)
        np.testing.assert_allclose(found[:, -expected.shape[1] :], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (RandomForestClassifier(4, random_state=0), X3, y3),
        (RandomForestClassifier(4, random_state=0), X2, y2),
        (ExtraTreesClassifier(4, random_state=0), X2, y2),
        (RandomForestRegressor(4, random_state=0), X_n, y_n),
        (GradientBoostingClassifier(n_estimators=4, random_state=0), X2, y2),
        (GradientBoostingClassifier(n_estimators=4, random_state=0), X3, y3),
        (GradientBoostingRegressor(n_estimators=4, random_state=0), X_n, y_n),
        (HistGradientBoostingClassifier(max_iter=4), X2, y2),
        (HistGradientBoostingClassifier(max_iter=4), X3, y3),
        (HistGradientBoostingRegressor(max_iter=4), X_n, y_n),
    ],
)
def test_models_of_scikit_learn_are_read(model, X, y):
    imported = import_model(model.fit(X, y))
    forest = bh.as_forest(imported)
    assert_same(forest, imported, near_thresholds(X, forest))
    assert forest.origin == "treelite.Model"
    assert forest.rounding == "down"
    # What scikit-learn says of the trees came along: they are cut back as its own are.
    assert (forest.truncate(max_leaves=4).n_leaves) == bh.as_forest(model).truncate(max_leaves=4).n_leaves


def test_an_isolation_forest_is_read():
    model = import_model(IsolationForest(n_estimators=5, random_state=0).fit(X_n))
    forest = bh.as_forest(model)
    X = X_n.astype(np.float32)
    np.testing.assert_allclose(forest.predict(X), predictions(model, X)[:, 0, 0], rtol=1e-6)


LIGHTGBM = [
    ({"objective": "binary"}, X2, y2),
    ({"objective": "binary", "sigmoid": 2.0}, X2, y2),
    ({"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, X2, y2),
    ({"objective": "multiclass", "num_class": 3}, X3, y3),
    ({"objective": "regression"}, X_n, y_n),
    ({"objective": "poisson"}, X_n, y_n),
]


@pytest.mark.parametrize(("options", "X", "y"), LIGHTGBM)
def test_models_of_lightgbm_are_read(options, X, y):
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")
    booster = lightgbm.train({"verbose": -1, "num_threads": 1, **options}, lightgbm.Dataset(X, y), 4)
    model = treelite.frontend.from_lightgbm(booster)
    forest = bh.as_forest(model)
    rows = near_thresholds(X, forest)
    if options.get("sigmoid"):
        raw = forest.decision_function(rows)
        np.testing.assert_allclose(raw, 2.0 * raw_scores(model, rows)[:, 0, 0], rtol=1e-9)
        np.testing.assert_allclose(forest.predict_proba(rows)[:, 1], predictions(model, rows)[:, 0, 0], rtol=1e-9)
    else:
        assert_same(forest, model, rows)


def test_categorical_splits_of_lightgbm_are_read():
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")
    rng = np.random.default_rng(0)
    X = np.column_stack([X2[:, 0], rng.integers(0, 40, len(X2)), rng.integers(0, 5, len(X2))]).astype(np.float64)
    y = (X[:, 1] % 3 == 0) ^ (X2[:, 1] > 19) ^ (X[:, 2] == 2)
    options = {"objective": "binary", "verbose": -1, "min_data_per_group": 5, "cat_smooth": 1.0, "num_threads": 1}
    data = lightgbm.Dataset(X, y, categorical_feature=[1, 2])
    model = treelite.frontend.from_lightgbm(lightgbm.train(options, data, 5))
    forest = bh.as_forest(model)
    assert forest.n_sets > 0
    rows = near_thresholds(X, forest)
    rows[:, 1:] = np.where(
        rng.random(rows[:, 1:].shape) < 0.5, rng.choice([-1, 41, 0.5, 2.99, 1e9], rows[:, 1:].shape), rows[:, 1:]
    )
    assert_same(forest, model, rows)


@pytest.mark.parametrize(
    ("options", "X", "y"),
    [
        ({"objective": "binary:logistic"}, X2, y2),
        ({"objective": "reg:logistic"}, X2, y2),
        ({"objective": "multi:softprob", "num_class": 3}, X3, y3),
        ({"objective": "reg:squarederror"}, X_n, y_n),
        ({"objective": "count:poisson"}, X_n, y_n),
    ],
)
def test_models_of_xgboost_are_read(options, X, y):
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    model = treelite.frontend.from_xgboost(xgboost.train({"nthread": 1, **options}, xgboost.DMatrix(X, y), 4))
    forest = bh.as_forest(model)
    assert forest.rounding == "nearest"
    assert_same(forest, model, near_thresholds(X, forest))


def test_one_target_of_several_is_read():
    both = import_model(RandomForestClassifier(3, random_state=0).fit(X3, np.c_[y3, y3 > 0]))
    vectors = import_model(RandomForestRegressor(3, random_state=0).fit(X_n, np.c_[y_n, -y_n]))
    for model, X in ((both, X3), (vectors, X_n)):
        for output in (0, 1):
            assert_same(read(model, output=output), model, X.astype(np.float32), output)
        with pytest.raises(ValueError, match="has 2 outputs, and a forest has one: choose it with output=0 to 1"):
            bh.as_forest(model)
        assert bh.as_forests(model) == [read(model, output=0), read(model, output=1)]
    with pytest.raises(ValueError, match="output must be the number of one of the model's 2 targets, not 2"):
        read(both, output=2)


def test_trees_of_one_target_each_are_read():
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    data = xgboost.DMatrix(X_n, np.c_[y_n, -y_n])
    model = treelite.frontend.from_xgboost(xgboost.train({"nthread": 1}, data, 3))
    for output in (0, 1):
        forest = read(model, output=output)
        assert forest.n_trees == 3
        assert_same(forest, model, X_n.astype(np.float32), output)


def built(
    rng,
    forest,
    float_type="float32",
    comparisons=COMPARISONS,
    postprocessor="identity",
    task="kRegressor",
    averages=False,
    share=0.3,
):
    """Return the model of a forest's trees with other comparisons, and sets of categories, at its splits."""
    n_columns, n_values = forest.base.size, forest.value.shape[1]
    builder = ModelBuilder(
        threshold_type=float_type,
        leaf_output_type=float_type,
        metadata=Metadata(
            num_feature=forest.n_features,
            task_type=task,
            average_tree_output=averages,
            num_target=1,
            num_class=[n_columns],
            leaf_vector_shape=(1, n_values),
        ),
        tree_annotation=TreeAnnotation(
            num_tree=forest.n_trees,
            target_id=[0] * forest.n_trees,
            class_id=[-1] * forest.n_trees if n_values > 1 else forest.tree_column.tolist(),
        ),
        postprocessor=PostProcessorFunc(name=postprocessor),
        base_scores=forest.base.tolist(),
    )
    for start, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        builder.start_tree()
        for node in range(end - start):
            place = start + node
            builder.start_node(node)
            if forest.feature[place] < 0:
                value = forest.value[place].astype(float_type).tolist()
                builder.leaf(value if n_values > 1 else value[0])
            elif rng.random() < share:
                builder.categorical_test(
                    feature_id=int(forest.feature[place]),
                    default_left=bool(forest.missing_left[place]),
                    category_list=rng.choice(CATEGORIES, rng.integers(0, 5), replace=False).tolist(),
                    category_list_right_child=bool(rng.random() < 0.5),
                    left_child_key=int(forest.left[place]),
                    right_child_key=int(forest.right[place]),
                )
            else:
                builder.numerical_test(
                    feature_id=int(forest.feature[place]),
                    threshold=float(forest.threshold[place]),
                    default_left=bool(forest.missing_left[place]),
                    opname=str(rng.choice(comparisons)),
                    left_child_key=int(forest.left[place]),
                    right_child_key=int(forest.right[place]),
                )
            builder.end_node()
        builder.end_tree()
    return builder.commit()


@FEWER
@given(
    st.integers(0, 2**32),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([("<",), ("==",), COMPARISONS[:4], COMPARISONS]),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.booleans(),
)
def test_every_comparison_and_set_is_read(seed, float_type, comparisons, n_classes, per_class, averages):
    rng = np.random.default_rng(seed)
    per_class = per_class and n_classes > 1
    forest = random_forest(rng, (0, 2, 5, 9), n_classes=n_classes, per_class=per_class, weights="sum")
    post = {1: "identity", 3: "softmax" if per_class else "identity_multiclass"}[n_classes]
    model = built(
        rng, forest, float_type, comparisons, post, "kMultiClf" if n_classes > 1 else "kRegressor", averages
    )
    X = rows_of_categories(rng, N_ROWS, 3)
    X = np.where((X > -1) & (X < 0), -1, X).astype(np.float32)  # which a Forest has in category 0
    read_back = bh.as_forest(model)
    raw = read_back.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(raw, raw_scores(model, X)[:, 0], rtol=1e-5, atol=2e-6)
    with mock.patch.object(_read, "TOGETHER", 3):  # trees that are read at once
        assert bh.as_forest(model) == read_back


@pytest.mark.parametrize("pretty", [False, True])
def test_files_are_known_by_their_content(tmp_path, pretty):
    model = import_model(RandomForestClassifier(3, random_state=0).fit(X3, y3))
    model.serialize(tmp_path / "model")
    (tmp_path / "other").write_text(model.dump_as_json(pretty_print=pretty))
    forest = bh.as_forest(model)
    assert bh.load(tmp_path / "model") == forest
    assert bh.load(tmp_path / "other") == forest


def test_json_of_older_versions_does_not_say_the_type(tmp_path):
    model = json.loads(bh.to_treelite(random_forest(np.random.default_rng(0), thresholds=[0.5])).dump_as_json())
    for wide, rounding in ((False, "nearest"), (True, "down")):
        model.pop("threshold_type", None)
        if wide:
            model["trees"][1]["nodes"][0]["threshold"] = 0.1
        path = tmp_path / "model.json"
        path.write_text(json.dumps(model))
        assert bh.load(path).rounding == rounding


F1 = random_forest(np.random.default_rng(0), sizes=(2, 5), n_classes=1)
F3 = random_forest(np.random.default_rng(0), sizes=(2, 5), n_classes=3)
GOOD = read_checkpoint(bh.to_treelite(F3).serialize_bytes())


@pytest.mark.parametrize("name", ["signed_square", "hinge", "logarithm_one_plus_exp", "multiclass_ova"])
def test_other_postprocessors_are_refused(name):
    with pytest.raises(TypeError, match=f"does not know treelite's postprocessor '{name}'; known are identity, "):
        bh.as_forest(built(np.random.default_rng(0), F1, postprocessor=name))


def test_a_binary_classifier_without_a_link_is_refused():
    with pytest.raises(TypeError, match="task is kBinaryClf and its postprocessor 'identity', which does not say"):
        bh.as_forest(built(np.random.default_rng(0), F1, task="kBinaryClf"))


def with_first(name, array):
    return {"trees": [{**GOOD.trees[0], name: array}, *GOOD.trees[1:]]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"postprocessor": "magic"}, "does not know treelite's postprocessor 'magic'"),
        ({"postprocessor": "sigmoid"}, "has 3 columns of scores for the postprocessor 'sigmoid'"),
        ({"base_scores": np.zeros(2)}, "base_scores must have 3 entries, not 2"),
        ({"base_scores": np.full(3, np.nan)}, "base holds numbers that are not finite"),
        ({"num_class": np.array([2**31 - 1])}, "base_scores must have 2147483647 entries, not 3"),
        ({"num_class": np.array([-1])}, "num_class must be positive"),
        ({"class_id": np.array([0])}, "target_id and class_id must have an entry for each tree"),
        ({"class_id": np.array([0, 7])}, "class_id must be -1, or from 0 to 2, for all trees"),
        ({"leaf_vector_shape": np.array([1, 1])}, r"leaf_vector_shape must be \[1, 3\] for these trees"),
        ({"trees": []}, "must have an entry for each tree"),
        ({"num_feature": 2}, "feature must lie between 0 and 1"),
        (with_first("cleft", np.array([7, -1, 3, -1, -1])), "child that is not in its tree|leaf must have no"),
        (with_first("cleft", np.array([-1] * 5)), "a leaf must have no children, and a split two"),
        (with_first("node_type", np.array([9] * 5)), "a node has a type that treelite 4 does not know"),
        (with_first("cmp", np.array([9] * 5)), "a comparison that treelite 4 does not know"),
        (with_first("threshold", np.full(5, np.nan)), "a split compares with NaN"),
        (with_first("leaf_vector", np.zeros(2)), "the leaves of a tree must have vectors of 3 values each"),
        (with_first("leaf_vector_end", np.zeros(5)), "have no vectors; they must have 3 values each"),
        (with_first("leaf_vector", np.full(9, np.inf)), "a leaf has a value that is not a finite number"),
        (with_first("node_type", np.array([2, 0, 2, 0, 0])), "must have no children|list of categories|is that"),
    ],
)
def test_damaged_models_are_refused(tmp_path, changes, message):
    path = tmp_path / "model"
    path.write_bytes(write_checkpoint(replace(GOOD, **changes)))
    if "is that" in message:  # splits by sets that are empty, which is a model
        assert bh.load(path).n_sets == 1
        return
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(path)


@pytest.mark.parametrize(
    ("place", "number", "message"),
    [
        (0, 3, r"written by treelite 3\.\d+\.\d+; Billhook reads those of treelite 4"),
        (14, 2**60, "no model file that Billhook knows"),
        (14, 3, "cut off"),
        (14, 1, "bytes are left over after the last tree"),
    ],
)
def test_another_version_or_number_of_trees_is_refused(tmp_path, place, number, message):
    data = bytearray(write_checkpoint(GOOD))
    data[place : place + (8 if place else 4)] = struct.pack("<Q" if place else "<i", number)
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "model")


@FEWER
@given(st.data())
def test_a_damaged_checkpoint_is_refused_or_is_a_forest(tmp_path_factory, data):
    good = write_checkpoint(GOOD)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(bad[: data.draw(st.sampled_from([len(good), len(good) // 2, 60, 5]))])
    with suppress(bh.ModelFileError):
        assert isinstance(read_file(path), bh.Forest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model.pop("num_class"), "treelite's JSON lacks 'num_class'"),
        (lambda model: model.update(task_type="kOther"), "has the task 'kOther'"),
        (lambda model: model.update(trees=[3]), ".*"),
        (lambda model: model.update(threshold_type="float16"), "thresholds of the type 'float16'"),
        (lambda model: model["trees"][0]["nodes"][0].update(shiny=1), "a node has unknown fields: shiny"),
        (lambda model: model["trees"][0]["nodes"].reverse(), "node 4 of a tree is in place 0"),
        (lambda model: model["trees"][0]["nodes"][0].update(comparison_op="~"), "lacks '~'"),
        (lambda model: model["trees"][0]["nodes"][0].update(left_child=2**40), ".*"),
        (lambda model: model["trees"][0]["nodes"][0].update(threshold="x"), "could not convert"),
    ],
)
def test_damaged_json_is_refused(tmp_path, change, message):
    model = json.loads(
        bh.to_treelite(random_forest(np.random.default_rng(0), (2, 5), thresholds=[1.0])).dump_as_json()
    )
    change(model)
    (tmp_path / "model.json").write_text(json.dumps(model))
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "model.json")


def test_what_begins_otherwise_is_no_checkpoint():
    assert begins_checkpoint(write_checkpoint(GOOD))
    for start in (b"", b"\x04\0\0\0", b"\0" * 100, b"\xff" * 100, b"\x04" * 100, b"tree\nversion=v4\n" * 10):
        assert not begins_checkpoint(start)


def test_the_whole_chain():
    model = RandomForestClassifier(12, random_state=0).fit(X2, y2)
    forest = bh.as_forest(import_model(model)).truncate(max_leaves=8)
    pruned = bh.prune(forest, X2, y2, method="reduced_error", n_trees=4)
    merged = bh.merge(bh.refine(pruned, X2, y2), X2, y2, max_leaves=6)
    packed = bh.pack(merged, X=X2)
    assert np.mean(packed.predict(X2) == merged.predict(X2)) > 0.99
    assert np.mean(packed.predict(X2) == y2) > 0.94
