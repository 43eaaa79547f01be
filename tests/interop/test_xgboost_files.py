"""Models that XGBoost wrote to files, as JSON and as UBJSON, whole and damaged."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris

import billhook as bh
from billhook.interop.xgboost import read_json
from billhook.interop.xgboost._layout import check_version
from billhook.interop.xgboost._ubjson import MAX_DEPTH, UbjsonReader

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
VERSION = tuple(map(int, xgboost.__version__.split(".")[:2]))
KEEPS_NAMES = pytest.mark.skipif(VERSION < (3, 1), reason="XGBoost 3.0 keeps no names of categories")
KEEPS_LEAVES = pytest.mark.skipif(VERSION < (3, 2), reason="XGBoost 3.0 and 3.1 write no leaf_weights")

X, y = load_iris(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def categorical():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 30, 120), rng.normal(size=120)])
    data = xgboost.DMatrix(rows, np.sin(rows[:, 0]) + rows[:, 1], feature_types=["c", "q"], enable_categorical=True)
    return xgboost.train({"max_depth": 3}, data, 2)


def trained(parameters, rows=X, labels=y):
    return xgboost.train(parameters, xgboost.DMatrix(rows, labels), 3)


MODELS = {
    "classes": lambda: trained({"objective": "multi:softprob", "num_class": 3, "max_depth": 3}),
    "dart": lambda: trained({"booster": "dart", "rate_drop": 0.5}, X_n, y_n),
    "pruned": lambda: trained({"tree_method": "exact", "gamma": 2e4}, X_n, y_n),
    "vector leaves": lambda: trained(
        {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree", "tree_method": "hist"}
    ),
    "categories": categorical,
}
# A model of each kind that the damaged ones are made of.
SMALL = {name: bytes(MODELS[name]().save_raw("json")) for name in ("classes", "vector leaves", "categories")}
UBJSON = bytes(MODELS["categories"]().save_raw("ubj"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_a_file_is_read_as_its_booster(tmp_path, name, ending):
    booster = MODELS[name]()
    booster.save_model(tmp_path / f"model.{ending}")
    (tmp_path / f"model.{ending}").rename(tmp_path / "model.any")  # known by its content
    assert bh.load(tmp_path / "model.any") == bh.as_forest(booster)


@pytest.mark.skipif(VERSION < (3, 1), reason="XGBoost 3.0 does not save estimators under scikit-learn 1.9")
def test_a_file_of_early_stopping_is_read_as_a_booster_predicts_with_it(tmp_path):
    model = xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    model.save_model(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    forest = bh.load(tmp_path / "model.json")
    assert forest.n_trees == 3 * booster.num_boosted_rounds() > 3 * (model.best_iteration + 1)
    np.testing.assert_allclose(forest.predict_proba(X), booster.predict(xgboost.DMatrix(X)), atol=1e-6)
    assert forest.classes.tolist() == [0, 1, 2]
    assert forest.origin == "xgboost.Booster"


def test_one_output_of_a_file_is_chosen(tmp_path):
    booster = xgboost.train({}, xgboost.DMatrix(X_n, X_n[:, :2]), 2)
    booster.save_model(tmp_path / "model.json")
    model = json.loads((tmp_path / "model.json").read_bytes())
    expected = booster.predict(xgboost.DMatrix(X_n))[:, 1]
    np.testing.assert_allclose(read_json(model, output=1).predict(X_n), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(bh.ModelFileError, match=r"model\.json: the model has 2 outputs, and a forest has one"):
        bh.load(tmp_path / "model.json")


def edited(name, change):
    """Return the forest of a model in which something was changed."""
    model = json.loads(SMALL[name])
    learner = model["learner"]
    parts = learner["gradient_booster"]["model"]
    change(model, learner, parts, parts["trees"][0])
    return read_json(model)


def setter(place, *path):
    """Return a change that sets what lies at a path from the model, learner, parts or tree to something."""

    def change(value):
        def apply(model, learner, parts, tree):
            target = {"model": model, "learner": learner, "parts": parts, "tree": tree}[place]
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = value

        return apply

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("classes", setter("model", "version")([1, 0, 2]), "written by XGBoost 1.0.2: load it with XGBoost 3"),
        ("classes", setter("model", "version")([4, 0, 0]), "XGBoost 4.0.0, and Billhook knows models up to 3.x"),
        ("classes", setter("model", "version")("3"), "lacks its version"),
        ("classes", setter("model", "extra")(1), "the model has a part 'extra', which Billhook does not know"),
        ("classes", setter("tree", "linear_weights")([]), "a tree has a part 'linear_weights'"),
        ("classes", setter("parts", "shift")([]), "the model has a part 'shift'"),
        ("classes", setter("learner", "learner_model_param", "scale")("2"), "has a part 'scale'"),
        ("classes", setter("learner", "objective", "name")("reg:new"), "does not know the objective 'reg:new'"),
        ("classes", setter("learner", "gradient_booster", "name")("gblinear"), "not gblinear, which has none"),
        ("classes", setter("learner", "gradient_booster")(None), "lacks the part 'gradient_booster'"),
        ("classes", setter("learner", "learner_model_param", "base_score")("[0,1]"), "2 numbers for 3 outputs"),
        ("classes", setter("learner", "learner_model_param", "base_score")("nan"), "not a number or a list"),
        ("classes", setter("learner", "learner_model_param", "base_score")("[NaN]"), "which is no prediction"),
        ("classes", setter("learner", "learner_model_param", "num_class")("2000000000"), "for 2000000000 outputs"),
        ("classes", setter("learner", "learner_model_param", "num_class")("9" * 5000), "not a number from 0"),
        ("classes", setter("learner", "learner_model_param", "num_feature")("1"), "between 0 and 0"),
        ("classes", setter("parts", "gbtree_model_param", "num_trees")("7"), "num_trees is 7, and there are 9"),
        ("classes", setter("parts", "tree_info")([5] * 9), "tree_info must lie between 0 and 2"),
        ("classes", setter("parts", "tree_info")(["a"] * 9), "tree_info does not hold whole numbers"),
        ("classes", setter("parts", "trees")([1] * 9), "a tree must be an object"),
        ("classes", setter("parts", "trees")([]), "num_trees is 9, and there are 0"),
        ("classes", setter("parts", "weight_drop")([1.0]), "weight_drop has 1 entries, not 9"),
        ("classes", setter("tree", "tree_param", "num_nodes")("2"), "left_children has 3 entries, not 2"),
        ("classes", setter("tree", "tree_param", "num_deleted")("1"), "0 nodes are in no tree, and num_deleted is 1"),
        ("classes", setter("tree", "left_children")([0, -1, -1]), "children must lie between 1 and 2"),
        ("classes", setter("tree", "left_children")([2, -1, -1]), "children do not form a tree"),
        ("classes", setter("tree", "left_children")([1, 2, -1]), "children must lie between 1 and 2"),
        ("classes", setter("tree", "left_children")([10**12, -1, -1]), "beyond 2,147,483,647"),
        ("classes", setter("tree", "left_children")([1.5, -1, -1]), "left_children does not hold whole numbers"),
        ("classes", setter("tree", "left_children")([[1], [2, 3]]), "left_children does not hold numbers"),
        ("classes", setter("tree", "left_children")(None), "lacks the array 'left_children'"),
        ("classes", setter("tree", "split_conditions")(["1", "2", "3"]), "split_conditions does not hold numbers"),
        ("classes", setter("tree", "split_conditions")([float("nan")] * 3), "threshold holds NaN"),
        ("classes", setter("tree", "sum_hessian")([float("inf")] * 3), "not finite"),
        ("classes", setter("tree", "split_type")([2, 0, 0]), "splits of type 2; known are 0"),
        ("classes", setter("tree", "split_type")([1, 0, 0]), "categories_nodes must be the nodes of split_type 1"),
        pytest.param(
            *("vector leaves", setter("tree", "tree_param", "size_leaf_vector")("2000000000"), "leaf_weights has"),
            marks=KEEPS_LEAVES,
        ),
        pytest.param(
            *("vector leaves", setter("tree", "leaf_weights")([1.0]), "leaf_weights has 1 entries"),
            marks=KEEPS_LEAVES,
        ),
        ("categories", setter("tree", "categories", 0)(-1), "is not between 0 and"),
        ("categories", setter("tree", "categories", 0)(2**30), "must rise"),
        ("categories", setter("tree", "categories_sizes", 0)(0), "must divide up the categories"),
        ("categories", setter("tree", "categories_segments", 0)(5), "must divide up the categories"),
        pytest.param(
            *("categories", setter("parts", "cats", "hash")([]), "the model's cats has a part 'hash'"),
            marks=KEEPS_NAMES,
        ),
    ],
)
def test_what_a_model_must_not_be_is_refused(name, change, message):
    with pytest.raises(bh.ModelFileError, match=message.replace(".", r"\.").replace("[", r"\[")):
        edited(name, change)


def test_weights_of_trees_count_wherever_they_stand():
    """As of XGBoost 3.5, dropout belongs to every booster of trees, and its weights to the trees."""
    weights = [0.5, 0.25, 1.0] * 3
    assert edited("classes", setter("parts", "weight_drop")(weights)).tree_weight.tolist() == weights


@given(st.data())
def test_a_damaged_file_is_a_model_or_refused(data):
    """Any part of a model replaced by anything: never another error than that for a damaged file."""
    model = json.loads(SMALL[data.draw(st.sampled_from(sorted(SMALL)))])
    target = model["learner"]
    while True:
        key = data.draw(
            st.sampled_from(sorted(target)) if isinstance(target, dict) else st.integers(0, len(target) - 1)
        )
        inner = target[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 9)) == 0:
            break
        target = inner
    odd = [
        None,
        [],
        {},
        "",
        "x",
        -1,
        0,
        1,
        2**31,
        2**80,
        -(2**40),
        1e300,
        float("nan"),
        float("inf"),
        "99999999",
        True,
    ]
    target[key] = data.draw(
        st.sampled_from([*odd, [[1]], [1] * 5, inner if not isinstance(inner, list) else inner[:-1]])
    )
    try:
        forest = read_json(model)
    except bh.ModelFileError:
        return
    forest.predict(np.zeros((2, forest.n_features), np.float32))


@given(place=st.integers(0, len(UBJSON) - 1), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_ubjson_is_a_model_or_refused(tmp_path_factory, place, byte, cut):
    path = tmp_path_factory.getbasetemp() / "damaged.ubj"
    path.write_bytes(UBJSON[: max(2, place)] if cut else UBJSON[:place] + bytes([byte]) + UBJSON[place + 1 :])
    try:
        bh.load(path)
    except bh.ModelFileError:
        return
    assert not cut


@pytest.mark.parametrize(
    ("version", "is_read"),
    [([1, 5, 9], False), ([1, 6, 0], True), ([2, 0, 0], True), ([3, 99, 0], True), ([4, 0, 0], False)],
)
def test_versions_from_1_6_to_3_are_read(version, is_read):
    with nullcontext() if is_read else pytest.raises(bh.ModelFileError, match="the model was written by XGBoost"):
        check_version({"version": version})


@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b"{U\x01a", b"}")], ids=["array", "object"])
def test_values_may_lie_in_as_many_others_as_are_allowed(begin, end):
    depth = 0
    value = UbjsonReader(begin * MAX_DEPTH + b"Z" + end * MAX_DEPTH).value(0)
    while value is not None:
        value = value[0] if isinstance(value, list) else value["a"]
        depth += 1
    assert depth == MAX_DEPTH
    with pytest.raises(bh.ModelFileError, match=f"more than {MAX_DEPTH} levels"):
        UbjsonReader(begin * (MAX_DEPTH + 1) + b"Z" + end * (MAX_DEPTH + 1)).value(0)


def length(number):
    return b"L" + number.to_bytes(8, "big")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{" + length(2**40), "the file is cut off"),
        (b"{U\x01a[$d#" + length(2**60), "a length of 1,152,921,504,606,846,976"),
        (b"{U\x01a[#" + length(2**60), "a length of 1,152,921,504,606,846,976"),
        (b"{U\x01a[#i\xff", "a length of -1"),
        (b"{U\x01a" + b"[" * 5000, "more than 32 levels"),
        (b"{U\x01a[$Z#U\xff", "an array of an unknown type b'Z'"),
        (b"{U\x01aH", "an unknown type b'H'"),
        (b"{U\x01aZU\x01aZ}", "the field 'a' is there twice"),
        (b"{U\x01\xffZ}", "not UTF-8"),
        (b"{U\x01aZ}}", "1 bytes follow the end"),
        (b"{U\x01aSZ}", "has no length"),
        (b"{U\x01aZ}", "no model of XGBoost, which has a part 'learner'"),
        (b"{U\x07learner[]}", "the model lacks its version"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_ubjson_that_is_no_model_is_refused(tmp_path, content, message):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "model")
