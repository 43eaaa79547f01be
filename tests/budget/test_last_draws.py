"""Of several draws of the best configuration, learned from all rows, what fits these best is the last model."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from billhook import as_forest
from billhook.budget import Clock, Search, ThreadExecutor, fit, training_rows
from billhook.budget._fit_to_rows import evenly_spaced
from billhook.budget._grow import DRAWN_SHARE, SEEDS_APART
from billhook.budget._last_draws import FIRST_DRAWS, GROWN_AT_ONCE, ROUNDS_WITHOUT_LIMIT, best_fit, tells_luck
from billhook.budget._scoring import score_of, tempered_log_loss
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial, drawn_as
from billhook.budget._splits import all_rows
from billhook.budget._trial_outcome import TrialBatch, TrialOutcome
from billhook.budget._trial_runner import ALL, TrialRunner
from billhook.budget._user_ensemble import UserEnsemble

TRIAL = Trial(250, GrowthConfig("boosted", 16, 0.4, 6, 32), CompressionConfig(1.0, 1.0, 3, rounding="labels"))


def squares(n_rows, seed=0):
    """Return rows of a board of squares, each black or white by chance: a few trees are far from fitting them."""
    X = np.random.default_rng(seed).random((n_rows, 2), np.float32)
    board = np.random.default_rng(7).integers(2, size=(24, 24))
    row, column = np.floor(24 * X).astype(np.int64).T
    return X, board[row, column]


def runner_of(X, y):
    rows = training_rows(X, y, is_classification=True)
    return TrialRunner(rows, score_of(None, rows))


def search_of(runner, budgets, **options):
    return Search(runner, budgets, ThreadExecutor(1), Clock(None), perfect=1.0, **options)


def outcome(fit_score, fit_loss):
    return TrialOutcome(TRIAL, ALL, np.nan, None, 1.0, fit_score=fit_score, fit_loss=fit_loss)


def test_the_same_draw_grows_the_same_trees_and_others_grow_others():
    X, y = squares(600)
    grown = []
    for draw in (0, 1, 1, 2):
        runner = runner_of(X, y)
        grown.append(runner.build(drawn_as(TRIAL, draw), all_rows(runner.rows)))
    assert grown[1] == grown[2]
    assert grown[0] != grown[1] != grown[3] != grown[0]


def test_a_draw_leaves_out_a_fiftieth_of_the_rows_that_are_drawn_for_each_tree_as_with_a_share():
    X, y = squares(600)
    drawn, shared = runner_of(X, y), runner_of(X, y)
    shared.seed = SEEDS_APART
    packed = drawn.build(drawn_as(TRIAL, 1), drawn.split(ALL))
    trial = replace(TRIAL, growth=replace(TRIAL.growth, row_share=DRAWN_SHARE))
    assert packed == shared.build(trial, shared.split(ALL))


def test_the_best_fit_has_the_best_mean_of_two_ranks():
    random = np.random.default_rng(0)
    for _ in range(30):
        scores, losses = random.integers(6, size=(2, 5)) / 10
        made = [outcome(score, loss) for score, loss in zip(scores, losses, strict=True)]
        n_better = rankdata(-scores, "min") + rankdata(losses, "min")
        assert n_better[[one is best_fit(made) for one in made]] == n_better.min()
    assert best_fit([outcome(0.5, None), outcome(0.7, None)]).fit_score == 0.7


def test_luck_is_told_where_fits_differ_by_more_than_the_error_of_a_share():
    shares = 0.7 + np.array([0.02, -0.01, 0.0, -0.01])
    drawn = [replace(outcome(share, 0.1), trial=drawn_as(TRIAL, draw)) for draw, share in enumerate(shares)]
    error = np.sqrt(0.7 * 0.3 / 10_000)
    assert shares.std(ddof=1) > 1.5 * error
    assert tells_luck(drawn, 10_000)
    assert not tells_luck(drawn, 1_000)  # where chance makes more of a difference
    assert not tells_luck(drawn[:3], 10_000)  # too few tell
    chosen = replace(outcome(0.95, 0.1), trial=drawn_as(TRIAL, 9))  # the best of several
    assert not tells_luck([*drawn[:3], chosen], 10_000)
    assert not tells_luck([*drawn, chosen], 1_000)
    assert not tells_luck([outcome(1.0, 0.0)] * 4, 10_000)
    many = [replace(one, fit_score=0.7 + 0.1 * (one.fit_score - 0.7)) for one in drawn]
    assert not tells_luck(many, 10**9)  # as only some of them are looked at


def test_how_well_a_model_fits_is_told_by_the_rows_it_has_learned_from():
    X, y = squares(900)
    runner = runner_of(X, y)
    split = runner.split(0)
    (tried,) = runner.run(TrialBatch(TRIAL.growth, 0, False, (TRIAL,)))
    right = [np.mean(tried.packed.predict(X[some]) == y[some]) for some in (split.train, split.held_out)]
    assert tried.score == right[1]
    assert tried.misfit == pytest.approx((1 - right[0]) / (1 - right[1]))
    assert tried.fit_score is None
    (last,) = runner.run(TrialBatch(TRIAL.growth, ALL, False, (TRIAL,)))
    assert np.isnan(last.score)
    assert last.misfit is None
    assert last.fit_score == np.mean(last.packed.predict(X) == y)
    assert 0.0 < last.fit_loss <= log_loss(y, last.packed.predict_proba(X))


def test_of_trees_that_are_grown_at_once_those_that_fit_best_become_a_model():
    X, y = squares(900)
    runner = runner_of(X, y)
    draws = tuple(drawn_as(TRIAL, draw) for draw in range(1, 6))
    batch = TrialBatch(TRIAL.growth, ALL, False, draws, only_best=True)
    (chosen,) = runner.run(batch)
    losses = []  # by the scale of scores that suits the rows, which test_choice.py compares with scipy
    for draw in draws:
        forest, _, codes = runner._grown_for(draw, runner.split(ALL))
        losses.append(tempered_log_loss(forest, codes[np.arange(len(y))], y, np.ones(len(y))))
    assert chosen.trial == draws[int(np.argmin(losses))]


def test_where_models_are_far_from_fitting_the_last_one_is_the_best_of_several_draws():
    X, y = squares(16_000)
    searches = []
    rows = training_rows(X, y, is_classification=True)
    found = fit(rows, 300, n_trials=6, progress=searches.append)
    search = searches[-1]
    assert {one.budget for one in search.drawn} <= set(search.budgets)
    (drawn,) = search.drawn.values()  # of the budget that was asked for
    assert len(drawn) == FIRST_DRAWS + ROUNDS_WITHOUT_LIMIT
    numbers = [one.trial.growth.draw for one in drawn]
    assert numbers[:FIRST_DRAWS] == list(range(FIRST_DRAWS))
    assert max(numbers) < FIRST_DRAWS + ROUNDS_WITHOUT_LIMIT * GROWN_AT_ONCE
    assert tells_luck(drawn, rows.n_rows)
    assert found.packed == best_fit(drawn).packed == search.final(300)
    assert np.mean(found.packed.predict(X) == y) >= drawn[0].fit_score
    is_another = found.packed != drawn[0].packed
    said = "The best configuration was learned from all rows 6 times"
    assert any(note.startswith(said) for note in found.report.notes) == is_another


def test_where_luck_is_not_told_the_model_is_the_one_that_leaves_out_nothing(monkeypatch):
    monkeypatch.setattr("billhook.budget._last_draws.LEAST_SPREAD", 1e6)
    X, y = squares(2_000)
    search = search_of(runner_of(X, y), (300,), n_trials=3)
    search.run()
    best = search.best(300)
    assert len(search.drawn[best.trial]) == FIRST_DRAWS
    assert search.final(300) == search.whole.build(
        best.trial, search.whole.split(ALL), saved=search.bytes_saved(best.trial)
    )


def test_the_number_of_threads_does_not_choose_the_model():
    X, y = squares(3_000)
    rows = training_rows(X, y, is_classification=True)
    searches = []
    one, two = (fit(rows, 300, n_trials=5, n_jobs=n_jobs, progress=searches.append).packed for n_jobs in (1, 2))
    assert one == two
    drawn = next(iter(searches[-1].drawn.values()))
    drawn.reverse()  # as if the first had ended last
    assert searches[-1].final(300) == one


def test_lucky_draws_are_better_on_rows_that_nobody_has_seen():
    X, y = squares(8_000)
    fresh, labels = squares(20_000, seed=1)
    runner = runner_of(X, y)
    fits, scores = [], []
    for draw in range(1, 25):
        (one,) = runner.run(TrialBatch(TRIAL.growth, ALL, False, (drawn_as(TRIAL, draw),)))
        fits.append(one.fit_score)
        scores.append(np.mean(one.packed.predict(fresh) == labels))
    assert np.corrcoef(fits, scores)[0, 1] > 0.9


def test_models_that_fit_their_rows_too_well_are_not_drawn():
    X, y = load_digits(return_X_y=True)
    search = search_of(runner_of(X[::3].astype(np.float32), y[::3]), (8_000,), n_trials=3)
    search.run()
    best = search.best(8_000)
    assert max(one.misfit for one in search.outcomes[best.trial].values()) < 0.5
    assert not search.drawn
    assert search.last_model(best, 8_000) is None


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_draws_begin_only_if_there_is_time_for_them(seconds):
    X, y = squares(6_000)
    search = search_of(runner_of(X, y), (300,), n_trials=4)
    search._explore()
    search._compare()
    search.n_trials, search.clock = None, Clock(100.0)
    for trial, by_split in search.outcomes.items():
        known = {n: replace(one, seconds=seconds, shared_seconds=0.0) for n, one in by_split.items()}
        search.outcomes[trial] = known
    search._draw()
    assert bool(search.drawn) == (seconds == 0.0)


def test_a_time_limit_is_kept_and_leaves_time_for_draws(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # how busy the machine is does not matter
    X, y = squares(8_000)
    searches = []
    rows = training_rows(X, y, is_classification=True)
    found = fit(rows, 300, clock=Clock(6.0, time.process_time), progress=searches.append)
    search = searches[-1]
    assert search.drawn
    assert found.packed in [one.packed for drawn in search.drawn.values() for one in drawn]
    assert search.clock.seconds < 7.5


def test_what_others_learn_is_learned_once():
    X, y = squares(1_000)
    rows = training_rows(X, y, is_classification=True)
    searches = []
    forest = RandomForestClassifier(8, max_leaf_nodes=8, random_state=0).fit(X, y)
    ensemble = UserEnsemble.fitted(as_forest(forest))
    fit(rows, 300, n_trials=4, user_ensemble=ensemble, progress=searches.append)
    assert not searches[-1].drawn
    asked_for = []

    def final(trial):
        asked_for.append(trial)
        return searches[-1].whole.build(trial, searches[-1].whole.split(ALL))

    fit(rows, 300, n_trials=4, final=final, progress=searches.append)
    assert not searches[-1].drawn
    assert [trial.growth.draw for trial in asked_for] == [0]


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_only_accuracy_is_told_by_the_rows_that_were_fitted(scoring):
    X, y = squares(4_000)
    searches = []
    rows = training_rows(X, y, is_classification=True)
    fit(rows, 300, n_trials=3, scoring=scoring, progress=searches.append)
    assert bool(searches[-1].drawn) == (scoring is None)


def test_numbers_are_learned_once():
    X, y = squares(2_000)
    searches = []
    fit(training_rows(X, y.astype(float), is_classification=False), 300, n_trials=3, progress=searches.append)
    assert not searches[-1].drawn


@pytest.mark.parametrize("first", [0, 1])
def test_where_memory_runs_out_beyond_the_first_last_model_it_is_kept(monkeypatch, first):
    run = TrialRunner.run

    def without_memory(runner, batch):
        if batch.split == ALL and batch.trials[0].growth.draw >= first:
            raise MemoryError
        return run(runner, batch)

    monkeypatch.setattr(TrialRunner, "run", without_memory)
    X, y = squares(4_000)
    rows = training_rows(X, y, is_classification=True)
    searches = []
    if first == 0:
        with pytest.raises(MemoryError):
            fit(rows, 300, n_trials=3)
        return
    found = fit(rows, 300, n_trials=3, progress=searches.append)
    ((drawn,),) = searches[-1].drawn.values()
    assert found.packed is drawn.packed
    assert drawn.trial.growth.draw == 0
    assert not found.was_interrupted


def test_rows_are_evenly_spaced():
    numbers = np.arange(100, 110)
    assert evenly_spaced(numbers, 10) is numbers
    for most in range(1, 10):
        some = evenly_spaced(numbers, most)
        assert some.size == np.unique(some).size == most
        assert set(np.diff(some)) <= {10 // most, -(-10 // most)}
