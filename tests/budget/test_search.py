import itertools
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from billhook.budget import TooSmallError, TrainingRows, fit
from billhook.budget import _search as searching
from billhook.budget._executors import ThreadExecutor
from billhook.budget._finals import all_different
from billhook.budget._scoring import score_of
from billhook.budget._search import Clock, Search
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial, is_sensible, neighbours
from billhook.budget._splits import FIRST_FINAL
from billhook.budget._trial_outcome import batches_of
from billhook.budget._trial_runner import ALL, TrialRunner
from billhook.cluster import ClusterError


def rows_of(load, step=1):
    X, y = load(return_X_y=True)
    X, y = X[::step].astype(np.float32), y[::step]
    if load is load_diabetes:
        return TrainingRows(X, y.astype(float), np.ones(len(y)), None)
    return TrainingRows(X, np.unique(y, return_inverse=True)[1], np.ones(len(y)), np.unique(y))


def runner_of(load, step=1):
    rows = rows_of(load, step)
    return TrialRunner(rows, score_of(None, rows))


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_diabetes, load_iris])
@pytest.mark.parametrize("budget", [60, 200, 700, 3000])
@pytest.mark.parametrize(
    "compression",
    [
        CompressionConfig(),
        CompressionConfig(2.0, 1.0),
        CompressionConfig(1.0, 10.0, 3, rounding="alone"),
        CompressionConfig(1.5, 3.0, 4, 16, True, "labels"),
        CompressionConfig(3.0, 1.0, 2, 8, rounding="labels"),
    ],
    ids=str,
)
def test_a_model_takes_no_more_than_the_budget_and_little_less(load, budget, compression):
    runner = runner_of(load, 3 if load is load_digits else 1)
    if runner.n_values == 1:
        compression = replace(compression, codebook=None, by_class=False)
    trial = Trial(budget, runner.canonical(GrowthConfig("boosted", 8, 0.4, 6, 32)), compression)
    try:
        packed = runner.build(trial, runner.split(0))
    except TooSmallError:
        assert budget < 200
        return
    assert packed.nbytes <= budget
    # The other data are soon learned, by fewer trees than fit.
    if load is load_digits and compression.codebook is None and budget > 200:
        assert packed.nbytes > 0.9 * budget


def test_of_a_random_forest_the_trees_that_do_best_together_come_first():
    runner = runner_of(load_digits)
    trial = Trial(1500, GrowthConfig("random_forest", 32, 1.0, 5, 16), CompressionConfig(1.0, None, 4))
    split = runner.split(0)
    grown, _, codes = runner.grown(trial.growth, split, 0)
    held = split.held_out
    first, last = (grown.select(some) for some in (range(6), range(58, 64)))
    scores = [np.mean(forest.predict(codes[held]) == runner.rows.y[held]) for forest in (first, last)]
    assert scores[0] > scores[1]
    assert runner.judge(runner.build(trial, split), split) > 0.75


def test_splits_are_chosen_again_more_or_less_often_only_where_they_were():
    for sweeps, near in ((0, set()), (1, {0, 4}), (4, {1})):
        trial = Trial(1024, GrowthConfig("boosted", 16, 0.3, 7, 64), CompressionConfig(2.0, 30.0, 5, sweeps=sweeps))
        assert {other.compression.sweeps for other in neighbours(trial)} - {sweeps} == near


def test_neighbours_differ_little_and_make_sense():
    trial = Trial(4096, GrowthConfig("boosted", 16, 0.3, 7, 64), CompressionConfig(1.5, 1.0, 4, 64, True, "labels"))
    near = neighbours(trial)
    assert len(set(near)) == len(near) > 10
    assert all(is_sensible(other) for other in near)
    for other in near:
        assert (other.growth != trial.growth) != (other.compression != trial.compression)
        assert other.budget == trial.budget
    assert not any(
        other.compression.l2 is None for other in neighbours(replace(trial, compression=CompressionConfig(2.0, 0.3)))
    )


def search_of(runner, budgets, **options):
    return Search(runner, budgets, ThreadExecutor(1), Clock(None), **options)


