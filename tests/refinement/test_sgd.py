from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
import naive.forest
import naive.refinement
from billhook.kernels import shuffle

IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
ALL = {"solver": "sgd", "validation_fraction": None, "random_state": 3}


def batches(n_rows, epochs, size):
    """Draw the batches that refine draws with random_state=3."""
    rng = np.random.default_rng(np.random.RandomState(3).randint(2**31))
    order = np.arange(n_rows, dtype=np.uint32)
    for _ in range(epochs):
        shuffle(order, int(rng.integers(2**62)))
        yield from (order[start : start + size].copy() for start in range(0, n_rows, size))


def test_every_order_comes_as_often():
    counts = Counter()
    for seed in range(6000):
        order = np.arange(3, dtype=np.uint32)
        shuffle(order, seed)
        counts[tuple(order.tolist())] += 1
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 0.001


@pytest.mark.parametrize(
    ("data", "model", "loss", "options"),
    [
        (IRIS, RandomForestClassifier(5, max_leaf_nodes=6, random_state=0), "mse", {}),
        (IRIS, RandomForestClassifier(6, max_leaf_nodes=6, random_state=0), "cross_entropy", {}),
        (IRIS, ExtraTreesClassifier(4, random_state=0), "squared_hinge", {"batch_gradient": "mean"}),
        (IRIS, GradientBoostingClassifier(n_estimators=2, random_state=0), "cross_entropy", {}),
        (IRIS, RandomForestClassifier(5, max_leaf_nodes=6, random_state=0), "mse", {"refine_weights": True}),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "mse", {}),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "cross_entropy", {}),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "mse", {"batch_gradient": "mean"}),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "squared_hinge", {}),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "mse", {"batch_gradient": "last"}),
        (
            IRIS,
            RandomForestClassifier(5, max_leaf_nodes=6, random_state=0),
            "cross_entropy",
            {"batch_gradient": "last"},
        ),
        (
            IRIS,
            GradientBoostingClassifier(n_estimators=2, random_state=0),
            "cross_entropy",
            {"batch_gradient": "last"},
        ),
        (CANCER, RandomForestClassifier(5, max_leaf_nodes=8, random_state=0), "mse", {"refine_weights": True}),
        (CANCER, RandomForestClassifier(5, random_state=0), "cross_entropy", {"refine_weights": True}),
    ],
)
def test_it_is_the_algorithm_on_paper(data, model, loss, options):
    X, y = data[0][::3], data[1][::3]
    forest = bh.as_forest(clone(model).fit(*data))
    # Values of a column that no loss tells from others stay, as on paper, where the two classes' slopes are opposite.
    refined = bh.refine(forest, X, y, loss=loss, epochs=3, batch_size=16, **options, **ALL)
    value, weight = naive.refinement.refine_by_gradient(
        forest,
        naive.forest.apply(forest, X.astype(np.float32)),
        y,
        list(batches(len(y), 3, 16)),
        0.1,
        loss,
        mean=options.get("batch_gradient") == "mean",
        last=options.get("batch_gradient") == "last",
        learn_weights="refine_weights" in options,
    )
    leaf = forest.feature < 0
    np.testing.assert_allclose(refined.value[leaf], value[leaf], rtol=0, atol=1e-9)
    np.testing.assert_allclose(refined.tree_weight, weight, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", ["mse", "absolute"])
def test_numbers_too(loss):
    X, y = DIABETES[0][::4], DIABETES[1][::4]
    forest = bh.as_forest(RandomForestRegressor(4, max_leaf_nodes=7, random_state=0).fit(*DIABETES))
    refined = bh.refine(forest, X, y, loss=loss, epochs=2, batch_size=16, **ALL)
    value, _ = naive.refinement.refine_by_gradient(
        forest, naive.forest.apply(forest, X.astype(np.float32)), y, list(batches(len(y), 2, 16)), 0.1, loss
    )
    leaf = forest.feature < 0
    np.testing.assert_allclose(refined.value[leaf], value[leaf], rtol=0, atol=1e-7)


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three classes", "two classes"])
def test_adam_steps_are_those_of_its_authors(data):
    """All rows a batch, five steps, against Kingma and Ba's Algorithm 1 on the table of all leaves."""
    X, y = data
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y))
    refined = bh.refine(forest, X, y, optimizer="adam", step_size=0.01, batch_size=len(y), epochs=5, **ALL)
    indicator = np.zeros((len(y), forest.n_nodes))
    indicator[np.arange(len(y))[:, None], forest.apply(X) + forest.offset[:-1]] = 0.25
    value, m, v = forest.value.copy(), 0.0, 0.0
    for t in range(1, 6):
        slope = indicator.T @ (2 * (indicator @ value - np.eye(forest.n_classes)[y]))
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        value -= 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    leaf = forest.feature < 0
    np.testing.assert_allclose(refined.value[leaf], value[leaf], atol=1e-6)  # the 1e-8 is beside another scale


def test_the_same_seed_gives_the_same_bytes():
    X, y = CANCER
    rf = RandomForestClassifier(8, max_leaf_nodes=8, random_state=0).fit(X, y)
    once, again, other = (
        bh.refine(rf, X, y, solver="sgd", epochs=5, validation_fraction=None, random_state=seed) for seed in (0, 0, 1)
    )
    assert once == again
    assert once != other


def test_l1_on_weights_drops_trees():
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(16, max_leaf_nodes=4, random_state=0).fit(X, y))
    options = {"refine_weights": True, "penalty": "l1", "step_size": 0.05, "epochs": 40}
    fewer = bh.refine(forest, X, y, strength=0.3, **options, **ALL)
    assert 1 <= fewer.n_trees < 16
    assert (fewer.predict(X) == y).mean() > 0.93
    with pytest.raises(ValueError, match=r"a strength of 50.0 leaves no tree"):
        bh.refine(forest, X, y, strength=50.0, **options, **ALL)


def test_a_loss_that_runs_away_is_an_error_that_names_the_step():
    X, y = DIABETES
    forest = bh.as_forest(RandomForestRegressor(4, max_leaf_nodes=7, random_state=0).fit(X, y))
    before = forest.value.copy()
    with pytest.raises(ValueError, match=r"diverges \(pass \d+\) with step_size 7.0; lower it"):
        bh.refine(forest, X, y, step_size=7.0, **ALL)
    with pytest.raises(ValueError, match=r"diverges \(pass 1\)"):
        bh.refine(forest, X, y, step_size=7.0, epochs=1, **ALL)
    with pytest.raises(ValueError, match="diverges"):
        bh.refine(forest, X, y, loss="absolute", step_size=1e6, **ALL)
    np.testing.assert_array_equal(forest.value, before)
