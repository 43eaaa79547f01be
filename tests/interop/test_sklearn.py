"""A Forest answers as the scikit-learn estimator it was read from."""

import pickle

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import billhook as bh
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import IS_THOROUGH, N_ROWS

PAPERS_TABLES = [
    "adult",
    "anura",
    "avila",
    "bank",
    "chess",
    "connect",
    "eeg",
    "elec",
    "japanese-vowels",
    "magic",
    "mnist",
    "mozilla",
    "nomao",
    "satimage",
]
TABLES = {"two classes": load_breast_cancer, "three classes": load_wine, "ten classes": load_digits}


class UnweightedTree(DecisionTreeClassifier):
    """Bagging gives a learner without sample weights the drawn rows alone, and so maybe not all classes."""

    def fit(self, X, y):
        return super().fit(X, y)


def assert_same_answers(model, forest, X):
    if is_classifier(model):
        # Exact but for AdaBoost, which weighs votes in another order, and a softmax, which may sum in another order.
        rounding = 1e-14 if isinstance(model, AdaBoostClassifier) or forest.link == "softmax" else 0.0
        np.testing.assert_allclose(forest.predict_proba(X), model.predict_proba(X), rtol=0, atol=rounding)
        assert forest.predict(X).dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))


def trees_of(model):
    """Return the (tree_, features it sees) of every member, in order."""
    if hasattr(model, "tree_"):
        return [(model.tree_, slice(None))]
    members = np.ravel(np.asarray(model.estimators_, dtype=object))
    features = getattr(model, "estimators_features_", [slice(None)] * len(members))
    return [(member.tree_, seen) for member, seen in zip(members, features, strict=True)]


def assert_same_leaves(model, forest, X):
    """Ask the trees themselves: estimators refuse infinities."""
    X = np.asarray(X, dtype=np.float32)
    expected = np.stack([tree.apply(X[:, seen]) for tree, seen in trees_of(model)], axis=1)
    np.testing.assert_array_equal(forest.apply(X), expected)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers(kind, table):
    X, y = TABLES[table](return_X_y=True)
    X = X.astype(np.float32)
    model = clone(CLASSIFIERS[kind]).fit(X[::2], y[::2])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X)
    assert_same_answers(model, forest, X[:5])
    if not isinstance(model, HistGradientBoostingClassifier):
        assert_same_leaves(model, forest, X)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors(kind):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = clone(REGRESSORS[kind]).fit(X[::2], y[::2])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X)
    assert forest.predict(X).shape == (len(X),)
    if not isinstance(model, HistGradientBoostingRegressor):
        assert_same_leaves(model, forest, X)


@pytest.mark.parametrize("kind", ["gradient boosting", "gradient boosting from zero", "histogram boosting"])
@pytest.mark.parametrize("table", TABLES)
def test_raw_scores_of_boosting_are_its_decision_function(kind, table):
    X, y = TABLES[table](return_X_y=True)
    X = X.astype(np.float32)
    model = clone(CLASSIFIERS[kind]).fit(X[::2], y[::2])
    np.testing.assert_array_equal(bh.as_forest(model).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_a_tie_of_gradient_boosting_goes_where_it_goes_in_scikit_learn(loss):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    y = (X[:, 0] != X[:, 1]).astype(int)  # stumps cannot tell: every raw score is 0
    model = GradientBoostingClassifier(loss=loss, max_depth=1, n_estimators=3, random_state=0).fit(X, y)
    forest = bh.as_forest(model)
    assert (forest.decision_function(X) == 0.0).all()
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))
    np.testing.assert_array_equal(bh.to_estimator(forest).predict(X), forest.predict(X))


@pytest.mark.parametrize("strategy", ["prior", "most_frequent", "uniform", "constant"])
@pytest.mark.parametrize("table", ["two classes", "three classes"])
def test_gradient_boosting_may_start_from_any_constant(strategy, table):
    X, y = TABLES[table](return_X_y=True)
    start = DummyClassifier(strategy=strategy, constant=1 if strategy == "constant" else None)
    model = GradientBoostingClassifier(init=start, n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(bh.as_forest(model).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_wine])
