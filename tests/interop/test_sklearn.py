"""A Forest answers as the scikit-learn estimator it was read from, to the last bit where scikit-learn itself is exact."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import billhook as bh

CLASSIFIERS = {
    "random forest": RandomForestClassifier(12, random_state=0),
    "random forest, best-first": RandomForestClassifier(12, max_leaf_nodes=20, random_state=0),
    "random forest, weighted": RandomForestClassifier(7, class_weight="balanced", criterion="entropy", random_state=0),
    "extra trees": ExtraTreesClassifier(7, random_state=0),
    "extra trees, bootstrap": ExtraTreesClassifier(7, bootstrap=True, max_leaf_nodes=20, random_state=0),
    "one tree": DecisionTreeClassifier(random_state=0),
    "one tree, pruned": DecisionTreeClassifier(max_leaf_nodes=40, ccp_alpha=0.002, random_state=0),
    "one extra tree": ExtraTreeClassifier(random_state=0),
    "bagging": BaggingClassifier(n_estimators=7, random_state=0),
    "bagging of extra trees": BaggingClassifier(ExtraTreeClassifier(), n_estimators=7, random_state=0),
    "random subspaces": BaggingClassifier(n_estimators=7, max_features=0.4, bootstrap=False, random_state=0),
    "random patches": BaggingClassifier(
        n_estimators=9, max_features=0.5, max_samples=3, bootstrap_features=True, random_state=0
    ),
    "ada boost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=9, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "gradient boosting from zero": GradientBoostingClassifier(
        n_estimators=8, init="zero", max_leaf_nodes=9, random_state=0
    ),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=8, random_state=0),
}
REGRESSORS = {
    "random forest": RandomForestRegressor(7, random_state=0),
    "extra trees": ExtraTreesRegressor(7, max_leaf_nodes=40, random_state=0),
    "one tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "one extra tree": ExtraTreeRegressor(random_state=0),
    "absolute error": DecisionTreeRegressor(criterion="absolute_error", max_depth=4, random_state=0),
    "bagging": BaggingRegressor(n_estimators=7, max_features=0.5, random_state=0),
    "gradient boosting": GradientBoostingRegressor(n_estimators=9, random_state=0),
    "gradient boosting, huber": GradientBoostingRegressor(loss="huber", n_estimators=9, random_state=0),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=9, random_state=0),
    "histogram boosting, poisson": HistGradientBoostingRegressor(loss="poisson", max_iter=9, random_state=0),
    "histogram boosting, absolute error": HistGradientBoostingRegressor(loss="absolute_error", max_iter=9),
}
TABLES = {"two classes": load_breast_cancer, "three classes": load_wine, "ten classes": load_digits}
# Not a float32 sum: these divide by a sum of weights, or multiply by it, in another order than scikit-learn.
ROUNDED = (AdaBoostClassifier,)


def assert_same_answers(model, forest, X):
    if isinstance(model, ROUNDED):
        np.testing.assert_allclose(forest.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-14)
    elif is_classifier(model):
        np.testing.assert_array_equal(forest.predict_proba(X), model.predict_proba(X))
    if is_classifier(model):
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
    model = CLASSIFIERS[kind].fit(X[::2], y[::2])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X)
    assert_same_answers(model, forest, X[:5])
    if not isinstance(model, HistGradientBoostingClassifier):
        assert_same_leaves(model, forest, X)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors(kind):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = REGRESSORS[kind].fit(X[::2], y[::2])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X)
    assert forest.predict(X).shape == (len(X),)


@pytest.mark.parametrize("kind", ["gradient boosting", "gradient boosting from zero", "histogram boosting"])
@pytest.mark.parametrize("table", TABLES)
def test_raw_scores_of_boosting_are_its_decision_function(kind, table):
    X, y = TABLES[table](return_X_y=True)
    model = CLASSIFIERS[kind].fit(X[::2], y[::2])
    np.testing.assert_array_equal(bh.as_forest(model).decision_function(X[::2]), model.decision_function(X[::2]))


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
@pytest.mark.parametrize("kind", ["random forest", "random patches", "ada boost", "gradient boosting", "histogram boosting"])
def test_labels_of_any_kind(kind, labels):
    X, y = load_iris(return_X_y=True)
    model = CLASSIFIERS[kind].fit(X.astype(np.float32), labels[y])
    forest = bh.as_forest(model)
    assert_same_answers(model, forest, X.astype(np.float32))
    assert forest.classes.tolist() == model.classes_.tolist()


def test_members_that_saw_only_some_classes():
    X, y = load_digits(return_X_y=True)
    model = BaggingClassifier(n_estimators=20, max_samples=4, random_state=0).fit(X, y)
    assert min(len(member.classes_) for member in model.estimators_) < 4
    assert_same_answers(model, bh.as_forest(model), X)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["random forest", "random forest, best-first", "extra trees", "one tree", "random patches"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([1.0, 1e-42, 1e30, 16777216.0]),
    st.integers(2, 4),
)
def test_any_rows_fall_into_the_same_leaves(seed, kind, missing, scale, n_classes):
    """Training values on few levels, scaled to denormal, huge and integer numbers; rows on the thresholds themselves."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(-4, 5, (60, 4)) * scale).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.integers(n_classes, size=60)
    model = CLASSIFIERS[kind].fit(X, y)
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
    assert_same_leaves(model, forest, rng.choice(values, (100, 4)))
    assert_same_leaves(model, forest, rng.choice(values, (3, 4)))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["histogram boosting", "histogram boosting, poisson"])
