"""Data frames with categorical, string, boolean and missing columns, as they are."""

import pickle

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

import billhook as bh
from billhook.budget._last_model import LastModel
from billhook.tables import features_of

N_ROWS = 400
CITIES = np.array(["Bonn", "Köln", "Trier", "Ulm"])


def columns_and_labels():
    rng = np.random.default_rng(0)
    city = CITIES[rng.integers(0, 4, N_ROWS)].astype(object)
    age = rng.uniform(18, 80, N_ROWS)
    member = rng.random(N_ROWS) < 0.5
    y = np.where((city == "Ulm") | ((age > 50) & member), "yes", "no")
    city[::17] = None
    age[::13] = np.nan
    return {"city": city.tolist(), "age": age, "member": member}, y


COLUMNS, Y = columns_and_labels()
FRAMES = {
    "pandas": lambda: pandas.DataFrame(COLUMNS),
    "pandas, categorical": lambda: pandas.DataFrame(COLUMNS).astype({"city": "category", "member": "boolean"}),
    "polars": lambda: polars.DataFrame(COLUMNS, strict=False),
}


@pytest.fixture(scope="module", params=FRAMES.values(), ids=FRAMES)
def fitted(request):
    frame = request.param()
    return frame, bh.CompactForestClassifier("1KB", n_trials=3, random_state=0).fit(frame, Y)


def test_a_frame_is_learned_and_predicted_as_it_is(fitted):
    frame, model = fitted
    assert model.score(frame, Y) > 0.9
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["city", "age", "member"]
    assert model.predict_proba(frame).shape == (N_ROWS, 2)
    assert model.packed_.nbytes <= 1024


def test_the_packed_model_knows_the_columns(fitted, tmp_path):
    frame, model = fitted
    model.packed_.save(tmp_path / "model.bhk")
    again = bh.load(tmp_path / "model.bhk")
    assert [column.name for column in again.encoding.columns] == ["city", "age", "member"]
    unpickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(unpickled.predict(frame), model.predict(frame))


def test_all_libraries_give_the_same_model():
    models = [
        bh.CompactForestClassifier("1KB", n_trials=2, random_state=0).fit(frame(), Y) for frame in FRAMES.values()
    ]
    assert models[0].packed_ == models[1].packed_ == models[2].packed_


def test_an_unknown_category_counts_as_missing(fitted):
    frame, model = fitted
    unknown = pandas.DataFrame({"city": ["Paris", None], "age": [30.0, 30.0], "member": [False, False]})
    if isinstance(frame, polars.DataFrame):
        unknown = polars.from_pandas(unknown)
    scores = model.decision_function(unknown)
    assert scores[0] == scores[1]


def test_what_is_not_such_a_frame_is_refused(fitted):
    frame, model = fitted
    with pytest.raises(TypeError, match="fitted to a data frame with categorical columns"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "city", "member"]])
    with pytest.raises(ValueError, match=r"feature names|features"):
        model.predict(frame[["city", "age"]])


def test_regression_weights_and_a_user_s_ensemble():
    frame = FRAMES["pandas"]()
    target = np.where(Y == "yes", 10.0, 2.0) + np.nan_to_num(frame["age"].to_numpy()) / 100
    weight = np.ones(N_ROWS)
    weight[:10] = 0.0
    model = bh.CompactForestRegressor("1KB", n_trials=3, random_state=0).fit(frame, target, weight)
    assert model.score(frame, target) > 0.8
    forest = RandomForestClassifier(10, random_state=0)
    compressed = bh.CompactForestClassifier("2KB", estimator=forest, n_trials=2, random_state=0).fit(frame, Y)
    assert compressed.score(frame, Y) > 0.85
    assert "city=Ulm" in compressed.packed_.feature_names


def test_cross_validation_of_a_frame():
    model = bh.CompactForestClassifier("1KB", n_trials=2, random_state=0)
    assert cross_val_score(clone(model), FRAMES["pandas"](), Y, cv=2).mean() > 0.85


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda frame: frame.assign(born=pandas.Timestamp("2000-01-01")), "born"),
        (lambda frame: frame.assign(mixed=[1, "a"] * (N_ROWS // 2)), "mixed"),
        (lambda frame: frame.assign(name=[f"n{k}" for k in range(N_ROWS)])[["name"]], "no column to learn from"),
    ],
)
def test_columns_that_cannot_be_learned_from_are_named(change, says):
    with pytest.raises((ValueError, TypeError), match=says):
        bh.CompactForestClassifier("1KB", n_trials=1).fit(change(FRAMES["pandas"]()), Y)


def test_labels_that_do_not_go_with_the_rows_are_refused():
    model = bh.CompactForestClassifier("1KB", n_trials=1)
    with pytest.raises(ValueError, match="y must have one label for each of the 400 rows"):
        model.fit(FRAMES["pandas"](), Y[:-1])
    with pytest.raises(ValueError, match="one class only, 'yes'"):
        model.fit(FRAMES["pandas"](), np.full(N_ROWS, "yes"))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        model.fit(FRAMES["pandas"](), Y, np.ones(3))
    with pytest.raises(ValueError, match="all weights are zero"):
        model.fit(FRAMES["pandas"](), Y, np.zeros(N_ROWS))
    with pytest.raises(ValueError, match="a weight that is negative, infinite or not a number"):
        model.fit(FRAMES["pandas"](), Y, np.full(N_ROWS, np.inf))
    with pytest.raises(ValueError, match="y holds 1 missing labels"):
        model.fit(FRAMES["pandas"](), [None, *Y[1:].tolist()])
    with pytest.raises(ValueError, match="column 'age' of X holds infinity"):
        model.fit(FRAMES["pandas"]().assign(age=[np.inf, *range(1, N_ROWS)]), Y)


def test_a_refit_keeps_the_encoding_and_the_columns():
    frame = FRAMES["pandas"]()
    model = bh.CompactForestClassifier("1KB", n_trials=3, random_state=0).fit(frame, Y)
    kinds = [column.kind for column in model.packed_.encoding.columns]
    model.refit(frame, Y, model.front_[-1].nbytes)
    assert [column.kind for column in model.packed_.encoding.columns] == kinds
    with pytest.raises(ValueError, match="feature names"):
        model.refit(frame[["age", "city", "member"]], Y, "1KB")
    assert model.feature_names_in_.tolist() == ["city", "age", "member"]


def test_a_model_that_is_not_of_all_rows_keeps_the_orders_of_its_own(monkeypatch):
    """The best of the search, where there is no time for the last model: its categories are in other orders."""
    rng = np.random.default_rng(0)
    number = rng.integers(40, size=N_ROWS)
    y = np.where(rng.random(N_ROWS) < number / 40, "yes", "no")
    frame = pandas.DataFrame({"kind": [f"k{k}" for k in number], "noise": rng.random(N_ROWS)})
    found = []

    def best_at_hand(_search, best, _final=None):
        found.append(best)
        return LastModel(best.packed, 1, "there was no time", best.encoding)

    monkeypatch.setattr("billhook.budget._fit.learn_last", best_at_hand)
    monkeypatch.setattr("billhook.budget._encoding.choose_encoding", lambda *_: "ordered")
    model = bh.CompactForestClassifier(400, n_trials=1, random_state=0).fit(frame, y)
    assert model.packed_.encoding == found[0].encoding
    wanted = found[0].packed.predict(features_of(frame, found[0].packed.with_encoding(found[0].encoding)))
    np.testing.assert_array_equal(model.predict(frame), wanted)