def test_histogram_boosting_on_float64_rows(load):
    """Its thresholds are often values of the data that float32 does not have."""
    X, y = load(return_X_y=True)
    X = X.round(2)
    model = (HistGradientBoostingRegressor if load is load_diabetes else HistGradientBoostingClassifier)(max_iter=30)
    model.fit(X, y)
    forest = bh.as_forest(model)
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))
    if load is not load_diabetes:
        np.testing.assert_allclose(forest.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-14)


def test_thresholds_that_float32_cannot_tell_apart_are_warned_of():
    rng = np.random.default_rng(0)
    X = 1.7e9 + rng.integers(0, 1000, (500, 1)).astype(float)  # seconds; float32 has one number for each 128
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, np.sin(X[:, 0]))
    with pytest.warns(UserWarning, match="are the same as another in float32") as caught:
        bh.as_forest(model)
    assert caught[0].filename == __file__


def test_the_exponential_loss_is_read_as_twice_the_scores():
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(loss="exponential", n_estimators=8, random_state=0).fit(X, y)
    forest = bh.as_forest(model)
    np.testing.assert_allclose(forest.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["setosa", "versicolor", "virginica"]),
        np.array(["c", "a", "b"], dtype=object),
        np.array([-7, 1000, 3]),
        np.array([True, False, True]),
        np.array([0.0, 2.0, 1.0]),
    ],
    ids=lambda labels: str(labels.dtype),
)
@pytest.mark.parametrize(
    "kind", ["random forest", "random patches", "ada boost", "gradient boosting", "histogram boosting"]
)
def test_labels_of_any_kind(kind, labels):
    X, y = load_iris(return_X_y=True)
    model = clone(CLASSIFIERS[kind]).fit(X.astype(np.float32), labels[y])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X.astype(np.float32))
    assert forest.classes.tolist() == model.classes_.tolist()


def test_members_that_saw_only_some_classes():
    X, y = load_digits(return_X_y=True)
    model = BaggingClassifier(UnweightedTree(), n_estimators=20, max_samples=4, random_state=0).fit(X, y)
    assert min(len(member.classes_) for member in model.estimators_) < 4
    assert_same_answers(model, bh.as_forest(model), X)


