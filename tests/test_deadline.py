import itertools
import pickle
import threading

import numpy as np
import pytest

from billhook._deadline import OutOfTimeError, TimeLimit, check_time, within
from billhook.budget import TrainingRows
from billhook.budget._scoring import score_of
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.budget._trial_runner import TrialRunner
from billhook.packing import bin_features, pack
from billhook.pruning import pruning_order
from billhook.refinement import _coordinate_descent, merge, refine
from made_up import random_forest


def looks(n):
    """Return a limit that is over after so many looks at the time."""
    return TimeLimit(n, itertools.count(1).__next__)


def made_up_rows(n_rows=200, n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64) + (X[:, 3] > 1) * (n_classes - 2)
    return TrainingRows(X, y, np.ones(n_rows), np.unique(y))


def test_time_is_over_only_within_its_limit_and_in_its_thread():
    check_time()
    elsewhere = []
    with within(looks(2)):
        check_time()
        check_time()
        with within(None):
            check_time()
        thread = threading.Thread(target=lambda: elsewhere.append(check_time()))
        thread.start()
        thread.join()
        with pytest.raises(OutOfTimeError, match="the time is over"):
            check_time()
    check_time()
    assert elsewhere == [None]


def test_a_limit_in_another_process_is_as_far_away():
    sent = TimeLimit(107.0, lambda: 100.0)
    received = pickle.loads(pickle.dumps(sent))
    assert 0.0 < received.at - received.now() <= 7.0
    assert not received.is_over
    assert pickle.loads(pickle.dumps(TimeLimit(0.0, lambda: 1.0))).is_over


@pytest.mark.parametrize("family", ["boosted", "random_forest"])
def test_growing_that_is_broken_off_goes_on_where_it_stopped(family):
    rows = made_up_rows()
    growth = GrowthConfig(family, 8, 0.3, 5, 16)
    once, broken = (TrialRunner(rows, score_of(None, rows)) for _ in range(2))
    split = once.split(0)
    expected = once.grown(growth, split, 200)[0]
    n_broken = 0
    for n in itertools.count(10, 10):
        try:
            with within(looks(n)):
                grown = broken.grown(growth, split, 200)[0]
            break
        except OutOfTimeError:
            n_broken += 1
    assert n_broken > 1
    assert grown == expected


def made_up_forest(n_classes):
    cuts = np.linspace(-1.0, 1.0, 9, dtype=np.float32)
    return random_forest(np.random.default_rng(0), (5, 7, 3, 6, 4, 7), 4, n_classes, thresholds=cuts)


FOREST = made_up_forest(3)
X = made_up_rows().X
Y = FOREST.classes[made_up_rows().y % 3]


@pytest.mark.parametrize(
    "work",
    [
        lambda: refine(FOREST, X, Y, l2=1.0, validation_fraction=None),
        lambda: merge(FOREST, X, Y, max_leaves=6),
        lambda: pack(FOREST, leaf_bits=2, X=X, y=Y),
        lambda: pack(FOREST, leaf_bits=2, X=X),
        lambda: pack(FOREST, leaf_bits=3, codebook=4, X=X, y=Y),
        lambda: bin_features(X, 4, 8, 100),
        lambda: pruning_order(FOREST, X, Y),
    ],
    ids=["refine", "merge", "rounding to labels", "rounding to scores", "codebook", "bins", "order of trees"],
)
def test_what_may_take_long_looks_at_the_time(work):
    with within(looks(1_000_000)):
        work()
    for n in (0, 1):
        with within(looks(n)), pytest.raises(OutOfTimeError):
            work()


@pytest.mark.parametrize(("n_classes", "codebook"), [(2, None), (3, None), (3, 4), (5, None), (5, 4)])
def test_a_pass_in_parts_is_a_pass_at_once(monkeypatch, n_classes, codebook):
    forest = made_up_forest(n_classes)
    y = forest.classes[np.random.default_rng(2).integers(n_classes, size=200)]

    def learned():
        refined = refine(forest, X, y, l2=1.0, epochs=3, validation_fraction=None)
        return refined.value, pack(refined, leaf_bits=4, codebook=codebook, X=X, y=y)

    value, packed = learned()
    monkeypatch.setattr(_coordinate_descent, "MOST_AT_ONCE", 1)
    in_parts, packed_in_parts = learned()
    np.testing.assert_allclose(in_parts, value, rtol=1e-9, atol=1e-12)
    assert packed_in_parts == packed


def test_a_model_that_fits_is_kept_when_the_time_is_over_for_a_larger_one(monkeypatch):
    from billhook.budget import _compress

    rows = made_up_rows(400)
    runner = TrialRunner(rows, score_of(None, rows))
    trial = Trial(150, GrowthConfig("boosted", 8, 0.3, 5, 16), CompressionConfig(2.0, 1.0, 4, rounding="labels"))
    made = []
    packed = _compress._packed

    def once(*arguments):
        if made:
            raise OutOfTimeError
        made.append(packed(*arguments))
        return made[0]

    monkeypatch.setattr(_compress, "_packed", once)
    monkeypatch.setattr(_compress, "NEARLY_FULL", 2.0)
    assert runner.build(trial, runner.split(0)) is made[0]


def test_trees_that_were_grown_until_the_time_was_over_serve_who_needs_fewer():
    rows = made_up_rows(400)
    runner = TrialRunner(rows, score_of(None, rows))
    growth, split = GrowthConfig("boosted", 4, 0.3, 5, 16), runner.split(0)
    runner.binned(growth.bits, growth.bins, split)
    n_looks = itertools.count()
    with pytest.raises(OutOfTimeError), within(TimeLimit(10.0, lambda: float(next(n_looks)))):
        runner.grown(growth, split, 4 * 50)
    interrupted, _, codes = runner.grown(growth, split, 4 * 3)
    assert 3 < interrupted.n_trees < 50
    whole, _, _ = TrialRunner(rows, score_of(None, rows)).grown(growth, split, 4 * 3)
    np.testing.assert_array_equal(interrupted.select(range(3)).predict(codes[:]), whole.predict(codes[:]))
