"""From an ensemble to a model that fills the budget: how many are made on the way, and of how many trees."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from billhook._deadline import OutOfTimeError
from billhook.budget import TrainingRows
from billhook.budget import _compress as compressing
from billhook.budget._compress import NEARLY_FULL, CodedRows, SizesByTrees, compress
from billhook.budget._results import TrialResults
from billhook.budget._scoring import score_of
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.budget._trial_runner import TrialBatch, TrialOutcome, TrialRunner

BUDGET = 1_000
GROWTH = GrowthConfig("boosted", 16, 0.4, 5, 16)
# More entries than there are different leaves of three numbers of two bits: what is counted for them is saved.
SHARED = CompressionConfig(1.5, 1.0, 2, 256, True, "labels")
CUT_OFF = CompressionConfig(1.0, 1.0, 2, 256, True, "labels")


@pytest.fixture(scope="module")
def runner():
    X, y = load_digits(return_X_y=True)
    X, y = X[::2].astype(np.float32), y[::2] % 3
    rows = TrainingRows(X, y, np.ones(len(y)), np.unique(y))
    return TrialRunner(rows, score_of(None, rows))


@pytest.fixture
def made(monkeypatch):
    """Return a list of the models that are made, with the numbers of trees they are made of."""
    made = []

    def pack(fitted, *arguments, **options):
        packed = pack_on_codes(fitted, *arguments, **options)
        made.append((fitted.n_trees, packed))
        return packed

    pack_on_codes = compressing.pack_on_codes
    monkeypatch.setattr(compressing, "pack_on_codes", pack)
    return made


def test_with_what_was_saved_before_the_first_model_is_the_last(runner, made):
    trial = Trial(BUDGET, GROWTH, SHARED)
    split = runner.split(0)
    first = runner.stages(trial, split, is_quick=True)
    assert first.saved > (1.0 - NEARLY_FULL) * BUDGET
    assert len(made) > 1
    made.clear()
    again = runner.stages(trial, split, is_quick=True, saved=first.saved)
    assert len(made) == 1
    assert NEARLY_FULL * BUDGET <= again.packed.nbytes <= BUDGET


@pytest.mark.parametrize("saved", [-700, 0, 300, 5_000])
@pytest.mark.parametrize("compression", [SHARED, CUT_OFF], ids=["merged", "cut off"])
def test_a_model_fits_however_wrong_the_guess_is(runner, made, compression, saved):
    trial = Trial(BUDGET, GROWTH, compression)
    stages = runner.stages(trial, runner.split(0), is_quick=True, saved=saved)
    assert stages.packed.nbytes == max(packed.nbytes for _, packed in made if packed.nbytes <= BUDGET)


@pytest.mark.parametrize("budget", [700, 900, 1_100, 1_300, 1_500])
def test_no_number_of_whole_trees_is_made_twice(runner, made, budget):
    runner.stages(Trial(budget, GROWTH, CUT_OFF), runner.split(0), is_quick=True)
    n_trees = [n for n, _ in made]
    assert len(set(n_trees)) == len(n_trees)


@pytest.mark.parametrize("seed", range(30))
def test_as_many_trees_are_taken_as_fit(seed):
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([[0], 40 + np.cumsum(rng.integers(1, 2 + 100 * (seed % 3), 60) ** (1 + seed % 2))])
    n_counted = 0

    def size(n_trees):
        nonlocal n_counted
        n_counted += 1
        return int(sizes[n_trees])

    forest = SimpleNamespace(n_trees=60, select=len)
    by_trees = SizesByTrees(forest, size)
    for limit in rng.integers(0, sizes[-1] + 10, 10):
        assert by_trees.most_trees(int(limit)) == np.searchsorted(sizes, limit, side="right") - 1
    assert n_counted <= 60  # each once


def results(*outcomes):
    known = TrialResults()
    known.outcomes = {}
    for trial, split, packed, saved in outcomes:
        known.outcomes.setdefault(trial, {})[split] = TrialOutcome(trial, split, 0.5, packed, 1.0, saved=saved)
    return known


def test_what_is_saved_is_guessed_from_the_same_trial_or_the_last_that_is_packed_alike():
    trial, model = Trial(BUDGET, GROWTH, SHARED), object()
    alike = Trial(BUDGET, GrowthConfig("boosted", 32), CUT_OFF)
    smaller = Trial(BUDGET // 2, GROWTH, SHARED)
    other = Trial(BUDGET, GROWTH, CompressionConfig(1.5, 1.0, 4, 256, True, "labels"))
    assert results().bytes_saved(trial) == 0
    assert results((smaller, 0, model, 7), (other, 0, model, 8)).bytes_saved(trial) == 0
    assert results((alike, 0, model, 9), (trial, 0, None, 5)).bytes_saved(trial) == 9
    assert results((trial, 0, model, 3), (trial, 100, model, 4), (alike, 0, model, 9)).bytes_saved(trial) == 4


def test_a_batch_hands_each_trial_its_guess(runner, monkeypatch):
    given = []

    def noted(*arguments, saved, **options):
        given.append(saved)
        return compress(*arguments, saved=saved, **options)

    monkeypatch.setattr("billhook.budget._trial_runner.compress", noted)
    trials = (Trial(BUDGET, GROWTH, CUT_OFF), Trial(BUDGET, GROWTH, SHARED))
    outcomes = runner.run(TrialBatch(GROWTH, 0, True, trials, saved=(111, 222)))
    assert given == [111, 222]
    assert all(outcome.saved > 0 for outcome in outcomes)


@pytest.fixture(scope="module")
def swept(runner):
    """Return rows and a forest on their codes, and the same with splits chosen again."""
    split = runner.split(0)
    stages = runner.stages(Trial(BUDGET, GROWTH, CUT_OFF), split, is_quick=True)
    X = runner.rows.X[split.train]
    rows = CodedRows(X, runner.rows.labels[split.train], np.ones(len(X)), False, "cross_entropy")
    return rows, stages.fitted, rows.sweep(stages.fitted, 1.0, 1)


def test_when_the_time_is_up_the_splits_chosen_by_then_are_kept(swept, monkeypatch):
    rows, forest, once = swept
    assert not np.array_equal(once.feature, forest.feature)
    n_refined = []

    def refine(self, *arguments):
        n_refined.append(1)
        if len(n_refined) > 1:
            raise OutOfTimeError
        return refine_in_time(self, *arguments)

    refine_in_time = CodedRows.refine
    monkeypatch.setattr(CodedRows, "refine", refine)
    kept = rows.sweep(forest, 1.0, 4)
    np.testing.assert_array_equal(kept.feature, once.feature)
    np.testing.assert_array_equal(kept.value, once.value)
    assert len(n_refined) == 2


def test_splits_are_chosen_no_more_where_none_changed(swept, monkeypatch):
    rows, forest, _ = swept
    n_refined = []
    monkeypatch.setattr(CodedRows, "refine", lambda _self, chosen, _l2: n_refined.append(1) or chosen)
    settled = rows.sweep(forest, 1.0, 50)
    assert 0 < len(n_refined) < 50
    assert rows.sweep(settled, 1.0, 1) is settled


def test_of_many_rows_some_choose_the_splits(swept, monkeypatch):
    rows, forest, once = swept
    n_rows = []

    class Known(compressing.KnownTests):
        def __post_init__(self):
            n_rows.append(len(self.X))
            super().__post_init__()

    monkeypatch.setattr(compressing, "KnownTests", Known)
    n_used = np.unique(forest.feature[forest.feature >= 0]).size
    for most, of_rows in ((len(rows.y) * n_used + 1, 1), (len(rows.y) * n_used // 4, 4)):
        monkeypatch.setattr(compressing, "MOST_CHOSEN_BY", most)
        few = rows.sweep(forest, 1.0, 1)
        assert n_rows.pop() == -(-len(rows.y) // of_rows)
        assert few.n_rows[0] == len(rows.y[::of_rows])
    assert not np.array_equal(few.feature, once.feature)
