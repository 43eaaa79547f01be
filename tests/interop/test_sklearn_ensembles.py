"""Votes, stacks and calibrated models of scikit-learn that are sums of trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import billhook as bh

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5)).astype(np.float32)
X[rng.random(X.shape) < 0.05] = np.nan
NUMBER = np.nan_to_num(X[:, 0]) * 3 + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=300)
TWO = np.where(NUMBER > 1, "yes", "no")
THREE = np.digitize(NUMBER, [0, 2]) * 10
FOREST = RandomForestClassifier(5, max_leaf_nodes=12, random_state=0)
EXTRA = ExtraTreesClassifier(5, max_leaf_nodes=12, random_state=0)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=5, random_state=0)
REGRESSORS = [
    ("forest", RandomForestRegressor(5, max_leaf_nodes=12, random_state=0)),
    ("boosted", HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=8)),
    ("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
]
ROWS = np.concatenate([X, rng.normal(size=(300, 5)).astype(np.float32)])


def assert_same_answers(model, forest, rows=ROWS):
    """Sums are in another order than scikit-learn's, and so are off by some last bits."""
    if forest.classes is None:
        np.testing.assert_allclose(forest.predict(rows), model.predict(rows), rtol=1e-12, atol=1e-12)
        return
    probability = model.predict_proba(rows)
    np.testing.assert_allclose(forest.predict_proba(rows), probability, rtol=0, atol=1e-12)
    best = np.sort(probability, axis=1)
    is_clear = best[:, -1] - best[:, -2] > 1e-9  # where two classes are level, the last bits decide
    assert is_clear.mean() > 0.8
    np.testing.assert_array_equal(forest.predict(rows)[is_clear], model.predict(rows)[is_clear])


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weights", [None, [1, 3, 0.5]], ids=["equal", "weighted"])
def test_a_soft_vote_is_a_mean(labels, weights):
    model = VotingClassifier([("a", FOREST), ("b", EXTRA), ("c", TREE)], voting="soft", weights=weights)
    forest = bh.as_forest(model.fit(X, labels))
    assert forest.n_trees == 11
    assert forest.averages
    np.testing.assert_allclose(forest.tree_weight.sum(), 1.0)
    assert_same_answers(model, forest)
    model.set_params(a="drop")
    assert bh.as_forest(model.fit(X, labels)).n_trees == 6
    assert_same_answers(model, bh.as_forest(model))


@pytest.mark.parametrize("weights", [None, [1, 3, 0.5]], ids=["equal", "weighted"])
def test_a_vote_of_regressors(weights):
    model = VotingRegressor(REGRESSORS, weights=weights).fit(X, NUMBER)
    forest = bh.as_forest(model)
    assert not forest.averages  # boosting among them is a sum
    assert forest.rounding == "down"
    assert_same_answers(model, forest)
    means = VotingRegressor([REGRESSORS[0], REGRESSORS[2]]).fit(X, NUMBER)
    assert bh.as_forest(means).averages
    small = bh.prune(bh.as_forest(bh_equal()), X, NUMBER, method="reduced_error", n_trees=3)
    assert small.n_trees == 3


def bh_equal():
    """Return a vote of forests of the same size: only trees of equal weight are pruned."""
    forests = [(str(seed), RandomForestRegressor(4, max_leaf_nodes=8, random_state=seed)) for seed in range(2)]
    return VotingRegressor(forests).fit(X, NUMBER)


@pytest.mark.parametrize(
    "final",
    [None, LinearRegression(), LinearRegression(positive=True), Ridge(), Lasso(0.1), ElasticNet(0.1)],
    ids=lambda final: type(final).__name__,
)
def test_a_stack_with_a_linear_end(final):
    model = StackingRegressor(REGRESSORS, final_estimator=final, cv=2).fit(X, NUMBER)
    assert_same_answers(model, bh.as_forest(model))


def test_a_stack_that_counts_nothing():
    model = StackingRegressor(REGRESSORS[:1], final_estimator=Lasso(1e6), cv=2).fit(X, NUMBER)
    assert_same_answers(model, bh.as_forest(model))


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("dropped", [False, True])
def test_a_stack_of_classifiers(labels, dropped):
    model = StackingClassifier([("a", FOREST), ("b", EXTRA), ("c", TREE)], cv=2)
    model.set_params(b="drop" if dropped else EXTRA)
    assert_same_answers(model.fit(X, labels), bh.as_forest(model))


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_a_stack_on_scores(labels):
    full = np.nan_to_num(X)
    members = [
        ("a", BOOSTED),
        ("b", AdaBoostClassifier(n_estimators=5, random_state=0)),
        ("c", HistGradientBoostingClassifier(max_iter=3)),
    ]
    if labels is TWO:
        members.append(("d", GradientBoostingClassifier(loss="exponential", n_estimators=5, random_state=0)))
    model = StackingClassifier(members, stack_method="decision_function", cv=2).fit(full, labels)
    assert_same_answers(model, bh.as_forest(model), np.nan_to_num(ROWS))


