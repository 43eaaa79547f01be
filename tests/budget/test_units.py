"""Groups, equal rows and times: what is judged by is never among what was learned from."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook import CompactForestClassifier, CompactForestRegressor, fit_table, load
from billhook.budget._splits import HELD_OUT, final_splits, most_splits, sample_rows, split_rows, training_rows
from billhook.budget._units import equal_rows
from billhook.cli import main

SPLITS = (0, 1, 2, 3, 7, 1000, 1001)


def made_up(rng, n_rows, n_features=4):
    return rng.normal(size=(n_rows, n_features)).astype(np.float32)


def parted(rows, number=0):
    split = split_rows(rows, number, seed=0)
    both = np.sort(np.concatenate([split.train, split.held_out]))
    np.testing.assert_array_equal(both, np.unique(both))
    assert split.held_out.size
    assert split.train.size
    return split


@given(
    st.integers(2, 30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 2)), min_size=8, max_size=120),
    st.booleans(),
)
def test_a_group_is_on_one_side_of_every_split(n_groups, cells, is_classification):
    groups, y = np.array(cells).T
    groups = groups % n_groups
    if np.unique(groups).size < 2 or np.unique(y).size < 2:
        return
    X = made_up(np.random.default_rng(0), len(y))
    rows = training_rows(X, y, is_classification=is_classification, groups=groups)
    for number in SPLITS:
        try:
            split = split_rows(rows, number, seed=0)
        except ValueError as error:
            if "are too few" not in str(error):
                raise
            continue
        assert not set(groups[split.train]) & set(groups[split.held_out])
        assert split.train.size + split.held_out.size == len(y)
        if is_classification:
            assert set(y[split.train]) == set(y)


def test_groups_of_one_size_are_held_out_in_the_usual_share():
    groups = np.repeat(np.arange(100), 7)
    y = np.random.default_rng(0).integers(2, size=700)
    rows = training_rows(made_up(np.random.default_rng(1), 700), y, is_classification=True, groups=groups)
    for number in SPLITS:
        assert abs(parted(rows, number).held_out.size / 700 - HELD_OUT) < 0.03


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_equal_rows_are_on_one_side_of_every_split(task):
    rng = np.random.default_rng(0)
    X = np.repeat(made_up(rng, 150), 2, axis=0)
    X[0, 1], X[1, 1] = 0.0, -0.0
    X[2:4, 2] = np.nan
    y = np.repeat(rng.integers(3, size=150), 2)
    rows = training_rows(X, y, is_classification=task == "classification")
    pair = np.repeat(np.arange(150), 2)
    for number in SPLITS:
        split = parted(rows, number)
        assert not set(pair[split.train]) & set(pair[split.held_out])


@given(st.integers(100, 200), st.integers(1, 3), st.integers(0, 2**32))
def test_equal_rows_are_those_that_are_equal(n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([0.0, -0.0, 1.0, np.nan, np.inf, 1e-45], np.float32), (n_rows, n_features))
    X[:, 0] = np.where(rng.random(n_rows) < 0.8, np.arange(n_rows), X[:, 0])
    y = rng.integers(2, size=n_rows)
    keys = [
        (*("nan" if cell != cell else cell + 0.0 for cell in row), label) for row, label in zip(X, y, strict=True)
    ]
    found = equal_rows(X, y)
    n_different = len(set(keys))
    if n_different == n_rows or n_different < 100:
        assert found is None
    else:
        assert len(set(found.tolist())) == n_different
        assert len(set(zip(keys, found.tolist(), strict=True))) == n_different


def test_equal_rows_do_not_tie_all_groups_together():
    rng = np.random.default_rng(0)
    X = made_up(rng, 400)
    X[::4] = 0.0  # of every group
    y = rng.integers(2, size=400)
    y[::4] = 0
    groups = np.repeat(np.arange(40), 10)
    split = parted(training_rows(X, y, is_classification=True, groups=groups))
    assert not set(groups[split.train]) & set(groups[split.held_out])


def test_a_table_of_few_values_is_split_as_ever():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(500, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    split = parted(training_rows(X, y, is_classification=True))
    assert abs(split.held_out.size / 500 - HELD_OUT) < 0.01


@pytest.mark.parametrize("n_times", [2, 3, 10, 400])
def test_what_is_held_out_is_later_than_what_is_learned_from(n_times):
    rng = np.random.default_rng(0)
    times = rng.integers(n_times, size=400).astype(float)
    y = rng.integers(2, size=400)
    rows = training_rows(made_up(rng, 400), y, is_classification=True, times=times)
    latest = 0.0
    for number in SPLITS:
        split = parted(rows, number)
        assert times[split.train].max() < times[split.held_out].min()
        latest = max(latest, times[split.held_out].max())
    assert latest == times.max()


@pytest.mark.parametrize(("n_times", "n_tried", "n_final"), [(2, 1, 1), (3, 1, 1), (5, 1, 2), (400, 3, 3)])
def test_stretches_of_time_are_different_ones_and_finalists_have_the_latest(n_times, n_tried, n_final):
    rng = np.random.default_rng(0)
    times = rng.permutation(np.arange(400) * n_times // 400).astype(float)
    rows = training_rows(made_up(rng, 400), rng.integers(2, size=400), is_classification=True, times=times)
    finals = final_splits(rows, 5)
    assert (most_splits(rows, 3), len(finals)) == (n_tried, n_final)
    of_trials, of_finals = (
        [set(parted(rows, number).held_out.tolist()) for number in numbers] for numbers in (range(n_tried), finals)
    )
    of_all = [*of_finals] if n_times == 2 else [*of_trials, *of_finals]
    assert len(set.union(*of_all)) == sum(map(len, of_all))  # none is in two of them
    if n_times > 2:
        assert max(times[list(set.union(*of_trials))]) < min(times[list(set.union(*of_finals))])


@pytest.mark.parametrize(
    ("n_times", "n_scores", "note"),
    [(2, 1, "There are too few different times"), (300, 3, "on the latest 3 of 6 stretches of time, and chosen on")],
)
def test_the_report_of_a_split_by_time_has_a_score_for_each_stretch_and_says_so(n_times, n_scores, note):
    rng = np.random.default_rng(0)
    x, when = rng.normal(size=300), rng.permutation(300) * n_times // 300
    frame = pd.DataFrame({"x": x, "when": when, "y": (x + rng.normal(size=300) > 0).astype(int)})
    report = fit_table(frame, "y", split="time:when", budget=400, n_trials=6).report
    assert len(report.scores) == n_scores
    assert report.confusion.sum() == (150 if n_times == 2 else 90)  # each held-out row once
    assert any(note in text for text in report.notes)


def test_one_time_cannot_be_split():
    rows = training_rows(
        made_up(np.random.default_rng(0), 40), np.arange(40) % 2, is_classification=True, times=np.ones(40)
    )
    with pytest.raises(ValueError, match="1 different times: too few"):
        split_rows(rows, 0, seed=0)


def test_a_sample_of_rows_and_rows_without_weight_keep_their_groups():
    rng = np.random.default_rng(0)
    X, y, groups = made_up(rng, 300), rng.integers(2, size=300), rng.integers(50, size=300)
    weight = np.ones(300)
    weight[::3] = 0.0
    rows = training_rows(X, y, is_classification=True, groups=groups, weight=weight, times=np.arange(300.0))
    sample = sample_rows(rows, 90, seed=0)
    of_row = {row.tobytes(): (group, time) for row, group, time in zip(X, groups, np.arange(300.0), strict=True)}
    number = {group: k for k, group in enumerate(np.unique(groups[weight > 0]))}
    for row, group, time in zip(sample.X, sample.groups, sample.times, strict=True):
        assert (number[of_row[row.tobytes()][0]], of_row[row.tobytes()][1]) == (group, time)


def grouped_frame(n_groups=30, each=12):
    """Return rows whose label only the group tells, and a number that tells the group."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(n_groups), each)
    label = rng.permutation(n_groups)[group] % 2
    marks = rng.normal(size=n_groups)[group]
    return pd.DataFrame(
        {"mark": marks, "noise": rng.normal(size=len(group)), "who": [f"p{k}" for k in group], "y": label}
    )


