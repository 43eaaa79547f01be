"""The files that LightGBM writes, read without it; damaged and made-up ones."""

import json
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import billhook as bh
from billhook import ModelFileError
from billhook.interop.lightgbm import _columns, _json, read_json
from billhook.interop.lightgbm._model import ColumnRange
from made_up_lightgbm import model_text, tricky_rows


def loaded(tmp_path, text):
    path = tmp_path / "model"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return bh.load(path)


@pytest.fixture(scope="module")
def text():
    return model_text(
        np.random.default_rng(0), (4, 1, 6), kinds=(0, 1, 2, 8, 9, 10), thresholds=np.linspace(-1, 1, 9)
    )


@pytest.fixture(scope="module")
def dumped():
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")
    rng = np.random.default_rng(0)
    categories = pd.Categorical.from_codes(rng.integers(-1, 12, 500), [f"c{k}" for k in range(12)])
    numbers = np.where(rng.random(500) < 0.3, np.nan, rng.normal(size=500)).astype(np.float32)
    frame = pd.DataFrame({"c": categories, "n": numbers})
    y = np.isin(frame["c"].cat.codes, [1, 5, 10]) + 2.0 * np.isnan(numbers)
    options = {
        "verbose": -1,
        "num_leaves": 6,
        "min_data_per_group": 2,
        "max_cat_to_onehot": 1,
        "objective": "poisson",
    }
    booster = lightgbm.train(options, lightgbm.Dataset(frame, y), 5)
    return booster, frame


def test_a_text_file_is_the_model_that_was_saved(dumped, tmp_path):
    booster, frame = dumped
    booster.save_model(tmp_path / "any_name")
    forest = bh.load(tmp_path / "any_name")
    assert forest == bh.as_forest(booster)
    assert forest.n_sets > 0
    np.testing.assert_allclose(forest.predict(frame), booster.predict(frame), rtol=1e-15)


def test_a_json_file_is_the_model_that_was_dumped(dumped, tmp_path):
    booster, frame = dumped
    forest = loaded(tmp_path, json.dumps(booster.dump_model()))
    expected = bh.as_forest(booster)
    np.testing.assert_array_equal(forest.decision_function(frame), expected.decision_function(frame))
    np.testing.assert_array_equal(forest.apply(frame), expected.apply(frame))
    assert forest.encoding == expected.encoding
    np.testing.assert_array_equal(forest.threshold, expected.threshold)


@pytest.mark.filterwarnings("ignore:.*are the same as another in float32")
@given(st.lists(st.integers(1, 8), min_size=1, max_size=3), st.integers(0, 2**32))
def test_json_says_what_the_text_says(sizes, seed):
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")
    rng = np.random.default_rng(seed)
    booster = lightgbm.Booster(model_str=model_text(rng, sizes, kinds=(0, 1, 2, 8, 9, 10)))
    rows = tricky_rows(rng, 50, 3)
    rows = rows[~np.isinf(rows).any(axis=1)]  # JSON cannot say whether thresholds are infinite
    forest = read_json(booster.dump_model())
    np.testing.assert_array_equal(forest.apply(rows), bh.as_forest(booster).apply(rows))
    with mock.patch.object(_json, "TOGETHER", 2):  # trees that are taken over at once
        assert read_json(booster.dump_model()) == forest


