import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import billhook as bh

X, y = load_digits(return_X_y=True)
SMALL = RandomForestClassifier(12, max_leaf_nodes=12, random_state=0)


# Without bootstrap and without rows held out: both draw by numbers of rows, so a row of weight 2 is not two rows.
@parametrize_with_checks(
    [
        bh.RefinedForestClassifier(
            RandomForestClassifier(6, bootstrap=False, random_state=0), validation_fraction=None, random_state=0
        ),
        bh.RefinedForestRegressor(
            RandomForestRegressor(6, bootstrap=False, random_state=0), validation_fraction=None, random_state=0
        ),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_it_is_better_than_its_forest_and_of_the_same_size():
    model = bh.RefinedForestClassifier(SMALL, random_state=0).fit(X[::2], y[::2])
    rf = SMALL.fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > rf.score(X[1::2], y[1::2]) + 0.03
    assert model.forest_.size() == bh.as_forest(rf).size()
    assert model.report_.n_passes > 0
    P = model.predict_proba(X[1::2])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert log_loss(y[1::2], P) < log_loss(y[1::2], rf.predict_proba(X[1::2]))
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[1::2]))


def test_without_validation_it_does_what_refine_does():
    rf = RandomForestClassifier(9, max_leaf_nodes=20, random_state=0).fit(X, y)
    model = bh.RefinedForestClassifier(
        FrozenEstimator(rf),
        n_trees=4,
        max_leaves=8,
        loss="mse",
        solver="sgd",
        epochs=3,
        step_size=0.05,
        batch_size=64,
        validation_fraction=None,
        refine_options={"batch_gradient": "mean"},
        random_state=7,
    ).fit(X, y)
    expected = bh.refine(
        bh.as_forest(rf).truncate(max_leaves=8).select(range(4)),
        X.astype(np.float32),
        y,
        loss="mse",
        solver="sgd",
        epochs=3,
        step_size=0.05,
        batch_size=64,
        validation_fraction=None,
        batch_gradient="mean",
        random_state=np.random.RandomState(7).randint(2**31),
    )
    assert model.forest_ == expected


def test_trees_may_be_drawn():
    options = {"n_trees": 4, "validation_fraction": None, "epochs": 0}
    first = bh.RefinedForestClassifier(SMALL, **options).fit(X, y).forest_
    drawn = bh.RefinedForestClassifier(SMALL, trees="random", random_state=1, **options).fit(X, y).forest_
    whole = bh.as_forest(SMALL.fit(X, y))
    np.testing.assert_array_equal(first.threshold, whole.select(range(4)).threshold)
    assert not np.array_equal(drawn.threshold, first.threshold)
    assert set(drawn.threshold) <= set(whole.threshold)


def test_it_works_in_pipelines_and_searches_with_strings_and_missing_values():
    Xc, yc = load_breast_cancer(return_X_y=True)
    Xc = np.where(np.arange(Xc.size).reshape(Xc.shape) % 13 == 0, np.nan, Xc)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), bh.RefinedForestClassifier(SMALL, random_state=0)),
        {"refinedforestclassifier__loss": ["mse", "cross_entropy"], "refinedforestclassifier__n_trees": [4, 8]},
        cv=3,
    ).fit(Xc, np.array(["benign", "malign"])[yc])
    assert search.best_score_ > 0.9


def test_boosting_and_numbers_too():
    Xd, yd = load_diabetes(return_X_y=True)
    for estimator in (RandomForestRegressor(16, max_leaf_nodes=8), HistGradientBoostingRegressor(max_iter=20)):
        scores = cross_val_score(bh.RefinedForestRegressor(estimator, random_state=0), Xd, yd, cv=3)
        plain = cross_val_score(estimator, Xd, yd, cv=3)
        assert scores.mean() > plain.mean() - 0.03
    Xm, ym = make_classification(4000, 10, n_informative=8, n_clusters_per_class=4, random_state=0)
    boosted = GradientBoostingClassifier(n_estimators=20, max_leaf_nodes=8, random_state=0)
    model = bh.RefinedForestClassifier(boosted, random_state=0).fit(Xm[::2], ym[::2])
    assert model.score(Xm[1::2], ym[1::2]) > boosted.fit(Xm[::2], ym[::2]).score(Xm[1::2], ym[1::2]) + 0.01


def test_out_of_bag_rows_may_judge():
    model = bh.RefinedForestClassifier(
        RandomForestClassifier(30, max_leaf_nodes=8, random_state=0),
        n_trees=20,
        trees="random",
        refine_options={"validation": "oob"},
        random_state=0,
    ).fit(X, y)
    assert model.report_.validated_on == "out-of-bag rows"


def test_weights_reach_both_the_trees_and_their_leaves():
    weight = np.where(y == 2, 0.0, 1.0)
    model = bh.RefinedForestClassifier(SMALL, random_state=0).fit(X, y, sample_weight=weight)
    assert 2 not in model.predict(X[y != 2])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_trees": 13}, ValueError, "between 1 and 12, the trees grown, not 13"),
        ({"trees": "last"}, ValueError, "trees must be 'first' or 'random', not 'last'"),
        ({"max_leaves": 0}, ValueError, "max_leaves must be at least 1"),
        ({"loss": "hinge"}, ValueError, "loss must be"),
        ({"validation_fraction": 2}, ValueError, "from 0 to below 1"),
        ({"refine_options": {"speed": 1}}, TypeError, "does not take the option 'speed'"),
        ({"refine_options": {"l2": 1}}, TypeError, "l2 is a parameter of RefinedForestClassifier"),
        ({"n_trees": 2.5}, TypeError, "n_trees must be a whole number, not 2.5"),
        ({"estimator": RandomForestRegressor(4)}, TypeError, "cannot take an estimator for regression"),
    ],
)
def test_what_cannot_be_refined_is_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        bh.RefinedForestClassifier(**{"estimator": SMALL, **parameters}).fit(X, y)
