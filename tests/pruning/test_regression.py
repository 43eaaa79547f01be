import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
import naive.pruning
from made_up import random_forest, tricky_rows

METHODS = [m.name for m in bh.pruning_methods() if m.regression and not {"score", "pair"} & set(m.options)]


@st.composite
def judged(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    forest = random_forest(rng, sizes=rng.choice([0, 1, 3, 8], draw(st.integers(1, 9))), n_classes=1)
    X = tricky_rows(rng, draw(st.integers(1, 20)), 3)
    return forest, X, rng.normal(size=len(X))


def predictions(forest, X):
    return [forest.select([tree]).predict(X).tolist() for tree in range(forest.n_trees)]


@pytest.mark.parametrize("method", ["reduced_error", "complementariness"])
@given(judged())
def test_the_order_is_that_of_the_smallest_squared_error(method, case):
    forest, X, y = case
    expected = naive.pruning.reduced_squared_error(predictions(forest, X), y.tolist())
    assert bh.pruning_order(forest, X, y, method=method).tolist() == expected


@given(judged())
def test_single_trees_are_ranked_by_their_squared_error(case):
    forest, X, y = case
    errors = [
        float(naive.pruning.squared_error(predictions(forest, X), y.tolist(), [m])) for m in range(forest.n_trees)
    ]
    assert bh.pruning_order(forest, X, y, method="individual_error").tolist() == naive.pruning.ordered(errors)


@given(judged(), st.integers(1, 9))
def test_pairwise_error_finds_the_mean_with_the_smallest_squared_error(case, n_trees):
    forest, X, y = case
    n_trees = min(n_trees, forest.n_trees)
    pruned = bh.prune(forest, X, y, method="pairwise_error", n_trees=n_trees, random_state=0)
    P = predictions(forest, X)
    best = min(
        naive.pruning.squared_error(P, y.tolist(), chosen)
        for chosen in itertools.combinations(range(forest.n_trees), n_trees)
    )
    assert ((pruned.predict(X) - y) ** 2).sum() == pytest.approx(float(best), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_for_numbers_prunes_a_real_forest(method):
    X, y = load_diabetes(return_X_y=True)
    rf = RandomForestRegressor(40, random_state=0).fit(X[::2], y[::2])
    pruned = bh.prune(rf, X[1::2], y[1::2], method=method, n_trees=7, random_state=0)
    assert pruned.n_trees == 7
    whole = ((rf.predict(X[1::2]) - y[1::2]) ** 2).mean()
    assert ((pruned.predict(X[1::2]) - y[1::2]) ** 2).mean() < 1.5 * whole


@pytest.mark.parametrize("method", [m.name for m in bh.pruning_methods() if not m.regression])
def test_methods_for_classes_say_so(method):
    X, y = load_diabetes(return_X_y=True)
    rf = RandomForestRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=f"{method} needs class votes, and this is a regression forest"):
        bh.prune(rf, X, y, method=method, n_trees=2)


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_the_gain_of_leaving_out_a_tree_is_what_leaving_it_out_gains(kind):
    X, y = load_diabetes(return_X_y=True) if kind is RandomForestRegressor else load_iris(return_X_y=True)
    forest = bh.as_forest(kind(12, max_depth=3, random_state=0).fit(X[::3], y[::3]))

    def error(trees):
        score = forest.select(trees).decision_function(X).reshape(len(y), -1)
        target = y[:, None] if forest.classes is None else np.eye(3)[y]
        return ((score - target) ** 2).sum(axis=1).mean()

    gain = bh.pruning_gain(forest, X, y)
    assert gain.error == pytest.approx(error(range(12)))
    without = [error([t for t in range(12) if t != left_out]) for left_out in range(12)]
    np.testing.assert_allclose(gain.error_without, without)
    np.testing.assert_array_equal(gain.helps, np.array(without) < gain.error)
    assert gain.products.sum() / 144 == pytest.approx(gain.error)
