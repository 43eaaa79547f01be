import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import billhook as bh
import naive.forest
from billhook.forest import without_constants
from made_up import forests, random_forest, tricky_rows


def grow(kind, max_leaf_nodes, X, y):
    common = {"n_estimators": 6, "random_state": 7}
    leaves = {"max_leaf_nodes": max_leaf_nodes}
    classes = y.dtype.kind == "i"
    match kind:
        case "random forest":
            model = (RandomForestClassifier if classes else RandomForestRegressor)(**common, **leaves)
        case "extra trees":
            model = (ExtraTreesClassifier if classes else ExtraTreesRegressor)(**common, **leaves)
        case "extra trees, bootstrap":
            model = (ExtraTreesClassifier if classes else ExtraTreesRegressor)(bootstrap=True, **common, **leaves)
        case "bagging":
            tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(**leaves)
            model = (BaggingClassifier if classes else BaggingRegressor)(tree, **common)
        case "random patches":
            tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(**leaves)
            model = (BaggingClassifier if classes else BaggingRegressor)(
                tree, max_features=0.5, max_samples=0.5, bootstrap_features=True, **common
            )
    return model.fit(X, y)


@pytest.fixture(scope="module", params=["classes", "numbers", "missing values"])
def table(request):
    if request.param == "numbers":
        X, y = make_regression(1500, 8, noise=30.0, random_state=0)
    else:
        X, y = make_classification(1500, 8, n_informative=6, n_classes=3, flip_y=0.2, random_state=0)
    if request.param == "missing values":
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize(
    "kind", ["random forest", "extra trees", "extra trees, bootstrap", "bagging", "random patches"]
)
def test_truncated_trees_are_exactly_those_scikit_learn_grows_with_fewer_leaves(kind, table):
    large = bh.as_forest(grow(kind, 600, *table))
    for n in (2, 3, 8, 64, 500):
        assert large.truncate(max_leaves=n) == bh.as_forest(grow(kind, n, *table)), n


def test_a_tree_grown_depth_first_keeps_the_splits_that_lower_impurity_most():
    X, y = make_classification(400, 8, n_informative=6, random_state=0)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    forest = bh.as_forest(tree)
    left, right = tree.tree_.children_left, tree.tree_.children_right
    below = tree.tree_.impurity * tree.tree_.weighted_n_node_samples
    gain = np.where(left >= 0, below - below[left] - below[right], 0)
    order = naive.forest.best_first_order(left, right, gain)
    np.testing.assert_array_equal(forest.growth_rank[order], np.arange(len(order)))


@given(st.integers(0, 2**32), st.integers(0, 60), st.sampled_from([2, 1000]))
def test_ranks_are_those_of_a_priority_queue(seed, n_splits, n_gains):
    from billhook.kernels import rank_best_first

    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes=(n_splits,))
    gain = rng.integers(0, n_gains, forest.n_nodes).astype(np.float64)  # few different ones: ties
    rank = np.empty(forest.n_nodes, np.int32)
    rank_best_first(forest.left, forest.right, gain, rank)
    order = naive.forest.best_first_order(forest.left, forest.right, gain)
    np.testing.assert_array_equal(rank[order], np.arange(n_splits))
    assert (rank >= 0).sum() == n_splits


@given(forests(), st.integers(1, 70), st.integers(1, 70))
def test_truncating_twice_is_truncating_to_the_smaller(forest, n, m):
    assert forest.truncate(max_leaves=n).truncate(max_leaves=m) == forest.truncate(max_leaves=min(n, m))


@given(forests(), st.integers(1, 70), st.integers(0, 2**32))
def test_rows_stop_where_the_truncated_tree_ends(forest, n, seed):
    X = tricky_rows(np.random.default_rng(seed), 20, forest.n_features)
    small = forest.truncate(max_leaves=n)
    for tree in range(forest.n_trees):
        stop = [forest.offset[tree] + naive.forest.leaf_of_truncated(forest, tree, row, n) for row in X]
        leaf = small.offset[tree] + small.apply(X)[:, tree].astype(np.int64)
        np.testing.assert_array_equal(small.value[leaf], forest.value[stop])
    leaves = np.add.reduceat((small.feature < 0).astype(int), small.offset[:-1])
    assert leaves.max() <= n


def test_one_leaf_is_the_root():
    X, y = make_classification(200, random_state=0)
    forest = bh.as_forest(RandomForestClassifier(5, random_state=0).fit(X, y))
    roots = forest.truncate(max_leaves=1)
    assert roots.n_nodes == roots.n_trees == 5
    np.testing.assert_array_equal(roots.value, forest.value[forest.offset[:-1]])


def test_a_forest_with_few_leaves_is_returned_as_it_is():
    forest = random_forest(np.random.default_rng(0), sizes=(3, 5))
    assert forest.truncate(max_leaves=6) is forest


@given(forests(), st.data())
def test_selected_trees_predict_as_they_did(forest, data):
    n_trees = forest.n_trees
    chosen = data.draw(st.lists(st.integers(-n_trees, n_trees - 1), min_size=1, max_size=6))
    X = tricky_rows(np.random.default_rng(0), 30, forest.n_features)
    small = forest.select(chosen)
    assert small.n_trees == len(chosen)
    np.testing.assert_array_equal(small.apply(X), forest.apply(X)[:, chosen])
    np.testing.assert_array_equal(small.tree_column, forest.tree_column[chosen])


def test_a_mean_stays_a_mean_and_a_sum_a_sum():
    rng = np.random.default_rng(0)
    mean = random_forest(rng, sizes=(1, 2, 3, 4), weights="equal")
    assert mean.select([0, 2]).tree_weight.tolist() == [0.5, 0.5]
    total = random_forest(rng, sizes=(1, 2, 3, 4), weights="sum")
    assert total.select([0, 2]).tree_weight.tolist() == [1.0, 1.0]
    weighted = mean.with_weights([0.1, 0.2, 0.3, 0.4]).select([0, 2])
    np.testing.assert_allclose(weighted.tree_weight, [0.25, 0.75])


@given(forests())
def test_trees_of_one_leaf_are_as_well_part_of_the_base_scores(forest):
    n_splits = np.diff(forest.offset) // 2
    X = tricky_rows(np.random.default_rng(0), 30, forest.n_features)
    fewer = without_constants(forest)
    assert fewer.n_trees == max(np.count_nonzero(n_splits), 1)
    np.testing.assert_allclose(
        naive.forest.raw_scores(fewer, X), naive.forest.raw_scores(forest, X), rtol=1e-9, atol=1e-9
    )


def test_one_boosted_tree_is_a_sum_too():
    one = random_forest(np.random.default_rng(0), sizes=(3,), weights="sum")
    assert one.select([0, 0]).tree_weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64])
def test_indices_may_be_of_any_integer_type(dtype):
    forest = random_forest(np.random.default_rng(0), sizes=[1] * 300)
    assert forest.select(np.array([3, 100], dtype)) == forest.select([3, 100])


def test_selecting_all_trees_changes_nothing():
    forest = random_forest(np.random.default_rng(0), sizes=(1, 2, 3))
    assert forest.select(range(3)) == forest
