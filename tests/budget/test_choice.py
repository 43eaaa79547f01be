"""What is tried first, and which of the finalists is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import rankdata, sem
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import log_loss

from billhook.budget import Clock, Search, ThreadExecutor, TrainingRows
from billhook.budget._portfolio import MORE_CLASSES, NUMBERS, TWO_CLASSES, first_trials
from billhook.budget._results import Candidate, _by_mean_rank, _by_rank_on_splits, _smallest_as_good
from billhook.budget._scoring import score_of, tempered_log_loss
from billhook.budget._search import START_BATCH
from billhook.budget._space import MOST_LEAVES, SOON_SHARED, CompressionConfig, GrowthConfig, Trial, is_sensible
from billhook.budget._splits import FIRST_FINAL
from billhook.budget._trial_runner import ALL, TrialBatch, TrialRunner

ENTRIES = (*TWO_CLASSES, *MORE_CLASSES, *NUMBERS)


def runner_of(load):
    X, y = load(return_X_y=True)
    rows = TrainingRows(X.astype(np.float32), y, np.ones(len(y)), np.unique(y))
    return TrialRunner(rows, score_of(None, rows))


class Scores:
    """A model that gives the probabilities it was made with."""

    def __init__(self, score):
        power = np.exp(score - score.max(axis=1, keepdims=True))
        self.probability = power / power.sum(axis=1, keepdims=True)

    def predict_proba(self, _X):
        return self.probability


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("scale", [0.05, 1.0, 3.0])
def test_the_log_loss_is_that_of_the_best_scale_of_the_scores(n_classes, scale):
    random = np.random.default_rng(n_classes)
    y = random.integers(n_classes, size=300)
    weight = random.uniform(0.1, 3.0, 300)
    score = random.normal(size=(300, n_classes)) + 1.2 * np.eye(n_classes)[y]
    found = tempered_log_loss(Scores(scale * score), None, y, weight)
    labels = np.arange(n_classes)

    def loss(log_scale):
        model = Scores(np.exp(log_scale) * score)
        return log_loss(y, model.probability, sample_weight=weight, labels=labels)

    best = minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-8}).fun
    assert found == pytest.approx(best, rel=1e-5)


def test_scores_without_a_mistake_have_hardly_any_loss():
    y = np.arange(60) % 3
    assert tempered_log_loss(Scores(4.0 * np.eye(3)[y]), None, y, np.ones(60)) < 1e-3


def test_finalists_are_ordered_by_the_mean_of_two_ranks():
    random = np.random.default_rng(0)
    for _ in range(20):
        scores, losses = random.integers(5, size=(2, 6)) / 10
        order = np.argsort(-scores, kind="stable")
        made = [Candidate(k, 1, (scores[k],), None, True, (losses[k],)) for k in order]
        rank = rankdata(-scores) + rankdata(losses)
        assert [one.trial for one in _by_mean_rank(made)] == [
            order[k] for k in np.argsort(rank[order], kind="stable")
        ]


def test_a_row_that_is_far_off_on_one_split_does_not_choose_among_finalists_of_numbers():
    def made(name, *scores):
        return Candidate(name, 1, scores, None, True)

    often_better = made("often better", 0.98, 0.98, 0.98, 0.98, 0.90)
    steady = made("steady", 0.97, 0.97, 0.97, 0.97, 0.97)
    worst = made("worst", 0.96, 0.97, 0.96, 0.95, 0.96)
    by_score = sorted((often_better, steady, worst), key=lambda one: -one.score)
    assert by_score[0] is steady
    assert _by_rank_on_splits(by_score) == [often_better, steady, worst]
    assert _by_rank_on_splits([steady, often_better][:1]) == [steady]


def test_what_was_known_of_finalists_of_numbers_counts_where_they_are_made_quickly():
    def made(name, scores, tried):
        return Candidate(name, 1, scores, None, True, tried=tried)

    once_better, better = made("once better", (0.91, 0.90), (0.80, 0.81)), made("better", (0.90, 0.91), (0.89,))
    by_score = sorted((once_better, better), key=lambda one: -one.score_to_rank)
    assert _by_rank_on_splits(by_score) == [better, once_better]
    assert _by_rank_on_splits([once_better, better]) == [better, once_better]


def finalist(nbytes, scores, losses):
    return Candidate(nbytes, nbytes, scores, None, True, losses)


def test_of_finalists_that_are_not_told_apart_the_smallest_is_chosen():
    random = np.random.default_rng(0)
    n_smaller = 0
    for _ in range(50):
        finalists = [
            finalist(int(nbytes), tuple(random.normal(0.9, 0.01, 4)), tuple(random.normal(0.4, 0.1, 4)))
            for nbytes in random.permutation(99)[:8]
        ]
        best, as_good = finalists[0], []
        for one in finalists:
            lower, more = np.subtract(best.scores, one.scores), np.subtract(one.losses, best.losses)
            is_smaller = one.nbytes <= 0.97 * best.nbytes
            if one is best or (is_smaller and lower.mean() <= sem(lower) and more.mean() <= sem(more)):
                as_good.append(one.nbytes)
        assert _smallest_as_good(finalists).nbytes == min(as_good)
        n_smaller += min(as_good) < best.nbytes
    assert 5 < n_smaller < 45


def test_the_first_is_chosen_on_one_split_without_log_losses_and_where_others_have_no_score():
    small = finalist(10, (0.9, 0.9), (0.3, 0.3))
    assert _smallest_as_good([finalist(20, (0.9, 0.9), (0.3, 0.3)), small]) is small
    for finalists in (
        [finalist(100, (0.9, 0.9), (0.3, 0.3)), finalist(98, (0.9, 0.9), (0.3, 0.3))],
        [finalist(20, (0.9, 0.9), ()), finalist(10, (0.9, 0.9), ())],
        [finalist(20, (0.9,), (0.3,)), finalist(10, (0.9,), (0.3,))],
        [finalist(20, (0.9, 0.9), (0.3, 0.3)), finalist(10, (-np.inf, 0.9), (0.3, 0.3))],
        [finalist(20, (0.9, 0.9), (0.3, 0.3)), finalist(10, (0.9, 0.9), (0.3, np.nan))],
        [finalist(20, (-np.inf, -np.inf), (0.3, 0.3)), finalist(10, (-np.inf, -np.inf), (0.3, 0.3))],
    ):
        assert _smallest_as_good(finalists) is finalists[0]


def test_only_finalists_chosen_by_accuracy_have_a_log_loss():
    runner = runner_of(load_wine)
    trial = Trial(300, GrowthConfig("boosted", 8), CompressionConfig())

    def loss(runner, split):
        (outcome,) = runner.run(TrialBatch(trial.growth, split, True, (trial,)))
        return outcome.loss

    assert loss(runner, 0) is None
    assert loss(runner, FIRST_FINAL) > 0.0
    assert loss(replace(runner, score=score_of("f1_macro", runner.rows)), FIRST_FINAL) is None


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_tried_first_makes_sense(entry):
    for n_values in (1, 3, 26):
        trial = Trial(2048, entry.growth(10, n_values), entry.compression(n_values, 2048))
        assert is_sensible(trial)
        assert trial.growth.bits >= 3
        assert trial.growth.bins <= 2**trial.growth.bits


def test_many_features_of_many_classes_have_fewer_bins():
    for entry in ENTRIES:
        few, many = entry.growth(10, 1), entry.growth(784, 10)
        assert (few.bins, few.bits) == (entry.bins, entry.bits)
        assert many.bins <= max(8, 25_000 // 7840)
        assert few.bins / many.bins == 2.0 ** (few.bits - many.bits)  # as fine a code for a bin as before


def test_classes_begin_with_a_codebook_but_where_there_are_two_or_it_takes_long():
    first = {}
    for n_values in (1, 3, 26, SOON_SHARED, SOON_SHARED + 1, 400):
        trials = first_trials([2048], 10, n_values, ("boosted",), is_regression=False, others="as_many")
        first[n_values] = trials[0].compression
    assert [n for n, config in first.items() if config.codebook is not None] == [3, 26, SOON_SHARED]
    assert [n for n, config in first.items() if config.l2 is None] == [1]  # the quickest


def test_smaller_budgets_have_one_trial_or_as_many():
    shape = ([2048, 512, 1024], 10, 1, ("boosted",))
    counts = {}
    for others in ("as_many", "soon", "later"):
        trials = first_trials(*shape, is_regression=False, others=others)
        counts[others] = [sum(trial.budget == budget for trial in trials) for budget in shape[0]]
        assert trials[0].budget == 2048
    n = counts["as_many"][0]
    assert counts == {"as_many": [n, n, n], "soon": [n, 1, 1], "later": [n, 1, 1]}


def test_a_users_ensemble_is_tried_whole_first():
    trials = first_trials([2048], 10, 3, ("user",), is_regression=False, others="as_many")
    assert {trial.growth.family for trial in trials} == {"user"}
    assert trials[0].growth.leaves == MOST_LEAVES


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_trees_share_tests_where_there_may_be_few(load):
    runner = runner_of(load)
    free = GrowthConfig("boosted", 16, 0.3)

    def n_tests(growth):
        forest, _, _ = runner.grown(growth, runner.split(ALL), 400)
        tests = {(f, t) for f, t in zip(forest.feature, forest.threshold, strict=True) if f >= 0}
        return len(tests)

    assert n_tests(replace(free, max_tests=32)) <= 32 < n_tests(free)
    assert n_tests(replace(free, reuse_factor=2.0)) < n_tests(free)


def test_what_is_near_the_best_is_tried_between_the_first_configurations():
    runner = runner_of(load_wine)
    search = Search(runner, (400,), ThreadExecutor(1), Clock(None), n_trials=24)
    starts = search._canonical(search._starts())
    search._explore()
    is_start = [trial in starts for trial in search.outcomes]
    assert sum(is_start) > 8
    assert all(is_start[: 1 + START_BATCH])
    after_first_other = is_start[is_start.index(False) :]
    assert any(after_first_other)
