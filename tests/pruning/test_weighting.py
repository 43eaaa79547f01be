import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
import naive.pruning
from billhook.pruning import _weighting

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return bh.as_forest(RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y))


@pytest.mark.parametrize("simplex", [False, True])
def test_a_few_steps_are_those_of_the_formula(forest, simplex):
    rows = np.arange(0, 150, 5)
    options = {"optimizer": "sgd", "simplex": simplex, "epochs": 2, "batch_size": 8, "step_size": 0.05}
    pruned = bh.prune(forest, X[rows], y[rows], method="proximal", n_trees=4, random_state=3, **options)
    rng = np.random.RandomState(3)
    shuffled = [rng.permutation(30) for _ in range(2)]
    batches = [epoch[start : start + 8] for epoch in shuffled for start in range(0, 30, 8)]
    weight = naive.pruning.proximal_sgd(
        naive.pruning.probability_lists(forest, X[rows]), y[rows].tolist(), 4, batches, 0.05, simplex
    )
    np.testing.assert_allclose(pruned.tree_weight, [w for w in weight if w], rtol=1e-9)


def test_steps_of_adam_are_those_of_the_paper():
    slopes = np.random.default_rng(0).normal(size=(6, 3)).tolist()
    mean, square = [0.0] * 3, [0.0] * 3
    step = _weighting._AdamSteps(3, 0.1)
    for count, slope in enumerate(slopes, 1):
        mean = [0.9 * m + 0.1 * s for m, s in zip(mean, slope, strict=True)]
        square = [0.999 * v + 0.001 * s * s for v, s in zip(square, slope, strict=True)]
        expected = [
            0.1 * (m / (1 - 0.9**count)) / (math.sqrt(v / (1 - 0.999**count)) + 1e-8)
            for m, v in zip(mean, square, strict=True)
        ]
        np.testing.assert_allclose(step(np.array(slope)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "of_row"),
    [
        ("mse", lambda s, t: ((s - t) ** 2).sum()),
        ("cross_entropy", lambda s, t: -(t * (s - np.log(np.exp(s).sum()))).sum()),
        ("squared_hinge", lambda s, t: (np.maximum(1 - np.where(t == 1, s, -s), 0) ** 2).sum()),
    ],
)
def test_slopes_are_those_of_the_loss(loss, of_row):
    score, target = np.random.default_rng(0).normal(size=(5, 3)), np.eye(3)[[0, 1, 2, 0, 1]]
    slope = _weighting.loss_slope(loss, score, target)
    for row, column in np.ndindex(score.shape):
        step = np.eye(3)[column] * 1e-6
        above, below = (of_row(score[row] + move, target[row]) for move in (step, -step))
        assert slope[row, column] == pytest.approx((above - below) / 2e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("penalty", "shrunk"),
    [
        ("L1", [0.48, -0.18, 0.0, -0.88, 0.0]),
        ("L0", [0.5, -0.2, 0.0, -0.9, 0.0]),
        ("hard_L0", [0.5, 0.0, 0.0, -0.9, 0.0]),
    ],
)
def test_penalties_shrink_weights(penalty, shrunk):
    weight = np.array([0.5, -0.2, 0.19, -0.9, 0.0])
    if penalty == "L1":
        weight[2] = 0.01
    np.testing.assert_allclose(_weighting.shrink(weight, penalty, 2, 0.02), shrunk, atol=1e-15)


def test_the_trees_that_stay_weigh_what_all_did(forest):
    options = {"method": "proximal", "penalty": "L1", "simplex": False, "epochs": 3, "random_state": 0}
    whole = bh.prune(forest, X, y, n_trees=10, **options).tree_weight
    largest = np.sort(np.argsort(-np.abs(whole), kind="stable")[:4])
    kept = whole[largest] * (whole.sum() / whole[largest].sum())
    np.testing.assert_allclose(bh.prune(forest, X, y, n_trees=4, **options).tree_weight, kept, rtol=1e-12)