def test_a_larger_budget_does_no_worse_on_the_rows_it_was_chosen_on():
    # A third of the digits is enough for each of these budgets to be filled: the best are 74, 90 and 93 % accurate.
    search = search_of(runner_of(load_digits, 3), (200, 400, 800), n_trials=12)
    search.run()
    best = [search.best(budget) for budget in (200, 400, 800)]
    assert all(one.nbytes <= budget for one, budget in zip(best, (200, 400, 800), strict=True))
    assert best[0].score <= best[1].score <= best[2].score
    assert {len(one.scores) for one in best} == {len(searching.FINALISTS)}
    assert search.n_done == 12


def test_where_the_best_could_not_be_compared_a_worse_one_that_was_is_not_taken():
    search = search_of(runner_of(load_iris), (300, 600), n_trials=2)
    search.run()
    best = search.best(600)
    small = replace(best.trial, budget=300)
    outcome = search.outcomes[best.trial][0]
    worse = replace(outcome, trial=small, score=outcome.score - 0.5)
    finals = {number: replace(worse, split=number) for number in search.final_splits}
    search.outcomes = {best.trial: {0: outcome}, small: {0: worse, **finals}}
    assert search.best(600).trial == best.trial
    search.outcomes[best.trial] |= {n: replace(outcome, split=n, packed=None) for n in search.final_splits}
    assert search.best(600).trial == small  # on other rows, the best was too large


def test_a_search_goes_on_where_nothing_is_left_near_the_models_of_a_small_budget():
    search = search_of(runner_of(load_iris), (150, 300), n_trials=40, share_of_last=0.0)
    near = search._next
    search._next = lambda budget: [] if budget == 150 else near(budget)
    search._explore()
    assert search.n_done == 40


def test_what_is_best_for_another_budget_is_tried_for_those_beside_it():
    runner = runner_of(load_iris)
    search = search_of(runner, (150, 300, 600), n_trials=12)
    best = Trial(300, runner.canonical(GrowthConfig("boosted", 8, 0.3, 5, 16)), CompressionConfig())
    search._run([best], 0, is_quick=True)
    for budget in (150, 600):
        assert search._next(budget)[0] == replace(best, budget=budget)


def test_what_is_near_many_models_is_tried_where_all_near_the_best_is_known(monkeypatch):
    search = search_of(runner_of(load_iris), (300,), n_trials=20)
    search._explore()
    best = [candidate.trial for candidate in search.candidates(300)]
    own = neighbours(best[5])
    monkeypatch.setattr(searching, "neighbours", lambda trial: own if trial == best[5] else [])
    tried = search._next(300)
    assert tried
    assert set(tried) <= set(search._canonical(own))


def test_trials_that_come_to_the_same_model_are_compared_once():
    runner = runner_of(load_iris)
    search = search_of(runner, (2_000, 4_000), n_trials=2)
    stumps = replace(runner.canonical(GrowthConfig("boosted", 2, 0.3, 5, 16)), max_tests=1)
    small = Trial(2_000, stumps, CompressionConfig(rounding="alone"))
    other = replace(small, compression=CompressionConfig(leaf_bits=8, rounding="alone"))
    trials = [small, replace(small, budget=4_000), other]
    search._run(trials, 0, is_quick=True)
    first, second, third = (search.outcomes[trial][0].packed for trial in trials)
    assert first == second != third
    assert len(search.candidates(4_000)) == 3
    assert len(search._finalists(4_000, 8)) == 2


def test_a_cap_that_trees_do_not_reach_is_not_tried_as_another_model():
    runner = runner_of(load_iris)
    search = search_of(runner, (600,), n_trials=10)
    free = Trial(600, runner.canonical(GrowthConfig("boosted", 8, 0.3, 5, 16)), CompressionConfig())

    def capped(most):
        return replace(free, growth=replace(free.growth, max_tests=most))

    search._run([free, capped(64), capped(128)], 0, is_quick=True)
    _, first, second = (search.outcomes[trial][0] for trial in (free, capped(64), capped(128)))
    assert first.packed == second.packed
    assert 0 < first.n_tests == second.n_tests < 64
    assert search._canonical([free, capped(256), capped(512)]) == [free]
    # What was cut off by its cap says nothing of others.
    search.outcomes = {capped(64): {0: replace(first, n_tests=64)}}
    assert search._canonical([free, capped(128)]) == [free, capped(128)]
    search.outcomes = {free: {0: replace(first, n_tests=100)}}
    assert search._canonical([capped(64), capped(100), capped(128)]) == [capped(64), capped(100), free]


