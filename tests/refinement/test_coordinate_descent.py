import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
import naive.forest
import naive.refinement
from billhook.refinement._coordinate_descent import BOUNDED_HINGE
from billhook.refinement._losses import LOSSES

IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
FOREST = RandomForestClassifier(6, max_leaf_nodes=8, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=3, random_state=0)
NUMBERS = RandomForestRegressor(6, max_leaf_nodes=8, random_state=0)
COUNTS = HistGradientBoostingRegressor(loss="poisson", max_iter=5, random_state=0)
ALL = {"validation_fraction": None, "tol": 0.0}


def contributions(forest, leaf_only=True):
    """Return weight times value, of two columns the difference."""
    table = forest.value * np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    table = table[:, 1:] - table[:, :1] if table.shape[1] == 2 else table
    return table[forest.feature < 0] if leaf_only else table


@pytest.mark.parametrize(
    ("data", "model", "loss"),
    [
        *itertools.product([IRIS, CANCER], [FOREST, BOOSTED], ["mse", "cross_entropy", "squared_hinge"]),
        *itertools.product([DIABETES], [NUMBERS], ["mse", "huber", "absolute", "quantile_0.8"]),
        (DIABETES, COUNTS, "poisson"),
    ],
)
def test_one_pass_is_the_formula(data, model, loss):
    X, y = data[0][::3], data[1][::3]
    forest = bh.as_forest(clone(model).fit(*data))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    refined = bh.refine(forest, X, y, loss=loss, l2=1.5, epochs=1, sample_weight=weight, **ALL)
    kept = weight > 0
    width = 1.0
    if loss in ("huber", "absolute", "quantile_0.8"):
        error = np.abs(forest.decision_function(X) - y).repeat(weight)
        width = float(np.quantile(error, {"huber": 0.9}.get(loss, 0.5), method="inverted_cdf"))
    expected = naive.refinement.descend_once(
        forest,
        naive.forest.apply(forest, X[kept].astype(np.float32)).tolist(),
        y[kept],
        loss,
        1.5,
        width,
        weight[kept],
    )
    np.testing.assert_allclose(contributions(refined), expected[forest.feature < 0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("data", "model"), [(IRIS, FOREST), (CANCER, FOREST), (DIABETES, NUMBERS), (CANCER, BOOSTED)]
)
@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_many_passes_for_squares_are_the_ridge_solution(data, model, l2):
    """The leaf-indicator matrix, solved by scipy; the start is far from it."""
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    refined = bh.refine(forest, X, y, loss="mse", l2=l2, shrink_to="zero", epochs=4000, **ALL)
    columns = (forest.apply(X) + forest.offset[:-1]).ravel()
    rows = np.repeat(np.arange(len(y)), forest.n_trees)
    indicator = csr_matrix((np.ones(columns.size), (rows, columns)), (len(y), forest.n_nodes))
    if forest.classes is None:
        targets = (y - forest.base[0])[:, None]
    elif forest.n_classes == 2:
        targets = (2.0 * y - 1.0 - (forest.base[-1] - (forest.base[0] if forest.base.size > 1 else 0)))[:, None]
    else:
        targets = np.eye(3)[y]
    for column in range(targets.shape[1]):
        solved = lsqr(indicator, targets[:, column], damp=np.sqrt(l2), atol=1e-14, btol=1e-14, iter_lim=20000)[0]
        np.testing.assert_allclose(
            contributions(refined)[:, column], solved[forest.feature < 0], atol=1e-6 * np.abs(targets).max()
        )


@pytest.mark.parametrize(
    ("data", "model", "loss"),
    [
        *itertools.product([IRIS, CANCER], [FOREST, BOOSTED], ["mse", "cross_entropy", "squared_hinge"]),
        *itertools.product([DIABETES], [NUMBERS], ["mse", "huber", "absolute", "quantile_0.8"]),
        (DIABETES, COUNTS, "poisson"),
    ],
)
@pytest.mark.parametrize(
    "options",
    [{"l2": 0.0}, {"l2": 2.0, "shrink_to": "original"}, {"l2": 0.5, "penalty": "group_l1", "strength": 0.5}],
    ids=["free", "anchored", "grouped"],
)
def test_the_objective_never_rises(data, model, loss, options):
    """Computed here from the forests that so many passes return; and what the report says is that."""
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    before = None
    for epochs in (1, 2, 3, 5, 9, 16):
        refined, report = bh.refine(forest, X, y, loss=loss, epochs=epochs, **options, **ALL, return_report=True)
        now = naive.refinement.objective(forest, refined, X, y, loss, **options)
        assert before is None or now <= before + 1e-9 * abs(before)
        assert report.objective[-1] * len(y) == pytest.approx(now, rel=1e-6)
        assert (np.diff(report.objective) <= 1e-12 * np.abs(report.objective[:-1])).all()
        before = now
    assert report.objective[-1] < report.objective[0]


def test_the_objective_is_what_it_says():
    X, y = IRIS
    refined, report = bh.refine(
        FOREST.fit(X, y), X, y, loss="cross_entropy", l2=2.0, epochs=3, **ALL, return_report=True
    )
    P = refined.predict_proba(X)
    expected = -np.log(P[np.arange(150), y]).mean() + 0.5 * 2.0 * (contributions(refined) ** 2).sum() / 150
    assert report.objective[-1] == pytest.approx(expected, rel=1e-9)


def test_shrinking_to_the_original_leaves_it_there_if_strong():
    X, y = CANCER
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    refined = bh.refine(forest, X, y, loss="mse", l2=1e9, shrink_to="original", epochs=20, **ALL)
    np.testing.assert_allclose(refined.value[forest.feature < 0], forest.value[forest.feature < 0], atol=1e-5)
    refined = bh.refine(forest, X, y, loss="mse", l2=1e9, epochs=20, **ALL)
    np.testing.assert_allclose(contributions(refined), 0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("data", "model", "strength"), [(IRIS, FOREST, 12.0), (CANCER, FOREST, 90.0), (DIABETES, NUMBERS, 5000.0)]
)
def test_group_l1_meets_the_conditions_of_its_minimum(data, model, strength):
    """A tree that stays is drawn with the strength along its own direction; one that leaves could not resist it."""
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    options = {"loss": "mse", "l2": 1.0, "penalty": "group_l1", "epochs": 5000}
    fewer = bh.refine(forest, X, y, strength=strength, **options, **ALL)
    assert 1 <= fewer.n_trees < forest.n_trees
    if forest.classes is None:
        residual = (y - fewer.decision_function(X))[:, None]
    elif forest.n_classes == 2:
        P = fewer.decision_function(X)
        residual = (2.0 * y - 1.0 - (P[:, 1] - P[:, 0]))[:, None]
    else:
        residual = np.eye(3)[y] - fewer.decision_function(X)
    kept = 0
    for tree in range(forest.n_trees):
        one = forest.select([tree])
        ids = one.apply(X)[:, 0]
        slope = np.stack([np.bincount(ids, column, one.n_nodes) for column in residual.T], axis=1)
        stays = (
            kept < fewer.n_trees
            and np.array_equal(fewer.select([kept]).threshold, one.threshold)
            and np.array_equal(fewer.select([kept]).feature, one.feature)
        )
        if stays:
            nodes = slice(fewer.offset[kept], fewer.offset[kept + 1])
            value = contributions(fewer, leaf_only=False)[nodes] * (one.feature < 0)[:, None]
            pull = slope - 1.0 * value - strength * value / np.linalg.norm(value)
            assert np.abs(pull).max() < 1e-3 * strength
            kept += 1
        else:
            assert np.linalg.norm(slope) <= strength * (1 + 1e-3)
    assert kept == fewer.n_trees


def test_too_strong_a_penalty_is_refused():
    X, y = IRIS
    with pytest.raises(ValueError, match="a strength of 10000 leaves no tree; lower it"):
        bh.refine(clone(FOREST).fit(X, y), X, y, penalty="group_l1", strength=10000, **ALL)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_hinge"])
def test_a_row_of_weight_two_is_two_rows(loss):
    X, y = CANCER
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = bh.refine(forest, X, y, loss=loss, sample_weight=weight, l2=1.0, **ALL)
    repeated = bh.refine(forest, np.repeat(X, weight, axis=0), np.repeat(y, weight), loss=loss, l2=1.0, **ALL)
    np.testing.assert_allclose(weighted.value, repeated.value, atol=1e-8)


def test_leaves_without_rows_keep_their_value():
    X, y = IRIS
    forest = bh.as_forest(clone(FOREST).fit(X, y))
    few = np.arange(0, 150, 30)
    refined = bh.refine(forest, X[few], y[few], **ALL)
    filled = np.zeros(forest.n_nodes, bool)
    filled[(forest.apply(X[few]) + forest.offset[:-1]).ravel()] = True
    leaf = forest.feature < 0
    np.testing.assert_array_equal(refined.value[leaf & ~filled], forest.value[leaf & ~filled])
    assert (refined.value[leaf & filled] != forest.value[leaf & filled]).all(axis=1).all()


def test_two_classes_keep_the_sum_of_their_values():
    X, y = CANCER
    refined = bh.refine(clone(FOREST).fit(X, y), X, y, loss="mse", **ALL)
    np.testing.assert_allclose(refined.decision_function(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", ["huber", "absolute", "mse"])
def test_rows_of_weight_two_and_the_unit_of_numbers_change_nothing(loss):
    X, y = DIABETES
    forest = bh.as_forest(clone(NUMBERS).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    given = {"loss": loss, "l2": 5.0, **ALL}
    weighted = bh.refine(forest, X, y, sample_weight=weight, **given)
    repeated = bh.refine(forest, np.repeat(X, weight, axis=0), np.repeat(y, weight), **given)
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-7)
    in_cents = bh.refine(forest.with_values(forest.value * 100), X, y * 100, sample_weight=weight, **given)
    np.testing.assert_allclose(in_cents.value, weighted.value * 100, rtol=1e-6)


def test_a_group_penalty_leaves_leaves_without_rows_as_they_are():
    X, y = IRIS
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(X, y))
    few = np.arange(0, 150, 30)
    refined = bh.refine(forest, X[few], y[few], loss="mse", penalty="group_l1", strength=1e-3, l2=1.0, **ALL)
    assert refined.n_trees == forest.n_trees
    filled = np.zeros(forest.n_nodes, bool)
    filled[(forest.apply(X[few]) + forest.offset[:-1]).ravel()] = True
    leaf = forest.feature < 0
    np.testing.assert_array_equal(refined.value[leaf & ~filled], forest.value[leaf & ~filled])


def test_a_group_penalty_takes_trees_of_any_number_of_leaves():
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y))
    assert len(set(np.diff(forest.offset))) > 1
    assert bh.refine(forest, X, y, penalty="group_l1", strength=30.0, **ALL).n_trees < 6


