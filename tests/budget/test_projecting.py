"""Projections that trials learn: what they are made of, when there are any, and what they are good for."""

from dataclasses import replace

import numpy as np
import pytest

import billhook as bh
from billhook.budget import settings_of, training_rows
from billhook.budget._clock import Clock
from billhook.budget._executors import ThreadExecutor
from billhook.budget._portfolio import MORE_CLASSES, NUMBERS, TWO_CLASSES
from billhook.budget._projecting import FEWEST_ROWS, WEIGHT_BITS, can_be_projected, weight_bytes
from billhook.budget._record import SearchRecord, read_record
from billhook.budget._scoring import score_of
from billhook.budget._search import MOST_FOR_WEIGHTS, Search
from billhook.budget._space import PROJECTIONS, Trial, neighbours
from billhook.budget._trial_runner import ALL, TrialRunner
from billhook.budget.report._words import in_words


def slanted(n_rows=1200, n_features=8, n_classes=2, seed=0):
    """Return rows whose classes lie between slanted planes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X @ rng.normal(size=n_features)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def rows_of(X, y, *, is_classification=True, weight=None):
    return training_rows(np.asarray(X, np.float32), y, is_classification=is_classification, weight=weight)


def runner_of(rows):
    return TrialRunner(rows, score_of(None, rows), 0)


def trial_of(runner, entry, budget=500, **growth):
    n_values = runner.n_values
    chosen = replace(entry.growth(runner.rows.X.shape[1], n_values), **growth)
    return Trial(budget, runner.canonical(chosen), entry.compression(n_values, budget))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slanted_classes_are_told_apart_by_projections_in_few_bytes(n_classes):
    X, y = slanted(3000, n_classes=n_classes)
    runner = runner_of(rows_of(X[:2000], y[:2000]))
    entry = (TWO_CLASSES if n_classes == 2 else MORE_CLASSES)[1]

    def wrong(n):
        packed = runner.build(trial_of(runner, entry, 300, projections=n), runner.split(ALL))
        assert packed.nbytes <= 300
        assert (packed.projections is None) == (n == 0)
        return np.mean(packed.predict(X[2000:]) != y[2000:])

    assert wrong(4) < 0.5 * wrong(0)


def test_smooth_numbers_are_predicted_better_by_projections():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)).astype(np.float32)
    y = np.sin(X @ rng.normal(size=6)) + (X @ rng.normal(size=6)) ** 2
    runner = runner_of(rows_of(X[:2000], y[:2000], is_classification=False))

    def error(n):
        packed = runner.build(trial_of(runner, NUMBERS[0], projections=n), runner.split(ALL))
        return np.mean((packed.predict(X[2000:]) - y[2000:]) ** 2)

    assert error(8) < 0.7 * error(0)


def test_rows_held_out_say_nothing_about_projections():
    X, y = slanted()
    rows, other = rows_of(X, y), rows_of(X.copy(), y)
    split = runner_of(rows).split(0)
    other.y[split.held_out] = 1 - other.y[split.held_out]
    # Not beyond the values of the others: codes are those of all rows, as trees have them.
    other.X[split.held_out] = other.X[split.held_out][::-1]
    found = [runner_of(each) for each in (rows, other)]
    growth = trial_of(found[0], TWO_CLASSES[0], projections=4).growth
    first, second = (runner._projected(growth, split).coding.projections for runner in found)
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.low, second.low)
    np.testing.assert_array_equal(first.turn, second.turn)


def test_codes_of_projections_fill_their_range_and_weights_their_bits():
    X, y = slanted()
    runner = runner_of(rows_of(X, y))
    growth = trial_of(runner, TWO_CLASSES[0], projections=8).growth
    split = runner.split(ALL)
    binned = runner._projected(growth, split)
    projections = binned.coding.projections
    assert projections.n_projections == 8
    assert np.abs(projections.weights).max(axis=1).tolist() == [2 ** (WEIGHT_BITS - 1) - 1] * 8
    codes = binned.codes[np.arange(len(X))][:, 8:]
    assert codes.min(axis=0).tolist() == [0.0] * 8
    assert (codes.max(axis=0) >= projections.n_codes // 2 - 1).all()
    assert (codes.max(axis=0) < projections.n_codes).all()
    of_features = binned.codes[np.arange(len(X))][:, :8]
    np.testing.assert_array_equal(codes, projections.codes(of_features))
    for k in (0, 3, 8, 15):
        np.testing.assert_array_equal(binned.codes.column(slice(2, 9), k), binned.codes[slice(2, 9)][:, k])


def test_the_order_of_rows_does_not_matter():
    X, y = slanted(600)
    order = np.random.default_rng(1).permutation(600)
    weight = np.random.default_rng(2).integers(1, 4, 600).astype(float)
    models = []
    for some in (np.arange(600), order):
        runner = runner_of(rows_of(X[some], y[some], weight=weight[some]))
        growth = trial_of(runner, TWO_CLASSES[0], projections=4).growth
        models.append(runner._projected(growth, runner.split(ALL)).coding.projections)
    for name in ("weights", "turn", "low"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))


def test_there_are_no_projections_of_few_rows_of_missing_values_or_of_forests():
    X, y = slanted(FEWEST_ROWS)
    holed = X.copy()
    holed[7, 2] = np.nan
    rows, few, missing = rows_of(X, y), rows_of(X[1:], y[1:]), rows_of(holed, y)
    assert [can_be_projected(each) for each in (rows, few, missing)] == [True, False, False]
    growth = replace(TWO_CLASSES[0].growth(8, 1), projections=8)
    came_to = [runner_of(each).canonical(growth).projections for each in (rows, few, missing)]
    assert came_to == [8, 0, 0]
    assert runner_of(rows).canonical(replace(growth, family="random_forest")).projections == 0


def test_features_that_tell_nothing_apart_have_no_projections():
    y = np.arange(400) % 2
    runner = runner_of(rows_of(np.zeros((400, 3)), y))
    growth = trial_of(runner, TWO_CLASSES[0], projections=4).growth
    assert runner._projected(growth, runner.split(ALL)).coding.projections is None


@pytest.mark.parametrize(
    ("most", "budget", "expected"),
    [(None, 2048, 16), (10, 2048, 10), (3, 2048, 3), (0, 2048, 0), (None, 100, 8), (None, 60, 4)],
)
def test_a_search_has_no_more_projections_than_are_asked_for_and_leave_bytes_for_trees(most, budget, expected):
    X, y = slanted(400)
    search = Search(
        runner_of(rows_of(X, y)), (budget,), ThreadExecutor(1), Clock(None), n_trials=1, max_projections=most
    )
    trial = trial_of(search.trying, TWO_CLASSES[0], budget, projections=16)
    assert [one.growth.projections for one in search._canonical([trial])] == [expected]
    assert weight_bytes(8, expected) <= MOST_FOR_WEIGHTS * budget


def test_fewer_and_more_projections_are_near_and_none_is_begun_with_where_there_is_none():
    growth = TWO_CLASSES[0].growth(8, 1)
    compression = TWO_CLASSES[0].compression(1, 500)
    near = {one.growth.projections for one in neighbours(Trial(500, replace(growth, projections=8), compression))}
    assert near == {4, 8, 16}
    near = {one.growth.projections for one in neighbours(Trial(500, replace(growth, projections=3), compression))}
    assert near == {0, 3, 4}
    assert {one.growth.projections for one in neighbours(Trial(500, growth, compression))} == {0}
    assert PROJECTIONS[0] == 0


def test_projections_are_among_the_settings_and_in_words():
    trial = Trial(500, replace(TWO_CLASSES[0].growth(8, 1), projections=8), TWO_CLASSES[0].compression(1, 500))
    assert settings_of(trial)["projections"] == 8
    assert "projections" not in settings_of(replace(trial, growth=replace(trial.growth, projections=0)))
    assert "8 projections" in in_words(settings_of(trial))


def test_fit_table_finds_projections_where_they_help_and_none_where_they_are_not_allowed(tmp_path):
    import pandas as pd

    X, y = slanted(2000)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(kind=np.where(y, "b", "a"))
    fitted = bh.fit_table(frame, "kind", budget=400, n_trials=12)
    without = bh.fit_table(frame, "kind", budget=400, n_trials=12, max_projections=0)
    assert fitted.packed.projections is not None
    assert without.packed.projections is None
    assert fitted.report.score > without.report.score
    fitted.save(tmp_path / "model")
    record = read_record(tmp_path / "model")
    assert isinstance(record, SearchRecord)
    assert any(trial.growth.projections for trial in record.best)
    loaded = bh.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), fitted.packed.predict(X))


@pytest.mark.parametrize("value", [-1, 2.5, True, "4"])
def test_a_number_of_projections_that_is_none_is_refused(value):
    X, y = slanted(400)
    with pytest.raises((TypeError, ValueError), match="max_projections"):
        bh.CompactForestClassifier("1KB", n_trials=1, max_projections=value).fit(X, y)


def test_projections_are_refused_beside_a_model_of_ones_own():
    from sklearn.ensemble import RandomForestClassifier

    X, y = slanted(400)
    forest = RandomForestClassifier(2, max_leaf_nodes=4, random_state=0)
    with pytest.raises(ValueError, match="max_projections=4 is for trees that are grown here"):
        bh.CompactForestClassifier("1KB", n_trials=1, max_projections=4, estimator=forest).fit(X, y)
    bh.CompactForestClassifier("1KB", n_trials=1, max_projections=0, estimator=forest).fit(X, y)


def test_columns_chosen_for_a_split_that_have_missing_values_have_no_projections():
    import pandas as pd

    X, y = slanted(800)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(kind=y)
    frame.loc[frame.index[::3], ["x0", "x3", "x5"]] = np.nan
    result = bh.fit_table(frame, "kind", budget=500, n_trials=16, max_features=3)
    result.packed.check()
    assert result.packed.projections is None or result.packed.layout.missing == "none"


def test_an_earlier_search_without_projections_is_gone_on_with_those_of_the_portfolio(tmp_path):
    import pandas as pd

    X, y = slanted(1500)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(kind=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    bh.fit_table(tmp_path / "rows.csv", "kind", budget=400, n_trials=3, out=tmp_path / "model")
    assert not any(trial.growth.projections for trial in read_record(tmp_path / "model").best)
    resumed = bh.resume_fit(tmp_path / "model", n_trials=8)
    assert resumed.packed.projections is not None