def test_of_trials_that_come_to_the_same_model_the_first_counts():
    runner = runner_of(load_iris)
    search = search_of(runner, (2_000,), n_trials=2)
    stumps = replace(runner.canonical(GrowthConfig("boosted", 2, 0.3, 5, 16)), max_tests=1)
    small = Trial(2_000, stumps, CompressionConfig(rounding="alone"))
    other = replace(small, compression=CompressionConfig(leaf_bits=8, rounding="alone"))
    search._run([small, replace(small, budget=4_000), other], 0, is_quick=True)
    found = search.candidates(4_000)
    different = list(all_different(found))
    assert (len(found), len(different)) == (3, 2)
    assert different[0].packed == found[0].packed != different[1].packed


def test_a_search_for_several_budgets_goes_on_where_one_has_a_perfect_model():
    rows = rows_of(load_iris)
    rows = replace(rows, y=(rows.X[:, 2] > 2.5).astype(np.int64), classes=np.arange(2))
    for may_end_early in (True, False):
        runner = TrialRunner(rows, score_of(None, rows))
        now = iter(np.arange(0.0, 1e6, 0.05))
        clock = Clock(60.0, lambda now=now: float(next(now)))
        options = {"perfect": 1.0, "share_of_last": 0.5, "may_end_early": may_end_early}
        search = Search(runner, (200, 400), ThreadExecutor(1), clock, **options)
        search.run()
        assert bool(search.ended_early) == may_end_early


def test_of_numbers_as_many_are_compared_as_there_is_room_for():
    search = search_of(runner_of(load_diabetes), (600,), n_trials=12, perfect=1.0)
    search._explore()
    assert len(search._finalists(600, 8)) == 8


def test_what_is_compared_does_not_depend_on_the_unit_of_the_score():
    rows = rows_of(load_diabetes)
    n_compared = []
    for unit in (1e-3, 1.0, 1e3):
        searches = []
        scaled = replace(rows, y=rows.y * unit)
        fit(scaled, 600, n_trials=6, scoring="neg_mean_squared_error", progress=searches.append)
        by_split = searches[-1].outcomes.values()
        n_compared.append([sum(number in one for one in by_split) for number in searches[-1].final_splits])
    assert n_compared[0] == n_compared[1] == n_compared[2]
    assert n_compared[0][0] > 2


def test_rows_that_judge_are_not_learned_from():
    runner = runner_of(load_iris)
    seen = []
    stages = runner.stages

    def spy(trial, split, **options):
        seen.append(split)
        return stages(trial, split, **options)

    runner.stages = spy
    search = search_of(runner, (300,), n_trials=2)
    search.run()
    assert {split.number for split in seen} >= {0, 1, 2, 100, 101, 102, 103, 104}
    for split in seen:
        assert not set(split.train) & set(split.held_out)
        assert split.held_out.size > 0
    search.final(300)
    assert seen[-1].number == ALL
    assert seen[-1].train.size == 150


def test_the_clock_ends_the_search_and_there_is_a_model_soon():
    """By a clock that goes on a second whenever it is looked at, however fast the machine is."""
    first = []
    search = Search(
        runner_of(load_digits, 3),  # the clock goes by looks at it, so how long a trial takes does not matter
        (512, 1024),
        ThreadExecutor(1),
        Clock(20_000.0, itertools.count().__next__),
        progress=lambda s: first.append(s.clock.seconds) if s.best(1024) and not first else None,
    )
    search.run()
    assert search.clock.seconds < 20_000
    assert first[0] < 2_000
    assert search.best(1024) is not None


def test_an_interruption_keeps_the_best_so_far():
    runner = runner_of(load_iris)

    def interrupt(search):
        if search.n_done >= 3 and search.candidates():
            raise KeyboardInterrupt

    def once(search):
        if not search.is_interrupted:
            interrupt(search)

    with pytest.raises(KeyboardInterrupt):
        fit(runner.rows, 500, n_trials=50, progress=once)
    found = fit(runner.rows, 500, n_trials=50, keep_best=True, progress=once)
    assert found.was_interrupted
    assert found.packed.nbytes <= 500
    assert np.mean(found.packed.predict(runner.rows.X) == runner.rows.labels) > 0.9
    assert any("interrupted" in note for note in found.report.notes)
    assert any("not compared on rows held out anew" in note for note in found.report.notes)