def test_losses_are_numbered_as_in_the_kernels():
    header = Path(__file__).parents[2] / "src" / "billhook" / "kernels" / "kernels.h"
    names = re.search(r"enum \{ (SQUARED, [^}]*) \}", header.read_text())[1].split(", ")
    numbers = {"mse": "SQUARED", "cross_entropy": "LOGISTIC"}
    assert {name: names.index(numbers.get(name, name.upper())) for name in LOSSES} == {
        name: loss.code for name, loss in LOSSES.items()
    }
    assert names.index("BOUNDED_HINGE") == BOUNDED_HINGE


def test_many_classes_far_apart_do_not_overflow():
    """Scores of hundreds: the odds of a class are beyond what a float holds."""
    X, y = IRIS
    model = HistGradientBoostingClassifier(max_iter=4, learning_rate=300.0, random_state=0).fit(X, y)
    refined, report = bh.refine(model, X, y, epochs=5, **ALL, return_report=True)
    assert np.isfinite(refined.value).all()
    assert np.isfinite(report.objective).all()


@pytest.mark.parametrize(("data", "model"), [(DIABETES, NUMBERS), (CANCER, BOOSTED)])
def test_shrinking_to_the_mean_of_a_tree_leaves_one_number_a_tree_if_strong(data, model):
    X, y = data
    forest = bh.as_forest(clone(model).fit(X, y))
    refined = bh.refine(forest, X, y, loss="mse", l2=1e9, shrink_to="mean", epochs=20, **ALL)
    is_leaf = forest.feature < 0
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    for number in range(forest.n_trees):
        own = is_leaf & (tree == number)
        mean = np.average(forest.value[own, 0], weights=forest.row_weight[own])
        np.testing.assert_allclose(refined.value[own, 0], mean, atol=1e-4 * np.abs(forest.value).max())


def test_the_ridge_solution_towards_tree_means_is_that_towards_zero_of_trees_around_zero():
    X, y = DIABETES
    forest = bh.as_forest(clone(NUMBERS).fit(X, y))
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    is_leaf = forest.feature < 0
    weight = np.where(is_leaf, forest.row_weight, 0.0)
    mean = np.bincount(tree, weight * forest.value[:, 0]) / np.bincount(tree, weight)
    centred = replace(
        forest, value=forest.value - mean[tree][:, None], base=forest.base + (mean * forest.tree_weight).sum()
    )
    options = {"loss": "mse", "l2": 3.0, "epochs": 50, **ALL}
    to_means = bh.refine(forest, X, y, shrink_to="mean", **options)
    to_zero = bh.refine(centred, X, y, shrink_to="zero", **options)
    np.testing.assert_allclose(to_means.decision_function(X), to_zero.decision_function(X), rtol=1e-9)
