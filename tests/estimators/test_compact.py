import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import billhook as bh

X, y = load_digits(return_X_y=True)
CANCER, DIABETES, IRIS = (load(return_X_y=True) for load in (load_breast_cancer, load_diabetes, load_iris))


@parametrize_with_checks(
    [
        bh.CompactForestClassifier("1KB", n_trials=1, random_state=0),
        bh.CompactForestRegressor("1KB", n_trials=1, random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    # Six trials give what the tests below ask for: several models of rising size and score, the best right 93 times
    # of 100.
    return bh.CompactForestClassifier("2KB", n_trials=6, random_state=0).fit(X[::2], y[::2])


def test_it_fits_the_budget_and_answers_well(digits):
    assert digits.packed_.nbytes <= 2048
    assert digits.score(X[1::2], y[1::2]) > 0.93
    np.testing.assert_array_equal(digits.classes_, np.arange(10))


def test_its_forest_answers_as_its_packed_model(digits):
    rows = X[1::2]
    np.testing.assert_array_equal(digits.predict(rows), digits.packed_.predict(rows))
    np.testing.assert_array_equal(digits.forest_.predict(rows), digits.packed_.predict(rows))
    np.testing.assert_array_equal(digits.forest_.decision_function(rows), digits.decision_function(rows))
    np.testing.assert_allclose(digits.forest_.predict_proba(rows), digits.predict_proba(rows), rtol=1e-12)


def test_the_front_rises(digits):
    sizes, scores = zip(*((entry.nbytes, entry.score) for entry in digits.front_), strict=True)
    assert list(sizes) == sorted(set(sizes))
    assert list(scores) == sorted(set(scores))
    assert len(sizes) >= 2
    assert digits.front_[-1].settings["leaves"] >= 2


def test_a_smaller_model_of_the_front_is_learned_without_a_search(digits):
    smaller = pickle.loads(pickle.dumps(digits))
    budget = digits.front_[0].nbytes
    smaller.refit(X[::2], y[::2], budget)
    assert smaller.packed_.nbytes <= budget < digits.packed_.nbytes
    # Two standard errors of the share of 135 rows that the front's was, and that it is the best of a few.
    assert smaller.score(X[1::2], y[1::2]) > digits.front_[0].score - 0.08
    with pytest.raises(ValueError, match=f"the smallest model of the front takes {budget:,} bytes, more than 20"):
        smaller.refit(X[::2], y[::2], 20)


def test_the_report_has_the_chosen_model(digits):
    report = digits.report_
    (chosen,) = [point for point in report.points if point.is_chosen]
    assert chosen.score == pytest.approx(report.score)
    assert report.confusion.sum() == pytest.approx(0.15 * 899 * len(report.scores), rel=0.05)
    assert np.trace(report.confusion) / report.confusion.sum() == pytest.approx(report.score, abs=0.01)
    assert report.stages[0].name == "grown"
    assert report.stages[-1].nbytes <= 2048
    assert {target.name: target.fits for target in report.targets}["arduino-uno"]


def test_the_same_seed_and_trials_give_the_same_model_with_any_number_of_jobs():
    models = [
        bh.CompactForestClassifier(700, n_trials=8, random_state=3, n_jobs=n_jobs).fit(*IRIS) for n_jobs in (1, 2, 3)
    ]
    assert models[0].packed_ == models[1].packed_ == models[2].packed_
    assert models[0].front_ == models[1].front_


def test_clone_pickle_pipeline_and_grid_search():
    model = bh.CompactForestClassifier("600B", n_trials=2, random_state=0)
    assert clone(model).get_params() == model.get_params()
    fitted = model.fit(*IRIS)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(IRIS[0]), fitted.predict(IRIS[0]))
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert cross_val_score(pipeline, *IRIS, cv=2).mean() > 0.88
    search = GridSearchCV(clone(model), {"budget": [60, 600]}, cv=2).fit(*IRIS)
    assert search.best_estimator_.packed_.nbytes <= search.best_params_["budget"]


def test_numbers():
    model = bh.CompactForestRegressor("1KB", n_trials=12, random_state=0).fit(*DIABETES)
    assert model.packed_.nbytes <= 1024
    assert model.report_.score > 0.3
    assert model.score(*DIABETES) > 0.4
    np.testing.assert_allclose(model.forest_.predict(DIABETES[0]), model.predict(DIABETES[0]), rtol=1e-9)
    assert model.report_.errors.shape[1] == 2


def test_names_of_columns_and_missing_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CANCER[0], columns=[f"column {k}" for k in range(30)])
    frame.iloc[::7, 3] = np.nan
    labels = np.where(CANCER[1] == 1, "benign", "malignant")
    model = bh.CompactForestClassifier("1KB", n_trials=3, random_state=0).fit(frame, labels)
    assert model.packed_.feature_names == tuple(frame.columns)
    assert model.score(frame, labels) > 0.95
    assert set(model.predict(frame)) == {"benign", "malignant"}
    np.testing.assert_array_equal(model.forest_.predict(frame), model.predict(frame))


def test_weights_of_rows_and_of_classes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 4))
    rare = (rows[:, 0] + rng.normal(size=1500) > 2.2).astype(int)
    options = {"n_trials": 3, "random_state": 0}
    plain = bh.CompactForestClassifier(300, **options).fit(rows, rare)
    balanced = bh.CompactForestClassifier(300, class_weight="balanced", **options).fit(rows, rare)
    weighted = bh.CompactForestClassifier(300, **options).fit(rows, rare, np.where(rare, 1.0 / rare.mean(), 1.0))
    said = [model.predict(rows).mean() for model in (plain, balanced, weighted)]
    assert said[1] > 1.5 * said[0]
    assert said[2] > 1.5 * said[0]


