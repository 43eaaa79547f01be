"""Categorical splits of scikit-learn's histogram boosting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import billhook as bh

KNOWN = np.array([0, 1, 3, 7, 31, 32, 40, 63, 64, 100, 250, 1000])


@settings(max_examples=settings().max_examples // 3)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([0.0, 0.15]), st.sampled_from([2, 3]))
def test_numbers_that_are_categories(seed, n_categories, missing, n_classes):
    """Known ones, others between and beyond them, negative ones and missing ones."""
    rng = np.random.default_rng(seed)
    known = rng.choice(KNOWN, n_categories, replace=False)
    X = np.stack([rng.normal(size=300), rng.choice(known, 300), rng.integers(0, 40, 300), rng.random(300)], axis=1)
    X = X.astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    y = (np.isin(X[:, 1], known[::2]) + (X[:, 2] % 3 == 0) + (rng.random(300) < 0.2)) % n_classes
    model = HistGradientBoostingClassifier(
        categorical_features=[1, 2], max_iter=5, min_samples_leaf=5, max_leaf_nodes=12
    ).fit(X, y)
    if len(model.classes_) < 2:
        return
    forest = bh.as_forest(model)
    rows = np.concatenate([X, X])
    rows[:300, 1:3] = rng.choice([-5, -1, 0, 2, 3, 31, 33, 255, 256, 257, 1000, 1e6, np.nan, *known], (300, 2))
    np.testing.assert_array_equal(forest.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(forest.predict(rows), model.predict(rows))


def colours(rng, n_rows=400):
    """Return a table with categories of every kind, numbers of float64 among them."""
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(2),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "black"], n_rows)),
            "age": rng.normal(size=n_rows),
            "shape": rng.choice(["round", "square"], n_rows),
            "grade": pd.Categorical(rng.choice([10, 20, 50], n_rows)),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "colour"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    target = frame["colour"].isin(["red", "blue"]) * 3.0 + (frame["grade"] == 20) + frame["size"].fillna(0)
    return frame, target.to_numpy()


def test_a_table_with_text():
    frame, target = colours(np.random.default_rng(0))
    model = HistGradientBoostingRegressor(
        categorical_features=["colour", "shape", "grade"], max_iter=8, max_leaf_nodes=9
    ).fit(frame, target)
    forest = bh.as_forest(model)
    assert forest.n_sets > 0
    assert [column.categories for column in forest.encoding.columns] == [
        (),
        ("black", "blue", "green", "red"),
        (),
        ("round", "square"),
        ("10", "20", "50"),
    ]
    np.testing.assert_array_equal(forest.predict(frame), model.predict(frame))
    other, _ = colours(np.random.default_rng(1))
    np.testing.assert_array_equal(forest.predict(other), model.predict(other))
    unknown = other.assign(colour="pink", shape=other["shape"].where(other.index % 3 > 0, np.nan))
    np.testing.assert_array_equal(forest.predict(unknown), model.predict(unknown))
    more = bh.refine(forest, frame, target)
    assert bh.merge(more, frame, target, max_leaves=4).encoding == forest.encoding
    packed = bh.pack(forest)
    assert packed.encoding == forest.encoding
    assert np.corrcoef(packed.predict(frame), forest.predict(frame))[0, 1] > 0.98


def test_columns_of_a_declared_type_are_found_by_scikit_learn():
    frame, target = colours(np.random.default_rng(0))
    frame = frame.drop(columns="shape")
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=3).fit(frame, target > 2)
    forest = bh.as_forest(model)
    np.testing.assert_array_equal(forest.predict_proba(frame), model.predict_proba(frame))
    numbers = frame[["size", "grade"]]
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=3).fit(numbers, target > 2)
    forest = bh.as_forest(model)
    assert forest.encoding is None
    np.testing.assert_array_equal(forest.predict_proba(numbers), model.predict_proba(numbers))


def test_the_last_step_of_a_pipeline_may_split_what_an_encoder_gives():
    frame, target = colours(np.random.default_rng(0))
    front = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["colour", "shape"]),
        (StandardScaler(), ["size", "age"]),
    )
    pipeline = make_pipeline(front, HistGradientBoostingRegressor(categorical_features=[0, 1], max_iter=5))
    pipeline.fit(frame, target)
    forest = bh.as_forest(pipeline)
    assert [column.name for column in forest.encoding.columns] == ["size", "colour", "age", "shape"]
    # On float32 numbers, as forests read them.
    rows = frame.astype({"size": np.float32, "age": np.float32}).astype({"size": np.float64, "age": np.float64})
    np.testing.assert_array_equal(forest.predict(rows), pipeline.predict(rows))
    unknown = rows.assign(colour="pink")
    np.testing.assert_array_equal(forest.predict(unknown), pipeline.predict(unknown))
    with pytest.raises(TypeError, match="whose HistGradientBoostingRegressor encodes categories itself"):
        bh.as_forest(
            make_pipeline(
                make_column_transformer((StandardScaler(), ["size"]), remainder="passthrough").set_output(
                    transform="pandas"
                ),
                HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=3),
            ).fit(frame.drop(columns="shape"), target)
        )
