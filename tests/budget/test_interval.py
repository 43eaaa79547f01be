"""Intervals of scores: how often they hold a score that is known, on rows that are made up."""

import numpy as np
import pytest

from billhook.budget._interval import JudgedRows, score_interval, wilson
from billhook.budget._regression_loss import SQUARES
from billhook.budget._scoring import RememberedModel, accuracy


class Answers:
    """A model that says of each row what its only feature says; counts how many rows it was asked for."""

    classes = np.array([0, 1])

    def __init__(self):
        self.n_asked = 0

    def predict(self, X):
        self.n_asked += len(X)
        return np.asarray(X)[:, 0]


def judged_rows(said, labels, numbers, weight=None):
    said = np.asarray(said, np.float32)[:, np.newaxis]
    weight = np.ones(len(labels)) if weight is None else weight
    return JudgedRows(np.asarray(numbers), RememberedModel(Answers(), said), np.asarray(labels, np.float32), weight)


def splits(rng, n_rows, n_splits=5):
    return [rng.choice(n_rows, int(0.15 * n_rows), replace=False) for _ in range(n_splits)]


def r2(model, X, y, weight):
    return SQUARES.score(model.predict(X), y, weight)


def share_of_intervals_with(truth, intervals):
    return np.mean([low <= truth <= high for low, high in intervals])


@pytest.mark.parametrize(("n_rows", "group_size", "skill"), [(2000, 1, 0.9), (4000, 10, 0.8), (300, 1, 0.8)])
def test_intervals_of_accuracies_hold_the_true_one_in_95_percent(n_rows, group_size, skill):
    """Some rows are hard for all models, by group, and some a matter of luck; rows are held out again and again."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        is_easy = rng.random(n_rows // group_size) < (skill - 0.05) / 0.9
        chance = np.where(np.repeat(is_easy, group_size), 0.95, 0.05)
        held = []
        for group in splits(rng, n_rows // group_size):
            numbers = (group[:, np.newaxis] * group_size + np.arange(group_size)).ravel()
            held.append(judged_rows(rng.random(numbers.size) < chance[numbers], np.ones(numbers.size), numbers))
        units = np.repeat(np.arange(n_rows // group_size), group_size)
        found.append(score_interval(held, accuracy, units=units if group_size > 1 else None))
    assert 0.93 <= share_of_intervals_with(skill, found) <= 0.97


def test_intervals_of_r2_hold_the_true_one_in_95_percent():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        signal, noise = rng.normal(size=600), rng.normal(scale=0.5, size=600)
        held = [judged_rows(signal[some], (signal + noise)[some], some) for some in splits(rng, 600, 3)]
        found.append(score_interval(held, r2))
    assert 0.92 <= share_of_intervals_with(0.8, found) <= 0.98  # 1 - 0.25 / 1.25


def test_rows_held_out_twice_count_once():
    """The same rows in five splits tell what they tell in one."""
    rng = np.random.default_rng(0)
    one = judged_rows(rng.random(400) < 0.8, np.ones(400), np.arange(400))
    for score in (accuracy, r2_of_labels):
        np.testing.assert_allclose(score_interval([one] * 5, score), score_interval([one], score))


def r2_of_labels(model, X, y, weight):
    return float(np.average((model.predict(X) - y) ** 2, weights=weight))


def test_an_accuracy_without_repetitions_has_wilsons_interval():
    said = np.arange(1000) >= 80
    low, high = score_interval([judged_rows(said, np.ones(1000), np.arange(1000))], accuracy)
    # The variance is that of a sample; Student's t with 999 degrees of freedom.
    np.testing.assert_allclose((low, high), wilson(0.92, 999, 1.96234), atol=1e-6)


def test_weights_count_as_so_many_rows_of_a_unit():
    rng = np.random.default_rng(0)
    said, weight = rng.random(60) < 0.7, rng.integers(1, 5, 60)
    weighed = judged_rows(said, np.ones(60), np.arange(60), weight.astype(float))
    numbers = np.repeat(np.arange(60), weight)
    repeated = judged_rows(said[numbers], np.ones(numbers.size), np.arange(numbers.size))
    np.testing.assert_allclose(
        score_interval([weighed], accuracy), score_interval([repeated], accuracy, units=numbers)
    )


@pytest.mark.parametrize("is_right", [True, False])
def test_a_model_without_a_mistake_may_still_make_one(is_right):
    numbers = np.arange(50)
    low, high = score_interval([judged_rows(np.full(50, is_right), np.ones(50), numbers)] * 3, accuracy)
    # Wilson: 50 / (50 + 2.01 ** 2)
    assert (low, high) == pytest.approx((0.925, 1.0) if is_right else (0.0, 0.075), abs=1e-3)


@pytest.mark.parametrize("n_rows", [2, 3])
def test_units_that_are_all_alike_may_still_differ(n_rows):
    """As pairs of which one is ill and one is not, to a model that tells no difference: no unit varies."""
    labels = np.tile([0] * (n_rows - 1) + [1], 30)
    pairs = judged_rows(np.zeros(labels.size), labels, np.arange(labels.size))
    found = score_interval([pairs], accuracy, units=np.repeat(np.arange(30), n_rows))
    np.testing.assert_allclose(found, wilson(1.0 - 1.0 / n_rows, 30, 2.04523), atol=1e-6)


def test_there_is_no_interval_where_parts_of_the_rows_tell_nothing():
    def both_classes(_model, _X, y, _weight):
        if np.unique(y).size < 2:
            raise ValueError("one class only")
        return 0.5

    def share_of_first(_model, _X, y, _weight):
        return int(np.sum(y)) / int(np.sum(y == 0))

    for score in (both_classes, share_of_first):
        assert score_interval([judged_rows(np.ones(9), [0, *[1] * 8], np.arange(9))], score) is None
    assert score_interval([judged_rows(np.ones(4), np.ones(4), np.arange(4))], lambda *_: np.nan) is None
    one_group = np.zeros(4, np.int64)
    without_mistakes = judged_rows(np.arange(40), np.arange(40), np.arange(40))
    assert score_interval([without_mistakes], r2) is None
    for score in (accuracy, r2):
        assert score_interval([judged_rows(np.ones(4), np.ones(4), np.arange(4))], score, units=one_group) is None


def test_a_model_is_asked_once_for_what_many_scores_need():
    rng = np.random.default_rng(0)
    held = [judged_rows(rng.normal(size=90), rng.normal(size=90), some) for some in splits(rng, 600, 3)]
    score_interval(held, r2)
    assert [one.model.model.n_asked for one in held] == [90] * 3
    other = rng.normal(size=(7, 1))
    np.testing.assert_array_equal(held[0].model.predict(other), other[:, 0])  # not what it remembers
