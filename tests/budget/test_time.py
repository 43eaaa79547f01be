"""The time limit, by clocks that are made up: they go on with what is done, not with how fast the machine is."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import get_scorer, get_scorer_names

import billhook as bh
from billhook._deadline import OutOfTimeError, TimeLimit, check_time, within
from billhook.budget import (
    Clock,
    Search,
    ThreadExecutor,
    TrainingRows,
    UserEnsemble,
    encode_table,
    fit,
    fit_table,
)
from billhook.budget import _search as searching
from billhook.budget._portfolio import MORE_CLASSES
from billhook.budget._scoring import AsEstimator, highest_score, perfect_score, score_of
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.budget._splits import FIRST_FINAL
from billhook.budget._trial_outcome import batches_of
from billhook.budget._trial_runner import TrialRunner
from billhook.tables import Categorical, Table, read_table, table_of_frame


def rows_of(load, step=1):
    X, y = load(return_X_y=True)
    X, y = X[::step].astype(np.float32), y[::step]
    return TrainingRows(X, np.unique(y, return_inverse=True)[1], np.ones(len(y)), np.unique(y))


class Hand:
    """A clock whose hand is moved: by a second whenever it is looked at, once it ticks."""

    def __init__(self, ticks=False):
        self.time, self.ticks = 0.0, ticks

    def __call__(self):
        self.time += self.ticks
        return self.time


def always_over():
    return TimeLimit(0.0, lambda: 1.0)


def test_trials_that_are_broken_off_have_no_outcome():
    rows = rows_of(load_iris)
    runner = TrialRunner(rows, score_of(None, rows))
    growth = GrowthConfig("boosted", 8, 0.3, 5, 16)
    trials = [Trial(300, growth, CompressionConfig()), Trial(300, growth, CompressionConfig(2.0, 1.0))]
    (batch,) = batches_of(trials, 0, is_quick=True)
    n_looks = itertools.count()
    assert len(runner.run(batch._replace(until=TimeLimit(1e9, n_looks.__next__)))) == 2
    all_looks = next(n_looks)
    runner.clear_caches()
    almost = TimeLimit(all_looks - 2, itertools.count().__next__)  # the last look is in the last trial
    assert [outcome.trial for outcome in runner.run(batch._replace(until=almost))] == trials[:1]
    assert runner.run(batch._replace(until=always_over())) == []


def test_what_is_broken_off_does_not_count():
    class SlowAtLast(TrialRunner):
        """Begins three trials in time."""

        n_begun = 0

        def stages(self, trial, split, **options):
            self.n_begun += 1
            if self.n_begun > 3:
                hand.time = 95.0
                check_time()
            return super().stages(trial, split, **options)

    hand, rows = Hand(), rows_of(load_digits, 3)
    runner = SlowAtLast(rows, score_of(None, rows))
    search = Search(runner, (512, 1024), ThreadExecutor(1), Clock(100.0, hand))
    search.run()
    evaluated = [by_split for by_split in search.outcomes.values() if 0 in by_split]
    assert runner.n_begun > 3
    assert search.n_done == len(evaluated) < len(search.outcomes)
    assert all(outcome.packed is not None for by_split in evaluated for outcome in by_split.values())


@pytest.mark.parametrize("seconds", [1e-6, 20.0, 300.0])
def test_there_is_a_model_however_short_the_time(seconds):
    rows = rows_of(load_digits)
    found = fit(rows, 2000, clock=Clock(seconds, Hand(ticks=True)))
    assert 0 < found.packed.nbytes <= 2000
    assert np.mean(found.packed.predict(rows.X) == rows.labels) > 0.5
    (note,) = (note for note in found.report.notes if "too short" in note)
    assert f"of 1,797 rows: time_limit={seconds:g} was too short to learn from all" in note


def test_a_first_trial_that_takes_too_long_is_made_on_fewer_rows(monkeypatch):
    """So long as it is on all rows, the first trial is broken off."""
    run = TrialRunner.run

    def slow(self, batch):
        return [] if self.rows.n_rows > 300 and batch.until is not None else run(self, batch)

    monkeypatch.setattr(TrialRunner, "run", slow)
    monkeypatch.setattr(searching, "FEWEST_ROWS", 150)
    rows = rows_of(load_digits)
    search = Search(TrialRunner(rows, score_of(None, rows)), (1000,), ThreadExecutor(1), Clock(100.0, Hand()))
    search._find_first_model(search._starts()[0])
    assert 1797 // 8 <= search.trying.rows.n_rows < 300
    assert search.best(1000) is not None
    assert search.n_done == 1


def table_of_colours(n_rows=400):
    rng = np.random.default_rng(0)
    colours = Categorical(rng.integers(0, 5, n_rows).astype(np.int32), tuple("abcde"))
    # Two colours apart from the others in no order: one-hot encoding does better in few bytes.
    y = np.isin(colours.codes, (1, 3)) ^ (rng.random(n_rows) < 0.05)
    return Table(
        "made-up.csv", ("colour", "x"), (colours, rng.normal(size=n_rows).astype(np.float32)), y * 1, "classification"
    )


def test_the_choice_of_the_encoding_takes_a_tenth_of_the_time():
    table = table_of_colours()
    hand = Hand(ticks=True)
    encoded = encode_table(table, 300, clock=Clock(100.0, hand))
    assert hand.time < 20
    assert {column.kind for column in encoded.encoding.columns if column.categories} == {"ordered"}
    assert "There was no time to evaluate one-hot encoding." in encoded.notes
    for clock in (None, Clock(100.0, Hand()), Clock(None, Hand(ticks=True))):
        assert not any("no time" in note for note in encode_table(table, 300, clock=clock).notes)


class Ending:
    """A fit whose search ends after some batches, and whose last model then has some of its time left."""

    def __init__(self, left, *, ticks=False):
        self.hand, self.left, self.ticks = Hand(), left, ticks

    def __call__(self, search):
        self.search = search
        if search.stage == "learning from all rows":
            self.hand.time, self.hand.ticks = search.clock.end - self.left, self.ticks
        elif not search.is_built:
            self.hand.time += 5.0

    def fit(self, rows, **options):
        return fit(rows, 600, clock=Clock(100.0, self.hand), progress=self, **options)


def test_a_last_model_that_does_not_fit_into_the_time_is_not_begun(monkeypatch):
    """It seems to take six times as long as there is time; that may be too long by three times."""
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 60.0)
    ending = Ending(left=10.0)
    found = ending.fit(rows_of(load_iris))
    assert found.packed == ending.search.best(600).packed
    assert any(
        "has learned from 128 of 150 rows: time_limit=100 was too short" in note for note in found.report.notes
    )


def test_a_last_model_is_broken_off_at_the_end_of_the_time(monkeypatch):
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 1.0)
    ending = Ending(left=5.0, ticks=True)
    found = ending.fit(rows_of(load_iris))
    assert found.packed == ending.search.best(600).packed
    assert any("has learned from 128 of 150 rows" in note for note in found.report.notes)


@pytest.mark.parametrize(("seems", "takes", "n_rows"), [(40.0, 32.0, 898), (100.0, 20.0, 1617), (20.0, 40.0, 809)])
def test_a_last_model_learns_from_as_many_rows_as_fit_into_the_time(monkeypatch, seems, takes, n_rows):
    """All rows seem to take so long, and by their first trees take so long; there are 20 s."""
    monkeypatch.setattr(searching, "TRIED_ROWS", 400)
    monkeypatch.setattr(searching, "COMPARED_ROWS", 500)
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: seems)
    monkeypatch.setattr(Search, "seconds_to_compress", lambda *_, **__: 0.0)
    seconds_to_grow = TrialRunner.seconds_to_grow

    def grow_first(self, trial, split):
        assert seconds_to_grow(self, trial, split) > 0.0
        return takes * split.train.size / 1797

    monkeypatch.setattr(TrialRunner, "seconds_to_grow", grow_first)
    ending = Ending(left=20.0)
    found = ending.fit(rows_of(load_digits), families=("boosted",))
    assert found.packed != ending.search.best(600).packed
    (note,) = (note for note in found.report.notes if "too short to learn from all" in note)
    learned_from = int(note.partition("has learned from ")[2].partition(" of")[0].replace(",", ""))
    assert learned_from == pytest.approx(n_rows, abs=25)  # one of each class is among those drawn
    assert not any("learned from all." in note for note in found.report.notes)


def test_a_last_model_in_time_learns_from_all_rows(monkeypatch):
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 1.0)
    ending = Ending(left=20.0)
    found = ending.fit(rows_of(load_iris))
    assert found.packed == ending.search.final(600)
    assert not any("too short" in note for note in found.report.notes)


def test_the_report_shows_the_stages_of_a_finalist_and_builds_nothing(monkeypatch):
    built = []
    stages = TrialRunner.stages

    def spy(self, trial, split, **options):
        built.append(split.number)
        return stages(self, trial, split, **options)

    monkeypatch.setattr(TrialRunner, "stages", spy)
    searches = []
    rows = rows_of(load_digits, 2)
    found = fit(rows, 700, n_trials=6, progress=searches.append)
    assert built[-1] == -1  # the last model is the last that is made
    search = searches[-1]
    best = search.best(700)
    outcome = search.outcomes[best.trial][FIRST_FINAL]
    shown = found.report.stages
    assert shown == outcome.stages
    assert [stage.name for stage in shown] in (
        ["grown", "packed"],
        ["grown", "merged", "packed"],
        ["grown", "refined", "packed"],
    )
    assert (shown[-1].score, shown[-1].nbytes) == (outcome.score, outcome.packed.nbytes)
    # The stages made again, their mistakes counted here.
    runner = search.comparing
    split = runner.split(FIRST_FINAL)
    again = stages(runner, best.trial, split)
    codes = runner.grown(best.trial.growth, split, 0)[2][split.held_out]
    expected = rows.labels[split.held_out]
    forests = [again.grown, again.fitted][: len(shown) - 1]
    assert [stage.score for stage in shown[:-1]] == [np.mean(f.predict(codes) == expected) for f in forests]


def separable(n_rows=300):
    X = np.random.default_rng(0).normal(size=(n_rows, 3)).astype(np.float32)
    X[:, 0] += np.sign(X[:, 0])
    return TrainingRows(X, (X[:, 0] > 0).astype(np.int64), np.ones(n_rows), np.array(["no", "yes"]))


def test_a_model_without_a_mistake_ends_the_search():
    found = fit(separable(), 200, clock=Clock(1e9, Hand()))
    assert found.report.score == 1.0
    assert any("ended early" in note and "without a mistake" in note for note in found.report.notes)


def test_a_search_that_gains_nothing_any_more_ends():
    rng = np.random.default_rng(0)
    rows = TrainingRows(rng.normal(size=(60, 2)).astype(np.float32), np.arange(60) % 2, np.ones(60), np.arange(2))
    found = fit(rows, 100, clock=Clock(1e9, Hand()), families=("boosted",))
    assert found.report.n_trials >= 2 * searching.ENOUGH_TRIALS
    assert any("ended early" in note and "less than a standard error" in note for note in found.report.notes)


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_with_a_number_of_trials_nothing_ends_early(scoring):
    found = fit(separable(), 200, n_trials=30, scoring=scoring)
    assert found.report.n_trials == 30
    assert not any("ended early" in note for note in found.report.notes)


def test_a_score_of_an_unknown_kind_ends_nothing_early():
    hand = Hand()
    found = fit(
        separable(),
        200,
        scoring=lambda model, X, y: np.mean(model.predict(X) == y) - 5.0,
        clock=Clock(300.0, hand),
        progress=lambda _search: setattr(hand, "time", hand.time + 10.0),
    )
    assert not any("ended early" in note for note in found.report.notes)


def test_the_interval_of_a_slow_score_does_not_take_more_than_the_time():
    hand = Hand()

    def slow(model, X, y):
        hand.time += 1.0
        return np.mean(model.predict(X) == y) - 0.1

    found = fit(rows_of(load_digits, 3), 400, scoring=slow, clock=Clock(60.0, hand))
    assert found.report.interval is None
    assert hand.time < 62.0


class Perfect:
    """A model that knows all answers: the labels are its rows."""

    def __init__(self, classes):
        self.classes = classes

    def predict(self, X):
        return np.asarray(X)[:, 0] if self.classes is None else np.asarray(X)[:, 0].astype(int)

    def predict_proba(self, X):
        return np.eye(2)[self.predict(X)]

    def decision_function(self, X):
        return self.predict(X) - 0.5


@pytest.mark.filterwarnings("ignore:.*likelihood_ratio")
@pytest.mark.parametrize("name", [name for name in get_scorer_names() if perfect_score(name) is not None])
def test_a_perfect_score_is_that_of_a_model_without_a_mistake(name):
    for y, classes in ((np.array([0, 1, 1, 0, 1]), np.arange(2)), (np.array([0.5, 2.0, 1.5, 3.0]), None)):
        try:
            score = get_scorer(name)(AsEstimator(Perfect(classes)), y[:, None], y)
        except (ValueError, AttributeError):  # of another task
            continue
        assert score == pytest.approx(perfect_score(name), abs=1e-12)
        assert perfect_score(name) == highest_score(name)
        return
    pytest.fail(f"{name} judges neither classes nor numbers")


def test_many_classes_have_a_good_model_soon(monkeypatch):
    # Without a codebook, the leaves of 60 classes take so many bytes that few fit.
    rng = np.random.default_rng(0)
    y = np.arange(3_000) % 60
    centre = rng.normal(size=(60, 6))
    rows = TrainingRows(
        (centre[y] + 0.2 * rng.normal(size=(3_000, 6))).astype(np.float32), y, np.ones(3_000), np.arange(60)
    )
    first = fit(rows, 2048, n_trials=1).report.score
    plain = MORE_CLASSES[0]._replace(l2=None, leaf_bits=3, codebook=None, by_class=False, rounding="alone")
    monkeypatch.setattr("billhook.budget._portfolio.MORE_CLASSES", (plain,))
    assert first > fit(rows, 2048, n_trials=1).report.score + 0.04


def test_rows_to_compare_on_are_fewer_where_the_time_is_short(monkeypatch):
    monkeypatch.setattr(searching, "TRIED_ROWS", 400)
    monkeypatch.setattr(searching, "COMPARED_ROWS", 1600)
    rows = rows_of(load_digits)
    for seconds, least, most in ((1.0, 1600, 1650), (10.0, 500, 1500), (1000.0, 400, 450)):
        hand = Hand()
        search = Search(TrialRunner(rows, score_of(None, rows)), (600,), ThreadExecutor(1), Clock(100.0, hand))
        search._find_first_model(search._starts()[0])
        (trial,) = search.outcomes
        search.outcomes[trial][0] = replace(search.outcomes[trial][0], seconds=seconds)
        hand.time = 40.0
        monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 0.0)
        search._choose_compared_rows()
        assert least <= search.comparing.rows.n_rows < most, seconds


@pytest.mark.parametrize(("seconds", "is_quick"), [(0.5, False), (5.0, True)])
def test_finalists_are_made_as_quickly_as_trials_where_the_time_is_short(monkeypatch, seconds, is_quick):
    rows, hand = rows_of(load_digits, 3), Hand()
    search = Search(TrialRunner(rows, score_of(None, rows)), (600,), ThreadExecutor(1), Clock(100.0, hand))
    search.n_splits = 1
    search._try(search._canonical(search._starts()[:3]))
    for trial, by_split in search.outcomes.items():
        search.outcomes[trial] = {0: replace(by_split[0], seconds=seconds, shared_seconds=0.0)}
    hand.time = 70.0
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 0.0)
    search._compare()
    assert search.finals_are_quick == is_quick
    compared = [by_split[FIRST_FINAL] for by_split in search.outcomes.values() if FIRST_FINAL in by_split]
    assert len(compared) > 1
    assert {outcome.is_quick for outcome in compared} == {is_quick}
    # What was known of a model counts as much as what the finals say, if it was made in the same way.
    for candidate in search.candidates(600, final=True):
        tried = search.outcomes[candidate.trial][0].score
        scores = [*candidate.scores, tried] if is_quick else candidate.scores
        assert candidate.score_to_rank == pytest.approx(np.mean(scores))


def test_what_seemed_perfect_is_compared_as_the_others_are_where_the_time_is_short(monkeypatch):
    """It was made as well as the last model, on the final splits of more rows: of these it had learned from some."""
    monkeypatch.setattr(searching, "TRIED_ROWS", 400)
    rows, hand = rows_of(load_digits), Hand()
    search = Search(
        TrialRunner(rows, score_of(None, rows)), (600,), ThreadExecutor(1), Clock(100.0, hand), perfect=1.0
    )
    search.n_splits = 1
    search._try(search._canonical(search._starts()[:3]))
    for trial, by_split in search.outcomes.items():
        search.outcomes[trial] = {0: replace(by_split[0], score=1.0, seconds=5.0, shared_seconds=0.0)}
    assert not search._is_perfect()
    assert any(FIRST_FINAL in by_split for by_split in search.outcomes.values())
    hand.time = 70.0
    monkeypatch.setattr(Search, "seconds_of_last", lambda *_: 0.0)
    search._compare()
    assert search.finals_are_quick
    final = [one for by_split in search.outcomes.values() for one in by_split.values() if one.split >= FIRST_FINAL]
    assert len(final) > 1
    for one in final:
        assert one.is_quick
        assert one.score == search.trying.judge(one.packed, search.trying.split(one.split))


def test_finalists_that_are_made_quickly_are_made_in_their_order():
    growths = [GrowthConfig("boosted", leaves) for leaves in (8, 16)]
    trials = [Trial(300, growths[k], CompressionConfig(leaf_bits=bits)) for k, bits in ((0, 3), (1, 3), (0, 4))]
    in_order = batches_of(trials, FIRST_FINAL, is_quick=True, is_in_order=True)
    assert [batch.trials for batch in in_order] == [(trial,) for trial in trials]
    together = batches_of(trials, FIRST_FINAL, is_quick=True)
    assert [batch.trials for batch in together] == [(trials[0], trials[2]), (trials[1],)]


def test_reading_that_leaves_no_time_to_learn_is_an_error(tmp_path):
    table = tmp_path / "long.csv"
    table.write_text("x,y\n" + "1.5,a\n2.5,b\n" * 3000)
    started = time.perf_counter() - 1e6
    with pytest.raises(TimeoutError, match=r"reading .*long.csv was broken off after .* s: time_limit=5 leaves no"):
        fit_table(table, "y", budget=300, time_limit=5.0, started=started)
    assert fit_table(table, "y", budget=300, time_limit=5.0, started=started, n_trials=1).packed.nbytes <= 300


@pytest.mark.parametrize("suffix", [".csv", ".arff", ".parquet", "frame"])
def test_reading_is_broken_off_in_the_middle(tmp_path, suffix):
    """The clock ticks whenever it is looked at, which is for each block of rows or each column."""
    frame = pd.DataFrame({f"x{k}": np.arange(2000.0) for k in range(6)}).assign(y=np.arange(2000) % 2)
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".arff":
        names = "".join(f"@attribute {name} numeric\n" for name in frame)
        path.write_text(f"@relation r\n{names}@data\n" + frame.to_csv(index=False, header=False))
    looks = itertools.count()

    def read(limit):
        with within(TimeLimit(limit, looks.__next__)):
            return table_of_frame(frame, "y") if suffix == "frame" else read_table(path, "y")

    assert len(read(1e9).y) == 2000
    n_looks = next(looks)
    assert n_looks >= 4
    with pytest.raises(OutOfTimeError):
        read(n_looks + n_looks // 2)


def test_encoding_that_leaves_no_time_to_learn_is_an_error():
    clock = Clock(100.0, Hand())
    clock.now.time = 90.0
    with pytest.raises(
        TimeoutError, match=r"encoding made-up.csv was broken off after 90.0 s: time_limit=100 leaves"
    ):
        encode_table(table_of_colours(), 300, clock=clock, categorical="ordered")


def test_an_estimator_that_would_take_too_long_is_fitted_to_fewer_rows(monkeypatch):
    """It takes a second for each row, by a clock that only it moves."""
    hand = Hand()
    monkeypatch.setattr("billhook.budget._user_ensemble.time.perf_counter", hand)
    monkeypatch.setattr(searching, "FEWEST_ROWS", 60)
    X, y = load_digits(return_X_y=True)

    class Slow(RandomForestClassifier):
        def fit(self, X, y, **options):
            hand.time += len(X)
            return super().fit(X, y, **options)

    rows = rows_of(load_digits)

    def make(rows, train):
        return bh.as_forest(Slow(8, max_leaf_nodes=16, random_state=0).fit(rows.X[train], rows.labels[train]))

    clock = Clock(1000.0, hand)
    found = fit(rows, 1500, user_ensemble=UserEnsemble.of(make, rows, np.arange(200)), clock=clock)
    assert hand.time <= 1000.0
    assert any(
        f"of {len(y):,} rows: time_limit=1000 was too short to learn from all" in n for n in found.report.notes
    )
    assert np.mean(found.packed.predict(X) == y) > 0.5
