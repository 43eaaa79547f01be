"""How much memory a fit takes beside its rows, and how many of them it learns from so that it does not take more."""

import tracemalloc

import numpy as np
import pytest

from billhook.budget import TrainingRows, fit
from billhook.budget import _memory as memory
from billhook.budget import _search as searching
from billhook.budget._memory import n_rows_to_grow, rows_to_refine
from billhook.budget._scoring import score_of
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.budget._trial_runner import TrialRunner


def made_up(n_rows=30_000, n_features=50, n_classes=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = (X[:, :n_classes] + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    return TrainingRows(X, y, np.ones(n_rows), np.arange(n_classes))


@pytest.fixture
def scarce(monkeypatch):
    """Let small tables be treated as large ones are."""
    monkeypatch.setattr(memory, "ENOUGH_BYTES", 0)
    monkeypatch.setattr(memory, "FOR_HISTOGRAMS", 0)
    monkeypatch.setattr(memory, "LEAST_ROWS", 1_000)
    monkeypatch.setattr("billhook.packing._binning.MOST_ROWS", 1_000)
    monkeypatch.setattr("billhook.budget._grow.PRUNING_ROWS", 1_000)
    monkeypatch.setattr("billhook.refinement._data.BLOCK", 1_000)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize(("family", "rounding"), [("boosted", "scores"), ("random_forest", "labels")])
def test_the_last_model_takes_less_than_twice_the_memory_of_the_rows(family, rounding):
    rows = made_up()
    runner = TrialRunner(rows, score_of(None, rows))
    trial = Trial(800, GrowthConfig(family, 8, 0.5, 6, 16), CompressionConfig(1.5, 1.0, rounding=rounding))
    tracemalloc.start()
    try:
        packed = runner.build(trial, runner.split_of_last(trial))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert packed.nbytes <= 800
    assert peak < 2.0 * rows.X.nbytes


@pytest.mark.usefixtures("scarce")
def test_the_report_says_that_not_all_rows_were_learned_from(monkeypatch):
    monkeypatch.setattr(searching, "TRIED_ROWS", 1_000)
    monkeypatch.setattr(searching, "COMPARED_ROWS", 1_500)
    rows = made_up(6_000)
    most = n_rows_to_grow(rows.X.shape, 10, 64)
    found = fit(rows, 500, n_trials=1)
    (note,) = (note for note in found.report.notes if "several times the memory of the table" in note)
    assert 1_500 < most < 6_000
    n_learned_from = int(note.partition("has learned from ")[2].partition(" of 6,000 rows: ")[0].replace(",", ""))
    assert most <= n_learned_from <= most + 10  # with a row of each class


def test_as_many_rows_as_finalists_have_are_always_learned_from():
    shape = (120_000, 2_000)
    assert n_rows_to_grow(shape, 400, 1024) == 120_000
    assert rows_to_refine(np.arange(120_000), shape, 2_000, 500, 400).size == 120_000


def test_rows_to_refine_with_are_spaced_evenly():
    train = np.arange(0, 3_000_000, 2)
    some = rows_to_refine(train, (3_000_000, 50), 50, 150, 10)
    assert 120_000 < some.size < train.size
    assert np.isin(some, train).all()
    assert set(np.diff(some).tolist()) <= {4, 6}
    assert some[-1] > 2_999_980