def test_only_the_ratio_of_weights_matters():
    models = [
        bh.CompactForestClassifier(400, n_trials=2, random_state=0).fit(*CANCER, np.full(569, weight))
        for weight in (1.0, 2.0**-7, 1000.5)
    ]
    assert models[0].packed_ == models[1].packed_ == models[2].packed_
    with pytest.raises(ValueError, match="a weight that is negative"):
        bh.CompactForestClassifier(n_trials=1).fit(*IRIS, np.full(150, -1.0))


def test_a_column_without_values():
    rows = np.c_[np.full(50, np.nan), np.arange(50.0)]
    model = bh.CompactForestClassifier(300, n_trials=2, random_state=0).fit(rows, np.arange(50) > 25)
    assert model.score(rows, np.arange(50) > 25) > 0.9


def test_a_plain_function_that_knows_no_weights_scores():
    model = bh.CompactForestClassifier(
        300, n_trials=2, class_weight="balanced", scoring=lambda model, X, y: np.mean(model.predict(X) == y)
    )
    assert model.fit(*IRIS).report_.score > 0.8


def test_log_loss_of_a_class_that_is_not_held_out():
    y = np.r_[np.zeros(60), np.ones(60), 2, 2].astype(int)
    rows = y[:, None] + np.random.default_rng(0).normal(size=(122, 2))
    model = bh.CompactForestClassifier(400, n_trials=2, scoring="neg_log_loss", random_state=0).fit(rows, y)
    assert -2 < model.report_.score < 0


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_log_loss", make_scorer(balanced_accuracy_score)])
def test_any_scoring(scoring):
    model = bh.CompactForestClassifier(400, scoring=scoring, n_trials=2, random_state=0).fit(*IRIS)
    assert model.report_.score == pytest.approx(np.mean(model.report_.scores))
    assert (model.report_.score < 0) == (scoring == "neg_log_loss")
    low, high = model.report_.interval
    assert low < model.report_.score < high
    # What the best score of a scorer is, only its name tells.
    assert high <= {"balanced_accuracy": 1, "neg_log_loss": 0}.get(str(scoring), np.inf)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(30, random_state=0),
        ExtraTreesClassifier(30, max_leaf_nodes=30, random_state=0),
        HistGradientBoostingClassifier(max_iter=6, random_state=0),
        FrozenEstimator(RandomForestClassifier(30, random_state=0).fit(X[::2], y[::2])),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_ensemble_of_the_callers(estimator):
    model = bh.CompactForestClassifier("3KB", estimator=estimator, n_trials=3, random_state=0).fit(X[::2], y[::2])
    assert model.packed_.nbytes <= 3 * 1024
    assert model.score(X[1::2], y[1::2]) > 0.85
    assert {point.settings["family"] for point in model.report_.points} == {"user"}