@settings(max_examples=settings.default.max_examples * (3 if IS_THOROUGH else 2) // 3)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["random forest", "random forest, best-first", "extra trees", "one tree", "random patches"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([1.0, 1e-42, 1e30, 16777216.0]),
    st.integers(2, 4),
)
def test_any_rows_fall_into_the_same_leaves(seed, kind, missing, scale, n_classes):
    """Few training values, scaled to denormal, huge and integer numbers; rows on the thresholds themselves."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(-4, 5, (60, 4)) * scale).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.integers(n_classes, size=60)
    model = clone(CLASSIFIERS[kind]).fit(X, y)
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X)
    thresholds = np.concatenate([tree.threshold[tree.feature >= 0] for tree, _ in trees_of(model)] + [[0.0]])
    near = thresholds.astype(np.float32)
    values = np.concatenate(
        [
            X.ravel(),
            near,
            np.nextafter(near, np.float32(np.inf)),
            np.nextafter(near, np.float32(-np.inf)),
            np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32),
        ]
    )
    assert_same_leaves(model, forest, rng.choice(values, (max(100, N_ROWS), 4)))
    assert_same_leaves(model, forest, rng.choice(values, (3, 4)))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["histogram boosting", "histogram boosting, poisson"])
def test_histogram_boosting_reads_missing_and_infinite_values(kind, missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    model = clone(REGRESSORS[kind]).fit(X, np.abs(np.nan_to_num(X[:, 0])) + rng.random(500))
    X[:40] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, 1e-45, 3.4e38], np.float32), (40, 4))
    np.testing.assert_array_equal(bh.as_forest(model).predict(X), model.predict(X))


def test_a_split_between_missing_and_all_other_values():
    X = np.array([[np.nan], [np.nan], [1.0], [2.0], [3.0]], dtype=np.float32)
    model = DecisionTreeClassifier().fit(X, [1, 1, 0, 0, 0])
    everything = np.array([[np.nan], [np.inf], [-np.inf], [0.0], [3.4e38]], dtype=np.float32)
    assert_same_leaves(model, bh.as_forest(model), everything)
    assert bh.as_forest(model).predict(everything).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("name", PAPERS_TABLES)
def test_the_papers_data_sets(load_table, name):
    X, y = load_table(name)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:6000]
    X, y = X[rows], y[rows]
    for kind in ("random forest", "random forest, best-first", "extra trees, bootstrap", "histogram boosting"):
        model = clone(CLASSIFIERS[kind]).fit(X[:3000], y[:3000])
        forest = bh.as_forest(model)
        assert_same_answers(model, forest, X)
        if kind != "histogram boosting":
            assert_same_leaves(model, forest, X)


def test_feature_names_are_kept_and_checked():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(5, random_state=0).fit(frame, y)
    forest = bh.as_forest(model)
    assert forest.feature_names == tuple(frame.columns)
    np.testing.assert_array_equal(forest.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(forest.predict_proba(frame.to_numpy()), model.predict_proba(frame))
    with pytest.raises(ValueError, match=r"missing: 'petal width \(cm\)'; unknown: 'width'"):
        forest.predict(frame.rename(columns={"petal width (cm)": "width"}))
    with pytest.raises(ValueError, match="in another order"):
        forest.predict(frame[frame.columns[::-1]])
    np.testing.assert_array_equal(
        bh.as_forest(RandomForestClassifier(5, random_state=0).fit(frame.to_numpy(), y)).predict(frame),
        model.predict(frame),
    )


def test_columns_that_may_hold_pandas_na_are_read_as_missing():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    model = RandomForestClassifier(5, random_state=0).fit(frame, y)
    nullable = frame.astype("Float64")
    assert nullable.isna().any(axis=None)
    np.testing.assert_array_equal(bh.as_forest(model).predict_proba(nullable), model.predict_proba(frame))


def test_categorical_columns_that_no_split_uses_do_no_harm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=300), "colour": pd.Categorical(["red"] * 300), "age": rng.normal(size=300)}
    )
    model = HistGradientBoostingRegressor(categorical_features=["colour"], max_iter=5).fit(
        frame, frame["age"] * 3 + frame["size"]
    )
    rows = frame.assign(colour=0.0).to_numpy(np.float32)
    expected = model.predict(
        pd.DataFrame(rows, columns=frame.columns).assign(colour=frame["colour"]).astype({"age": float})
    )
    np.testing.assert_array_equal(bh.as_forest(model).predict(rows), expected)


def test_reading_does_not_change_the_estimator():
    X, y = make_classification(300, random_state=0)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    before = [(tree.value.copy(), tree.threshold.copy()) for tree, _ in trees_of(model)]
    forest = bh.as_forest(model).truncate(max_leaves=3)
    forest.predict(X)
    for (tree, _), (value, threshold) in zip(trees_of(model), before, strict=True):
        np.testing.assert_array_equal(tree.value, value)
        np.testing.assert_array_equal(tree.threshold, threshold)


def test_read_only_rows_and_a_copied_forest_are_no_different():
    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(5, random_state=0).fit(X, y))
    expected = forest.predict(X)
    X.flags.writeable = False
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(X), expected)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_tables_of_other_libraries_are_checked_for_the_order_of_their_columns(kind):
    frame, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(5, random_state=0).fit(frame, y))
    backwards = frame[frame.columns[::-1]]
    if kind == "pyarrow":
        backwards = pyarrow.Table.from_pandas(backwards)
    with pytest.raises(ValueError, match="in another order"):
        forest.predict(backwards)


def test_the_column_that_is_no_number_is_named():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(5, random_state=0).fit(frame, y))
    with pytest.raises(ValueError, match=r"not a number in column 'petal width \(cm\)' .*'wide'"):
        forest.predict(frame.assign(**{"petal width (cm)": "wide"}))


def test_negative_sample_weights_are_read():
    X, y = load_iris(return_X_y=True)
    weight = np.where(np.arange(150) % 7 == 0, -0.1, 1.0)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight=weight)
    assert_same_answers(model, bh.as_forest(model), X)


def test_a_subclass_is_read_as_what_it_is():
    class OwnForest(RandomForestClassifier):
        pass

    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(OwnForest(3, random_state=0).fit(X, y))
    assert forest.origin == "sklearn.RandomForestClassifier"
