"""Leaves that share a few vectors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
import naive.packing
from billhook.packing import _codebook as codebook
from billhook.packing._codebook import k_means, nearest
from billhook.packing._leaf_values import Units
from billhook.packing._packed import codes_of
from billhook.refinement import LOSSES, Problem, find_leaves
from made_up import random_forest

X3, y3 = load_iris(return_X_y=True)
X10, y10 = load_digits(return_X_y=True)
SOME_LOSSES = ("cross_entropy", "mse", "squared_hinge")


@pytest.fixture(scope="module")
def digits():
    rf = RandomForestClassifier(10, max_leaf_nodes=24, random_state=0).fit(X10[:900], y10[:900])
    return bh.refine(rf, X10[:900], y10[:900], loss="cross_entropy", validation_fraction=None)


def vectors_of(packed):
    """Return the different leaf vectors of a packed model, as they are stored."""
    walked = packed.coded
    return np.unique(walked.value[walked.feature < 0], axis=0)


def sharing_of(seed, loss, n_entries, n_rows=40):
    """Return a descent with entries on a made-up forest, and what its twin needs: forest, leaves, labels, weights."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(3, 1, 6, 4), n_classes=3, weights="sum", thresholds=rng.normal(size=20))
    X = rng.normal(size=(n_rows, forest.n_features)).astype(np.float32)
    y, weight = rng.integers(3, size=n_rows), rng.integers(1, 4, size=n_rows).astype(np.float64)
    if seed % 2:
        weight[0] = 5.0  # none of the others
    problem = Problem(forest)
    leaf = find_leaves(problem, [(X, n_rows)], by_row=False, n_jobs=None)
    entries = k_means(problem.value, np.ones(len(problem.value)), n_entries)
    sharing = codebook.CodebookDescent.of(forest, (leaf, y.astype(np.uint64), weight, LOSSES[loss]), entries)
    leaves = (leaf.T + problem.first[:-1].astype(np.int64)).tolist()
    return sharing, forest, leaves, y.tolist(), weight


@pytest.mark.parametrize("loss", SOME_LOSSES)
@pytest.mark.parametrize("unit", [None, np.array([0.2, 0.3, 0.1])])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_the_slow_twin(loss, unit, seed, monkeypatch):
    monkeypatch.setattr(codebook, "ENTRY_PASSES", 1)
    monkeypatch.setattr(codebook, "TRIED", 3)
    sharing, forest, leaves, y, weight = sharing_of(seed, loss, 5)
    table, anchor = sharing.descent.table.copy(), sharing.descent.anchor
    entries, chosen = sharing.entries.copy(), sharing.chosen.tolist()
    allowed = codebook.ANYWHERE if unit is None else np.stack([unit, np.full(3, -4.0), np.full(3, 3.0)], axis=1)
    limits = {} if unit is None else {"unit": unit, "low": -4, "high": 3}
    seen = sharing.descent.used
    for _ in range(2):
        sharing.choose()
        table, chosen = naive.packing.choose_entries(
            forest, leaves, y, table, anchor, entries, chosen, loss, 1.0, 3, weight
        )
        np.testing.assert_array_equal(sharing.chosen[seen], np.array(chosen)[seen])
        np.testing.assert_allclose(sharing.descent.table[seen], table[seen], rtol=1e-9, atol=1e-12)
        chosen = sharing.chosen.tolist()  # of leaves without rows too
        sharing.move(allowed)
        entries = naive.packing.move_entries(forest, leaves, y, anchor, chosen, entries, loss, 1.0, weight, **limits)
        own = np.unique(sharing.chosen[seen])
        np.testing.assert_allclose(sharing.entries[own], entries[own], rtol=1e-7, atol=1e-9)
        table, entries = entries[chosen], sharing.entries.copy()


