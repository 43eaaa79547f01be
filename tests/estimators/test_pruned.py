import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import billhook as bh

X, y = load_iris(return_X_y=True)
SMALL = {"n_trees": 4, "random_state": 0}


# Without bootstrap: a sample is drawn by numbers of rows, so a row of weight 2 is not two rows.
@parametrize_with_checks(
    [
        bh.PrunedForestClassifier(RandomForestClassifier(8, bootstrap=False, random_state=0), **SMALL),
        bh.PrunedForestRegressor(RandomForestRegressor(8, bootstrap=False, random_state=0), **SMALL),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_it_keeps_the_trees_that_prune_keeps():
    rf = RandomForestClassifier(20, random_state=0).fit(X, y)
    model = bh.PrunedForestClassifier(FrozenEstimator(rf), n_trees=6, method="drep", method_options={"rho": 0.3}).fit(
        X, y
    )
    order = bh.pruning_order(rf, X.astype(np.float32), y, method="drep", rho=0.3, n_trees=6)
    assert model.selected_.tolist() == order.tolist()
    assert model.forest_ == bh.as_forest(rf).select(order)
    np.testing.assert_array_equal(model.predict_proba(X), model.forest_.predict_proba(X))


def test_a_fitted_estimator_is_fitted_anew_and_not_changed():
    rf = RandomForestClassifier(8, random_state=0).fit(X[:100], y[:100])
    model = bh.PrunedForestClassifier(rf, n_trees=3).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert rf.classes_.tolist() == [0, 1]


def test_the_seed_makes_it_repeatable():
    first, second = (bh.PrunedForestClassifier(n_trees=5, random_state=3, n_jobs=2).fit(X, y) for _ in range(2))
    assert first.forest_ == second.forest_


@pytest.mark.parametrize("estimator", [RandomForestClassifier(30), BaggingClassifier(n_estimators=30)])
@pytest.mark.parametrize("pruning_data", ["training", "oob", 0.3])
def test_trees_may_be_judged_on_training_unseen_or_held_out_rows(estimator, pruning_data):
    model = bh.PrunedForestClassifier(estimator, n_trees=5, pruning_data=pruning_data, random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_out_of_bag_a_tree_is_not_judged_on_what_it_saw():
    """With labels that mean nothing, trees look good on rows they saw, and no better than chance on others."""
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(300, 5)), rng.integers(2, size=300)
    rf = RandomForestClassifier(20, random_state=0).fit(noise, labels)
    model = bh.PrunedForestClassifier(FrozenEstimator(rf), n_trees=1, method="individual_error", pruning_data="oob")
    chosen = model.fit(noise, labels).selected_[0]
    seen = np.zeros((20, 300), bool)
    for tree, rows in enumerate(rf.estimators_samples_):
        seen[tree, rows] = True
    right = np.stack([tree.predict(noise) == labels for tree in rf.estimators_])
    of_root = np.stack([np.full(300, tree.tree_.value[0, 0].argmax()) == labels for tree in rf.estimators_])
    assert chosen == np.where(seen, of_root, right).sum(axis=1).argmax()


def test_weights_reach_both_the_trees_and_the_judgement():
    weight = np.where(y == 2, 0.0, 1.0)
    model = bh.PrunedForestClassifier(RandomForestClassifier(10), n_trees=3, random_state=0).fit(
        X, y, sample_weight=weight
    )
    assert set(model.predict(X)) <= {0, 1}


def test_it_works_in_pipelines_and_searches():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), bh.PrunedForestClassifier(RandomForestClassifier(12), random_state=0)),
        {"prunedforestclassifier__n_trees": [2, 6], "prunedforestclassifier__method": ["random", "reduced_error"]},
        cv=3,
    ).fit(X, np.array(["a", "b", "c"])[y])
    assert search.best_score_ > 0.9
    assert set(search.predict(X)) == {"a", "b", "c"}


def test_numbers_too():
    Xd, yd = load_diabetes(return_X_y=True)
    model = bh.PrunedForestRegressor(RandomForestRegressor(30), n_trees=6, pruning_data="oob", random_state=0)
    assert cross_val_score(model, Xd, yd, cv=3).mean() > 0.2


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_trees": 101}, ValueError, "between 1 and 100"),
        ({"method": "reduced"}, ValueError, "no pruning method 'reduced'"),
        ({"method_options": {"rho": 1}}, TypeError, "does not take the option 'rho'"),
        ({"pruning_data": "test"}, ValueError, "'training', 'oob' or a share"),
        (
            {"pruning_data": "oob", "estimator": ExtraTreesClassifier(40)},
            ValueError,
            "trained on all; fit it with bootstrap=True",
        ),
        ({"pruning_data": 1.0}, ValueError, "a share of the rows to hold out between 0 and 1"),
        ({"estimator": RandomForestRegressor(40)}, TypeError, "cannot take an estimator for regression"),
    ],
)
def test_what_cannot_be_pruned_is_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        bh.PrunedForestClassifier(**parameters).fit(X, y)


def test_a_frozen_estimator_of_more_rows_has_no_unseen_ones():
    rf = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fitted on more rows than the 100"):
        bh.PrunedForestClassifier(FrozenEstimator(rf), n_trees=2, pruning_data="oob").fit(X[:100], y[:100])


def test_column_names_are_kept_and_checked():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    model = bh.PrunedForestClassifier(RandomForestClassifier(8), n_trees=3, random_state=0).fit(frame, labels)
    assert model.forest_.feature_names == tuple(frame.columns)
    frozen = FrozenEstimator(RandomForestClassifier(8, random_state=0).fit(frame, labels))
    with pytest.raises(ValueError, match="or their order, are not those that the frozen estimator was trained on"):
        bh.PrunedForestClassifier(frozen, n_trees=3).fit(frame[frame.columns[::-1]], labels)
