"""LightGBM's models, against LightGBM itself: the same leaf, the same score, the same class for every row."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import billhook as bh
from billhook.codegen import Form, header
from billhook.forest import as_rows, categories_of
from compiled import compiled
from made_up import N_ROWS
from made_up_lightgbm import ZERO, model_text, tricky_rows

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
QUICK = {"verbose": -1, "num_threads": 1, "n_estimators": 6, "num_leaves": 7, "min_child_samples": 5}
QUICK_TRAIN = {"verbose": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 5}
RANDOM_FOREST = {**QUICK_TRAIN, "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "feature_fraction": 0.6}
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, ZERO, -ZERO, 3.4028235e38, -3.4028235e38])


def tricky(X, forest, seed=0):
    """Return rows on the thresholds, one float beside them, and with values that no training row had."""
    rng = np.random.default_rng(seed)
    border = forest.threshold[(forest.feature >= 0) & (forest.category_set < 0)]
    with np.errstate(over="ignore"):
        beside = [np.nextafter(border, np.float32(end)) for end in (-np.inf, np.inf)]
    near = np.concatenate([border, *beside, ODD.astype(np.float32), np.arange(-2, 50)])
    return np.where(rng.random(X.shape) < 0.5, rng.choice(near, X.shape), X).astype(np.float32)


def leaves_of(booster, forest, rows):
    """Return the leaves that LightGBM finds, as the forest numbers them: behind the splits of each tree."""
    leaf = booster.predict(rows, pred_leaf=True).reshape(len(rows), -1).astype(np.int64)
    n_leaves = np.add.reduceat(forest.feature < 0, forest.offset[:-1])
    return leaf + n_leaves - 1


def assert_same(forest, booster, rows, scale=1.0):
    np.testing.assert_array_equal(forest.apply(rows), leaves_of(booster, forest, rows))
    # It adds float64 tree by tree, as a forest does: to the last bit.
    raw = booster.predict(rows, raw_score=True)
    if scale == 1.0:
        np.testing.assert_array_equal(forest.decision_function(rows), raw)
    else:
        np.testing.assert_allclose(forest.decision_function(rows), scale * raw, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"data_sample_strategy": "goss"},
        {"subsample": 0.5, "subsample_freq": 1, "extra_trees": True, "max_depth": 2},
        {"use_missing": False},
        {"reg_lambda": 2.0, "path_smooth": 1.0, "class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [(X2, y2), (X3, y3)], ids=["two classes", "three classes"])
def test_classifiers_are_read(options, data):
    X, y = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = lightgbm.LGBMClassifier(**QUICK, **options).fit(X, y)
    forest = bh.as_forest(model)
    assert forest.origin == "lightgbm.LGBMClassifier"
    assert forest.feature_names is None
    for rows in (tricky(X, forest), X):
        assert_same(forest, model.booster_, rows)
        # Its exponential function is another one.
        np.testing.assert_allclose(forest.predict_proba(rows), model.predict_proba(rows), rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(forest.predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    "objective",
    ["regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie"],
)
def test_regressors_are_read(objective):
    model = lightgbm.LGBMRegressor(objective=objective, **QUICK).fit(X_n, y_n)
    forest = bh.as_forest(model)
    for rows in (tricky(X_n, forest), X_n):
        assert_same(forest, model.booster_, rows)
        np.testing.assert_allclose(forest.predict(rows), model.predict(rows), rtol=1e-15)


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_rankers_are_read_as_their_scores(objective):
    model = lightgbm.LGBMRanker(objective=objective, **QUICK)
    model.fit(X3, y3, group=[50, 50, 50])
    forest = bh.as_forest(model)
    assert (forest.task, forest.link) == ("regression", "identity")
    np.testing.assert_array_equal(forest.predict(X3), model.predict(X3))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("sigmoid", [0.5, 0.123456789])
def test_the_sigmoid_is_folded_into_the_values(sigmoid, kept):
    options = {**QUICK_TRAIN, "objective": "binary", "sigmoid": sigmoid}
    booster = lightgbm.train(options, lightgbm.Dataset(X2, y2), 6, keep_training_booster=kept)
    forest = bh.as_forest(booster)
    # Its text has six digits; what is trained on, all.
    assert_same(forest, booster, tricky(X2, forest), scale=sigmoid if kept else float(f"{sigmoid:g}"))
    np.testing.assert_allclose(forest.predict_proba(X2)[:, 1], booster.predict(X2), rtol=1e-12)


def test_probabilities_as_labels_are_read():
    booster = lightgbm.train({**QUICK_TRAIN, "objective": "cross_entropy"}, lightgbm.Dataset(X2, 0.9 * y2), 6)
    forest = bh.as_forest(booster)
    assert forest.classes.tolist() == [0, 1]
    assert_same(forest, booster, tricky(X2, forest))
    np.testing.assert_allclose(forest.predict_proba(X2)[:, 1], booster.predict(X2), rtol=1e-14)


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_random_forests_are_read(objective):
    n_classes = 3 if objective == "multiclass" else 1
    X, y = {"regression": (X_n, y_n), "binary": (X2, y2), "multiclass": (X3, y3)}[objective]
    options = {**RANDOM_FOREST, "objective": objective, "num_class": n_classes}
    booster = lightgbm.train(options, lightgbm.Dataset(X, y), 6)
    forest = bh.as_forest(booster)
    rows = tricky(X, forest)
    assert forest.averages
    np.testing.assert_array_equal(forest.apply(rows), leaves_of(booster, forest, rows))
    # Its raw scores are sums, and their means are predicted with.
    mean = booster.predict(rows, raw_score=True) / 6
    if n_classes == 1:
        np.testing.assert_array_equal(forest.decision_function(rows), mean)
    else:  # the weights are folded into the values there
        np.testing.assert_allclose(forest.decision_function(rows), mean, rtol=1e-14, atol=1e-15)
    expected = booster.predict(rows)
    ours = forest.predict(rows) if objective == "regression" else forest.predict_proba(rows)
    np.testing.assert_allclose(ours[:, 1] if objective == "binary" else ours, expected, rtol=1e-13)


def test_the_rounds_up_to_the_best_one_are_read():
    data = lightgbm.Dataset(X2[::2], y2[::2])
    booster = lightgbm.train(
        {**QUICK_TRAIN, "objective": "binary", "learning_rate": 0.5},
        data,
        100,
        valid_sets=[data.create_valid(X2[1::2], y2[1::2])],
        callbacks=[lightgbm.early_stopping(2, verbose=False)],
        keep_training_booster=True,
    )
    forest = bh.as_forest(booster)
    assert forest.n_trees == booster.best_iteration < booster.num_trees()
    assert_same(forest, booster, X2)
    booster.best_iteration = -1
    assert bh.as_forest(booster).n_trees == booster.num_trees()


@pytest.mark.parametrize("labels", [["no", "yes"], [-1.0, 2.0], [False, True], [10, 20]])
def test_labels_of_any_type(labels):
    model = lightgbm.LGBMClassifier(**QUICK).fit(X2, np.array(labels)[y2])
    np.testing.assert_array_equal(bh.as_forest(model).predict(X2), model.predict(X2))
    assert bh.as_forest(model.booster_).classes.tolist() == [0, 1]


def test_scores_that_training_started_from_are_no_part_of_it():
    model = lightgbm.LGBMRegressor(**QUICK).fit(X_n, y_n, init_score=np.full(len(X_n), 100.0))
    np.testing.assert_array_equal(bh.as_forest(model).predict(X_n), model.predict(X_n))


def test_an_objective_of_ones_own_gives_raw_scores():
    def squares(y, predicted):
        return predicted - y, np.ones_like(y)

    model = lightgbm.LGBMRegressor(objective=squares, **QUICK).fit(X_n, y_n)
    forest = bh.as_forest(model)
    np.testing.assert_array_equal(forest.predict(X_n), model.predict(X_n))
    assert forest == bh.as_forest(model)


def test_names_of_columns():
    frame = pd.DataFrame(X3, columns=["a", "b", "c", "d"])
    forest = bh.as_forest(lightgbm.LGBMClassifier(**QUICK).fit(frame, y3))
    assert forest.feature_names == ("a", "b", "c", "d")
    assert forest.encoding is None
    np.testing.assert_array_equal(forest.predict(frame), forest.predict(X3))


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_zeros_and_missing_values_go_where_they_went(zero_as_missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) * (rng.random((400, 4)) < 0.5)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.where(X[:, 0] == 0, 1.0, np.nan_to_num(X[:, 0])) + np.where(X[:, 1] == 0, -1.0, np.nan_to_num(X[:, 1]))
    model = lightgbm.LGBMRegressor(**{**QUICK, "num_leaves": 4}, zero_as_missing=zero_as_missing).fit(X, y)
    forest = bh.as_forest(model)
    assert (forest.n_leaves > 6 * 4) == zero_as_missing  # some splits are made of three
    for rows in (tricky(X, forest), X):
        np.testing.assert_array_equal(forest.decision_function(rows), model.booster_.predict(rows, raw_score=True))


@pytest.mark.parametrize("as_one_hot", [True, False])
def test_categories_go_where_they_went(as_one_hot):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 40, 600), rng.normal(size=600), rng.integers(0, 4, 600)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.isin(X[:, 0], [0, 3, 5, 31, 32, 39]) + np.isin(X[:, 2], [1, 3]) + rng.normal(size=600) * 0.1
    options = {"max_cat_to_onehot": 100 if as_one_hot else 1, "min_data_per_group": 2, "cat_smooth": 1}
    model = lightgbm.LGBMRegressor(**QUICK, **options).fit(X, y, categorical_feature=[0, 2])
    forest = bh.as_forest(model)
    assert forest.n_sets > 0
    assert max(categories_of(forest, number).size for number in range(forest.n_sets)) > 1 - as_one_hot
    rows = np.concatenate([tricky(X, forest), tricky_rows(rng, 300, 3)])
    assert_same(forest, model.booster_, rows)


MADE_UP = st.fixed_dictionaries(
    {
        "sizes": st.lists(st.integers(1, 12), min_size=1, max_size=4),
        "n_features": st.integers(1, 3),
        "kinds": st.sampled_from([(0, 2), (8, 10), (0, 2, 8, 10), (1, 9), (0, 1, 2, 5, 8, 9, 10)]),
    }
)


@pytest.mark.filterwarnings("ignore:.*are the same as another in float32")
@given(MADE_UP, st.integers(0, 2**32))
def test_every_row_falls_into_the_leaf_that_it_fell_into(options, seed):
    rng = np.random.default_rng(seed)
    booster = lightgbm.Booster(model_str=model_text(rng, **options))
    forest = bh.as_forest(booster)
    rows = tricky_rows(rng, N_ROWS, options["n_features"])
    assert_same(forest, booster, rows)
    assert_same(forest, booster, rows[:1])


@pytest.mark.filterwarnings("ignore:.*are the same as another in float32")
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 2), st.integers(0, 2**32))
def test_zero_as_missing_goes_its_own_way(sizes, n_features, seed):
    rng = np.random.default_rng(seed)
    # Five leaves in a chain, of splits into three each, are more than four times as many.
    text = model_text(rng, sizes, n_features, kinds=(0, 4, 6, 8, 9))
    booster = lightgbm.Booster(model_str=text)
    try:
        forest = bh.as_forest(booster)
    except ValueError as error:
        assert max(sizes) > 3
        assert "takes zero as missing at so many of its splits" in str(error)  # noqa: PT017
        return
    rows = tricky_rows(rng, N_ROWS, n_features)
    np.testing.assert_array_equal(forest.decision_function(rows), booster.predict(rows, raw_score=True))
    forest.truncate(max_leaves=3)


def test_a_tree_that_would_grow_too_large_is_refused():
    text = model_text(np.random.default_rng(0), [40], 3, kinds=(4,), thresholds=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"its 79 nodes would become more than 316; fit with zero_as_missing=False"):
        bh.as_forest(lightgbm.Booster(model_str=text))


def test_thresholds_that_float32_cannot_tell_apart_are_warned_of():
    X = 1.7e9 + np.arange(300.0)[:, None]
    model = lightgbm.LGBMRegressor(**QUICK).fit(X, np.sin(X[:, 0]))
    with pytest.warns(
        UserWarning, match="thresholds of the LGBMRegressor are the same as another in float32"
    ) as seen:
        bh.as_forest(model)
    assert seen[0].filename == __file__
    with pytest.raises(ValueError, match=r"the LGBMRegressor splits at .*, beyond float32"):
        bh.as_forest(lightgbm.LGBMRegressor(**QUICK).fit(X * 1e40, np.sin(X[:, 0])))


@pytest.mark.parametrize("with_infinities", [False, True])
def test_a_split_of_missing_values_from_all_others(with_infinities):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    X[::3] = np.nan
    if with_infinities:
        X[1::30], X[2::30] = np.inf, -np.inf
    y = np.isnan(X[:, 0]) * 5.0 + (X[:, 0] == np.inf) * 3.0 - (X[:, 0] == -np.inf) * 3.0
    model = lightgbm.LGBMRegressor(**QUICK).fit(X, y)
    forest = bh.as_forest(model)
    assert_same(forest, model.booster_, tricky(X, forest))


CATEGORIES = {
    "text": ["red", "green ", "blue", "grey"],
    "whole": [30, 10, 20],
    "decimal": [0.5, 1.0, 2.25],
    "boolean": [False, True],
}


def frame_of(rng, n_rows=500, ordered=(), **kinds):
    columns = {"number": rng.normal(size=n_rows)}
    for name, categories in (kinds or CATEGORIES).items():
        codes = rng.integers(-1, len(categories), n_rows)
        columns[name] = pd.Categorical.from_codes(codes, categories, ordered=name in ordered)
    columns["count"] = rng.integers(0, 1000, n_rows)
    return pd.DataFrame(columns)


def labels_of(frame):
    codes = [frame[name].cat.codes for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return sum(np.where(code == 1, 2.0, code == 0) * (k + 1) for k, code in enumerate(codes)) + frame["number"]


@pytest.mark.parametrize("ordered", [(), ("whole",), tuple(CATEGORIES)])
def test_frames_with_categories_are_read_as_by_lightgbm(ordered):
    rng = np.random.default_rng(0)
    frame = frame_of(rng, ordered=ordered).astype({"number": np.float32})
    model = lightgbm.LGBMRegressor(**{**QUICK, "n_estimators": 20}, min_data_per_group=5).fit(frame, labels_of(frame))
    forest = bh.as_forest(model)
    assert forest.encoding.categorical == set(CATEGORIES)
    assert forest.n_sets > 0 or len(ordered) == 4
    np.testing.assert_array_equal(forest.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(forest.predict(frame[:3]), model.predict(frame[:3]))
    # Categories in another order, fewer of them, and some that training had not.
    other = frame.assign(
        text=frame["text"].cat.set_categories(["grey", "violet", "red"]).fillna("violet"),
        whole=frame["whole"].cat.set_categories([20, 30, 40]).fillna(40),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(forest.predict(other), model.predict(other))
    codes = np.column_stack([frame[name].cat.codes if name in CATEGORIES else frame[name] for name in frame])
    codes = np.where(np.isin(frame.columns, list(CATEGORIES)) & (codes < 0), np.nan, codes)
    np.testing.assert_array_equal(forest.predict(codes), model.predict(frame))


def test_the_encoding_stays_with_what_is_made_of_the_forest(tmp_path):
    frame = frame_of(np.random.default_rng(0))
    target = labels_of(frame)
    forest = bh.as_forest(lightgbm.LGBMRegressor(**QUICK, min_data_per_group=5).fit(frame, target))
    small = bh.merge(bh.refine(forest, frame, target), frame, target, max_leaves=8)
    small.save(tmp_path / "small.bhk")
    np.testing.assert_array_equal(bh.load(tmp_path / "small.bhk").predict(frame), small.predict(frame))


def test_a_column_may_have_more_categories_than_eight_bits_tell_apart(tmp_path):
    rng = np.random.default_rng(0)
    town = rng.permutation(np.arange(3000) % 1000)
    frame = pd.DataFrame({"town": pd.Categorical.from_codes(town, [f"town {k}" for k in range(1000)])})
    target = np.isin(town, rng.choice(1000, 400)) + rng.normal(size=3000) / 10
    model = lightgbm.LGBMRegressor(
        n_estimators=4, min_data_per_group=1, cat_smooth=0, max_cat_threshold=500, verbose=-1
    )
    forest = bh.as_forest(model.fit(frame, target))
    np.testing.assert_array_equal(forest.predict(frame), model.predict(frame))
    packed = bh.pack(forest)
    np.testing.assert_array_equal(compiled(packed, tmp_path)(as_rows(frame, packed)), packed.scores(frame))
    assert "town 999" in header(packed)
    # A row of bytes has no place for it.
    assert "model_put_town_int16" in header(packed)
    assert "model_put_town_uint8" not in header(packed)
    with pytest.raises(
        ValueError, match=r"'town' has 1,000 categories, more than uint8 features can tell apart; emit"
    ):
        header(packed, form=Form(inputs=("uint8",)))


def fitted_on(frame, **fitting):
    return lightgbm.LGBMRegressor(**QUICK).fit(frame, labels_of(frame), **fitting)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda rng: fitted_on(frame_of(rng, many=[f"c{k}" for k in range(5000)])),
            "column 'many' has 5,000 categories",
        ),
        (
            lambda rng: fitted_on(frame_of(rng, twice=["a", "a ", "b"])),
            "different categories of pandas that read 'a'",
        ),
        # Which of two columns of small numbers are the codes?
        (
            lambda rng: fitted_on(frame_of(rng, ordered=["o"], o=[1, 2, 3]).assign(small=rng.integers(0, 3, 500))),
            "categories of 1 columns of a data frame, and does not say of which",
        ),
        (
            lambda rng: fitted_on(frame_of(rng, a=["x", "y"]), categorical_feature=["count", "a"]),
            "categories of 1 columns of a data frame, and does not say of which",
        ),
    ],
)
def test_categories_that_a_forest_cannot_know_are_refused_with_a_way_out(make, message):
    model = make(np.random.default_rng(0))
    with pytest.raises(ValueError, match=message + r".*set booster\.pandas_categorical = None"):
        bh.as_forest(model)
    booster = model.booster_
    booster.pandas_categorical = None
    assert bh.as_forest(booster).encoding is None


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lightgbm.LGBMClassifier(), Exception, "No booster found. Need to call fit"),
        (lambda: lightgbm.Dataset(X2), TypeError, "cannot read lightgbm's Dataset; pass a fitted estimator"),
        (
            lambda: lightgbm.LGBMRegressor(**QUICK, linear_tree=True).fit(X_n, y_n),
            ValueError,
            r"linear functions in the leaves .* fit with linear_tree=False",
        ),
        (
            lambda: lightgbm.LGBMRegressor(**QUICK, reg_sqrt=True).fit(X_n, y_n),
            TypeError,
            "cannot read a model with reg_sqrt=True; fit to the square roots",
        ),
        (
            lambda: lightgbm.LGBMClassifier(**QUICK, objective="multiclassova").fit(X3, y3),
            TypeError,
            r"cannot read the objective 'multiclassova'.*fit with objective='multiclass'",
        ),
        (
            lambda: lightgbm.LGBMRegressor(**QUICK, objective="cross_entropy_lambda").fit(X2, y2),
            TypeError,
            "cannot read the objective 'cross_entropy_lambda'; fit with objective='cross_entropy'",
        ),
        (
            lambda: lightgbm.LGBMClassifier(**QUICK, objective="poisson").fit(X2, y2),
            TypeError,
            "cannot read a classifier with the objective 'poisson'; fit with 'binary'",
        ),
        (
            lambda: lightgbm.LGBMClassifier(**QUICK, objective=lambda y, p: (p - y, p * 0 + 1)).fit(X2, y2),
            TypeError,
            "an objective of your own",
        ),
        (
            lambda: lightgbm.LGBMClassifier(**QUICK, pred_early_stop=True).fit(X2, y2),
            TypeError,
            r"pred_early_stop=True.*set_params\(pred_early_stop=False\)",
        ),
        (
            lambda: lightgbm.LGBMClassifier(**QUICK).fit(X2, y2 * 0 + 7),
            ValueError,
            "the LGBMClassifier was fitted on the one class",
        ),
        (
            lambda: lightgbm.Booster(model_str=model_text(np.random.default_rng(0), ())),
            ValueError,
            "the model has no trees",
        ),
    ],
)
def test_what_is_not_known_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        bh.as_forest(make())


@pytest.mark.parametrize("data", [(X2, y2), (X3, y3)], ids=["two classes", "three classes"])
def test_models_can_be_compressed(data):
    X, y = data
    forest = bh.as_forest(lightgbm.LGBMClassifier(**QUICK).fit(X, y))
    small = bh.merge(bh.refine(forest, X, y), X, y, max_leaves=20)
    assert small.n_leaves <= 20
    assert (small.predict(X) == y).mean() > 0.9
    for rows in ({}, {"X": X}):
        packed = bh.pack(forest, threshold_bits=16, leaf_bits=16, **rows)
        assert (packed.predict(X) == forest.predict(X)).mean() > 0.99


def test_random_forests_can_be_pruned():
    booster = lightgbm.train({**RANDOM_FOREST, "objective": "binary"}, lightgbm.Dataset(X2, y2), 12)
    small = bh.prune(booster, X2, y2, n_trees=4)
    assert small.n_trees == 4
    assert (small.predict(X2) == y2).mean() > 0.9


def test_truncated_trees_are_those_that_would_have_grown():
    model = lightgbm.LGBMRegressor(**{**QUICK, "n_estimators": 1, "num_leaves": 20}).fit(X_n, y_n)
    fewer = lightgbm.LGBMRegressor(**{**QUICK, "n_estimators": 1, "num_leaves": 5}).fit(X_n, y_n)
    truncated = bh.as_forest(model).truncate(max_leaves=5)
    # The values of its splits are means of leaves, by the same weights, added in another order.
    np.testing.assert_allclose(truncated.predict(X_n), fewer.predict(X_n), rtol=1e-6)


def test_there_is_no_way_back():
    forest = bh.as_forest(lightgbm.LGBMClassifier(**QUICK).fit(X2, y2))
    with pytest.raises(ValueError, match=r"was read from lightgbm\.LGBMClassifier; to_estimator returns"):
        bh.to_estimator(forest)


def test_where_zero_is_missing_a_split_has_the_rows_of_its_children():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.3] = 0
    options = {"n_estimators": 4, "num_leaves": 8, "min_child_samples": 5, "zero_as_missing": True, "verbose": -1}
    model = lightgbm.LGBMRegressor(**options).fit(X, X[:, 0] + 2 * (X[:, 1] == 0))
    forest = bh.as_forest(model)
    assert forest.n_leaves > 4 * 8  # some splits have been made of three
    for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        left, right, weight, n_rows = (
            getattr(forest, name)[begin:end] for name in ("left", "right", "row_weight", "n_rows")
        )
        assert (weight[0], n_rows[0]) == (400, 400)
        splits = np.flatnonzero(left >= 0)
        np.testing.assert_allclose(weight[splits], weight[left[splits]] + weight[right[splits]], rtol=1e-12)
        # Halves of rows are rounded.
        assert np.abs(n_rows[splits] - n_rows[left[splits]] - n_rows[right[splits]]).max() <= 1
