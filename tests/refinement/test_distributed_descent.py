"""Rows in parts, here all in this process, give what rows in one place give."""

from itertools import islice

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
from billhook.refinement import (
    LOSSES,
    DescentPartition,
    DistributedDescent,
    MergePlan,
    PartitionTask,
    Problem,
    merge_leaves,
)

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


class Here:
    """All parts in this process; every so often one is lost, and made anew from its rows and the table."""

    def __init__(self, forest, X, y, weight, loss, n_parts, loses_every=0):
        self.forest, self.loss, self.loses_every = forest, LOSSES[loss], loses_every
        self.rows = list(zip(*(np.array_split(a, n_parts) for a in (X, y, weight)), strict=True))
        self.parts = [DescentPartition(Problem(forest), *rows, self.loss) for rows in self.rows]
        self.n_asked = self.n_lost = 0

    def begin(self, layout, table):
        self.started = layout, table
        self.total(PartitionTask("restart", self.started))

    def total(self, task, anew=None):
        self.n_asked += 1
        answers = []
        for k, part in enumerate(self.parts):
            if self.loses_every and (self.n_asked + k) % self.loses_every == 0:
                self.parts[k] = DescentPartition(Problem(self.forest), *self.rows[k], self.loss)
                self.parts[k].restart(*self.started)
                answers.append(self.parts[k].do(anew or task))
                self.n_lost += 1
            else:
                answers.append(part.do(task))
        return tuple(map(sum, zip(*answers, strict=True)))

    def descent(self, problem, loss, l2, anchor):
        return DistributedDescent(problem, self, loss, l2, anchor)

    def follow(self, problem, number, stays, to):
        self.forest = to
        for part in self.parts:
            part.follow(problem.first, number, stays)


def refined(forest, holder, loss, l2, n_passes):
    problem = Problem(forest)
    table = problem.value * problem.weight_of_leaf
    anchor = table if forest.classes is None else np.zeros_like(table)
    *_, last = islice(DistributedDescent(problem, holder, LOSSES[loss], l2, anchor), n_passes + 1)
    return problem.refined(last.value, LOSSES[loss])


@pytest.mark.parametrize(("data", "model", "loss"), CASES)
@pytest.mark.parametrize("loses_every", [0, 3])
def test_parts_are_refined_as_the_whole_even_if_some_are_lost(data, model, loss, loses_every):
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"loss": loss, "l2": 1.5, "epochs": 4, "tol": 0.0, "validation_fraction": None}
    expected = bh.refine(forest, X, y, sample_weight=weight, **options)
    holder = Here(forest, X, y, weight, loss, 4, loses_every)
    actual = refined(forest, holder, loss, 1.5, 4)
    np.testing.assert_allclose(actual.value, expected.value, rtol=1e-9, atol=1e-10)
    assert (holder.n_lost > 0) == (loses_every > 0)
    if LOSSES[loss].name not in ("huber", "absolute"):  # which ask for a quantile first
        assert holder.n_asked == 3 + 4 * forest.n_trees  # one question a tree


def test_a_part_may_have_no_rows():
    X, y = IRIS
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    few = refined(forest, Here(forest, X[:3], y[:3], np.ones(3), "cross_entropy", 5), "cross_entropy", 1.0, 2)
    whole = refined(forest, Here(forest, X[:3], y[:3], np.ones(3), "cross_entropy", 1), "cross_entropy", 1.0, 2)
    np.testing.assert_allclose(few.value, whole.value, rtol=1e-9, atol=1e-10)


def test_parts_without_weight_are_refused():
    X, y = IRIS
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    with pytest.raises(ValueError, match="no row with a weight above 0"):
        refined(forest, Here(forest, X, y, np.zeros(150), "mse", 2), "mse", 1.0, 2)


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