def test_the_score_of_groups_is_that_for_others(tmp_path):
    frame = grouped_frame()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = [
        "fit",
        "rows.csv",
        "--label",
        "y",
        "--group",
        "who",
        "--budget",
        "2000",
        "--trials",
        "1",
        "--out",
        "out",
    ]
    with contextlib.chdir(tmp_path):
        main(command)
    assert load(tmp_path / "out" / "model.bhk").feature_names == ("mark", "noise")
    alone = fit_table(tmp_path / "rows.csv", "y", budget=2000, n_trials=4)
    for table in (tmp_path / "rows.csv", frame):
        together = fit_table(table, "y", group="who", budget=2000, n_trials=4)
        assert together.packed.feature_names == ("mark", "noise")
        assert together.report.score < 0.75
        assert any("'who' are held out together" in note for note in together.report.notes)
    assert alone.report.score > 0.9
    X = frame[["mark", "noise"]].to_numpy(np.float32)
    model = CompactForestClassifier(2000, n_trials=4, random_state=0).fit(X, frame["y"], groups=frame["who"])
    assert model.report_.score < 0.75
    categories = frame[["mark", "noise"]].assign(word=["ab"[k % 2] for k in range(len(frame))])
    model = CompactForestClassifier(2000, n_trials=4, random_state=0).fit(categories, frame["y"], groups=frame["who"])
    assert model.report_.score < 0.75