def test_when_memory_ran_out_before_an_interruption_both_are_known_and_nothing_is_compared_with():
    def end_twice(search):
        if search.n_done and not search.is_interrupted:
            raise MemoryError
        if search.stage.startswith("learning"):
            raise KeyboardInterrupt

    found = fit(rows_of(load_iris), 400, n_trials=50, progress=end_twice, keep_best=True, compare=True)
    assert found.was_interrupted
    assert found.ran_out_of_memory
    assert found.report.others == ()
    assert any("no comparison with others" in note for note in found.report.notes)


def test_rows_of_splits_that_do_not_count_in_the_score_are_not_in_the_report():
    """As where the time was up, or Ctrl-C pressed, while finalists were compared on a split."""
    rows, searches = rows_of(load_iris), []

    def end_in_the_midst_of_a_split(search):
        searches.append(search)
        has_begun = any(FIRST_FINAL + 1 in by_split for by_split in search.outcomes.values())
        if has_begun and not search.is_interrupted:
            raise KeyboardInterrupt

    found = fit(rows, 400, n_trials=4, progress=end_in_the_midst_of_a_split, keep_best=True)
    assert searches[-1].final_splits == [FIRST_FINAL]
    assert len(found.report.scores) == 1
    assert found.report.confusion.sum() == searches[-1].comparing.split(FIRST_FINAL).held_out.size


@pytest.mark.parametrize(("stage", "is_compared"), [("evaluating", False), ("learning from all rows", True)])
def test_a_sample_that_was_not_compared_on_is_not_said_to_have_been(monkeypatch, stage, is_compared):
    monkeypatch.setattr(searching, "TRIED_ROWS", 100)

    def interrupt(search):
        if search.stage == stage and search.n_done:
            raise KeyboardInterrupt

    found = fit(rows_of(load_iris), 400, n_trials=2, progress=interrupt, keep_best=True)
    (note,) = (note for note in found.report.notes if "on a sample of" in note)
    assert ("and compared on" in note) == is_compared


def test_an_interruption_of_the_last_model_keeps_the_one_of_fewer_rows():
    def interrupt(search):
        if search.stage.startswith("learning"):
            raise KeyboardInterrupt

    rows = rows_of(load_iris)
    with pytest.raises(KeyboardInterrupt):
        fit(rows, 400, n_trials=2, progress=interrupt)
    found = fit(rows, 400, n_trials=2, progress=interrupt, keep_best=True)
    assert found.was_interrupted
    assert np.mean(found.packed.predict(rows.X) == rows.labels) > 0.9


def test_a_budget_that_cannot_be_filled_is_no_harm():
    found = fit(rows_of(load_iris), 1 << 21, n_trials=3)
    assert found.packed.nbytes < 20_000
    assert found.report.score > 0.9


def test_a_way_that_cannot_be_does_not_end_the_search():
    # With 30 classes and 200 bytes two of the first five ways are too large, one with a codebook and one without.
    rng = np.random.default_rng(0)
    y = np.arange(180) % 30
    rows = TrainingRows((y[:, None] + rng.normal(size=(180, 2))).astype(np.float32), y, np.ones(180), np.arange(30))
    searches = []
    found = fit(rows, 200, n_trials=5, progress=searches.append)
    assert found.packed.nbytes <= 200
    tried = [by_split[0].packed for by_split in searches[-1].outcomes.values()]
    assert len(tried) == 5
    assert None in tried


def test_targets_may_have_any_unit():
    rows = rows_of(load_diabetes)
    scores = [
        fit(replace(rows, y=rows.y * unit + offset), 600, n_trials=3).report.score
        for unit, offset in ((1.0, 0.0), (1e-9, 0.0), (1e12, 0.0), (1.0, 1e7))
    ]
    np.testing.assert_allclose(scores, scores[0], atol=0.05)
    with pytest.raises(ValueError, match=r"y holds 1e\+300: targets may be up to 1e\+100"):
        fit(replace(rows, y=np.where(rows.y > 300, 1e300, rows.y)), 600, n_trials=1)


def test_an_interruption_before_there_is_a_model_is_one():
    def interrupt(_search):
        raise KeyboardInterrupt

    search = search_of(runner_of(load_iris), (300,), n_trials=5, progress=interrupt)
    search.executor = type("Nobody", (), {"map": staticmethod(lambda *_: interrupt(None))})()
    with pytest.raises(KeyboardInterrupt):
        search.run()


