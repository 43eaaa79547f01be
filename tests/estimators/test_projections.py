"""Estimators that keep a model whose splits test projections, which no forest does."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import billhook as bh
from projected import projected_model

X, y = load_iris(return_X_y=True)


def kept(kind, n_classes):
    """Return an estimator that was fitted, and then given such a model."""
    packed, _ = projected_model(np.random.default_rng(0), (9, 9), 4, 3, 6, n_classes, rows=X)
    packed = packed if n_classes == 1 else bh.Packed(**{**vars_of(packed), "classes": np.arange(n_classes)})
    model = kind("1KB", n_trials=1, random_state=0).fit(
        X, y if n_classes == 3 else y > 0 if n_classes == 2 else y * 1.5
    )
    model._set_model(packed, None)
    return model


def vars_of(packed):
    return {name: getattr(packed, name) for name in packed.__dataclass_fields__}


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_it_predicts_from_the_packed_model(n_classes):
    model = kept(bh.CompactForestRegressor if n_classes == 1 else bh.CompactForestClassifier, n_classes)
    assert not hasattr(model, "forest_")
    with pytest.raises(AttributeError, match="max_projections=0"):
        _ = model.forest_
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        np.testing.assert_array_equal(one.predict(X), model.packed_.predict(X))
        assert 0.0 <= one.score(X, one.predict(X)) <= 1.0
        if n_classes > 1:
            np.testing.assert_array_equal(one.predict_proba(X), model.packed_.predict_proba(X))
            np.testing.assert_array_equal(one.decision_function(X), model.packed_.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_it_can_be_learned_again():
    model = kept(bh.CompactForestClassifier, 3)
    assert model.refit(X, y, model.front_[-1].nbytes) is model
    assert model.packed_.projections is None
    assert model.forest_.n_trees == model.packed_.layout.n_trees


def test_what_needs_a_forest_says_what_to_do():
    model = kept(bh.CompactForestClassifier, 3)
    with pytest.raises(TypeError, match=r"this CompactForestClassifier, whose .* projections.*max_projections=0"):
        bh.as_forest(model)
    with pytest.raises(TypeError, match="whose splits test projections"):
        bh.describe(model)
    assert bh.describe(model.packed_).projections
