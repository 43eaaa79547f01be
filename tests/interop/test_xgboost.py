import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

import billhook as bh

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")

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


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: xgboost.XGBClassifier(), Exception, "need to call fit"),
        (
            lambda: xgboost.XGBRegressor(booster="gblinear").fit(X_n, y_n),
            TypeError,
            "boosters of trees, not gblinear",
        ),
        (lambda: xgboost.XGBRegressor(n_estimators=2).fit(X_n, X_n[:, :2]), TypeError, "one target, not of 2"),
        (
            lambda: xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge").fit(X2, y2),
            TypeError,
            "does not know the objective 'binary:hinge'",
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