def test_repeated_rows_do_not_flatter_the_score():
    rng = np.random.default_rng(0)
    X, y = made_up(rng, 150), rng.integers(2, size=150)
    model = CompactForestClassifier(3000, n_trials=4, random_state=0).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert model.report_.score < 0.75


@pytest.mark.parametrize("kind", ["numbers", "days", "moments", "texts"])
def test_the_score_in_time_is_that_for_later_rows(kind, tmp_path):
    """A label that changes with time: known between other rows, and unknown after them."""
    n_rows = 300
    place = np.random.default_rng(1).permutation(n_rows)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(place, "D")
    when = {
        "numbers": place,
        "days": days.date,
        "moments": days,
        "texts": days.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }[kind]
    frame = pd.DataFrame({"x": place + 0.25, "when": when, "y": place // 60 % 2})
    frame.to_parquet(tmp_path / "rows.parquet")
    by_chance = fit_table(frame[["x", "y"]], "y", budget=500, n_trials=3)
    assert by_chance.report.score > 0.9
    for table in (frame, tmp_path / "rows.parquet"):
        later = fit_table(table, "y", split="time:when", budget=500, n_trials=3)
        assert later.packed.feature_names == ("x",)
        assert later.report.score < by_chance.report.score - 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "nobody"}, "has no column 'nobody'"),
        ({"group": "y"}, "'y' is the label column"),
        ({"split": "time:nobody"}, "has no column 'nobody'"),
        ({"split": "when"}, "split must be 'time:COLUMN'"),
        ({"split": "time:"}, "split must be 'time:COLUMN'"),
        ({"split": 3}, "split must be 'time:COLUMN', .* not 3"),
        ({"group": "who", "split": "time:when"}, "by group or by time: leave one"),
        ({"split": "time:who"}, "column 'who' of .* holds 'p0' in row 1, which is no time"),
        ({"group": "empty"}, "column 'empty' of .* is empty in row 2"),
        ({"split": "time:empty"}, "column 'empty' of .* is empty in row 2"),
        ({"group": "same"}, "all rows are of one group"),
        ({"split": "time:same"}, "1 different times"),
    ],
)
def test_what_cannot_hold_rows_out_is_said(options, message, tmp_path):
    frame = grouped_frame().assign(when=range(360), empty=["1", ""] * 180, same="1")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=message):
        fit_table(tmp_path / "rows.csv", "y", budget=500, n_trials=1, **options)


def test_groups_must_be_one_for_each_row():
    X, y = made_up(np.random.default_rng(0), 40), np.arange(40) % 2
    with pytest.raises(ValueError, match=r"groups has shape \(3,\) for 40 rows"):
        CompactForestClassifier(500, n_trials=1).fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="groups holds missing values"):
        CompactForestRegressor(500, n_trials=1).fit(X, y, groups=[None, *range(39)])