@given(st.integers(0, 2**32), st.sampled_from(SOME_LOSSES), st.integers(1, 20))
@settings(deadline=None)
def test_no_round_raises_the_objective(seed, loss, n_entries):
    sharing = sharing_of(seed, loss, n_entries)[0]
    units = Units(0.1, np.array([1, 2, 3]))
    sharing.choose()
    for allowed in (codebook.ANYWHERE, codebook.step_and_limits(units, 4)):
        sharing.move(allowed)
        reached = sharing.objective()
        for step in (sharing.choose, lambda allowed=allowed: sharing.move(allowed)) * 2:
            step()
            assert sharing.objective() <= reached + 1e-9
            reached = sharing.objective()
    # What the kernels keep of the scores is what the values come to.
    sharing.settle(sharing.chosen)
    assert sharing.objective() == pytest.approx(reached, rel=1e-9)
    whole = sharing.entries / units.of_column
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-9)
    assert np.rint(whole).min() >= -8
    assert np.rint(whole).max() <= 7


@pytest.mark.parametrize("loss", SOME_LOSSES)
def test_values_may_be_thousands(loss):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 9, 7), n_classes=3, weights="sum", thresholds=rng.normal(size=20))
    forest = forest.with_values(forest.value * 3000.0)
    X = rng.normal(size=(60, forest.n_features)).astype(np.float32)
    y = rng.integers(3, size=60)
    problem = Problem(forest)
    leaf = find_leaves(problem, [(X, 60)], by_row=False, n_jobs=None)
    rows = (leaf, y.astype(np.uint64), np.ones(60), LOSSES[loss])
    sharing = codebook.CodebookDescent.of(forest, rows, k_means(problem.value, np.ones(len(problem.value)), 4))
    sharing.choose()
    sharing.move(codebook.ANYWHERE)
    reached = sharing.objective()
    assert np.isfinite(reached)
    if loss != "cross_entropy":
        sharing.settle(sharing.chosen)
        assert sharing.objective() == pytest.approx(reached, rel=1e-9)
    packed = bh.pack(forest, codebook=4, leaf_bits=2, X=X, y=forest.classes[y], loss=loss)
    assert len(vectors_of(packed)) <= 4


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_k_means_ends_where_each_entry_is_the_mean_of_its_vectors(seed, n_entries):
    rng = np.random.default_rng(seed)
    value, weight = rng.normal(size=(30, 2)), rng.random(30) + 0.1
    entries = k_means(value, weight, n_entries)
    assert entries.shape == (n_entries, 2)
    number = nearest(value, entries)
    brute = np.square(value[:, None] - entries).sum(axis=2)
    np.testing.assert_allclose(brute[np.arange(len(value)), number], brute.min(axis=1), atol=1e-12)
    for e in set(number):
        np.testing.assert_allclose(entries[e], np.average(value[number == e], axis=0, weights=weight[number == e]))
    np.testing.assert_array_equal(entries, k_means(value, weight, n_entries))
    np.testing.assert_array_equal(k_means(value, weight, 30), np.unique(value, axis=0))


def test_leaves_of_many_rows_keep_their_vectors_and_without_rows_all_count_alike():
    forest = random_forest(np.random.default_rng(0), (20,), weights="sum")
    leaves = np.flatnonzero(forest.feature < 0)
    weight = np.ones(forest.n_nodes)
    alike = codebook.round_to_codebook(replace(forest, row_weight=weight), 12, 2, by_class=False)
    heavy = leaves[[3, 11]]
    weight[heavy] = 1e9
    kept = codebook.round_to_codebook(replace(forest, row_weight=weight), 12, 2, by_class=False)
    np.testing.assert_allclose(kept.value[[3, 11]] * kept.units.scale, forest.value[heavy], atol=0.01)
    weight[leaves[5]] = 0.0
    unknown = codebook.round_to_codebook(replace(forest, row_weight=weight), 12, 2, by_class=False)
    np.testing.assert_array_equal(unknown.value, alike.value)


