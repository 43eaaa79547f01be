"""`diagnose`: the tests of section 2 of the paper, and ways to make a forest smaller."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.inspection._diagnose import _halves
from billhook.inspection._removal import removable_trees, tree_tests
from made_up import random_forest
from naive import inspection as naive


def made_up(seed, n_classes):
    """Return a forest of equal weights without a base, rows and labels."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, (1, 2, 3, 5, 8, 2), n_classes=n_classes, thresholds=np.linspace(-1, 1, 9))
    forest = replace(forest, base=np.zeros(n_classes))
    X = rng.normal(size=(80, 3)).astype(np.float32)
    y = rng.normal(size=80) if n_classes == 1 else rng.choice(forest.classes, 80)
    return forest, X, y


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_tests_of_each_tree_are_those_of_the_paper(seed, n_classes):
    forest, X, y = made_up(seed, n_classes)
    residuals = naive.residuals_of(forest, X, y)
    no_worse, paper_test = tree_tests(bh.pruning_gain(forest, X, y).products)
    trees = range(forest.n_trees)
    assert no_worse.tolist() == [naive.is_no_worse(residuals, k) for k in trees]
    assert paper_test.tolist() == [naive.passes_the_papers_test(residuals, k) for k in trees]


@pytest.mark.parametrize("seed", range(20))
def test_the_papers_test_is_necessary_but_not_sufficient(seed):
    forest, X, y = made_up(seed, 1 + 2 * (seed % 2))
    no_worse, paper_test = tree_tests(bh.pruning_gain(forest, X, y).products)
    assert (paper_test | ~no_worse).all()


def test_some_tree_fails_the_papers_test_and_some_passes_in_vain():
    """Two trees that are wrong in opposite directions need one another; one that is alone right needs no company."""
    opposite = np.array([[1.0, -0.9, 0.0], [-0.9, 1.0, 0.0], [0.0, 0.0, 0.01]])
    no_worse, paper_test = tree_tests(opposite)
    assert paper_test.tolist() == [False, False, True]
    assert no_worse.tolist() == [False, False, False]


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_trees_go_as_in_the_naive_order(seed, n_classes):
    forest, X, y = made_up(seed, n_classes)
    residuals = naive.residuals_of(forest, X, y)
    products = [bh.pruning_gain(forest, X[half], y[half]).products for half in (slice(0, 40), slice(40, 80))]
    assert removable_trees(*products).tolist() == naive.removable(residuals[:, :40], residuals[:, 40:])


def test_a_tree_that_is_there_twice_too_often_can_go():
    X, y = load_diabetes(return_X_y=True)
    good = bh.as_forest(RandomForestRegressor(8, max_leaf_nodes=16, random_state=0).fit(X[::2], y[::2]))
    bad = bh.as_forest(RandomForestRegressor(2, max_leaf_nodes=16, random_state=0).fit(X[::2], -y[::2]))
    both = replace(
        good,
        **{
            name: np.concatenate([getattr(good, name), getattr(bad, name)])
            for name in (
                *("feature", "threshold", "left", "right", "missing_left", "value", "n_rows", "row_weight"),
                *("impurity", "growth_rank", "tree_column", "category_set"),
            )
        },
        offset=np.concatenate([good.offset, bad.offset[1:] + good.offset[-1]]),
        tree_weight=np.full(10, 0.1),
    )
    found = bh.diagnose(both, X[1::2], y[1::2])
    assert found.no_worse[8:].all()
    assert set(found.removable.trees[:2].tolist()) == {8, 9}
    assert found.removable.score_without > found.removable.score_of_all


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(16, max_leaf_nodes=32, random_state=0).fit(X[::2], y[::2]))
    return forest, X[1::2], y[1::2]


def test_every_way_makes_the_forest_smaller(digits):
    forest, X, y = digits
    found = bh.diagnose(forest, X, y)
    whole = found.sizes[0]
    assert (whole.way, whole.nbytes, whole.n_trees) == ("whole", forest.size(), 16)
    for way in ("truncated", "pruned", "refined", "merged"):
        sizes = [size for size in found.sizes if size.way == way]
        assert sizes[0].nbytes <= forest.size() / (1 if way == "refined" else 2), way
        assert all(small.nbytes < large.nbytes for large, small in pairwise(sizes)), way
    assert found.advised.score >= max(size.score for size in found.sizes) - found.standard_error
    assert 0.0 < found.standard_error < 0.02


def test_boosted_trees_cannot_be_tested_one_by_one_but_merged():
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(X[::2], y[::2])
    found = bh.diagnose(model, X[1::2], y[1::2])
    assert found.no_worse is None
    assert found.removable is None
    assert "pruned" not in {size.way for size in found.sizes}
    assert "merged" in {size.way for size in found.sizes}
    assert found.notes[0].startswith("Single trees cannot be tested: pruning evaluates each tree by itself")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "packed"}, "is packed, and a diagnosis is one of a forest"),
        ({"rows": 10}, "has 10 rows; a diagnosis needs 20 at least"),
        ({"y": None}, "y must be the labels of the rows"),
        ({"y": "short"}, "give each row a label"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused(digits, change, message):
    forest, X, y = digits
    model = bh.pack(forest) if "model" in change else forest
    X = X[: change.get("rows", 200)]
    y = {"whole": y[: len(X)], "short": y[:3], None: None}[change.get("y", "whole")]
    with pytest.raises((ValueError, TypeError), match=message):
        bh.diagnose(model, X, y)


def test_equal_rows_are_in_one_half():
    rng = np.random.default_rng(0)
    once, y = rng.normal(size=(200, 3)).astype(np.float32), rng.integers(0, 2, 200)
    rows = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 4, 200)))
    learned, held_out = _halves(once[rows], y[rows], 0)
    assert sorted([*learned, *held_out]) == list(range(len(rows)))
    assert not set(rows[learned]) & set(rows[held_out])
    assert abs(len(learned) - len(rows) / 2) <= 3