def test_no_library_is_needed(text, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    forest = loaded(tmp_path, text)
    assert (forest.n_trees, forest.n_leaves, forest.origin) == (3, 11, "lightgbm.Booster")


def test_older_versions_are_read_alike(text, tmp_path):
    forest = loaded(tmp_path, text)
    older = "\n".join(line for line in text.split("\n") if not line.startswith("is_linear"))
    assert loaded(tmp_path, older.replace("version=v4", "version=v3")) == forest
    lines = [line for line in older.split("\n") if not line.startswith(("leaf_weight", "internal_weight"))]
    oldest = "\n".join(lines).replace("version=v4", "version=v2")
    assert loaded(tmp_path, oldest) == forest
    # LightGBM 2.1 said less of where things end.
    ends = oldest.replace("end of trees\n\n", "").replace("feature_importances", "feature importances")
    assert loaded(tmp_path, ends.replace("end of parameters\n", "")) == forest
    assert loaded(tmp_path, text.replace("\n", "\r\n")) == forest


OBJECTIVES = {
    "binary sigmoid:2": "logistic",
    "cross_entropy": "logistic",
    "xentropy": "logistic",
    "regression": "identity",
    "gamma": "exp",
    "rank_xendcg": "identity",
}


@pytest.mark.parametrize(("objective", "link"), OBJECTIVES.items())
def test_objectives_have_links(objective, link, tmp_path):
    assert loaded(tmp_path, model_text(np.random.default_rng(0), (3,), objective=objective)).link == link


def test_trees_take_turns_with_the_classes(tmp_path):
    text = model_text(np.random.default_rng(0), (2,) * 6, objective="multiclass num_class:3", n_classes=3)
    forest = loaded(tmp_path, text)
    assert forest.tree_column.tolist() == [0, 1, 2, 0, 1, 2]
    assert forest.classes.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v5", "has version 'v5'; known are v2, v3, v4: write it anew"),
        ("version=v4\n", "", "has version None"),
        ("label_index=0", "label_index=0\nlabel_power=2", "there is 'label_power', which is not known"),
        ("label_index=0", "label_index=0\nlabel_index=0", "there is 'label_index', twice"),
        ("shrinkage=1", "shrinkage=1\nbend=2", "there is 'bend', which is not known"),
        ("is_linear=0", "is_linear=1", "linear functions in the leaves"),
        ("objective=regression", "objective=multiclassova num_class:3 sigmoid:1", "objective 'multiclassova'"),
        ("objective=regression", "objective=regression sqrt", "reg_sqrt=True"),
        ("objective=regression", "objective=magic", "does not know the objective 'magic'"),
        ("objective=regression", "objective=binary power:2", "parameter 'power:2' of an objective"),
        ("objective=regression", "objective=binary sigmoid:-1", "sigmoid is '-1', not a positive number"),
        ("objective=regression", "objective=binary sigmoid:x", "sigmoid is 'x', not a positive number"),
        ("max_feature_idx=2", "max_feature_idx=3", "3 feature_names and 3 feature_infos for 4"),
        ("max_feature_idx=2", "max_feature_idx=-7", "max_feature_idx is -7"),
        ("max_feature_idx=2", "max_feature_idx=two", "max_feature_idx is 'two', not a number"),
        ("max_feature_idx=2\n", "", "max_feature_idx is missing"),
        ("[-1:1] [-1:1]", "[-1:1] {-1:1}", r"feature_infos holds '{-1:1}', which is not known"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=2", "3 trees, and 2 to a round"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "3 trees, and 0 to a round"),
        ("Tree=2", "Trea=2", "there is 'Trea=2' instead of a tree"),
        ("num_leaves=4", "num_leaves=0", "a tree has 0 leaves"),
        ("num_leaves=4", "num_leaves=99999999999", "more or fewer numbers than there should be"),
        ("num_leaves=4", "num_leaves=3", "more or fewer numbers than there should be"),
        ("left_child=", "left_child=x", "left_child of a tree holds something that is not a number"),
        ("left_child=-1 ", "left_child=9 ", "a child that is not a later split"),
        ("right_child=", "right_child=-9", "a child that is not a later split, or a leaf"),
        ("split_feature=", "split_feature=9", "feature that is not between 0 and 2"),
        ("decision_type=", "decision_type=9", r"decision type 9\d+, which is not known"),
        ("leaf_count=", "leaf_count=-", "a number of rows that is not between 0"),
        ("leaf_value=", "leaf_value=nan ", "more or fewer numbers"),
        ("leaf_value=0 ", "leaf_value=nan ", "value holds numbers that are not finite"),
        ("end of parameters", "", "ends in its parameters: it is cut off"),
        ("pandas_categorical:null", "pandas_categorical:[", "pandas_categorical is not JSON"),
        ("pandas_categorical:null", 'pandas_categorical:[{"a": 1}]', "must be a list of categories for each column"),
        ("pandas_categorical:null", "pandas_categorical:[[[]]]", "neither text nor a number"),
        ("pandas_categorical:null", 'pandas_categorical:[["a"]]', "does not say of which"),
    ],
)
def test_texts_that_are_not_known_are_refused(text, tmp_path, old, new, message):
    assert old in text
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path, text.replace(old, new, 1))


