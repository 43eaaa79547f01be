"""The walk itself: every size at which it changes its way, every type of rows, and arrays that it must refuse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

import naive.forest
from billhook import kernels
from billhook.forest import as_rows
from made_up import TRICKY, random_forest, tricky_rows

# Around a tile of 16 rows, a block of 256, and a batch of some blocks.
N_ROWS = [0, 1, 2, 7, 15, 16, 17, 63, 64, 255, 256, 257, 511, 5000]
# Around the numbers of splits at which the crown, the bits of its exits, or its growth change.
SIZES = (0, 1, 3, 4, 5, 15, 16, 30, 31, 32, 33, 34, 62, 63, 64, 65, 100, 300)


def sum_in_order(forest, X):
    """Return raw scores of a mean of trees: values added tree after tree, divided once."""
    leaf = naive.forest.apply(forest, X)
    total = np.zeros((len(X), forest.base.size))
    for tree in range(forest.n_trees):
        first = forest.tree_column[tree]
        total[:, first : first + forest.value.shape[1]] += forest.value[forest.offset[tree] + leaf[:, tree]]
    return total / forest.n_trees + forest.base


def float64_rows(rng, n_rows, n_features):
    """Return numbers at, and a little beside, those a float32 can be, and beyond all of them."""
    X = tricky_rows(rng, n_rows, n_features).astype(np.float64)
    beside = np.array([0.0, 1e-9, -1e-9, 1e-17, -1e-17, 1e-46, -1e-46, 1e-60, -1e-60, 1e300, -1e300])
    with np.errstate(over="ignore"):
        return X * (1.0 + rng.choice(beside[:5], X.shape)) + rng.choice(beside, X.shape)


@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize("chain", [False, True])
def test_rows_of_any_number_reach_their_leaves_in_trees_of_any_size(n_rows, chain):
    rng = np.random.default_rng(n_rows)
    forest = random_forest(rng, sizes=SIZES, n_features=4, chain=chain)
    X = tricky_rows(rng, n_rows, 4)
    some = slice(None) if n_rows < 300 else rng.integers(n_rows, size=300)
    expected = naive.forest.apply(forest, X[some]).reshape(-1, len(SIZES))
    np.testing.assert_array_equal(forest.apply(X)[some], expected)
    np.testing.assert_array_equal(forest.apply(X, n_jobs=3), forest.apply(X))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 18, 26, 33])
@pytest.mark.parametrize("n_trees", [1, 3, 4, 5, 9])
def test_values_are_added_tree_after_tree_to_the_last_bit(n_classes, n_trees):
    rng = np.random.default_rng(n_classes)
    forest = random_forest(rng, sizes=(40,) * n_trees, n_classes=n_classes)
    X = tricky_rows(rng, 300, 3)
    expected = sum_in_order(forest, X)
    for n_rows in (3, 40, 300):
        raw = forest.decision_function(X[:n_rows]).reshape(n_rows, -1)
        np.testing.assert_array_equal(raw, expected[:n_rows])
        if n_classes > 1:
            np.testing.assert_array_equal(forest.predict(X[:n_rows]), 10 * expected[:n_rows].argmax(axis=1))


@pytest.mark.parametrize("order", ["in turn", "one after the other"])
def test_trees_that_serve_one_class_each_add_to_it(order):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(20,) * 12, n_classes=3, per_class=True)
    if order == "one after the other":
        forest = replace(forest, tree_column=np.repeat(np.arange(3, dtype=np.int32), 4))
    X = tricky_rows(rng, 700, 3)
    expected = sum_in_order(forest, X)
    for n_rows in (3, 700):
        np.testing.assert_array_equal(forest.decision_function(X[:n_rows]), expected[:n_rows])
        np.testing.assert_array_equal(forest.predict(X[:n_rows]), 10 * expected[:n_rows].argmax(axis=1))
        np.testing.assert_allclose(forest.predict_proba(X[:n_rows]), softmax(expected[:n_rows], axis=1), rtol=1e-13)


@given(st.sampled_from(["nearest", "down"]), st.sampled_from([1, 20, 300]), st.integers(0, 2**32))
def test_float64_rows_are_rounded_as_all_others_are(rounding, n_rows, seed):
    rng = np.random.default_rng(seed)
    X = float64_rows(rng, n_rows, 4)
    with np.errstate(over="ignore", under="ignore"):
        near = np.nan_to_num(X.astype(np.float32).ravel()[:50])
        at = np.concatenate([TRICKY, near, np.nextafter(near, np.float32(-np.inf))])
    forest = replace(random_forest(rng, sizes=(5, 31, 100), n_features=4, thresholds=at), rounding=rounding)
    rows = as_rows(X, forest)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(forest.apply(X), forest.apply(rows))
    np.testing.assert_array_equal(forest.apply(X), naive.forest.apply(forest, rows))
    np.testing.assert_array_equal(forest.decision_function(X), forest.decision_function(rows))
    np.testing.assert_array_equal(forest.predict(X), forest.predict(rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [2, 100])
def test_rows_may_lie_anywhere_in_memory(dtype, n_rows):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 40))
    X = rng.normal(size=(n_rows, 3)).astype(dtype)
    expected = naive.forest.apply(forest, as_rows(X, forest))
    memory = np.zeros(X.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(X.tobytes(), np.uint8)
    odd = memory[1:].view(dtype).reshape(X.shape)
    assert not odd.flags.aligned
    swapped = X.astype(X.dtype.newbyteorder())
    read_only = X.copy()
    read_only.flags.writeable = False
    for same in (odd, swapped, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only):
        np.testing.assert_array_equal(forest.apply(same), expected)
        np.testing.assert_array_equal(forest.predict(same), forest.predict(X))
        np.testing.assert_array_equal(forest.decision_function(same), forest.decision_function(X))


def test_missing_values_are_found_wherever_they_are():
    for dtype in (np.float32, np.float64):
        X = np.zeros((100, 101), dtype)
        assert kernels.has_missing(X) is False
        assert kernels.has_missing(X[:0]) is False
        for place in (0, 4095, 4096, X.size - 1):
            X.flat[place] = np.nan
            assert kernels.has_missing(X) is True
            X.flat[place] = np.inf


@pytest.mark.parametrize("n_rows", [1, 100])
def test_winners_of_scores_that_overflow_are_those_of_numpy(n_rows):
    forest = random_forest(np.random.default_rng(0), sizes=(0, 0), n_classes=4, weights="sum")
    X = np.zeros((n_rows, 3), np.float32)
    for value in ([1e308, 9e307, 1.0, 0.0], [0.0, 1e308, 9e307, 1.0], [-1e308, 1.0, 1e308, 2.0]):
        large = replace(forest, value=np.array([value, value]), base=np.array(value))
        raw = large.decision_function(X)
        assert np.isinf(raw).any()
        np.testing.assert_array_equal(large.predict(X), 10 * raw.argmax(axis=1))
    scores = np.array([[1.0, np.nan, 3.0, np.nan], [np.inf, np.nan, np.inf, 0.0], [2.0, 3.0, 3.0, -np.inf]])
    winners = np.empty(3, np.int64)
    kernels.choose_winners(scores, False, False, winners)
    assert winners.tolist() == scores.argmax(axis=1).tolist() == [1, 1, 1]


def test_the_one_score_of_two_classes_is_compared_with_zero():
    scores, winners = np.array([[-1.0], [0.0], [-0.0], [1e-300], [np.nan]]), np.empty(5, np.int64)
    kernels.choose_winners(scores, True, False, winners)
    assert winners.tolist() == [0, 0, 0, 1, 0]
    kernels.choose_winners(scores, True, True, winners)
    assert winners.tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 18), (127, 3), (129, 7), (1000, 26)])
def test_softmax(shape):
    scores = np.random.default_rng(0).normal(scale=30.0, size=shape)
    expected = softmax(scores, axis=1)
    kernels.softmax(scores)
    np.testing.assert_allclose(scores, expected, rtol=2e-15 * shape[1], atol=1e-300)


@pytest.mark.parametrize("link", ["softmax", "logistic"])
@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_a_forest_that_cannot_be_laid_out_is_walked_plainly(link, rounding):
    rng = np.random.default_rng(0)
    n_classes = 3 if link == "softmax" else 2
    forest = random_forest(rng, sizes=SIZES, n_classes=n_classes)
    if link == "logistic":
        forest = replace(forest, value=forest.value[:, :1], base=forest.base[:1], link=link)
    forest = replace(forest, rounding=rounding)
    plain = replace(forest)
    plain.__dict__["_tables"] = None
    for X in (tricky_rows(rng, 90, 3), float64_rows(rng, 90, 3)):
        np.testing.assert_array_equal(plain.apply(X, n_jobs=2), naive.forest.apply(forest, as_rows(X, forest)))
        np.testing.assert_array_equal(plain.decision_function(X), forest.decision_function(X))
        np.testing.assert_array_equal(plain.predict(X), forest.predict(X))
    assert plain._walker is None


def test_leaf_numbers_are_written_from_the_given_row_on():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 40))
    X = tricky_rows(rng, 50, 3)
    for dtype in (np.uint16, np.uint32):
        for n_rows in (3, 50):
            leaf = np.full((2, 70), 999, dtype)
            forest._walker.write_leaf_ids(X[:n_rows], leaf, 20)
            np.testing.assert_array_equal(leaf[:, 20 : 20 + n_rows], naive.forest.apply(forest, X[:n_rows]).T)
            assert (leaf[:, :20] == 999).all()
            assert (leaf[:, 20 + n_rows :] == 999).all()


def test_a_walker_refuses_what_it_cannot_write_to_by_name():
    forest = random_forest(np.random.default_rng(0), sizes=(5, 40))
    walker = forest._walker
    X = np.zeros((4, 3), np.float32)
    leaf = np.empty((2, 4), np.uint16)
    with pytest.raises(ValueError, match=r"Walker\.write_scores: scores has another shape"):
        walker.write_scores(X, np.empty((4, 2)))
    with pytest.raises(ValueError, match=r"Walker\.write_winners: there is not one winner for each row"):
        walker.write_winners(X, np.empty(3, np.int64))
    with pytest.raises(TypeError, match=r"Walker\.write_winners: argument 2 .* of int64"):
        walker.write_winners(X, np.empty(4, np.int32))
    with pytest.raises(TypeError, match=r"Walker\.write_scores: argument 1 .* of float32 or float64"):
        walker.write_scores(X.astype(np.int32), np.empty((4, 3)))
    with pytest.raises(ValueError, match=r"Walker\.write_scores: X has another number of features"):
        walker.write_scores(X[:, :2].copy(), np.empty((4, 3)))
    for first in (-1, 1):
        with pytest.raises(ValueError, match=r"Walker\.write_leaf_ids: leaf has no room for the rows"):
            walker.write_leaf_ids(X, leaf, first)
    with pytest.raises(ValueError, match="not one line for each tree"):
        walker.write_leaf_ids(X, leaf[:1], 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offset": np.array([0], np.int64)}, "the arrays do not fit each other"),
        ({"offset": np.array([0, 11, 99], np.int64)}, "not one word, node and value for each node"),
        ({"node_at": np.zeros(3, np.int32)}, "the arrays do not fit each other"),
        ({"exits": np.zeros((2, 63), np.int32)}, "the arrays of crowns have not 64 entries"),
        ({"position_bits": 32}, "position_bits does not lie between 1 and 31"),
        ({"goes_deeper": np.zeros(1, np.bool_)}, "the arrays do not fit each other"),
    ],
)
def test_a_walker_is_not_made_of_arrays_that_do_not_fit(changed, message):
    forest = random_forest(np.random.default_rng(0), sizes=(5, 40))
    tables = forest._tables._replace(**changed)
    with pytest.raises(ValueError, match=f"Walker: .*{message}"):
        kernels.Walker(*tables, *forest._sum, 3, False, False, False)


def test_a_walker_takes_all_its_arrays_by_position():
    with pytest.raises(TypeError, match="Walker takes 24 arguments, not 0"):
        kernels.Walker()
    with pytest.raises(TypeError, match="Walker takes 24 arguments, not 40"):
        kernels.Walker(*range(40))
    with pytest.raises(TypeError, match="no keyword arguments"):
        kernels.Walker(offset=1)


def test_a_walker_keeps_its_arrays():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(5, 40))
    X = tricky_rows(rng, 50, 3)
    expected = forest.decision_function(X)
    walker = forest._walker
    del forest
    scores = np.empty((50, 3))
    walker.write_scores(X, scores)
    np.testing.assert_array_equal(scores, expected)
