import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive.forest
from made_up import forests, random_forest, tricky_rows


@given(forests(), st.sampled_from([0, 1, 63, 64, 300]), st.integers(0, 2**32))
def test_every_row_falls_into_the_leaf_it_is_walked_to(forest, n_rows, seed):
    X = tricky_rows(np.random.default_rng(seed), n_rows, forest.n_features)
    leaf = forest.apply(X)
    assert leaf.shape == (n_rows, forest.n_trees)
    assert leaf.dtype == np.uint16
    np.testing.assert_array_equal(leaf, naive.forest.apply(forest, X).reshape(leaf.shape))


@given(forests(), st.sampled_from([1, 70]), st.integers(0, 2**32))
def test_raw_scores_are_base_plus_weighted_leaf_values(forest, n_rows, seed):
    X = tricky_rows(np.random.default_rng(seed), n_rows, forest.n_features)
    raw = forest.decision_function(X).reshape(n_rows, -1)
    # Not bit for bit: the twin weighs each value, the forest the sum.
    np.testing.assert_allclose(raw, naive.forest.raw_scores(forest, X), rtol=0, atol=1e-12)


@given(forests(), st.integers(0, 2**32))
def test_one_row_alone_scores_the_same_to_the_last_bit_as_among_many(forest, seed):
    X = tricky_rows(np.random.default_rng(seed), 150, forest.n_features)
    together = forest.decision_function(X)
    alone = np.concatenate([forest.decision_function(X[n : n + 1]) for n in range(len(X))])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("n_rows", [1, 64, 255, 256, 257, 3000])
def test_batches_of_any_length_are_seamless(n_rows):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(3, 70, 300), n_features=4)
    X = tricky_rows(rng, n_rows, 4)
    np.testing.assert_array_equal(forest.apply(X), naive.forest.apply(forest, X))


def test_a_tree_of_more_than_65536_nodes_has_32_bit_leaf_numbers():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(40_000,), thresholds=rng.normal(size=1000), n_classes=2)
    X = rng.normal(size=(70, 3)).astype(np.float32)
    leaf = forest.apply(X)
    assert leaf.dtype == np.uint32
    np.testing.assert_array_equal(leaf, naive.forest.apply(forest, X))
    np.testing.assert_array_equal(forest.apply(X[:2]), leaf[:2])


@pytest.mark.parametrize("n_rows", [3, 20])
def test_a_forest_too_wide_for_the_packed_walk_is_walked_all_the_same(n_rows):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(70_000,), n_features=60_000, thresholds=rng.normal(size=1000), n_classes=2)
    assert forest._tables is None
    X = rng.normal(size=(n_rows, 60_000)).astype(np.float32)
    np.testing.assert_array_equal(forest.apply(X), naive.forest.apply(forest, X))
    np.testing.assert_allclose(forest.decision_function(X), naive.forest.raw_scores(forest, X), atol=1e-12)


def test_ties_go_to_the_first_class():
    forest = random_forest(np.random.default_rng(0), sizes=(0,), n_classes=3)
    tied = forest.with_values(np.array([[1.0, 2.0, 2.0]]) - forest.base)
    assert tied.predict(np.zeros((1, 3))).tolist() == [10]


def test_probabilities_of_a_softmax_forest_do_not_overflow():
    forest = random_forest(np.random.default_rng(0), sizes=(1, 1, 1), per_class=True, weights="sum")
    P = forest.with_values(forest.value * 1e4).predict_proba(np.zeros((2, 3)))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_probabilities_are_what_the_link_makes_of_the_scores():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(30, 5), n_classes=1)
    forest = replace(forest, base=forest.base - 3.0)
    X = tricky_rows(rng, 200, 3)
    fields = {"task": "classification", "classes": np.array([-1, 1])}
    raw = forest.decision_function(X)
    assert raw.min() < -1 < raw.max()
    logistic = replace(forest, link="logistic", **fields).predict_proba(X)
    np.testing.assert_allclose(logistic[:, 1], [1 / (1 + math.exp(-score)) for score in raw.ravel()], rtol=1e-14)
    np.testing.assert_array_equal(logistic.sum(axis=1), 1.0)
    isolation = replace(forest, link="isolation", **fields).predict_proba(X)
    outlier = [2 ** min(-1 - score, 0) for score in raw.ravel().tolist()]
    np.testing.assert_allclose(isolation[:, 0], outlier, rtol=1e-14)
    np.testing.assert_array_equal(isolation.sum(axis=1), 1.0)
    grown = replace(forest, link="exp").predict(X)
    np.testing.assert_allclose(grown, [math.exp(score) for score in raw.ravel()], rtol=1e-14)


def test_rows_are_read_from_whatever_numpy_can_read():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 70))
    X = rng.integers(-3, 3, (80, 3))
    expected = forest.predict_proba(X.astype(np.float32))
    for same in (X, X.tolist(), X.astype(np.float64), np.asfortranarray(X), X.astype(object), X.astype(np.int8)):
        np.testing.assert_array_equal(forest.predict_proba(same), expected)


def test_numbers_beyond_float32_lie_beyond_every_threshold():
    forest = random_forest(np.random.default_rng(0), sizes=(30,), thresholds=[3.4028235e38, -3.4028235e38])
    far = np.array([[1e300, -1e300, 1e39]])
    np.testing.assert_array_equal(forest.apply(far), forest.apply(np.array([[np.inf, -np.inf, np.inf]])))


def test_predicting_does_not_change_the_rows():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 70))
    X = tricky_rows(rng, 40, 3)
    before = X.copy()
    forest.predict(X)
    forest.apply(X)
    np.testing.assert_array_equal(X, before)


def test_threads_may_share_a_forest():
    rng = np.random.default_rng(0)
    X = tricky_rows(rng, 500, 3)
    for _ in range(5):
        forest = random_forest(rng, sizes=(5, 70, 200))  # new: its tables are made by whoever comes first
        expected = naive.forest.apply(forest, X[:50])
        with ThreadPoolExecutor(4) as threads:
            for leaf in threads.map(forest.apply, [X] * 8):
                np.testing.assert_array_equal(leaf[:50], expected)


def test_rows_are_rounded_down_where_the_source_compared_float64():
    below = np.nextafter(np.float32(0.1), np.float32(0))  # the float32 nearest to 0.1 is above it, this one below
    forest = random_forest(np.random.default_rng(0), sizes=(1,), n_features=1, thresholds=[below])
    X = np.array([[0.1], [np.nan], [np.inf], [-np.inf], [1e300], [-1e300]])
    down = replace(forest, rounding="down")
    assert forest.apply(X)[0, 0] == forest.right[0]
    assert down.apply(X)[0, 0] == forest.left[0]
    np.testing.assert_array_equal(down.apply(X)[1:], forest.apply(X)[1:])
    exact = X[:4].astype(np.float32)
    np.testing.assert_array_equal(down.apply(exact), forest.apply(exact))
