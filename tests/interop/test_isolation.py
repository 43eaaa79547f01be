"""An isolation forest is a Forest whose leaves say how deep a row lies."""

import ctypes
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest, RandomTreesEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import billhook as bh
from compiled import compiled
from made_up import TRICKY

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(400, 4)), rng.normal(size=(40, 4)) * 5]).astype(np.float32)
Y = np.repeat([1, -1], [400, 40])
MODEL = IsolationForest(n_estimators=30, max_samples=64, random_state=0).fit(X)


@settings(max_examples=settings().max_examples // 3)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["auto", 0.02, 0.05, 0.1, 0.3]),
    st.sampled_from([1.0, 0.5]),
    st.sampled_from([2, 16, 256]),
    st.booleans(),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
)
def test_outliers_are_those_of_scikit_learn(
    seed, contamination, max_features, max_samples, bootstrap, missing, coarse
):
    """With a contamination, the limit is often the score of a training row; coarse rows come more than once."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)).round(1 if coarse else 7).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    model = IsolationForest(
        n_estimators=12,
        contamination=contamination,
        max_features=max_features,
        max_samples=max_samples,
        bootstrap=bootstrap,
        random_state=seed % 1000,
    ).fit(X)
    forest = bh.as_forest(model)
    on = forest.threshold[forest.feature >= 0]
    beside = [np.nextafter(on, np.float32(end)) for end in (-np.inf, np.inf)]
    rows = np.concatenate([X, rng.choice(np.concatenate([on, *beside, TRICKY]), (300, 4))])
    # Rows of the same depth can be a last bit apart in scikit-learn, one of them at the limit and one below: all of
    # them are inliers to a forest.
    expected = np.where(np.abs(model.decision_function(rows)) < 1e-15, 1, model.predict(rows))
    np.testing.assert_array_equal(forest.predict(rows), expected)
    probability = forest.predict_proba(rows)
    expected = np.minimum(model.score_samples(rows) / (2.0 * model.offset_), 1.0)
    # Depths are divided before they are added up, and a margin makes up for that.
    np.testing.assert_allclose(probability[:, 0], expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability[:, 0] >= 0.5, forest.predict(rows) == -1)
    for n_rows in (1, 3):
        np.testing.assert_array_equal(forest.predict(rows[:n_rows]), forest.predict(rows)[:n_rows])


def test_the_probability_of_an_outlier_is_the_anomaly_score():
    forest = bh.as_forest(MODEL)
    assert (forest.link, forest.ties, forest.classes.tolist()) == ("isolation", "last", [-1, 1])
    np.testing.assert_allclose(forest.predict_proba(X)[:, 0], -MODEL.score_samples(X), rtol=0, atol=1e-11)


def test_it_is_saved_and_loaded(tmp_path):
    forest = bh.as_forest(MODEL)
    forest.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path / "model.bhk") == forest == pickle.loads(pickle.dumps(forest))
    packed = bh.pack(forest)
    packed.save(tmp_path / "packed.bhk")
    assert bh.load(tmp_path / "packed.bhk") == packed


def test_it_is_packed_and_compiled(tmp_path):
    forest = bh.as_forest(MODEL)
    packed = bh.pack(forest)
    assert (packed.predict(X) == MODEL.predict(X)).mean() > 0.98
    np.testing.assert_allclose(packed.predict_proba(X), forest.predict_proba(X), rtol=0, atol=0.02)
    np.testing.assert_array_equal(compiled(packed, tmp_path)(X), packed.scores(X))
    predict = ctypes.CDLL(str(tmp_path / "model.so")).model_predict
    numbers = [predict(row.ctypes.data_as(ctypes.c_void_p)) for row in X]
    np.testing.assert_array_equal(forest.classes[numbers], packed.predict(X))
    np.testing.assert_array_equal(packed.to_forest().predict(X), packed.predict(X))


def test_with_labels_it_is_pruned_and_refined():
    forest = bh.as_forest(MODEL)
    small = bh.prune(forest, X, Y, method="reduced_error", n_trees=6)
    assert small.link == "isolation"
    assert (small.predict(X) == Y).mean() > 0.9
    refined = bh.refine(small, X, Y, validation_fraction=None, epochs=5)
    assert refined.link == "logistic"
    assert (refined.predict(X) == Y).mean() >= (small.predict(X) == Y).mean()
    assert forest.truncate(max_leaves=4).n_leaves <= 4 * 30


def test_scaled_rows_first():
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=10, random_state=0))
    pipeline.fit(X.astype(np.float64))
    forest = bh.as_forest(pipeline)
    np.testing.assert_array_equal(forest.predict(X), pipeline.predict(X.astype(np.float64)))


def test_refusals():
    with pytest.raises(ValueError, match="trees of one row each"):
        bh.as_forest(IsolationForest(n_estimators=2, max_samples=1).fit(X))
    model = IsolationForest(n_estimators=2, max_samples=8).fit(X)
    model.offset_ = 0.5
    with pytest.raises(ValueError, match=r"offset_ .* between -1 and 0, not 0.5"):
        bh.as_forest(model)
    with pytest.raises(ValueError, match=r"does not know how to make a 'sklearn.IsolationForest'"):
        bh.to_estimator(bh.as_forest(MODEL))
    with pytest.raises(TypeError, match=r"RandomTreesEmbedding.*says which leaves a row falls into"):
        bh.as_forest(RandomTreesEmbedding(2).fit(X))
