"""Smooth targets: what they are, and what is learned from them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import rbf_kernel

from billhook.budget import RegressionLoss, training_rows
from billhook.budget._clock import Clock
from billhook.budget._executors import ThreadExecutor
from billhook.budget._portfolio import NUMBERS
from billhook.budget._scoring import score_of
from billhook.budget._search import Search
from billhook.budget._smooth_targets import MOST_ROWS, PENALTIES, WIDTHS, can_be_smoothed, smooth_targets
from billhook.budget._space import Trial
from billhook.budget._trial_runner import ALL, TrialRunner


def numbers(X, y, weight=None):
    return training_rows(X.astype(np.float32), y, is_classification=False, weight=weight)


def solved(kernel, y, penalty, weight):
    """Return the dual coefficients and the constant of weighted ridge regression with a kernel."""
    n = y.size
    system = np.block([[kernel + np.diag(penalty / weight), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.append(y, 0.0))
    return found[:n], found[n]


def naive_smooth(X, y, weight, train):
    """Return the predictions of the kernel ridge regression that predicts best each row that it was not fitted to."""
    Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    tried = []
    for width in WIDTHS:
        kernel = rbf_kernel(Z, gamma=width / Z.shape[1]) + Z @ Z.T
        for penalty in PENALTIES:
            error = 0.0
            for row in train:
                others = train[train != row]
                dual, base = solved(kernel[np.ix_(others, others)], y[others], penalty, weight[others])
                error += weight[row] * (kernel[row, others] @ dual + base - y[row]) ** 2
            dual, base = solved(kernel[np.ix_(train, train)], y[train], penalty, weight[train])
            tried.append((error, kernel[:, train] @ dual + base))
    return min(tried, key=lambda one: one[0])[1]


@pytest.mark.parametrize("is_weighted", [False, True])
def test_smooth_targets_are_those_of_the_kernel_ridge_regression_that_leaving_rows_out_chooses(is_weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(45, 3))
    y = 100.0 + np.sin(2.0 * X[:, 0]) + X[:, 1] + rng.normal(0.0, 0.3, 45)
    weight = rng.integers(1, 4, 45).astype(float) if is_weighted else np.ones(45)
    train = np.arange(40)
    found = smooth_targets(numbers(X, y, weight), X.astype(np.float32), train, seed=0)
    weight = weight / weight[train].mean()
    wanted = naive_smooth(X.astype(np.float32).astype(float), y, weight, train)
    np.testing.assert_allclose(found, wanted, atol=2e-3 * y.std())


def test_targets_of_held_out_rows_say_nothing():
    X, y = make_friedman1(400, random_state=0)
    train = np.arange(300)
    other = y.copy()
    other[300:] = 1e6
    found = [smooth_targets(numbers(X, known), X.astype(np.float32), train, seed=0) for known in (y, other)]
    np.testing.assert_array_equal(*found)


def test_missing_infinite_and_constant_features_do_no_harm():
    X, y = make_friedman1(400, random_state=0)
    X = X.astype(np.float32)
    X[::7, 0], X[::11, 1], X[5, 2], X[:, 8], X[:, 9] = np.nan, np.inf, -np.inf, np.nan, 3.0
    smooth = smooth_targets(numbers(X, y), X, np.arange(400), seed=0)
    assert np.corrcoef(smooth, y)[0, 1] > 0.8


def test_what_is_learned_from_smooth_targets_is_nearer_to_the_truth_where_targets_are_noisy():
    X, truth = make_friedman1(1000, random_state=0)
    y = truth + np.random.default_rng(0).normal(0.0, 5.0, truth.size)
    rows = numbers(X[:600], y[:600])
    runner = TrialRunner(rows, score_of(None, rows), 0)
    entry = NUMBERS[1]._replace(sweeps=0)

    def error(smoothing):
        growth = runner.canonical(replace(entry.growth(10, 1), smoothing=smoothing))
        packed = runner.build(Trial(512, growth, entry.compression(1, 512)), runner.split(ALL))
        return np.mean((packed.predict(X[600:].astype(np.float32)) - truth[600:]) ** 2)

    assert error(1.0) < 0.8 * error(0.5) < 0.8 * error(0.0)


def test_only_few_rows_of_numbers_learned_by_squares_are_smoothed():
    X, y = make_friedman1(60, random_state=0)
    rows = numbers(X, y)
    huber = replace(rows, loss=RegressionLoss("huber"))
    classes = training_rows(rows.X, y > 14.0, is_classification=True)
    many = replace(rows, X=np.zeros((MOST_ROWS + 1, 1), np.float32))
    wide = replace(rows, X=np.zeros((60, 101), np.float32))
    assert [can_be_smoothed(each) for each in (rows, huber, classes, many, wide)] == [True, *[False] * 4]
    growth = replace(NUMBERS[1].growth(10, 1), smoothing=1.0)
    came_to = [TrialRunner(each, score_of(None, each)).canonical(growth).smoothing for each in (rows, huber, classes)]
    assert came_to == [1.0, 0.0, 0.0]


def test_targets_of_a_table_that_is_too_large_are_not_smoothed_where_a_sample_is_tried(monkeypatch):
    X, y = make_friedman1(1200, random_state=0)
    rows = numbers(X, y)
    trial = Trial(300, replace(NUMBERS[1].growth(10, 1), smoothing=1.0), NUMBERS[1].compression(1, 300))
    for most, smoothing in ((1200, 1.0), (1199, 0.0)):
        monkeypatch.setattr("billhook.budget._smooth_targets.MOST_ROWS", most)
        search = Search(TrialRunner(rows, score_of(None, rows)), (300,), ThreadExecutor(1), Clock(None), n_trials=1)
        search._take_fewer_rows(1000)
        assert [one.growth.smoothing for one in search._canonical([trial])] == [smoothing]
