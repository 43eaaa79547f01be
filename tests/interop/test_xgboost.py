import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

import billhook as bh
from billhook.interop import xgboost as reader
from made_up import N_ROWS

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
VERSION = tuple(map(int, xgboost.__version__.split(".")[:2]))
KEEPS_NAMES = pytest.mark.skipif(VERSION < (3, 1), reason="XGBoost 3.0 keeps no names of categories")

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
VECTOR = {"multi_strategy": "multi_output_tree", "tree_method": "hist"}
BEST_FIRST = {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0}


def tricky(X, model):
    """Rows with missing values, and values on and right below the thresholds, which go different ways."""
    rng = np.random.default_rng(0)
    forest = bh.as_forest(model)
    thresholds = forest.threshold[forest.feature >= 0]
    near = np.concatenate([thresholds, np.nextafter(thresholds, np.float32(np.inf)), [0.0]])
    rows = np.where(rng.random(X.shape) < 0.3, rng.choice(near, X.shape), X).astype(np.float32)
    return np.where(rng.random(X.shape) < 0.1, np.float32(np.nan), rows)


@pytest.mark.parametrize("options", [{}, BEST_FIRST, {"booster": "dart", "rate_drop": 0.3}, {"base_score": 0.2}])
@pytest.mark.parametrize("data", [(X2, y2), (X3, y3)], ids=["two classes", "three classes"])
def test_classifiers_are_read(options, data):
    X, y = data
    model = xgboost.XGBClassifier(n_estimators=8, **options).fit(X, y)
    forest, rows = bh.as_forest(model), tricky(X, model)
    leaves = np.asarray(model.apply(rows)).reshape(len(rows), -1)
    np.testing.assert_array_equal(forest.apply(rows), leaves)
    # It adds in float32.
    np.testing.assert_allclose(forest.predict_proba(rows), model.predict_proba(rows), atol=1e-6)
    assert (forest.predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("options", [VECTOR, {**VECTOR, **BEST_FIRST}])
def test_trees_of_all_classes_together_are_read(options):
    X, y = load_digits(return_X_y=True)
    model = xgboost.XGBClassifier(n_estimators=6, **options).fit(X, y)
    forest, rows = bh.as_forest(model), tricky(X, model)
    assert forest.n_trees == 6
    np.testing.assert_allclose(forest.predict_proba(rows), model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize(
    "objective", ["reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "count:poisson", "reg:gamma"]
)
def test_regressors_are_read(objective):
    model = xgboost.XGBRegressor(n_estimators=8, objective=objective).fit(X_n, y_n)
    rows = tricky(X_n, model)
    np.testing.assert_allclose(bh.as_forest(model).predict(rows), model.predict(rows), rtol=1e-5)
    booster = bh.as_forest(model.get_booster())
    np.testing.assert_array_equal(booster.predict(rows), bh.as_forest(model).predict(rows))


def test_random_forests_and_early_stopping_are_read():
    model = xgboost.XGBRFClassifier(n_estimators=5).fit(X2, y2)
    np.testing.assert_allclose(bh.as_forest(model).predict_proba(X2), model.predict_proba(X2), atol=1e-6)
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(X2[::2], y2[::2], eval_set=[(X2[1::2], y2[1::2])], verbose=False)
    forest = bh.as_forest(model)
    assert forest.n_trees == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    np.testing.assert_allclose(forest.predict_proba(X2), model.predict_proba(X2), atol=1e-6)


def test_names_and_packing():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(xgboost.XGBClassifier(n_estimators=3, **VECTOR).fit(frame, y))
    assert forest.feature_names == tuple(frame.columns)
    assert forest.origin == "xgboost.XGBClassifier"
    # Values that thresholds lie right below go right, with or without rows to round the thresholds with.
    for rows in ({}, {"X": frame}):
        packed = bh.pack(forest, threshold_bits=8, leaf_bits=12, **rows)
        assert (packed.predict(frame) == forest.predict(frame)).all()


def rows_near(forest, rng, n_rows, n_categories):
    """Rows on thresholds, one float beside them, and on categories that are there, beyond them or negative."""
    X = np.empty((n_rows, forest.n_features), np.float32)
    for column in range(forest.n_features):
        own = forest.threshold[(forest.feature == column) & (forest.category_set < 0)]
        near = [
            own,
            np.nextafter(own, np.float32(np.inf)),
            np.nextafter(own, np.float32(-np.inf)),
            [0.0, -0.0, 1e-45],
        ]
        values = np.concatenate([*near, np.arange(n_categories + 3) + 0.0, [-1.0, -7.0, 0.5, 1e6]])
        X[:, column] = rng.choice(values, n_rows)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


@st.composite
def boosters(draw):
    """A small booster of any kind, and how many categories its features have."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_categories = draw(st.sampled_from([0, 3, 40]))
    kinds = ["c" if n_categories and number % 2 == 0 else "q" for number in range(4)]
    X = np.where(np.array(kinds) == "c", rng.integers(0, max(1, n_categories), (80, 4)), rng.normal(size=(80, 4)))
    signal = np.sin(7 * X[:, 0]) + X[:, 1] + np.cos(5 * X[:, 2])
    X[rng.random(X.shape) < 0.1] = np.nan
    objective = draw(st.sampled_from(["reg:squarederror", "binary:logistic", "multi:softprob", "count:poisson"]))
    y = {"reg:squarederror": signal, "multi:softprob": np.digitize(signal, [-0.5, 0.8]), "count:poisson": signal**2}
    parameters = {
        "objective": objective,
        "tree_method": draw(st.sampled_from(["hist", "approx"] if n_categories else ["hist", "approx", "exact"])),
        "booster": draw(st.sampled_from(["gbtree", "dart"])),
        "rate_drop": 0.5,
        "grow_policy": "depthwise",
        "max_depth": draw(st.integers(1, 6)),
        "gamma": draw(st.sampled_from([0.0, 1.0])),
        "max_cat_to_onehot": draw(st.sampled_from([1, 5])),
        "num_parallel_tree": draw(st.sampled_from([1, 2])),
        "base_score": draw(st.sampled_from([0.5, 0.1])),
        "num_class": 3 if objective == "multi:softprob" else 0,
        "nthread": 1,
    }
    if parameters["booster"] == "gbtree":
        del parameters["rate_drop"]
    labels = y.get(objective, signal > 0)
    data = xgboost.DMatrix(X, labels, feature_types=kinds, enable_categorical=True)
    return xgboost.train(parameters, data, draw(st.integers(1, 3))), kinds, n_categories


@given(boosters(), st.integers(0, 2**32))
def test_every_row_falls_into_the_leaf_it_falls_into_in_xgboost(made, seed):
    booster, kinds, n_categories = made
    forest = bh.as_forest(booster)
    rows = rows_near(forest, np.random.default_rng(seed), N_ROWS, n_categories)
    data = xgboost.DMatrix(rows, feature_types=kinds, enable_categorical=True)
    theirs = booster.predict(data, pred_leaf=True).reshape(N_ROWS, -1)
    ours = forest.apply(rows)
    for tree in range(forest.n_trees):
        # Leaves of pruned trees have other numbers, so that there are no gaps.
        pairs = {*zip(theirs[:, tree].tolist(), ours[:, tree].tolist(), strict=True)}
        assert len(pairs) == len(set(theirs[:, tree])) == len(set(ours[:, tree]))
    margins = booster.predict(data, output_margin=True)
    # It adds in float32.
    np.testing.assert_allclose(forest.decision_function(rows), margins, rtol=1e-5, atol=1e-5 * np.abs(margins).max())


@KEEPS_NAMES
@pytest.mark.parametrize("options", [{"max_cat_to_onehot": 1}, {"max_cat_to_onehot": 100}])
def test_categories_of_a_data_frame_are_known_by_name(options):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], 200)),
            "size": rng.normal(size=200),
            "shape": pd.Categorical(rng.choice([30, -5, 10], 200)),
            "kind": pd.Categorical(rng.choice(["p", "q"], 200), categories=["q", "unused", "p"]),
        }
    )
    y = (frame.colour == "red") + 0.3 * frame["size"] + 2.0 * (frame["shape"] == 10) * (frame.kind == "q")
    frame.loc[::9, "colour"] = np.nan
    model = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True, **options).fit(frame, y)
    forest = bh.as_forest(model)
    assert forest.n_sets > 0
    assert [column.categories for column in forest.encoding.columns] == [
        ("blue", "green", "grey", "red"),
        (),
        ("-5", "10", "30"),
        ("q", "unused", "p"),
    ]
    expected = model.predict(frame)
    np.testing.assert_allclose(forest.predict(frame), expected, rtol=1e-5)
    as_text = frame.assign(colour=frame.colour.astype(object).where(frame.colour.notna(), None))[::-1]
    np.testing.assert_allclose(forest.predict(as_text), expected[::-1], rtol=1e-5)
    codes = np.column_stack([frame[name].cat.codes if name != "size" else frame[name] for name in frame])
    codes[frame.colour.isna(), 0] = np.nan
    np.testing.assert_array_equal(forest.predict(codes.astype(np.float32)), forest.predict(frame))


@KEEPS_NAMES
def test_categories_of_polars_are_known_by_name():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"colour": pl.Series(rng.choice(["red", "green"], 90), dtype=pl.Categorical), "x": rng.normal(size=90)}
    )
    data = xgboost.DMatrix(frame, (frame["colour"] == "red").to_numpy() * 1.0, enable_categorical=True)
    booster = xgboost.train({}, data, 3)
    np.testing.assert_allclose(bh.as_forest(booster).predict(frame), booster.predict(data), rtol=1e-5)


@pytest.mark.parametrize(
    "objective",
    ["rank:pairwise", "rank:ndcg", "survival:cox", "survival:aft", "reg:squaredlogerror", "reg:tweedie", "reg:gamma"],
)
def test_a_booster_predicts_what_it_did(objective):
    y = np.abs(y_n[:99]) if not objective.startswith("rank") else y_n[:99] > 150
    data = xgboost.DMatrix(X_n[:99], y)
    if objective == "survival:aft":
        data.set_float_info("label_lower_bound", y)
        data.set_float_info("label_upper_bound", y)
    if objective.startswith("rank"):
        data.set_group([50, 49])
    booster = xgboost.train({"objective": objective, "base_score": 0.3}, data, 3)
    rows = np.float32(X_n[:99])
    np.testing.assert_allclose(bh.as_forest(booster).predict(rows), booster.predict(xgboost.DMatrix(rows)), rtol=1e-5)


def test_raw_scores_of_two_classes_and_hinge_loss_are_read():
    data = xgboost.DMatrix(X2, y2)
    booster = xgboost.train({"objective": "binary:logitraw", "base_score": 0.3}, data, 3)
    np.testing.assert_allclose(bh.as_forest(booster).decision_function(X2), booster.predict(data), rtol=1e-5)
    model = xgboost.XGBClassifier(objective="binary:hinge", n_estimators=2).fit(X2, y2)
    forest = bh.as_forest(model)
    assert (forest.predict(X2) == model.predict(X2)).all()
    margins = model.get_booster().predict(data, output_margin=True)
    np.testing.assert_allclose(forest.decision_function(X2), np.stack([0 * margins, margins], 1), rtol=1e-5)
    softmax = xgboost.train({"objective": "multi:softmax", "num_class": 3}, xgboost.DMatrix(X3, y3), 2)
    assert (bh.as_forest(softmax).predict(X3) == softmax.predict(xgboost.DMatrix(X3))).all()


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_one_of_several_outputs_is_read(strategy):
    rng = np.random.default_rng(0)
    targets = X_n[:, :2] * 100 + rng.normal(size=(len(X_n), 2))
    options = {"n_estimators": 3, "multi_strategy": strategy, "tree_method": "hist"}
    models = [
        (xgboost.XGBRegressor(**options).fit(X_n, targets), "predict"),
        (xgboost.XGBClassifier(**options).fit(X_n, targets > 0), "predict_proba"),
    ]
    rows = np.float32(X_n)
    for model, method in models:
        for output in (0, 1):
            forest = reader.read(model, output=output)
            ours = getattr(forest, method)(rows)
            np.testing.assert_allclose(
                ours[:, 1] if ours.ndim > 1 else ours, getattr(model, method)(rows)[:, output], rtol=1e-5, atol=1e-6
            )
    with pytest.raises(ValueError, match="has 2 outputs, and a forest has one: choose it with output=0 to 1"):
        reader.read(model)
    with pytest.raises(ValueError, match="output is 2, and the model has the outputs 0 to 1"):
        reader.read(model, output=2)


def test_one_of_several_quantiles_is_read():
    parameters = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    data = xgboost.DMatrix(np.float32(X_n), y_n)
    booster = xgboost.train(parameters, data, 3)
    for output in (0, 1):
        forest = reader.read(booster, output=output)
        np.testing.assert_allclose(forest.predict(np.float32(X_n)), booster.predict(data)[:, output], rtol=1e-5)
    only = bh.as_forest(xgboost.XGBRegressor(n_estimators=2).fit(X_n, y_n))
    assert reader.read(xgboost.XGBRegressor(n_estimators=2).fit(X_n, y_n), output=0) == only


@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_truncated_trees_stay_near_the_trees(tree_method):
    """Inner nodes predict what the leaves below do in the mean, whatever XGBoost keeps for them."""
    model = xgboost.XGBRegressor(n_estimators=5, tree_method=tree_method, max_depth=4).fit(X_n, y_n)
    forest = bh.as_forest(model)
    errors = [np.mean((forest.truncate(max_leaves=n).predict(X_n) - model.predict(X_n)) ** 2) for n in (1, 4, 8, 16)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6


def test_truncated_refined_and_merged():
    rng = np.random.default_rng(0)
    X = np.float32(np.column_stack([rng.integers(0, 20, 300), rng.normal(size=(300, 2))]))
    y = (np.sin(X[:, 0]) + X[:, 1] > 0).astype(int)
    model = xgboost.XGBClassifier(n_estimators=12, feature_types=["c", "q", "q"], enable_categorical=True).fit(X, y)
    forest = bh.as_forest(model).truncate(max_leaves=6)
    refined = bh.refine(forest, X, y, epochs=2)
    merged = bh.merge(refined, X, y, max_leaves=24)
    assert merged.n_leaves <= 24 < refined.n_leaves
    assert (merged.predict(X) == y).mean() > 0.8


def named_categories(names):
    frame = pd.DataFrame({"a": pd.Categorical(names * 3)})
    return xgboost.XGBRegressor(n_estimators=1, enable_categorical=True).fit(frame, np.arange(len(frame)))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: xgboost.XGBClassifier(), Exception, "need to call fit"),
        (
            lambda: xgboost.XGBRegressor(booster="gblinear").fit(X_n, y_n),
            TypeError,
            "boosters of trees, not gblinear",
        ),
        (
            lambda: xgboost.XGBRegressor(n_estimators=2).fit(X_n, X_n[:, :2]),
            ValueError,
            "has 2 outputs, and a forest has one: choose it with output=0 to 1",
        ),
        (
            lambda: xgboost.XGBClassifier(n_estimators=2, objective="binary:logitraw").fit(X2, y2),
            TypeError,
            r"'binary:logitraw', whose probabilities are raw scores: pass its get_booster\(\)",
        ),
        (
            lambda: xgboost.XGBClassifier(n_estimators=2, objective="reg:squarederror").fit(X2, y2),
            TypeError,
            "a classifier with the objective 'reg:squarederror': what it predicts are no probabilities",
        ),
        (
            lambda: xgboost.XGBRegressor(n_estimators=2, missing=0.0).fit(X_n, y_n),
            ValueError,
            r"takes 0\.0 for a missing value, and a forest takes NaN: pass its get_booster\(\)",
        ),
        (lambda: xgboost.XGBRegressor(n_estimators=0).fit(X_n, y_n), ValueError, "the model has no trees"),
        pytest.param(
            lambda: named_categories(["é", "b"]),
            ValueError,
            "the categories of column 'a' are not all ASCII, and XGBoost keeps such names damaged",
            marks=KEEPS_NAMES,
        ),
        pytest.param(
            lambda: named_categories([f"{number}" for number in range(5000)]),
            ValueError,
            "column 'a' has 5,000 categories, and data frames are encoded with up to 4,096",
            marks=KEEPS_NAMES,
        ),
        (lambda: xgboost.DMatrix(X2), TypeError, "cannot read xgboost's DMatrix"),
    ],
)
def test_what_is_not_known_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        bh.as_forest(make())


def test_there_is_no_way_back():
    forest = bh.as_forest(xgboost.XGBClassifier(n_estimators=2).fit(X2, y2))
    with pytest.raises(
        ValueError, match=r"was read from xgboost\.XGBClassifier; to_estimator returns estimators of sklearn"
    ):
        bh.to_estimator(forest)
