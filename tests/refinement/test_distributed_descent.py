"""Rows in parts, here all in this process, give what rows in one place give."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
from billhook.refinement import LOSSES, MergePlan, merge_leaves
from in_parts import Here, refined_in_parts

IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
FOREST = RandomForestClassifier(6, max_leaf_nodes=8, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=3, random_state=0)
NUMBERS = RandomForestRegressor(6, max_leaf_nodes=8, random_state=0)
COUNTS = HistGradientBoostingRegressor(loss="poisson", max_iter=5, random_state=0)
CASES = [
    (IRIS, FOREST, "cross_entropy"),
    (IRIS, FOREST, "mse"),
    (IRIS, FOREST, "squared_hinge"),
    (IRIS, BOOSTED, "cross_entropy"),
    (CANCER, FOREST, "cross_entropy"),
    (CANCER, BOOSTED, "mse"),
    (DIABETES, NUMBERS, "mse"),
    (DIABETES, NUMBERS, "huber"),
    (DIABETES, NUMBERS, "absolute"),
    (DIABETES, COUNTS, "poisson"),
]


@pytest.mark.parametrize(("data", "model", "loss"), CASES)
@pytest.mark.parametrize("loses_every", [0, 3])
def test_parts_are_refined_as_the_whole_even_if_some_are_lost(data, model, loss, loses_every):
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"loss": loss, "l2": 1.5, "epochs": 4, "tol": 0.0, "validation_fraction": None}
    expected = bh.refine(forest, X, y, sample_weight=weight, **options)
    holder = Here(forest, X, y, weight, loss, 4, loses_every)
    actual = refined_in_parts(forest, holder, loss, 1.5, 4)
    np.testing.assert_allclose(actual.value, expected.value, rtol=1e-9, atol=1e-10)
    assert (holder.n_lost > 0) == (loses_every > 0)
    if LOSSES[loss].name not in ("huber", "absolute"):  # which ask for a quantile first
        assert holder.n_asked == 3 + 4 * forest.n_trees  # one question a tree


def test_a_part_may_have_no_rows():
    X, y = IRIS
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    few = refined_in_parts(
        forest, Here(forest, X[:3], y[:3], np.ones(3), "cross_entropy", 5), "cross_entropy", 1.0, 2
    )
    whole = refined_in_parts(
        forest, Here(forest, X[:3], y[:3], np.ones(3), "cross_entropy", 1), "cross_entropy", 1.0, 2
    )
    np.testing.assert_allclose(few.value, whole.value, rtol=1e-9, atol=1e-10)


def test_parts_without_weight_are_refused():
    X, y = IRIS
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    with pytest.raises(ValueError, match="no row with a weight above 0"):
        refined_in_parts(forest, Here(forest, X, y, np.zeros(150), "mse", 2), "mse")


# Absolute errors near zero bend so sharply that the rounding of sums grows tenfold a round.
@pytest.mark.parametrize(("data", "model", "loss"), [case for case in CASES if case[2] != "absolute"])
def test_parts_are_merged_as_the_whole(data, model, loss):
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    wanted = forest.n_leaves // 4
    expected = bh.merge(forest, X, y, max_leaves=wanted, loss=loss)
    plan = MergePlan.of(forest, max_leaves=wanted, size=None, accounting="paper", loss=loss, l2=None)
    actual, _ = merge_leaves(forest, Here(forest, X, y, np.ones(len(y)), loss, 3), plan)
    np.testing.assert_array_equal(actual.feature, expected.feature)
    np.testing.assert_allclose(actual.value, expected.value, rtol=1e-7, atol=1e-9)
