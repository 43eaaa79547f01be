import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.tree import export_text, plot_tree

import billhook as bh
from ensembles import CLASSIFIERS, REGRESSORS

MODELS = {f"{kind}, classes": model for kind, model in CLASSIFIERS.items()} | {
    f"{kind}, numbers": model for kind, model in REGRESSORS.items()
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    model = clone(MODELS[request.param])
    X, y = load_iris(return_X_y=True) if is_classifier(model) else load_diabetes(return_X_y=True)
    return model.fit(X.astype(np.float32), y), X.astype(np.float32)


def assert_same_predictions(estimator, forest, X):
    np.testing.assert_array_equal(estimator.predict(X), forest.predict(X))
    if forest.classes is not None:
        np.testing.assert_allclose(estimator.predict_proba(X), forest.predict_proba(X), rtol=0, atol=1e-14)


def test_the_way_there_and_back_loses_nothing(fitted):
    model, X = fitted
    forest = bh.as_forest(model)
    back = bh.to_estimator(forest)
    assert type(back) is type(model)
    assert_same_predictions(back, forest, X)

    again = bh.as_forest(back)
    np.testing.assert_allclose(again.tree_weight, forest.tree_weight, rtol=1e-15)  # AdaBoost divides by their sum
    assert again.with_weights(forest.tree_weight) == forest


def test_a_truncated_forest_can_go_back(fitted):
    model, X = fitted
    forest = bh.as_forest(model).truncate(max_leaves=3)
    assert_same_predictions(bh.to_estimator(forest), forest, X)


def test_some_of_the_trees_can_go_back(fitted):
    model, X = fitted
    forest = bh.as_forest(model)
    some = forest.select([forest.n_trees - 1, 0, 1][: forest.n_trees])
    assert_same_predictions(bh.to_estimator(some), some, X)


def test_new_values_weights_and_base_can_go_back(fitted):
    model, X = fitted
    forest = bh.as_forest(model)
    rng = np.random.default_rng(0)
    if "AdaBoost" in forest.origin:
        changed = forest.with_weights(rng.dirichlet(np.ones(forest.n_trees)))
    else:
        changed = bh.Forest(
            **{
                **forest.__getstate__(),
                "value": forest.value + rng.normal(size=forest.value.shape),  # negative, not summing to one
                "tree_weight": rng.random(forest.n_trees),
                "base": rng.normal(size=forest.base.size),
            }
        )
    back = bh.to_estimator(changed)
    if forest.classes is None:
        np.testing.assert_allclose(back.predict(X), changed.predict(X), rtol=1e-12)
    else:
        np.testing.assert_allclose(back.predict_proba(X), changed.predict_proba(X), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(back.predict(X), changed.predict(X))


def test_a_saved_forest_can_go_back(tmp_path, fitted):
    model, X = fitted
    bh.as_forest(model).save(tmp_path / "m.bhk")
    forest = bh.load(tmp_path / "m.bhk")
    assert_same_predictions(bh.to_estimator(forest), forest, X)


def test_the_estimator_does_not_share_memory_with_the_forest(fitted):
    model, X = fitted
    forest = bh.as_forest(model)
    before = forest.predict(X)
    back = bh.to_estimator(forest)
    if hasattr(back, "estimators_"):
        np.ravel(np.asarray(back.estimators_, dtype=object))[0].tree_.value[:] = 1e6
    np.testing.assert_array_equal(forest.predict(X), before)


def test_tools_that_look_inside_go_on_working():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(5, max_leaf_nodes=30, random_state=0).fit(frame, y)
    small = RandomForestClassifier(5, max_leaf_nodes=6, random_state=0).fit(frame, y)
    back = bh.to_estimator(bh.as_forest(model).truncate(max_leaves=6))
    np.testing.assert_array_equal(back.feature_importances_, small.feature_importances_)
    np.testing.assert_array_equal(back.feature_names_in_, frame.columns)
    assert back.score(frame, y) == small.score(frame, y)
    assert export_text(back.estimators_[0]) == export_text(small.estimators_[0])
    np.testing.assert_array_equal(back.apply(frame), small.apply(frame))
    assert permutation_importance(back, frame, y, n_repeats=2, random_state=0).importances.shape == (4, 2)
    mpl.use("Agg")
    assert [text.get_text() for text in plot_tree(back.estimators_[1])] == [
        text.get_text() for text in plot_tree(small.estimators_[1])
    ]


@pytest.mark.filterwarnings("ignore:::matplotlib", "ignore:::shap")  # shap imports what matplotlib deprecates
def test_shap_explains_the_estimator():
    import shap

    X, y = make_classification(200, 6, random_state=0)
    forest = bh.as_forest(RandomForestClassifier(10, max_leaf_nodes=50, random_state=0).fit(X, y)).truncate(
        max_leaves=8
    )
    explainer = shap.TreeExplainer(bh.to_estimator(forest))
    contributions = explainer.shap_values(X[:20], check_additivity=False)
    np.testing.assert_allclose(contributions.sum(axis=1) + explainer.expected_value, forest.predict_proba(X[:20]))


@pytest.mark.parametrize("lost", [[0], [0, 4], [2, 1, 0, 7]])
def test_boosted_classes_may_have_lost_different_numbers_of_trees(lost):
    X, y = load_iris(return_X_y=True)
    for kind in ("gradient boosting", "histogram boosting"):
        forest = bh.as_forest(clone(CLASSIFIERS[kind]).fit(X.astype(np.float32), y))
        some = forest.select([tree for tree in range(forest.n_trees) if tree not in lost])
        assert_same_predictions(bh.to_estimator(some), some, X.astype(np.float32))
        only = forest.select([1])  # nothing is left of two classes
        assert_same_predictions(bh.to_estimator(only), only, X.astype(np.float32))


def test_what_cannot_go_back_is_refused():
    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(clone(CLASSIFIERS["one tree"]).fit(X, y))
    with pytest.raises(ValueError, match="holds one tree, and this forest has 2"):
        bh.to_estimator(forest.select([0, 0]))
    with pytest.raises(TypeError, match="needs a Forest, not a DecisionTreeClassifier"):
        bh.to_estimator(CLASSIFIERS["one tree"])
    with pytest.raises(ValueError, match="was not read from an estimator"):
        bh.to_estimator(bh.Forest(**{**forest.__getstate__(), "origin": ""}))
    with pytest.raises(ValueError, match=r"was read from lightgbm\.Booster"):
        bh.to_estimator(bh.Forest(**{**forest.__getstate__(), "origin": "lightgbm.Booster"}))
    with pytest.raises(ValueError, match=r"'sklearn\.KMeans'"):
        bh.to_estimator(bh.Forest(**{**forest.__getstate__(), "origin": "sklearn.KMeans"}))
    ada = bh.as_forest(clone(CLASSIFIERS["ada boost"]).fit(X, y))
    with pytest.raises(ValueError, match="values must be votes"):
        bh.to_estimator(ada.with_values(ada.value * 0.9))
    with pytest.raises(ValueError, match="weights must sum to one"):
        bh.to_estimator(ada.with_weights(ada.tree_weight * 2))