def test_a_forest_and_a_regressor_of_the_callers():
    rows, targets = DIABETES
    grown = GradientBoostingRegressor(n_estimators=50, random_state=0).fit(rows, targets)
    forest = bh.as_forest(grown)
    model = bh.CompactForestRegressor("500B", estimator=forest, n_trials=3, random_state=0).fit(rows, targets)
    assert model.packed_.nbytes <= 500
    assert model.score(rows, targets) > 0.5
    with pytest.raises(TypeError, match="cannot take an estimator for regression"):
        bh.CompactForestClassifier(estimator=forest, n_trials=1).fit(rows, targets > 100)


def test_the_room_of_a_device():
    model = bh.CompactForestClassifier(None, target="arduino-uno", reserve="30KB", n_trials=2, random_state=0)
    model.fit(*IRIS)
    assert model.packed_.nbytes <= 32_256 - 30 * 1024 - 900
    assert model.report_.target == "arduino-uno"
    with pytest.raises(bh.DoesNotFitError, match=r"arduino-uno has 32,256 bytes of flash; with 32,000 reserved"):
        bh.CompactForestClassifier(None, target="arduino-uno", reserve=32_000, n_trials=1).fit(*IRIS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": "4 pounds"}, "budget must be a number of bytes"),
        ({"budget": "-1"}, "budget must be a number of bytes"),
        ({"budget": -1}, "budget must be at least one byte, not -1"),
        ({"budget": 6}, "a budget of 6 bytes is too small: a model with one split takes [0-9]+ bytes here"),
        ({"budget": None}, "say how large the model may be"),
        ({"budget": None, "target": "generic"}, "target generic has no known flash size: give a budget too"),
        ({"target": "arduino-one"}, "there is no target 'arduino-one'"),
        ({"time_limit": 0}, "time_limit must be above 0 seconds, not 0"),
        ({"time_limit": None, "n_trials": None}, "say when to stop"),
        ({"n_trials": 0}, "n_trials must be at least 1, not 0"),
        ({"scoring": "acuracy"}, "there is no scoring 'acuracy'.*accuracy"),
        ({"scoring": "roc_auc", "n_trials": 1}, "the scoring 'roc_auc' cannot judge this target: "),
    ],
)
def test_what_cannot_be(options, says):
    model = bh.CompactForestClassifier(**({"n_trials": 1} | options))
    with pytest.raises((ValueError, TypeError), match=says):
        model.fit(*IRIS)


def test_too_few_rows_or_classes():
    model = bh.CompactForestClassifier(n_trials=1)
    with pytest.raises(ValueError, match="2 rows, no two of a class, are too few"):
        model.fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="y has one class only, 'a'"):
        model.fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])


def test_features_that_say_nothing():
    rows = np.zeros((60, 3))
    model = bh.CompactForestClassifier(500, n_trials=2, random_state=0).fit(rows, np.arange(60) % 3 == 0)
    assert not model.predict(rows).any()


def test_an_ensemble_of_the_callers_never_learns_from_rows_that_judge_it(monkeypatch):
    monkeypatch.setattr("billhook.budget._search.TRIED_ROWS", 300)
    monkeypatch.setattr("billhook.budget._search.COMPARED_ROWS", 300)
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(1500, 4)), rng.integers(0, 2, 1500)
    forest = RandomForestClassifier(10, random_state=0)
    model = bh.CompactForestClassifier("4KB", estimator=forest, n_trials=2, random_state=0).fit(noise, labels)
    assert model.report_.score < 0.6