def test_without_penalty_the_weights_approach_least_squares(forest):
    pruned = bh.prune(
        forest,
        X,
        y,
        method="proximal",
        penalty="L1",
        simplex=False,
        n_trees=10,
        epochs=300,
        batch_size=150,
        random_state=0,
    )
    P = np.stack([forest.select([m]).predict_proba(X).ravel() for m in range(10)], axis=1)
    target = np.eye(3)[y].ravel()
    best = lsq_linear(P, target).cost
    assert ((pruned.decision_function(X).ravel() - target) ** 2).sum() / 2 < best * 1.02


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_the_projection_is_the_nearest_point_of_the_simplex(weight):
    weight = np.array(weight)
    projected = _weighting.project_to_simplex(weight)
    assert projected.sum() == pytest.approx(1.0)
    assert (projected >= 0).all()
    found = minimize(
        lambda w: ((w - weight) ** 2).sum(),
        np.full(weight.size, 1 / weight.size),
        bounds=[(0, None)] * weight.size,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert ((projected - weight) ** 2).sum() <= found.fun + 1e-6


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["L1", "L0", "hard_L0"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_every_loss_and_penalty_gives_a_good_small_forest(forest, loss, penalty, optimizer):
    pruned = bh.prune(
        forest,
        X,
        y,
        method="proximal",
        n_trees=5,
        loss=loss,
        penalty=penalty,
        strength=0.01,
        optimizer=optimizer,
        random_state=0,
    )
    assert 1 <= pruned.n_trees <= 5
    assert (pruned.predict(X) == y).mean() > 0.93
    assert pruned.tree_weight.sum() == pytest.approx(1.0)


def test_a_stronger_penalty_keeps_fewer_trees(forest):
    options = {"penalty": "L1", "simplex": False, "epochs": 200, "random_state": 0}
    kept = [
        bh.prune(forest, X, y, method="proximal", n_trees=10, strength=s, **options).n_trees for s in (0.0, 0.3, 0.9)
    ]
    assert kept[0] == 10
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] < 10
    with pytest.raises(ValueError, match="a strength of 100 leaves no tree"):
        bh.prune(forest, X, y, method="proximal", n_trees=10, penalty="L1", simplex=False, strength=100)


def test_large_trees_can_be_made_dear():
    rf = bh.as_forest(RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2]))
    cheap, free = (
        bh.prune(rf, X, y, method="proximal", n_trees=5, node_penalty=p, epochs=40, random_state=0).n_nodes
        for p in (20.0, 0.0)
    )
    assert cheap < free


@pytest.mark.parametrize("penalty", ["L1", "L0", "hard_L0"])
@pytest.mark.parametrize("simplex", [True, False])
def test_numbers_can_be_weighted_too(penalty, simplex):
    Xd, yd = load_diabetes(return_X_y=True)
    rf = RandomForestRegressor(30, random_state=0).fit(Xd[::2], yd[::2])
    # Without the simplex, the weights of the trees that stay must grow to a sum of about one first.
    options = {"penalty": penalty, "simplex": simplex, "strength": 0.001, "epochs": 20 if simplex else 100}
    pruned = bh.prune(rf, Xd[1::2], yd[1::2], method="proximal", n_trees=8, random_state=0, **options)
    chance = bh.prune(rf, Xd[1::2], yd[1::2], method="random", n_trees=8, random_state=0)
    error, by_chance = (((f.predict(Xd[1::2]) - yd[1::2]) ** 2).mean() for f in (pruned, chance))
    assert error < by_chance


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "mae"}, "loss must be one of mse, cross_entropy, squared_hinge, not 'mae'"),
        ({"penalty": "L2"}, "penalty must be one of L1, L0, hard_L0"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of sgd, adam"),
        ({"strength": -1.0}, "must not be negative"),
        ({"step_size": 0.0}, "step_size must be above 0"),
        ({"epochs": 0}, "at least 1"),
        ({"batch_size": 0}, "at least 1"),
        ({"node_penalty": -0.5}, "must not be negative"),
    ],
)
def test_options_that_mean_nothing_are_refused(forest, options, message):
    with pytest.raises(ValueError, match=message):
        bh.prune(forest, X, y, method="proximal", n_trees=3, **options)


def test_one_epoch_and_one_row_at_a_time_are_enough_and_no_strength_is_what_is_taken(forest):
    options = {"method": "proximal", "n_trees": 3, "epochs": 1, "batch_size": 1, "random_state": 0, "penalty": "L0"}
    pruned = bh.prune(forest, X[::10], y[::10], **options)
    assert pruned == bh.prune(forest, X[::10], y[::10], strength=0.0, node_penalty=0.0, **options)
    assert pruned != bh.prune(forest, X[::10], y[::10], strength=1.0, **options)
