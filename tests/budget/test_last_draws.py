"""Of several draws of the best configuration, learned from all rows, what fits these best is the last model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from billhook import as_forest
from billhook.budget import Clock, Search, ThreadExecutor, fit, training_rows
from billhook.budget._last_draws import GROWN_AT_ONCE, ROUNDS_WITHOUT_LIMIT
from billhook.budget._results import best_fit
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


def test_a_draw_leaves_out_a_tenth_of_the_rows_that_are_drawn_for_each_tree_as_they_are_with_a_share():
    X, y = squares(600)
    drawn, shared = runner_of(X, y), runner_of(X, y)
    shared.seed = 100_000  # that of the first draw
    packed = drawn.build(drawn_as(TRIAL, 1), drawn.split(ALL))
    assert packed == shared.build(replace(TRIAL, growth=replace(TRIAL.growth, row_share=0.9)), shared.split(ALL))


def test_the_best_fit_has_the_best_mean_of_two_ranks():
    random = np.random.default_rng(0)
    for _ in range(30):
        scores, losses = random.integers(6, size=(2, 5)) / 10
        made = [outcome(score, loss) for score, loss in zip(scores, losses, strict=True)]
        n_better = rankdata(-scores, "min") + rankdata(losses, "min")
        assert n_better[[one is best_fit(made) for one in made]] == n_better.min()
    assert best_fit([outcome(0.5, None), outcome(0.7, None)]).fit_score == 0.7


def test_how_well_a_model_fits_is_told_by_the_rows_it_has_learned_from():
    X, y = squares(900)
    runner = runner_of(X, y)
    split = runner.split(0)
    (tried,) = runner.run(TrialBatch(TRIAL.growth, 0, False, (TRIAL,)))
    assert tried.fit_score == np.mean(tried.packed.predict(X[split.train]) == y[split.train])
    assert tried.score == np.mean(tried.packed.predict(X[split.held_out]) == y[split.held_out])
    (last,) = runner.run(TrialBatch(TRIAL.growth, ALL, False, (TRIAL,)))
    assert np.isnan(last.score)
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
    X, y = squares(6_000)
    search = search_of(runner_of(X, y), (250, 300), n_trials=6)
    search.run()
    best = search.best(300)
    drawn = search.drawn[best.trial]
    assert len(drawn) == ROUNDS_WITHOUT_LIMIT > 1
    assert {one.trial.growth.draw for one in drawn} <= set(range(1, 1 + ROUNDS_WITHOUT_LIMIT * GROWN_AT_ONCE))
    last = search.final(300)
    assert last == best_fit(drawn).packed
    assert np.mean(last.predict(X) == y) == max(one.fit_score for one in drawn)
    found = fit(search.whole.rows, 300, n_trials=6)
    assert found.packed.nbytes <= 300
    assert any(note.startswith("The best configuration was grown 8 times") for note in found.report.notes)


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
    assert min(one.fit_score for one in search.outcomes[best.trial].values()) > 0.99
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


def test_a_time_limit_is_kept_and_leaves_time_for_draws():
    X, y = squares(8_000)
    searches = []
    rows = training_rows(X, y, is_classification=True)
    found = fit(rows, 300, time_limit=6.0, progress=searches.append)
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