def test_histogram_boosting_reads_missing_and_infinite_values(kind, missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    model = REGRESSORS[kind].fit(X, np.abs(np.nan_to_num(X[:, 0])) + rng.random(500))
    X[:40] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, 1e-45, 3.4e38], np.float32), (40, 4))
    np.testing.assert_array_equal(bh.as_forest(model).predict(X), model.predict(X))


def test_a_split_between_missing_and_all_other_values():
    X = np.array([[np.nan], [np.nan], [1.0], [2.0], [3.0]], dtype=np.float32)
    model = DecisionTreeClassifier().fit(X, [1, 1, 0, 0, 0])
    everything = np.array([[np.nan], [np.inf], [-np.inf], [0.0], [3.4e38]], dtype=np.float32)
    assert_same_leaves(model, bh.as_forest(model), everything)
    assert bh.as_forest(model).predict(everything).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "name",
    ["adult", "anura", "avila", "bank", "chess", "connect", "eeg", "elec", "japanese-vowels", "magic", "mnist", "mozilla",
     "nomao", "satimage"],
)  # fmt: skip
def test_the_papers_data_sets(load_table, name):
    X, y = load_table(name)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:6000]
    X, y = X[rows], y[rows]
    for kind in ("random forest", "random forest, best-first", "extra trees, bootstrap", "histogram boosting"):
        model = CLASSIFIERS[kind].fit(X[:3000], y[:3000])
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


def test_categorical_columns_that_no_split_uses_do_no_harm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "colour": pd.Categorical(["red"] * 300), "age": rng.normal(size=300)})
    model = HistGradientBoostingRegressor(categorical_features=["colour"], max_iter=5).fit(
        frame, frame["age"] * 3 + frame["size"]
    )
    rows = frame.assign(colour=0.0).to_numpy(np.float32)
    expected = model.predict(pd.DataFrame(rows, columns=frame.columns).assign(colour=frame["colour"]).astype({"age": float}))
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


def test_a_subclass_is_read_as_what_it_is():
    class OwnForest(RandomForestClassifier):
        pass

    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(OwnForest(3, random_state=0).fit(X, y))
    assert forest.origin == "sklearn.RandomForestClassifier"