@pytest.mark.parametrize(
    "member",
    [
        FOREST,
        HistGradientBoostingClassifier(max_iter=5),
        AdaBoostClassifier(n_estimators=5, random_state=0),
        GradientBoostingClassifier(loss="exponential", n_estimators=5, random_state=0),
        make_pipeline(StandardScaler(), FOREST),
        make_pipeline(StandardScaler(), BOOSTED),
    ],
    ids=lambda member: type(member).__name__,
)
def test_a_calibrated_classifier(member):
    full = np.nan_to_num(X).astype(np.float64)
    for model in (
        CalibratedClassifierCV(member, ensemble=False, cv=2),
        CalibratedClassifierCV(FrozenEstimator(member.fit(full, TWO))),
    ):
        forest = bh.as_forest(model.fit(full, TWO))
        assert_same_answers(model, forest, np.nan_to_num(ROWS).astype(np.float64))


def test_a_stack_is_packed_and_refined():
    model = StackingClassifier([("a", FOREST), ("b", EXTRA)], cv=2).fit(X, TWO)
    forest = bh.as_forest(model)
    assert (bh.pack(forest).predict(X) == forest.predict(X)).mean() > 0.97
    assert (bh.refine(forest, X, TWO).predict(X) == TWO).mean() > 0.8
    vote = bh.as_forest(VotingClassifier([("a", FOREST), ("b", EXTRA)], voting="soft").fit(X, TWO))
    assert bh.prune(vote, X, TWO, method="reduced_error", n_trees=4).n_trees == 4


def test_members_may_split_by_categories_and_be_pipelines():
    frame = pd.DataFrame({"a": rng.integers(0, 9, 300), "b": rng.integers(0, 70, 300), "c": X[:, 0]})
    number = frame["a"].isin([1, 4, 7]) * 3.0 + frame["b"] % 3
    members = [
        (
            str(k),
            HistGradientBoostingRegressor(
                categorical_features=["a", "b"], max_iter=3, max_leaf_nodes=n, min_samples_leaf=5
            ),
        )
        for k, n in enumerate([4, 30])
    ]
    forest = bh.as_forest(VotingRegressor(members).fit(frame, number))
    assert forest.n_sets > 2
    assert_same_answers(VotingRegressor(members).fit(frame, number), forest, frame)
    scaled = make_pipeline(MinMaxScaler(), RandomForestRegressor(3, random_state=0))
    rows = frame.fillna(0).astype(np.float32).astype(np.float64)
    mixed = VotingRegressor([("scaled", scaled), *members]).fit(rows, number)
    assert_same_answers(mixed, bh.as_forest(mixed), rows)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (VotingClassifier([("a", FOREST)]), r"counts votes.*voting='soft'"),
        (VotingClassifier([("a", FOREST), ("b", BOOSTED)], voting="soft"), r"VotingClassifier of a Grad.*no sums"),
        (StackingClassifier([("a", FOREST)], passthrough=True, cv=2), r"takes the features too.*passthrough=False"),
        (StackingClassifier([("a", BOOSTED)], cv=2), r"StackingClassifier of a Grad.*no sums of leaf values"),
        (StackingClassifier([("a", FOREST)], stack_method="predict", cv=2), r"whose predict is no sum"),
        (StackingClassifier([("a", FOREST)], final_estimator=FOREST, cv=2), r"ends in a RandomForestClassifier"),
        (CalibratedClassifierCV(FOREST, cv=2), r"of 2 calibrated classifiers.*ensemble=False"),
        (CalibratedClassifierCV(FOREST, method="isotonic", ensemble=False, cv=2), r"method='isotonic'.*'sigmoid'"),
        (CalibratedClassifierCV(LogisticRegression(), ensemble=False, cv=2), r"cannot read a LogisticRegression"),
    ],
)
def test_what_is_no_sum_is_refused(model, message):
    with pytest.raises(TypeError, match=message):
        bh.as_forest(model.fit(np.nan_to_num(X), TWO))


def test_other_refusals():
    full = np.nan_to_num(X)
    with pytest.raises(TypeError, match=r"CalibratedClassifierCV of 3 classes"):
        bh.as_forest(CalibratedClassifierCV(FOREST, ensemble=False, cv=2).fit(full, THREE))
    positive = HistGradientBoostingRegressor(loss="poisson", max_iter=2)
    with pytest.raises(TypeError, match=r"VotingRegressor of a Hist.*\(link exp\)"):
        bh.as_forest(VotingRegressor([("a", positive)]).fit(full, np.abs(NUMBER)))
    with pytest.raises(TypeError, match=r"StackingRegressor that ends in a KNeighborsRegressor.*LinearRegression"):
        bh.as_forest(StackingRegressor(REGRESSORS[:1], final_estimator=KNeighborsRegressor(), cv=2).fit(full, NUMBER))
    vote = VotingClassifier([("a", make_pipeline(MinMaxScaler(), FOREST))], voting="soft")
    pipeline = make_pipeline(StandardScaler(), vote).fit(full, TWO)
    with pytest.raises(TypeError, match=r"ensemble of pipelines that is itself the last step of a pipeline"):
        bh.as_forest(pipeline)
    pipeline = make_pipeline(StandardScaler(), VotingRegressor(REGRESSORS)).fit(full, NUMBER)
    with pytest.raises(TypeError, match=r"members compare float32 numbers and some float64 numbers"):
        bh.as_forest(pipeline)
    pipeline = make_pipeline(StandardScaler(), VotingRegressor(REGRESSORS[1:2])).fit(full.astype(np.float64), NUMBER)
    assert_same_answers(pipeline, bh.as_forest(pipeline), full.astype(np.float64))
    with pytest.raises(ValueError, match=r"no output 1; the VotingRegressor has one output"):
        bh.as_forest(VotingRegressor(REGRESSORS).fit(X, NUMBER), output=1)
