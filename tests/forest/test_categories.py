"""Splits by sets of categories: walked, cut back, selected, saved, and checked."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import billhook as bh
import naive.forest
from billhook.forest import as_rows, categories_of, pool_sets
from billhook.forest._check import check_forest
from made_up import categorical_forests, random_forest, rows_of_categories, with_sets


@pytest.fixture
def forest():
    rng = np.random.default_rng(0)
    return with_sets(rng, random_forest(rng, sizes=(3, 5, 70)))


def one_split(categories, missing_left=False):
    """Return a forest of one split, by these categories of its one feature."""
    forest = random_forest(np.random.default_rng(0), sizes=(1,), n_features=1, thresholds=[0.0])
    number, sets = pool_sets([np.array(categories)])
    return replace(
        forest,
        category_set=np.array([number[0], -1, -1], np.int32),
        missing_left=np.array([missing_left, False, False]),
        **sets._asdict(),
    )


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("n_rows", [1, 100])
def test_a_row_goes_left_if_its_number_cut_off_is_in_the_set(n_rows, missing_left):
    forest = one_split([0, 2, 40], missing_left)
    goes_left = {
        0.0: True, 0.99: True, -0.99: True, 1.0: False, 1.99: False, 2.0: True, 2.99: True, 3.0: False,
        -1.0: False, -2.0: False, 39.99: False, 40.0: True, 40.5: True, 41.0: False, 63.0: False, 64.0: False,
        1e-45: True, -1e-45: True, 2.0**24: False, 2.0**32: False, 2.0**32 + 2.0**9: False, 3.4e38: False,
        -3.4e38: False, np.inf: False, -np.inf: False, np.nan: missing_left,
    }  # fmt: skip
    for x, is_left in [*goes_left.items(), (-0.0, True)]:
        X = np.full((n_rows, 1), x, np.float32)
        assert (forest.apply(X) == (forest.left[0] if is_left else forest.right[0])).all(), x


@given(categorical_forests(), st.sampled_from([0, 1, 15, 16, 63, 64, 300]), st.integers(0, 2**32))
def test_every_row_falls_into_the_leaf_it_is_walked_to(forest, n_rows, seed):
    X = rows_of_categories(np.random.default_rng(seed), n_rows, forest.n_features)
    leaf = forest.apply(X)
    np.testing.assert_array_equal(leaf, naive.forest.apply(forest, X).reshape(leaf.shape))
    np.testing.assert_array_equal(leaf, forest.apply(X, n_jobs=2))


@given(categorical_forests(), st.sampled_from([0.0, 0.2]), st.integers(0, 2**32))
def test_raw_scores_are_the_same_for_one_row_and_for_many_and_by_the_plain_walk(forest, missing, seed):
    X = rows_of_categories(np.random.default_rng(seed), 70, forest.n_features, missing)
    raw = forest.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(raw, naive.forest.raw_scores(forest, X), rtol=0, atol=1e-12)
    alone = np.concatenate([forest.decision_function(X[n : n + 1]) for n in range(len(X))])
    np.testing.assert_array_equal(alone.reshape(raw.shape), raw)
    plain = replace(forest)
    plain.__dict__["_tables"] = None
    np.testing.assert_array_equal(plain.decision_function(X).reshape(raw.shape), raw)
    np.testing.assert_array_equal(plain.apply(X), forest.apply(X))
    np.testing.assert_array_equal(plain.predict(X), forest.predict(X))


@given(categorical_forests(), st.sampled_from(["nearest", "down"]), st.integers(0, 2**32))
def test_float64_rows_are_rounded_before_they_are_cut_off(forest, rounding, seed):
    rng = np.random.default_rng(seed)
    X = rows_of_categories(rng, 40, forest.n_features).astype(np.float64)
    X = X * (1.0 + rng.choice([0.0, 1e-9, -1e-9], X.shape)) + rng.choice([0.0, 1e-17, -1e-17], X.shape)
    forest = replace(forest, rounding=rounding)
    for n_rows in (2, 40):
        expected = naive.forest.apply(forest, as_rows(X[:n_rows], forest))
        np.testing.assert_array_equal(forest.apply(X[:n_rows]), expected)


def test_a_forest_of_very_many_sets_is_walked_row_by_row():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(66_000,))
    splits = np.flatnonzero(forest.feature >= 0)
    number, sets = pool_sets([np.flatnonzero(k >> np.arange(17) & 1) for k in range(splits.size)])
    category_set = np.full(forest.n_nodes, -1, np.int32)
    category_set[splits] = number
    forest = replace(
        forest, category_set=category_set, threshold=np.zeros(forest.n_nodes, np.float32), **sets._asdict()
    )
    assert forest._tables is None
    X = rng.integers(0, 20, (20, 3)).astype(np.float32)
    np.testing.assert_array_equal(forest.apply(X), naive.forest.apply(forest, X))


def test_sets_and_thresholds_that_are_too_many_together_are_walked_row_by_row():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(70_000,), n_features=5_000)
    splits = np.flatnonzero(forest.feature >= 0)[:10_000]
    number, sets = pool_sets([np.flatnonzero(k >> np.arange(17) & 1) for k in range(splits.size)])
    category_set, threshold = np.full(forest.n_nodes, -1, np.int32), forest.threshold.copy()
    category_set[splits], threshold[splits] = number, 0
    forest = replace(forest, category_set=category_set, threshold=threshold, **sets._asdict())
    assert forest._tables is None
    X = rng.integers(-1, 20, (20, 5_000)).astype(np.float32)
    np.testing.assert_array_equal(forest.apply(X), naive.forest.apply(forest, X))


@given(categorical_forests(), st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
def test_rows_stop_where_the_truncated_tree_ends(forest, n, m, seed):
    X = rows_of_categories(np.random.default_rng(seed), 20, forest.n_features)
    small = forest.truncate(max_leaves=n)
    check_forest(small)
    for tree in range(forest.n_trees):
        stop = [forest.offset[tree] + naive.forest.leaf_of_truncated(forest, tree, row, n) for row in X]
        leaf = small.offset[tree] + small.apply(X)[:, tree].astype(np.int64)
        np.testing.assert_array_equal(small.value[leaf], forest.value[stop])
    assert small.truncate(max_leaves=m) == forest.truncate(max_leaves=min(n, m))


@given(categorical_forests(), st.data())
def test_selected_trees_predict_as_they_did_and_keep_only_their_sets(forest, data):
    n_trees = forest.n_trees
    chosen = data.draw(st.lists(st.integers(-n_trees, n_trees - 1), min_size=1, max_size=6))
    X = rows_of_categories(np.random.default_rng(0), 30, forest.n_features)
    small = forest.select(chosen)
    check_forest(small)
    np.testing.assert_array_equal(small.apply(X), forest.apply(X)[:, chosen])
    assert set(small.category_set[small.category_set >= 0]) == set(range(small.n_sets))


def test_sets_are_pooled_in_the_order_in_which_they_first_come():
    number, sets = pool_sets([np.array(one, np.int32) for one in ([5, 40], [], [0], [5, 40], [31, 32], [])])
    assert number.tolist() == [0, 1, 2, 0, 3, 1]
    assert sets.set_offset.tolist() == [0, 2, 2, 3, 5]
    assert sets.set_bits.tolist() == [1 << 5, 1 << 8, 1, 1 << 31, 1]


@given(st.lists(st.sets(st.integers(0, 200), max_size=20), max_size=8))
def test_a_set_has_the_categories_that_it_was_made_of(wanted):
    number, sets = pool_sets([np.array(sorted(one), np.int64) for one in wanted])
    forest = replace(random_forest(np.random.default_rng(0)), **sets._asdict())
    assert forest.n_sets == len({tuple(sorted(one)) for one in wanted})
    for one, k in zip(wanted, number, strict=True):
        assert categories_of(forest, k).tolist() == sorted(one)
        assert naive.forest.categories_of(forest, k) == one


@pytest.mark.parametrize("category", [-1, 2**24, 2**40])
def test_a_category_that_float32_cannot_tell_from_others_is_refused(category):
    with pytest.raises(ValueError, match=f"category {category} is not between 0 and 16,777,215"):
        pool_sets([np.array([3]), np.sort(np.array([5, category]))])


def test_sets_are_part_of_what_makes_two_forests_equal(forest):
    bits = forest.set_bits.copy()
    bits[-1] ^= 1
    assert replace(forest, set_bits=bits) != forest
    assert replace(forest) == forest
    assert pickle.loads(pickle.dumps(forest)) == forest


def test_a_forest_without_sets_has_empty_fields():
    forest = random_forest(np.random.default_rng(0), sizes=(3, 5))
    assert forest.n_sets == 0
    assert (forest.category_set == -1).all()
    assert forest.set_offset.tolist() == [0]
    assert forest.set_bits.size == 0


def test_repr_says_how_many_sets_there_are(forest):
    assert repr(forest).startswith(f"Forest(3 trees, 81 leaves, 3 features, {forest.n_sets} sets of categories, 3 ")
    assert "Sets of categories" in forest._repr_html_()
    assert "Sets of categories" not in random_forest(np.random.default_rng(0))._repr_html_()


def first_leaf(forest):
    return int(np.flatnonzero(forest.feature < 0)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: {"category_set": put(f.category_set, 0, f.n_sets)}, "category_set must lie between 0 and"),
        (lambda f: {"category_set": put(f.category_set, 0, -2)}, "category_set must lie between 0 and"),
        (lambda f: {"category_set": put(f.category_set, first_leaf(f), 0)}, "category_set must be -1 for a leaf"),
        (lambda f: {"category_set": f.category_set[:-1]}, "category_set has 158 entries for 159 nodes"),
        (lambda f: {"category_set": f.category_set.astype(np.int64)}, "category_set must be a numpy array of int32"),
        (lambda f: {"threshold": np.where(f.feature >= 0, np.float32(1), 0)}, "threshold must be 0 where a split"),
        (lambda f: {"set_offset": put(f.set_offset, 0, 1)}, "set_offset must rise from 0"),
        (lambda f: {"set_offset": put(f.set_offset, -1, 10**6)}, "set_offset must rise from 0"),
        (lambda f: {"set_offset": put(f.set_offset, 1, 2**63 - 1)}, "set_offset must rise from 0"),
        (lambda f: {"set_offset": put(f.set_offset, 1, -1)}, "set_offset must rise from 0"),
        (lambda _: {"set_offset": np.zeros(0, np.int64)}, "set_offset must rise from 0"),
        (lambda f: {"set_bits": f.set_bits[:-1]}, "set_offset must rise from 0"),
        (lambda f: {"set_bits": f.set_bits.astype(np.int32)}, "set_bits must be a numpy array of uint32"),
        (
            lambda f: {
                "category_set": np.minimum(f.category_set, 0),
                "set_offset": np.array([0, 2**19 + 1]),
                "set_bits": np.zeros(2**19 + 1, np.uint32),
            },
            "room for 16,777,248, and float32 rows tell 16,777,216",
        ),
    ],
)
def test_sets_that_are_none_are_refused(forest, change, message):
    with pytest.raises(ValueError, match=message):
        replace(forest, **change(forest))


def put(array, place, number):
    array = array.copy()
    array[place] = number
    return array


def test_scikit_learn_is_given_no_sets(forest):
    with pytest.raises(ValueError, match="categorical splits, and to_estimator writes splits by thresholds"):
        bh.to_estimator(replace(forest, origin="sklearn.RandomForestClassifier"))


def test_the_last_category_that_there_can_be_is_found():
    forest = one_split([2**24 - 1])
    X = np.array([[2**24 - 1], [2**24 - 2], [2**24]], np.float32)
    assert (forest.apply(X)[:, 0] == forest.left[0]).tolist() == [True, False, False]


def test_a_forest_with_sets_is_pruned_refined_merged_and_packed(forest):
    rng = np.random.default_rng(1)
    X = rows_of_categories(rng, 300, forest.n_features)
    y = forest.classes[rng.integers(0, forest.n_classes, len(X))]
    leaf = forest.apply(X)
    np.testing.assert_array_equal(bh.refine(forest, X, y, random_state=0).apply(X), leaf)
    order = bh.pruning_order(forest, X, y, method="reduced_error")[:2]
    small = bh.prune(forest, X, y, method="reduced_error", n_trees=2)
    np.testing.assert_array_equal(small.apply(X), leaf[:, np.sort(order)])
    merged = bh.merge(forest, X, y, max_leaves=20)
    check_forest(merged)
    assert merged.n_leaves <= 20
    assert merged.n_trees == forest.n_trees
    for tree in range(forest.n_trees):  # rows that were in one leaf still are
        pairs = {tuple(pair) for pair in np.stack([leaf[:, tree], merged.apply(X)[:, tree]], axis=1).tolist()}
        assert len(pairs) == len(set(leaf[:, tree].tolist()))
    packed = bh.pack(merged, threshold_bits="exact", leaf_bits=16)
    assert (packed.predict(X) == merged.predict(X)).mean() > 0.99