@pytest.mark.parametrize("scales", ["one", "class"])
@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("n_entries", [2, 16])
def test_there_are_no_more_vectors_than_asked_for(digits, scales, with_rows, n_entries, tmp_path):
    rows = {"X": X10[:900], "y": y10[:900]} if with_rows else {}
    packed = bh.pack(digits, codebook=n_entries, leaf_bits=4, scales=scales, **rows)
    assert len(vectors_of(packed)) <= packed.layout.n_entries <= n_entries
    assert packed.nbytes < bh.pack(digits, leaf_bits=4).nbytes
    packed.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path / "model.bhk") == packed
    assert bh.pack(digits, codebook=n_entries, leaf_bits=4, scales=scales, **rows) == packed
    codes = codes_of(X10[900:920].astype(np.float32), packed.used, packed.quantizers, missing_values=True)
    np.testing.assert_array_equal(packed.scores(X10[900:920]), naive.packing.packed_scores(packed, codes))


@pytest.mark.parametrize("loss", SOME_LOSSES)
@pytest.mark.parametrize("bits", [2, 4])
def test_rows_make_a_better_codebook_than_k_means(loss, bits):
    options = {"codebook": 8, "leaf_bits": bits, "threshold_bits": "exact"}
    rf = RandomForestClassifier(10, max_leaf_nodes=24, random_state=0).fit(X10[:900], y10[:900])
    forest = bh.refine(rf, X10[:900], y10[:900], loss=loss, validation_fraction=None)
    plain = bh.pack(forest, **options)
    learned = bh.pack(forest, X=X10[:900], y=y10[:900], loss=loss, **options)
    before, after = (
        sum(
            naive.packing.loss_of_row(loss, s, label)
            for s, label in zip(p.decision_function(X10[:900]), y10, strict=False)
        )
        for p in (plain, learned)
    )
    assert after < before
    right = [np.mean(p.predict(X10[900:]) == y10[900:]) for p in (plain, learned)]
    assert right[1] > right[0]


def test_few_vectors_keep_most_of_the_accuracy(digits):
    rows = {"X": X10[:900], "y": y10[:900], "threshold_bits": "exact"}
    full, shared = bh.pack(digits, **rows), bh.pack(digits, codebook=32, leaf_bits=4, **rows)
    right = [np.mean(p.predict(X10[900:]) == y10[900:]) for p in (full, shared)]
    assert right[1] > right[0] - 0.03
    assert shared.nbytes < full.nbytes / 2


def test_a_codebook_for_every_leaf_loses_only_by_rounding():
    rf = RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X3, y3)
    exact, shared = (bh.pack(rf, threshold_bits="exact", leaf_bits=16, **o) for o in ({}, {"codebook": 65_536}))
    np.testing.assert_allclose(shared.decision_function(X3), exact.decision_function(X3), atol=1e-3)


def test_leaves_and_rows_that_count_for_nothing_do_no_harm():
    rf = RandomForestClassifier(5, max_leaf_nodes=12, random_state=0).fit(X3, y3)
    weight = (y3 != 1).astype(np.float64)
    packed = bh.pack(rf, codebook=5, leaf_bits=3, X=X3, y=y3, sample_weight=weight, loss="cross_entropy")
    assert np.isfinite(packed.scale)
    assert np.mean(packed.predict(X3)[y3 != 1] == y3[y3 != 1]) > 0.9
    unknown = replace(bh.as_forest(rf), row_weight=np.zeros(bh.as_forest(rf).n_nodes))
    assert len(vectors_of(bh.pack(unknown, codebook=5))) <= 5


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (RandomForestClassifier(2, random_state=0), load_breast_cancer(return_X_y=True)),
        (RandomForestRegressor(2, random_state=0), load_diabetes(return_X_y=True)),
        (GradientBoostingClassifier(n_estimators=2, random_state=0), (X3, y3)),
    ],
)
def test_leaves_of_one_number_have_no_codebook(model, data):
    with pytest.raises(ValueError, match=r"codebook needs leaves of more than one number.*use leaf_bits"):
        bh.pack(model.fit(*data), codebook=8)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (1, ValueError, "codebook must be between 2 and 65,536, not 1"),
        (65_537, ValueError, "codebook must be between 2 and 65,536, not 65,537"),
        (2.5, TypeError, "codebook must be a whole number, not 2.5"),
    ],
)
def test_other_codebooks_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        bh.pack(RandomForestClassifier(2, random_state=0).fit(X3, y3), codebook=given)