def test_sets_of_categories_must_fit(tmp_path):
    rng = np.random.default_rng(0)
    text = model_text(rng, (3,), kinds=(1,), n_categories=1)
    assert loaded(tmp_path, text).n_sets == 2
    for old, new, message in (
        ("cat_boundaries=0 1 2", "cat_boundaries=0 2 1", "cat_boundaries of a tree do not fit"),
        ("cat_boundaries=0 1 2", "cat_boundaries=0 1", "cat_boundaries of a tree has more or fewer numbers"),
        ("cat_boundaries=0 1 2", "cat_boundaries=0 1 9223372036854775807", "cat_boundaries of a tree do not fit"),
        ("cat_threshold=", "cat_threshold=9", "not of 32 bits|do not fit"),
        ("threshold=0 1", "threshold=0 0", "2 categorical splits for 2 sets"),
        ("num_cat=2", "num_cat=3", "2 categorical splits for 3 sets"),
    ):
        assert old in text
        with pytest.raises(ModelFileError, match=message):
            loaded(tmp_path, text.replace(old, new, 1))


@given(st.data())
def test_damaged_texts_are_refused_or_read(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = model_text(np.random.default_rng(0), (3, 1, 4), kinds=(0, 1, 2, 4, 9)).encode()
        place = data.draw(st.integers(0, len(text) - 1))
        way = data.draw(st.sampled_from(["cut", "flip", "drop", "twice"]))
        length = data.draw(st.integers(1, 60))
        damaged = {
            "cut": text[:place],
            "flip": text[:place] + bytes([text[place] ^ data.draw(st.integers(1, 255))]) + text[place + 1 :],
            "drop": text[:place] + text[place + length :],
            "twice": text[: place + length] + text[place:],
        }[way]
        refused_or_read(damaged)


def refused_or_read(damaged):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(damaged)
        try:
            bh.load(path).predict(np.zeros((2, 3), np.float32))
        except (ModelFileError, ValueError) as error:
            # A forest of fewer features may be read; else the file is named.
            assert isinstance(error, ModelFileError) or "features, but the forest" in str(error)  # noqa: PT017


def test_texts_that_are_cut_off_are_refused(text, tmp_path):
    end = text.index("end of trees")
    for place in range(5, end, 7):
        with pytest.raises(ModelFileError):
            loaded(tmp_path, text[:place])


SPLIT = {
    "split_index": 0, "split_feature": 0, "split_gain": 1, "threshold": 0.5, "decision_type": "<=",
    "default_left": True, "missing_type": "None", "internal_value": 0, "internal_weight": 0, "internal_count": 5,
    "left_child": {"leaf_index": 0, "leaf_value": 1.5, "leaf_weight": 2, "leaf_count": 2},
    "right_child": {"leaf_index": 1, "leaf_value": 2.5, "leaf_weight": 3, "leaf_count": 3},
}  # fmt: skip
MODEL = {
    "name": "tree", "version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0,
    "max_feature_idx": 0, "objective": "regression", "average_output": False, "feature_names": ["a"],
    "monotone_constraints": [], "feature_infos": {"a": {"min_value": 0, "max_value": 1, "values": []}},
    "tree_info": [{"tree_index": 0, "num_leaves": 2, "num_cat": 0, "shrinkage": 1, "tree_structure": SPLIT}],
    "feature_importances": {}, "pandas_categorical": None,
}  # fmt: skip


def replaced(place, value):
    """Return the model with something else in one place: keys and indices from the outside in."""
    model = json.loads(json.dumps(MODEL))
    at = model
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return model


ROOT = ("tree_info", 0, "tree_structure")


def test_a_json_object_is_read():
    forest = read_json(MODEL)
    assert forest.predict(np.array([[0.5], [0.6]], np.float32)).tolist() == [1.5, 2.5]
    assert forest.feature_names == ("a",)
    assert forest.n_rows.tolist() == [5, 2, 3]
    categorical = replaced(ROOT, {**SPLIT, "threshold": "1||40", "decision_type": "=="})
    assert read_json(categorical).predict(np.array([[40.0], [0.0]], np.float32)).tolist() == [1.5, 2.5]
    assert read_json(replaced(ROOT, {"leaf_value": 3})).predict(np.zeros((1, 1))).tolist() == [3.0]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("version",), "v9", "has version 'v9'"),
        (("version",), ["v4"], "has version"),
        (("max_feature_idx",), -1, "max_feature_idx must be a whole number"),
        (("max_feature_idx",), True, "max_feature_idx must be a whole number"),
        (("feature_names",), ["a", "b"], "feature_names must be 1 texts"),
        (("feature_infos",), [], "feature_infos must say"),
        (("feature_infos", "a"), 3, "feature_infos must say"),
        (("objective",), 3, "objective must be a text"),
        (("objective",), "", "does not know the objective ''"),
        (("average_output",), "no", "average_output must be true or false"),
        (("tree_info",), [], "the model has no trees"),
        (("tree_info",), None, "tree_info must be a list"),
        (("tree_info", 0), None, "a tree must have a tree_structure"),
        ((*ROOT, "split_index"), 1, "must be numbered from 0"),
        ((*ROOT, "split_feature"), 5, "feature that is not between 0 and 0"),
        ((*ROOT, "split_feature"), 2**70, "split_feature must be a whole number"),
        ((*ROOT, "threshold"), "x", "threshold must be a number"),
        ((*ROOT, "threshold"), float("nan"), "threshold must be a number"),
        ((*ROOT, "threshold"), 10**400, "threshold must be a number"),
        ((*ROOT, "decision_type"), "<", "known are '<=' and '=='"),
        ((*ROOT, "decision_type"), "==", "a categorical split has threshold '0.5'"),
        ((*ROOT, "missing_type"), "Half", "missing_type 'Half'"),
        ((*ROOT, "missing_type"), ["NaN"], "missing_type"),
        ((*ROOT, "default_left"), 1, "default_left 1"),
        ((*ROOT, "slope"), 1, "a split has 'slope', which is not known"),
        ((*ROOT, "left_child"), 1, "must have a left_child"),
        ((*ROOT, "left_child", "leaf_index"), 1, "must be numbered from 0"),
        ((*ROOT, "left_child", "leaf_value"), None, "leaf_value must be a number"),
        ((*ROOT, "left_child", "leaf_coeff"), [1], "linear functions in the leaves"),
        ((*ROOT, "left_child", "curve"), [1], "a leaf has 'curve', which is not known"),
        ((*ROOT, "left_child"), SPLIT, "must be numbered from 0"),
        (("pandas_categorical",), [1], "must be a list of categories"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_json_that_is_not_known_is_refused(place, value, message):
    with pytest.raises(ModelFileError, match=message):
        read_json(replaced(place, value))


PLACES = [(key,) for key in MODEL] + [(*ROOT, key) for key in SPLIT] + [(*ROOT, "left_child", "leaf_index")]
ODD_VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**70,
    1e300,
    float("inf"),
    "",
    "x",
    "1||2",
    [],
    [1],
    [[]],
    {},
    {"a": {}},
    SPLIT,
]


@given(st.sampled_from(PLACES), st.sampled_from(ODD_VALUES))
def test_made_up_json_is_refused_or_read(place, value):
    with suppress(ModelFileError):
        read_json(replaced(place, value))


def test_lists_of_categories_are_not_tried_on_millions_of_columns():
    lists, ranges = [["a", "b"]] * 3_200, [ColumnRange(is_categorical=True, low=None, high=1.0)] * 3_200
    with pytest.raises(ValueError, match="there are 3,200 columns with pandas' categories among 3,200;"):
        _columns._places(lists, ranges)
    assert _columns._places(lists[:90], ranges[:90]) == list(range(90))