def test_an_error_in_a_trial_is_raised_and_ends_all_threads():
    runner = runner_of(load_iris)
    runner.stages = lambda *_, **__: 1 / 0
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        search_of(runner, (300,), n_trials=5).run()
    assert threading.active_count() <= before


def test_many_rows_are_tried_with_fewer(monkeypatch):
    monkeypatch.setattr(searching, "TRIED_ROWS", 400)
    monkeypatch.setattr(searching, "COMPARED_ROWS", 800)
    rows = rows_of(load_digits)
    search = search_of(TrialRunner(rows, score_of(None, rows)), (600,), n_trials=2)
    search.run()
    assert 400 <= search.trying.rows.n_rows < 420
    assert 800 <= search.comparing.rows.n_rows < 820
    assert search.outcomes
    found = fit(rows, 600, n_trials=2)
    assert any("sample of 4" in note and "learned from all" in note for note in found.report.notes)


def test_a_batch_grows_its_ensemble_once():
    one, other = GrowthConfig("boosted", 8), GrowthConfig("boosted", 16)
    trials = [Trial(budget, growth, CompressionConfig()) for budget in (1, 2) for growth in (one, other)]
    batches = batches_of(trials, 5, is_quick=True)
    assert [(batch.growth, [trial.budget for trial in batch.trials]) for batch in batches] == [
        (one, [1]),
        (other, [1]),
        (one, [2]),
        (other, [2]),
    ]
    runner = runner_of(load_iris)
    grown = []
    cached = runner._cached
    runner._cached = lambda cache, most, key, make: cached(cache, most, key, lambda: grown.append(key) or make())
    compressions = (CompressionConfig(), CompressionConfig(1.0, 1.0), CompressionConfig(2.0, 1.0))
    runner.run(batches_of([Trial(200, one, compression) for compression in compressions], 0, is_quick=True)[0])
    assert len([key for key in grown if isinstance(key[0], GrowthConfig)]) == 1


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_diabetes])
def test_what_goes_on_growing_is_what_was_grown_at_once(load):
    growth = GrowthConfig("boosted", 8, 0.3, 6, 32)
    step, once = runner_of(load), runner_of(load)
    split = once.split(0)
    for n_leaves in (20, 50, 400):
        stepwise = step.grown(growth, split, n_leaves)[0]
    assert stepwise.n_trees == 50
    assert stepwise == once.grown(growth, split, 400)[0]


def test_a_budget_too_small_says_the_smallest():
    rows = rows_of(load_breast_cancer)
    with pytest.raises(
        TooSmallError, match=r"a budget of 3 bytes is too small: a model with one split takes (\d+)"
    ) as e:
        fit(rows, 3, n_trials=1)
    smallest = int(str(e.value).split("takes ")[1].split(" ")[0])
    found = fit(rows, smallest, n_trials=2)
    assert found.packed.nbytes <= smallest
    assert found.packed.layout.n_inner == 1
    assert found.report.score > 0.8


def test_no_other_library_grows_the_trees(monkeypatch):
    for name in ("xgboost", "lightgbm", "sklearn.ensemble"):
        monkeypatch.setitem(sys.modules, name, None)
    found = fit(rows_of(load_iris), 500, n_trials=12)
    assert found.packed.origin in ("billhook.boosting", "billhook.random_forest", "billhook.extra_trees")
    assert found.report.score > 0.85


def test_models_that_aimed_at_less_are_compared_on_rows_held_out_anew():
    """Where all of the best for a budget aimed at less, their finals are those of the budget."""
    searches = []
    fit(rows_of(load_iris), 16_384, n_trials=12, progress=searches.append)
    search = searches[-1]
    search.outcomes = {
        trial: {number: one for number, one in by_split.items() if number < FIRST_FINAL}
        for trial, by_split in search.outcomes.items()
        if trial.budget < 16_384
    }
    search.final_splits, search.compared_on = [], {}
    assert len(search.outcomes) > 1
    search._compare()
    assert search.best(16_384).is_final


def test_the_model_at_hand_stays_where_the_cluster_goes_away_before_the_last():
    rows = runner_of(load_iris).rows

    def gone(_trial):
        raise ClusterError("the scheduler has had no worker for 600 seconds")

    result = fit(rows, 300, n_trials=2, final=gone)
    assert result.packed.nbytes <= 300
    assert np.mean(result.packed.predict(rows.X) == rows.labels) > 0.8
    assert any("rows: the scheduler has had no worker for 600 seconds." in note for note in result.report.notes)
