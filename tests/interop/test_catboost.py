"""CatBoost's models, against CatBoost itself: the same leaf, the same score, the same class for every row."""

import json
import sys
import tempfile
from contextlib import nullcontext, suppress
from copy import deepcopy
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import billhook as bh
import naive.forest
from billhook.forest import as_rows, categories_of
from billhook.interop.catboost import _binary, read, read_json
from billhook.interop.catboost._binary import BinaryModel, Of
from billhook.interop.catboost._flatbuffers import Buffer
from billhook.interop.catboost._flatbuffers import root as root_table
from made_up import N_ROWS as N_TRICKY

catboost = pytest.importorskip("catboost", reason="catboost is not installed: pip install 'billhook[catboost]'")

QUICK = {"iterations": 4, "depth": 3, "allow_writing_files": False, "thread_count": 1, "verbose": 0}
SHAPES = ("SymmetricTree", "Depthwise", "Lossguide")
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.0], np.float32)
N_ROWS = 80


def numbers(rng, n_rows=N_ROWS, n_features=3, missing=0.1):
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])  # many equal ones
    X[rng.random(X.shape) < missing] = np.nan
    return X


def tricky(rng, X, forest):
    """Return rows on the borders, one float beside them, and with values that no training row had."""
    by_threshold = (forest.feature >= 0) & (forest.category_set < 0)
    border = forest.threshold[by_threshold]
    with np.errstate(over="ignore"):  # beyond the largest float32 number, a border of its own
        beside = [np.nextafter(border, np.float32(end)) for end in (-np.inf, np.inf)]
    near = np.concatenate([border, *beside, ODD])
    return np.where(rng.random(X.shape) < 0.6, rng.choice(near, X.shape), X).astype(np.float32)


def assert_same(forest, model, rows, has_bias=False):
    """`rows` are what CatBoost takes, an array or a frame, and the forest takes them too."""
    pool = catboost.Pool(rows, cat_features=model.get_cat_feature_indices())
    if isinstance(rows, pd.DataFrame):
        rows = as_rows(rows, forest)  # encoded once, as it takes most of the time
    leaf, number = forest.apply(rows), model.calc_leaf_indexes(pool)
    values = np.asarray(model.get_leaf_values()).reshape(-1, forest.value.shape[1])
    first = np.cumsum([0, *model.get_tree_leaf_counts().tolist()])
    for tree in range(forest.n_trees):
        pairs = np.unique(np.stack([leaf[:, tree], number[:, tree]], axis=1), axis=0)
        assert len(pairs) == len(np.unique(leaf[:, tree])) == len(np.unique(number[:, tree]))
        np.testing.assert_array_equal(
            forest.value[forest.offset[tree] + pairs[:, 0].astype(int)], values[first[tree] + pairs[:, 1].astype(int)]
        )
    raw = model.predict(pool, prediction_type="RawFormulaVal")
    if has_bias:  # it is added last there, and first here
        np.testing.assert_allclose(forest.decision_function(rows), raw, rtol=1e-12, atol=1e-14)
    else:
        np.testing.assert_array_equal(forest.decision_function(rows), raw)
    if forest.task == "classification":
        np.testing.assert_array_equal(forest.predict(rows), model.predict(pool, prediction_type="Class").reshape(-1))
        probability = model.predict(pool, prediction_type="Probability")
        # Each has an exponential function of its own.
        np.testing.assert_allclose(forest.predict_proba(rows), probability, rtol=1e-12)


