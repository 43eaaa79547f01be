"""Losses of regression, from the search to the C."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.metrics import (
    d2_absolute_error_score,
    d2_pinball_score,
    d2_tweedie_score,
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    r2_score,
)

import billhook as bh
from billhook.budget import regression_loss
from compiled import compiled_values

ROWS = make_friedman1(1200, noise=1.0, random_state=0)
LOSSES = [("absolute_error", None), ("huber", None), ("quantile", 0.9), ("poisson", None)]


def noisy(loss):
    """Return rows whose targets have heavy tails, or are counts."""
    X, y = ROWS
    rng = np.random.default_rng(1)
    y = rng.poisson(np.exp((y - 14.0) / 5.0)) if loss == "poisson" else y + rng.standard_t(2, size=y.size)
    return X.astype(np.float32), y.astype(np.float64)


@pytest.mark.parametrize(("loss", "quantile"), [("squared_error", None), *LOSSES])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_scores_are_those_of_scikit_learn(loss, quantile, is_weighted):
    rng = np.random.default_rng(2)
    y, predicted = rng.poisson(3.0, 101).astype(float), rng.uniform(0.5, 5.0, 101)
    weight = rng.integers(1, 4, 101).astype(float) if is_weighted else np.ones(101)
    theirs = {
        "squared_error": r2_score,
        "absolute_error": d2_absolute_error_score,
        "huber": d2_absolute_error_score,
        "quantile": lambda *a, **k: d2_pinball_score(*a, alpha=0.9, **k),
        "poisson": lambda *a, **k: d2_tweedie_score(*a, power=1, **k),
    }[loss]
    wanted = theirs(y, predicted, sample_weight=weight)
    assert regression_loss(loss, quantile).score(predicted, y, weight) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("loss", "quantile"), LOSSES)
def test_what_is_learned_is_better_by_its_own_loss_than_squares(loss, quantile):
    X, y = noisy(loss)
    judge = {
        "absolute_error": mean_absolute_error,
        "huber": mean_absolute_error,
        "quantile": lambda true, predicted: mean_pinball_loss(true, predicted, alpha=0.9),
        "poisson": lambda true, predicted: mean_poisson_deviance(true, np.maximum(predicted, 1e-3)),
    }[loss]
    options = {"budget": "1KB", "n_trials": 4, "random_state": 0}
    learned = bh.CompactForestRegressor(loss=loss, quantile=quantile, **options).fit(X[:800], y[:800])
    squares = bh.CompactForestRegressor(**options).fit(X[:800], y[:800])
    assert learned.packed_.nbytes <= 1024
    assert judge(y[800:], learned.predict(X[800:])) < judge(y[800:], squares.predict(X[800:]))


@pytest.mark.parametrize(("loss", "quantile"), LOSSES)
def test_the_c_computes_the_same_scores_and_numbers(loss, quantile, tmp_path):
    X, y = noisy(loss)
    packed = (
        bh.CompactForestRegressor("1KB", loss=loss, quantile=quantile, n_trials=2, random_state=0).fit(X, y).packed_
    )
    scores, values = compiled_values(packed, X[:200], tmp_path)
    np.testing.assert_array_equal(scores, packed.scores(X[:200])[:, 0])
    # Floats have 24 bits; expf of the C library may be off by one in the last of them.
    np.testing.assert_allclose(values, packed.predict(X[:200]), rtol=4e-6)


def test_scikit_learns_names_and_ours_are_the_same():
    assert regression_loss("mse", None) == regression_loss("squared_error", None)
    assert regression_loss("absolute", None) == regression_loss("absolute_error", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "absolut_error"}, "there is no loss 'absolut_error'; did you mean 'absolute_error'"),
        ({"loss": "quantile"}, "needs a quantile, as quantile=0.9"),
        (
            {"loss": "quantile", "quantile": 1.5},
            "quantile must be a number from 0.001 to 0.999",
        ),
        ({"loss": "huber", "quantile": 0.5}, "quantile=0.5 is for loss='quantile', not for loss='huber'"),
        ({"loss": "poisson"}, "loss='poisson' needs targets that are not negative"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    X, y = noisy("huber")
    with pytest.raises(ValueError, match=message):
        bh.CompactForestRegressor("1KB", n_trials=1, **options).fit(X, y - 10.0)


def test_a_loss_of_regression_is_refused_for_classes():
    import pandas as pd

    frame = pd.DataFrame({"a": np.arange(40.0), "label": ["x", "y"] * 20})
    with pytest.raises(ValueError, match="loss='huber' is for regression, and the labels are classes"):
        bh.fit_table(frame, "label", budget=300, n_trials=1, loss="huber")