def json_of(model, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", **options)
        return json.loads(path.read_bytes())


def loaded(model, **options):
    """Return the forest in a JSON file of the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save_model(str(path), format="json", **options)
        return bh.load(path)


@st.composite
def fitted(draw, losses=("Logloss", "MultiClass", "RMSE")):
    """Any small model of numbers, and its rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    loss = draw(st.sampled_from(losses))
    nan_mode = draw(st.sampled_from(["Min", "Max", "Forbidden"]))
    X = numbers(rng, n_features=draw(st.integers(1, 4)), missing=0.0 if nan_mode == "Forbidden" else 0.15)
    options = {
        "grow_policy": draw(st.sampled_from(SHAPES)),
        "depth": draw(st.integers(1, 4)),
        "iterations": draw(st.integers(1, 6)),
        "border_count": draw(st.sampled_from([1, 3, 32, 300])),
        "nan_mode": nan_mode,
        "loss_function": loss,
        "random_strength": draw(st.sampled_from([0, 1, 1000])),  # 1000: any split
    }
    if options["grow_policy"] == "Lossguide":
        options["max_leaves"] = draw(st.integers(2, 12))
    score = np.nan_to_num(X).sum(axis=1) + rng.normal(size=len(X))
    n_classes = {"Logloss": 2, "MultiClass": draw(st.integers(2, 5)), "RMSE": 0}[loss]
    y = np.argsort(np.argsort(score)) * n_classes // len(X) if n_classes else score
    model = catboost.CatBoost(QUICK | options).fit(X, y)
    return rng, model, X


@given(fitted())
def test_every_row_falls_into_the_leaves_that_catboost_puts_it_in(case):
    rng, model, X = case
    forest = bh.as_forest(model)
    has_bias = bool(forest.base.any())
    for rows in (X, tricky(rng, X[rng.integers(len(X), size=N_TRICKY)], forest)):
        assert_same(forest, model, rows, has_bias)
    assert forest.n_features == X.shape[1]


COLOURS = ("red", "green", "blue", "Grün", "", "1", "NA", "a,b")


@st.composite
def fitted_on_categories(draw):
    """Any small model of numbers and categories, and its rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = ["text", *draw(st.lists(st.sampled_from(["number", "text", "whole", "bool", "declared"]), max_size=3))]
    kinds = draw(st.permutations(kinds))
    columns = {}
    for place, kind in enumerate(kinds):
        columns[f"{kind} {place}"] = {
            "number": lambda: rng.normal(size=N_ROWS).astype(np.float32),
            "text": lambda: rng.choice(COLOURS[: rng.integers(2, len(COLOURS))], N_ROWS),
            "whole": lambda: rng.integers(-2, 5, N_ROWS),
            "bool": lambda: rng.random(N_ROWS) < 0.5,
            "declared": lambda: pd.Categorical(rng.choice(list("pqr"), N_ROWS)),
        }[kind]()
    X = pd.DataFrame(columns)
    options = {
        "grow_policy": draw(st.sampled_from(SHAPES)),
        "depth": draw(st.integers(1, 4)),
        "one_hot_max_size": 255,
        "random_strength": draw(st.sampled_from([1, 1000])),
        "loss_function": draw(st.sampled_from(["Logloss", "MultiClass"])),
        "cat_features": [name for name in X.columns if not name.startswith("number")],
    }
    y = rng.permutation(np.arange(N_ROWS) % (2 if options["loss_function"] == "Logloss" else 3))
    return rng, catboost.CatBoost(QUICK | options).fit(X, y), X


@given(fitted_on_categories())
def test_a_frame_with_its_categories_is_taken_as_catboost_takes_it(case):
    rng, model, X = case
    forest = loaded(model, pool=X)
    other = X.copy()
    for name in X.columns:
        chosen = rng.random(N_ROWS) < 0.3
        if name.startswith("text"):
            other.loc[chosen, name] = "unseen"
        elif name.startswith("whole"):
            other.loc[chosen, name] = 99
        elif name.startswith("declared"):
            other[name] = X[name].cat.add_categories(["z"]).where(~chosen, "z")
    for rows in (X, other):
        assert_same(forest, model, rows)


def test_categories_that_are_whole_numbers_only_are_refused():
    """A frame of numbers would be taken for one of features, and predicted wrongly."""
    X = pd.DataFrame({"code": np.arange(N_ROWS) % 7})
    model = catboost.CatBoostRegressor(**QUICK, one_hot_max_size=9, cat_features=["code"])
    model.fit(X, X["code"] % 3)
    with pytest.raises(bh.ModelFileError, match="all categories of this model, of the feature 'code', are numbers"):
        loaded(model, pool=X)


def test_categories_keep_their_names_and_unknown_ones_match_none():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "green", "blue"], 200)})
    y = (X["colour"] == "red") * 2.0 + (X["colour"] == "blue")
    model = catboost.CatBoostRegressor(**QUICK, one_hot_max_size=9, cat_features=["colour"]).fit(X, y)
    forest = loaded(model, pool=X)
    column = forest.encoding.columns[1]
    assert (column.name, column.kind) == ("colour", "ordered")
    assert set(column.categories) <= {"red", "green", "blue"}
    assert forest.n_sets == len(column.categories)
    for node in np.flatnonzero(forest.category_set >= 0):
        assert len(categories_of(forest, forest.category_set[node])) == 1
    unknown = X.assign(colour="violet")
    np.testing.assert_allclose(forest.predict(unknown), model.predict(unknown), rtol=1e-12)
    without = forest.predict(X.assign(colour=None))
    np.testing.assert_array_equal(without, forest.predict(unknown))


def test_a_column_that_no_split_asks_for_may_hold_anything():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"word": ["a", "b"] * 50, "x": rng.normal(size=100)})
    model = catboost.CatBoostRegressor(**QUICK, cat_features=["word"]).fit(X.assign(word="a"), X["x"] > 0)
    forest = bh.as_forest(model)
    np.testing.assert_allclose(forest.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "link"),
    [
        *((loss, "identity") for loss in ("RMSE", "MAE", "Quantile:alpha=0.3", "MAPE", "Huber:delta=1", "LogCosh")),
        *((loss, "identity") for loss in ("Lq:q=3", "Expectile:alpha=0.3", "LogLinQuantile", "Cox")),
        ("Poisson", "exp"),
        ("Tweedie:variance_power=1.5", "exp"),
    ],
)
def test_regressors_predict_what_catboost_predicts(loss, link):
    rng = np.random.default_rng(1)
    X = numbers(rng)
    model = catboost.CatBoostRegressor(**QUICK, loss_function=loss).fit(X, rng.random(N_ROWS) + 0.1)
    forest = bh.as_forest(model)
    assert (forest.link, forest.origin) == (link, "catboost.CatBoostRegressor")
    rows = tricky(rng, X, forest)
    assert_same(forest, model, rows, has_bias=True)
    np.testing.assert_allclose(forest.predict(rows), model.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("loss", ["YetiRank", "QueryRMSE", "PairLogit", "QuerySoftMax", "LambdaMart:metric=NDCG"])
def test_rankers_predict_scores(loss):
    rng = np.random.default_rng(2)
    X = numbers(rng)
    model = catboost.CatBoostRanker(**QUICK, loss_function=loss)
    model.fit(X, rng.integers(0, 3, N_ROWS), group_id=np.arange(N_ROWS) // 10)
    forest = bh.as_forest(model)
    assert forest.task == "regression"
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [7, -1], ["no", "yes"], [False, True], [0.5, 2.0], [1.0, 2.0], [3, 2**40, 5], ["c", "a", "b"]],
    ids=str,
)
def test_labels_are_those_of_catboost(labels, tmp_path):
    rng = np.random.default_rng(3)
    X = numbers(rng)
    y = np.array(labels)[rng.permutation(np.arange(N_ROWS) % len(labels))]
    model = catboost.CatBoostClassifier(**QUICK).fit(X, y)
    forest = bh.as_forest(model)
    assert forest.classes.tolist() == model.classes_.tolist()
    assert_same(forest, model, X)
    forest.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path / "model.bhk") == forest


@pytest.mark.parametrize(
    ("options", "y"),
    [
        ({"loss_function": "CrossEntropy"}, np.arange(N_ROWS) % 4 / 4),
        ({"loss_function": "Focal:focal_alpha=0.5;focal_gamma=2"}, np.arange(N_ROWS) % 2),
        ({"loss_function": "Logloss", "target_border": 3.5}, np.arange(N_ROWS) % 7),
        ({"class_names": [1, 0]}, np.arange(N_ROWS) % 2),
        ({"class_names": ["c", "b", "a"]}, np.array(list("abc"))[np.arange(N_ROWS) % 3]),
        ({"loss_function": "MultiClass", "classes_count": 3}, np.arange(N_ROWS) % 3),
        ({"auto_class_weights": "Balanced"}, np.arange(N_ROWS) % 5 // 4),
    ],
    ids=lambda part: str(part) if isinstance(part, dict) else "",
)
def test_classifiers_of_all_kinds_are_read(options, y):
    X = numbers(np.random.default_rng(4))
    model = catboost.CatBoostClassifier(**QUICK, **options).fit(X, y)
    assert_same(bh.as_forest(model), model, X)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_of_several_outputs_is_read(shape):
    rng = np.random.default_rng(5)
    X = numbers(rng)
    labels = (np.nan_to_num(X) > 0).astype(int)
    options = {**QUICK, "grow_policy": shape}
    model = catboost.CatBoostClassifier(**options, loss_function="MultiLogloss").fit(X, labels)
    for k in range(3):
        forest = read(model, output=k)
        assert forest.link == "logistic"
        np.testing.assert_array_equal(forest.predict(X), model.predict(X)[:, k])
        np.testing.assert_allclose(forest.predict_proba(X)[:, 1], model.predict_proba(X)[:, k], rtol=1e-12)
    model = catboost.CatBoostClassifier(**options, loss_function="MultiClassOneVsAll").fit(X, np.arange(N_ROWS) % 3)
    for k in range(3):
        np.testing.assert_allclose(read(model, k).predict_proba(X)[:, 1], model.predict_proba(X)[:, k], rtol=1e-12)
    for loss, y in (("MultiRMSE", np.nan_to_num(X)[:, :2]), ("MultiQuantile:alpha=0.2,0.8", np.nan_to_num(X)[:, 1])):
        if shape == "SymmetricTree" or loss == "MultiRMSE":
            model = catboost.CatBoostRegressor(**options, loss_function=loss).fit(X, y)
            for k in range(2):
                np.testing.assert_allclose(read(model, output=k).predict(X), model.predict(X)[:, k], rtol=1e-12)
    with pytest.raises(ValueError, match="output must be a number from 0 to 1, not 2"):
        read(model, output=2)


def test_scale_and_bias_and_sums_of_models_are_read():
    rng = np.random.default_rng(6)
    X = numbers(rng)
    y = np.nan_to_num(X)
    a = catboost.CatBoostRegressor(**QUICK).fit(X, y[:, 0])
    b = catboost.CatBoostRegressor(**QUICK).fit(X, y[:, 1])
    both = catboost.sum_models([a, b], weights=[0.5, 2.0])
    np.testing.assert_allclose(bh.as_forest(both).predict(X), both.predict(X), rtol=1e-12)
    a.set_scale_and_bias(-2.0, 3.0)
    forest = bh.as_forest(a)
    assert (forest.tree_weight == -2.0).all()
    np.testing.assert_allclose(forest.predict(X), a.predict(X), rtol=1e-12)
    classifier = catboost.CatBoostClassifier(**QUICK).fit(X, np.arange(N_ROWS) % 3)
    both = catboost.sum_models([classifier, classifier])
    np.testing.assert_array_equal(bh.as_forest(both).decision_function(X), both.predict(X))


def test_notes_beside_a_model_are_not_read(tmp_path):
    X, y = numbers(np.random.default_rng(0), 40), np.arange(40) % 2
    model = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=False, allow_writing_files=False).fit(X, y)
    forest = bh.as_forest(model)
    model.get_metadata()["my_params"] = "learned on Monday"
    assert bh.as_forest(model) == forest
    model.save_model(tmp_path / "model.cbm")
    np.testing.assert_array_equal(bh.load(tmp_path / "model.cbm").predict_proba(X), forest.predict_proba(X))
    model.get_metadata()["params"] = "learned on Monday"
    with pytest.raises(bh.ModelFileError, match="params of this CatBoost model: this is not JSON"):
        bh.as_forest(model)


def test_a_table_of_very_many_fields_is_refused():
    n_bytes = 2 * 30_000
    directory = n_bytes.to_bytes(2, "little") + bytes(n_bytes - 2)
    data = (4 + n_bytes).to_bytes(4, "little") + directory + n_bytes.to_bytes(4, "little")
    with pytest.raises(bh.ModelFileError, match="damaged"):
        root_table(memoryview(data), 3, "model")


def test_float64_rows_are_rounded_as_catboost_rounds_them():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N_ROWS, 2))
    model = catboost.CatBoostRegressor(**QUICK, boost_from_average=False).fit(X, X[:, 0])
    forest = bh.as_forest(model)
    border = forest.threshold[forest.feature == 0].astype(np.float64)
    rows = np.concatenate([border, np.nextafter(border, np.inf), border * (1 + 4e-8), border * (1 - 4e-8)])
    assert_same(forest, model, np.stack([rows, rows], axis=1))


def test_missing_values_go_where_they_went_in_training_only_if_there_were_some():
    rng = np.random.default_rng(8)
    whole = numbers(rng, missing=0.0)
    some = whole.copy()
    some[::5, 0] = np.nan
    y = np.isnan(some[:, 0]) * 5.0 + whole[:, 0]
    missing = np.full((1, 3), np.nan, np.float32)
    for X in (whole, some):
        model = catboost.CatBoostRegressor(**QUICK, nan_mode="Max").fit(X, y)
        np.testing.assert_allclose(bh.as_forest(model).predict(missing), model.predict(missing), rtol=1e-12)


def test_levels_of_symmetric_trees_stay_side_by_side():
    rng = np.random.default_rng(9)
    X = numbers(rng)
    model = catboost.CatBoostRegressor(**QUICK).fit(X, rng.normal(size=N_ROWS))
    forest = bh.as_forest(model)
    for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        depth = int(np.log2(end - begin + 1)) - 1
        for level in range(depth):
            nodes = slice(begin + 2**level - 1, begin + 2 ** (level + 1) - 1)
            for name in ("feature", "threshold", "missing_left"):
                assert len(set(getattr(forest, name)[nodes].tolist())) == 1
        np.testing.assert_array_equal(forest.left[begin : begin + 2**depth - 1], 2 * np.arange(2**depth - 1) + 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_nodes_know_their_rows_and_what_they_would_predict(shape):
    rng = np.random.default_rng(10)
    X = numbers(rng)
    model = catboost.CatBoostRegressor(**QUICK, grow_policy=shape).fit(X, rng.normal(size=N_ROWS))
    forest = bh.as_forest(model)
    roots = forest.offset[:-1]
    assert (forest.n_rows[roots] == N_ROWS).all()
    leaf = forest.apply(X)
    for tree, root in enumerate(roots):
        ids, counts = np.unique(leaf[:, tree], return_counts=True)
        np.testing.assert_array_equal(forest.n_rows[root + ids.astype(int)], counts)
        mean = forest.value[root + leaf[:, tree].astype(int), 0].mean()
        np.testing.assert_allclose(forest.value[root, 0], mean, atol=1e-12)
    weighted = catboost.CatBoostRegressor(**QUICK, grow_policy=shape)
    weighted.fit(X, rng.normal(size=N_ROWS), sample_weight=np.full(N_ROWS, 0.3))
    forest = bh.as_forest(weighted)
    assert not forest.n_rows.any()
    np.testing.assert_allclose(forest.row_weight[forest.offset[:-1]], 0.3 * N_ROWS, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_splits_are_ranked_by_the_variance_they_explain(shape):
    rng = np.random.default_rng(11)
    X = numbers(rng)
    forest = bh.as_forest(catboost.CatBoostRegressor(**QUICK, grow_policy=shape).fit(X, rng.normal(size=N_ROWS)))
    for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        left, right, rank = (getattr(forest, name)[begin:end] for name in ("left", "right", "growth_rank"))
        value, weight = forest.value[begin:end, 0], forest.row_weight[begin:end]
        gain = np.zeros(left.size)
        for node in np.flatnonzero(left >= 0):
            children = [left[node], right[node]]
            gain[node] = (weight[children] * (value[children] - value[node]) ** 2).sum()
        order = np.argsort(rank)[np.count_nonzero(rank < 0) :]
        # Of splits that say as much, either may come first.
        expected = naive.forest.best_first_order(left, right, gain)
        np.testing.assert_allclose(gain[order], gain[expected], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_tests", "passes"), [(5, True), (4, False)])
def test_no_split_asks_for_more_than_there_is(n_tests, passes):
    # For leaves, whose number is -1, there is one entry more.
    tests = mock.Mock(feature=np.zeros(n_tests + 1, np.int32))
    with nullcontext() if passes else pytest.raises(bh.ModelFileError, match="number 4, and the features have 4"):
        _binary._check_tests(np.array([0, 4], np.int32), tests)


def test_splits_that_say_most_stay_when_trees_are_cut_back():
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 10, np.float32)
    model = catboost.CatBoostRegressor(**QUICK | {"depth": 2, "iterations": 1}, random_strength=0)
    forest = bh.as_forest(model.fit(X, 10 * X[:, 0] + X[:, 1])).truncate(max_leaves=2)
    assert forest.feature[0] == 0
    assert forest.n_leaves == 2
    predicted = forest.predict(X)
    assert predicted[X[:, 0] == 1].mean() > predicted[X[:, 0] == 0].mean()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_whole_chain_runs_on_what_was_read(shape):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    forest = bh.as_forest(catboost.CatBoostClassifier(**QUICK | {"iterations": 8}, grow_policy=shape).fit(X, y))
    small = forest.truncate(max_leaves=6).select(range(4))
    merged = bh.merge(small, X, y, max_leaves=12)
    refined = bh.refine(small, X, y, random_state=0)
    assert merged.n_leaves <= 12
    for one in (forest, small, merged, refined):
        packed = bh.pack(one, threshold_bits="exact", leaf_bits=16)
        assert (packed.predict(X) == one.predict(X)).all()


X_ONE = numbers(np.random.default_rng(12))
Y_ONE = np.arange(N_ROWS) % 2
TEXT = pd.DataFrame({"x": np.arange(N_ROWS), "word": ["red apple", "green pear"] * (N_ROWS // 2)})


def classifier(**options):
    return catboost.CatBoostClassifier(**QUICK, **options)


def with_threshold():
    model = classifier().fit(X_ONE, Y_ONE)
    model.set_probability_threshold(0.3)
    return model


def on_words(names, **options):
    frame = pd.DataFrame({"x": np.arange(N_ROWS), "word": np.array([*names])[np.arange(N_ROWS) % len(names)]})
    return classifier(cat_features=["word"], **options).fit(frame, Y_ONE)


def on_embeddings():
    frame = pd.DataFrame({"x": np.arange(N_ROWS), "place": list(np.eye(4)[np.arange(N_ROWS) % 4])})
    return classifier(embedding_features=["place"]).fit(frame, Y_ONE)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: classifier(), ValueError, "this CatBoostClassifier is not fitted yet: call fit first"),
        (lambda: catboost.Pool(X_ONE), TypeError, "cannot read catboost's Pool; pass a fitted model"),
        (
            lambda: on_words("abcdefgh", one_hot_max_size=2),
            TypeError,
            r"counters \(CTR\) of categories, .* for the feature 'word': train with one_hot_max_size=255",
        ),
        (
            lambda: on_words("ab", one_hot_max_size=9),
            TypeError,
            r"'word' is split by categories, .*hashes only: .*save_model\('model.json', format='json', pool=X\)",
        ),
        (
            lambda: classifier(text_features=["word"]).fit(TEXT, Y_ONE),
            TypeError,
            "no text features: turn 'word' into",
        ),
        (on_embeddings, TypeError, "no embedding features: turn 'place' into"),
        (with_threshold, TypeError, r"probability threshold 0.3: .*set_probability_threshold\(None\)"),
        (
            lambda: classifier(loss_function="MultiClassOneVsAll").fit(X_ONE, np.arange(N_ROWS) % 3),
            ValueError,
            "a model for MultiClassOneVsAll has 3 outputs, and a forest has one: choose it with output=0 to 2",
        ),
        (
            lambda: classifier(loss_function="MultiLogloss").fit(X_ONE, np.stack([Y_ONE, 1 - Y_ONE], axis=1)),
            ValueError,
            "a model for MultiLogloss has 2 outputs, and a forest has one: choose it with output=0 to 1",
        ),
        (
            lambda: catboost.CatBoostRegressor(**QUICK, loss_function="RMSEWithUncertainty").fit(X_ONE, Y_ONE),
            TypeError,
            "RMSEWithUncertainty has two: train for RMSE",
        ),
        (
            lambda: classifier(loss_function="MultiClass", class_names=[0, 1, 2]).fit(X_ONE, Y_ONE * 2),
            TypeError,
            "classes that occurred in training; 1 did not: leave it out of class_names",
        ),
    ],
)
def test_what_cannot_be_read_exactly_is_refused_by_name(make, error, message):
    model = make()
    with pytest.raises(error, match=message):
        bh.as_forest(model)


def test_an_output_is_chosen_only_where_there_are_several():
    model = classifier().fit(X_ONE, Y_ONE)
    assert read(model, output=0) == read(model)
    with pytest.raises(ValueError, match="there is no output 1; a model for Logloss has one output"):
        read(model, output=1)


@pytest.mark.parametrize(("names", "other"), [([" a", "b"], "a"), (["True", "true"], "[tT]rue")])
def test_categories_that_tables_cannot_tell_apart_are_refused(names, other):
    frame = pd.DataFrame({"x": np.arange(N_ROWS), "word": np.array(names)[Y_ONE]})
    model = on_words(names, one_hot_max_size=9)
    with pytest.raises(bh.ModelFileError, match=f"model: the category '.*' cannot be told from '{other}' in a table"):
        loaded(model, pool=frame)


def put(path, value):
    """Return a change that sets one entry of a model; `path` leads there."""

    def change(model):
        *way, last = path
        for step in way:
            model = model[step]
        if value is None and isinstance(model, dict):
            model.pop(last)
        else:
            model[last] = value

    return change


MODEL = {shape: json_of(classifier(grow_policy=shape).fit(X_ONE, Y_ONE)) for shape in SHAPES[:2]}
TREE = ("oblivious_trees", 0)
FLOAT = ("features_info", "float_features", 0)
CLASSES = ("model_info", "class_params")


@pytest.mark.parametrize(
    ("shape", "path", "value", "message"),
    [
        (0, ("features_info",), {}, "no features"),
        (0, ("features_info",), [], "features_info is not a JSON object"),
        (
            0,
            ("features_info", "text_features"),
            [],
            "features_info has 'text_features', which Billhook does not know",
        ),
        (0, ("new_part",), 1, "the model has 'new_part'"),
        (0, (*FLOAT, "flat_feature_index"), 2**40, "flat_feature_index is not a whole number"),
        (0, (*FLOAT, "flat_feature_index"), 1, "feature 1 is there twice"),
        (0, (*FLOAT, "flat_feature_index"), 7, "feature number 0 is neither"),
        (0, (*FLOAT, "nan_value_treatment"), "AsZero", "nan_value_treatment 'AsZero'"),
        (0, (*FLOAT, "borders"), [1, 0], "borders of a feature do not rise"),
        (0, (*FLOAT, "borders"), ["1"], "borders is not a list of finite numbers"),
        (0, (*FLOAT, "borders"), [10**400], "borders is not a list of finite numbers"),
        (0, (*FLOAT, "borders"), [], "features_info has no such border"),
        (0, (*FLOAT, "feature_id"), 5, "feature_id is not text"),
        (0, ("oblivious_trees",), [], "has no trees"),
        (0, ("oblivious_trees",), None, "has no trees"),
        (0, ("oblivious_trees",), {"0": 1}, "trees is not a list"),
        (0, (*TREE, "leaf_values"), [1.0] * 7, "a tree of 3 levels has 7 leaf values"),
        (0, (*TREE, "leaf_values"), [1.0] * 16, "different numbers of values"),
        (0, (*TREE, "leaf_values"), [float("nan")] * 8, "not a list of finite numbers"),
        (0, (*TREE, "leaf_values"), [[1.0]] * 8, "not a list of finite numbers"),
        (0, (*TREE, "leaf_values"), [[1.0], 1.0], "leaf_values is not a list of numbers"),
        (0, (*TREE, "leaf_weights"), [1.0], "8 leaves has 1 leaf weights"),
        (0, (*TREE, "leaf_weights"), [-1.0] * 8, "weight of a leaf is negative"),
        (0, (*TREE, "leaf_weights"), [1.7e308] * 8, "holds numbers that are not finite"),
        (0, (*TREE, "splits"), [{}] * 1000, "1000 levels; CatBoost's have 16 at most"),
        (0, (*TREE, "splits"), [1] * 3, "split is not a JSON object"),
        (0, (*TREE, "splits", 0, "split_type"), "OnlineCtr", "of the type 'OnlineCtr'"),
        (0, (*TREE, "splits", 0, "split_index"), 10**6, "no such border"),
        (0, (*TREE, "splits", 0, "border"), 123.0, "no such border"),
        (0, (*TREE, "splits", 0, "border"), [1], "no such border"),
        (0, (*TREE, "splits", 0, "float_feature_index"), -1, "no such border"),
        (0, ("scale_and_bias",), [1], "scale_and_bias is not a pair"),
        (0, ("scale_and_bias",), ["1", [0]], "the scale is not a list of finite numbers"),
        (0, ("scale_and_bias",), [1, [1, 2]], "there are 2 biases for 1 values"),
        (0, ("model_info",), {}, "does not say for which loss_function"),
        (0, ("model_info",), 5, "model_info is not a JSON object"),
        (
            0,
            ("model_info", "params", "loss_function", "type"),
            "NewLoss",
            "does not know the loss function 'NewLoss'",
        ),
        (
            0,
            ("model_info", "params", "loss_function", "type"),
            "PythonUserDefinedPerObject",
            "not for a loss of your own",
        ),
        (0, ("model_info", "binclass_probability_threshold"), "half", "threshold is not a number"),
        (0, CLASSES, 5, "class_params is not a JSON object"),
        (0, (*CLASSES, "class_names"), [1], "1 labels for 2 classes"),
        (0, (*CLASSES, "class_names"), ["a", 1], "not of the type Integer"),
        (0, (*CLASSES, "class_names"), [2**70, 1], "class label is too large"),
        (0, (*CLASSES, "class_names"), [1, 1], "different labels"),
        (0, (*CLASSES, "class_label_type"), "Complex", "class_label_type 'Complex'"),
        (1, ("trees",), [5], "a node of a tree is not a JSON object"),
        (1, ("trees", 0, "left"), None, "neither a value nor a split and two children"),
        (1, ("trees", 0, "left"), {"value": [1.0, 2.0]}, "leaves have different numbers of values"),
        (1, ("trees", 0), {"value": [1.0, 2.0]}, "trees have different numbers of values"),
        (1, ("trees", 0), {"value": []}, "leaves have different numbers of values"),
        (1, ("trees", 0), {"value": 1, "gain": 2}, "a leaf has 'gain'"),
        (1, ("trees", 0, "split", "split_index"), 0.5, "no such border"),
    ],
)
def test_a_model_that_is_made_up_is_refused(shape, path, value, message):
    model = deepcopy(MODEL[SHAPES[shape]])
    put(path, value)(model)
    with pytest.raises(bh.ModelFileError, match=message):
        read_json(model)


def test_a_loss_of_ones_own_is_read_as_numbers():
    model = deepcopy(MODEL["SymmetricTree"])
    put(("model_info", "params", "loss_function", "type"), "PythonUserDefinedPerObject")(model)
    put(CLASSES, None)(model)
    np.testing.assert_array_equal(
        read_json(model).predict(X_ONE), read_json(MODEL["SymmetricTree"]).decision_function(X_ONE)
    )


@pytest.mark.parametrize("path", [("scale_and_bias",), CLASSES, (*CLASSES, "class_names")], ids=str)
def test_parts_that_old_models_lack_may_be_missing(path):
    for model in MODEL.values():
        changed = deepcopy(model)
        put(path, None)(changed)
        assert read_json(changed) == read_json(model)


def test_trees_without_weights_of_leaves_are_read():
    model = deepcopy(MODEL["SymmetricTree"])
    for tree in model["oblivious_trees"]:
        del tree["leaf_weights"]
    forest = read_json(model)
    assert not forest.row_weight.any()
    assert forest.truncate(max_leaves=2).n_leaves == 2 * forest.n_trees


def places(value, way=()):
    """Yield the way to every part of a JSON value."""
    yield way
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield from places(part, (*way, step))


WAYS = {
    shape: [way for way in places(model) if way and way[:2] != ("model_info", "params")]
    for shape, model in MODEL.items()
}
JUNK = st.sampled_from(
    [None, True, -1, 0, 2, 2**31, 2**70, 1.5, -1e300, float("inf"), "", "x", [], [0], {}, {"a": 1}]
)


@given(st.sampled_from(SHAPES[:2]), st.data())
def test_whatever_stands_in_a_model_is_read_or_refused(shape, data):
    model = deepcopy(MODEL[shape])
    for _ in range(data.draw(st.integers(1, 3))):
        try:
            put(data.draw(st.sampled_from(WAYS[shape])), data.draw(JUNK))(model)
        except (KeyError, IndexError, TypeError):  # the place is gone
            continue
    with suppress(bh.ModelFileError):
        read_json(model).predict(X_ONE)


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_a_json_file_that_is_cut_off_is_refused(shape, tmp_path):
    text = json.dumps(MODEL[shape])
    path = tmp_path / "model.json"
    for end in (len(text) // 3, len(text) - 1):
        path.write_text(text[:end])
        with pytest.raises(bh.ModelFileError, match=r"model.json: this is not JSON"):
            bh.load(path)


def binary_of(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path))
        return path.read_bytes()


def load_bytes(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        path.write_bytes(data)
        return bh.load(path)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_json_and_the_binary_file_say_the_same(shape, n_classes):
    y = np.nan_to_num(X_ONE[:, 1]) if n_classes == 0 else np.arange(N_ROWS) % n_classes
    make = catboost.CatBoostClassifier if n_classes else catboost.CatBoostRegressor
    model = make(**QUICK, grow_policy=shape).fit(pd.DataFrame(X_ONE, columns=["a", "b", "c"]), y)
    forest, other = load_bytes(binary_of(model)), loaded(model)
    assert forest.origin == other.origin == "catboost.CatBoost"
    assert forest.feature_names == other.feature_names == ("a", "b", "c")
    assert str(forest.classes) == str(other.classes)
    np.testing.assert_array_equal(forest.base, other.base)
    np.testing.assert_array_equal(forest.decision_function(X_ONE), other.decision_function(X_ONE))
    # Their nodes may stand in another order.
    assert forest.offset.tolist() == other.offset.tolist()
    for name in ("feature", "threshold", "missing_left", "value", "n_rows", "row_weight", "growth_rank"):
        np.testing.assert_array_equal(np.sort(getattr(forest, name), axis=0), np.sort(getattr(other, name), axis=0))


BINARIES = [binary_of(classifier(grow_policy=shape).fit(X_ONE, Y_ONE)) for shape in SHAPES]


@pytest.mark.parametrize("whole", BINARIES, ids=SHAPES)
def test_a_binary_file_that_is_cut_off_is_refused(whole):
    for end in (4, 7, 10, len(whole) // 2, len(whole) - 1):
        with pytest.raises(bh.ModelFileError, match=r"model.bin: this CatBoost model is cut off"):
            load_bytes(whole[:end])
    with pytest.raises(bh.ModelFileError, match=r"model.bin: this CatBoost model is cut off"):
        load_bytes(whole[:4] + b"\xff" * 8 + whole[12:])  # a long length


@given(st.sampled_from(BINARIES), st.data())
def test_a_binary_file_that_is_damaged_is_read_or_refused(whole, data):
    damaged = bytearray(whole)
    place = data.draw(st.integers(4, len(whole) - 4))
    new = data.draw(st.sampled_from([b"\0", b"\xff", b"\x7f", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", None]))
    new = bytes([data.draw(st.integers(0, 255))]) if new is None else new
    damaged[place : place + len(new)] = new
    with suppress(bh.ModelFileError):
        forest = load_bytes(bytes(damaged))
        with np.errstate(over="ignore", invalid="ignore"):
            forest.decision_function(np.zeros((3, forest.n_features), np.float32))


def test_a_binary_file_of_another_format_is_refused():
    other = BINARIES[0].replace(b"FlabuffersModel_v1", b"FlabuffersModel_v2")
    with pytest.raises(bh.ModelFileError, match="of the format 'FlabuffersModel_v2', not 'FlabuffersModel_v1'"):
        load_bytes(other)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        (Of.SPLITS, lambda split: split + 10**6, "asks for border or category number 100000., and the features have"),
        (Of.SIZES, lambda size: size + 1, "the sizes of trees are not those of their"),
        (Of.STARTS, lambda start: start[::-1], "the trees do not stand one after the other"),
        (Of.LEAF_IDS, lambda leaf: leaf * 0 + 10**6, "a leaf has values that are not there"),
        (Of.STEPS, lambda step: step * 0 + 1, "a split has a child that is not there"),
        (Of.STEPS, lambda step: step * 0, "a node is the child of two nodes, or of none"),
        (Of.STEPS, lambda step: step | 2**15, "a split has a child that is not there"),
        (Of.VALUES, lambda value: value | 0x7FF00000, "the values of leaves are not finite numbers"),
    ],
)
def test_trees_of_a_binary_file_that_are_made_up_are_refused(field, change, message):
    data = bytearray(BINARIES[2])
    trees = BinaryModel(data)._trees
    numbers = trees.array(field, "<f8").view("<u4") if field is Of.VALUES else trees.array(field, "<u4")
    place = data.index(numbers.tobytes())
    data[place : place + numbers.nbytes] = change(numbers.copy()).astype("<u4").tobytes()
    with pytest.raises(bh.ModelFileError, match=message):
        load_bytes(bytes(data))


def test_tables_that_share_their_parts_take_no_memory_without_end():
    """Such as a thousand features whose borders are one vector of a thousand."""
    buffer = Buffer(memoryview(np.full(10, 20, "<u4").tobytes()))
    assert buffer.array(0, "u1").size == buffer.array(4, "u1").size == 20
    with pytest.raises(bh.ModelFileError, match="damaged"):
        buffer.array(8, "u1")


def test_files_are_read_without_the_library(tmp_path, monkeypatch):
    model = classifier().fit(X_ONE, Y_ONE)
    for kind in ("json", "cbm"):
        model.save_model(str(tmp_path / f"model.{kind}"), format=kind)
    score = model.predict(X_ONE, prediction_type="RawFormulaVal")
    monkeypatch.setitem(sys.modules, "catboost", None)
    for kind in ("json", "cbm"):
        np.testing.assert_array_equal(bh.load(tmp_path / f"model.{kind}").decision_function(X_ONE), score)
