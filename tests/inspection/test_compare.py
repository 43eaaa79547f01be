import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh


@pytest.fixture(scope="module")
def models():
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(16, max_leaf_nodes=8, random_state=0).fit(X, y))
    return forest, bh.pack(forest.select([0])), X, y


def test_each_model_has_its_scores_and_its_bytes(models):
    forest, small, X, y = models
    found = bh.compare({"all": forest, "one": small}, X, y)
    assert [model.name for model in found.models] == ["all", "one"]
    for compared, model in zip(found.models, (forest, small), strict=True):
        assert compared.measures["accuracy"] == np.mean(model.predict(X) == y)
        assert compared.agreement == np.mean(model.predict(X) == forest.predict(X))
    assert [model.nbytes for model in found.models] == [bh.pack(forest).nbytes, small.nbytes]
    assert [model.n_trees for model in found.models] == [16, 1]


def test_classes_as_numbers_and_as_text_agree(models):
    forest, _, X, _ = models
    y = forest.predict(X)
    of_text = bh.as_forest(RandomForestClassifier(16, max_leaf_nodes=8, random_state=0).fit(X, y.astype(str)))
    assert bh.compare([forest, of_text], X).models[1].agreement == np.mean(of_text.predict(X) == y.astype(str))


def test_regression_differs_by_a_root_mean_square():
    X, y = load_diabetes(return_X_y=True)
    forest = bh.as_forest(RandomForestRegressor(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    found = bh.compare([forest, forest.select([0])], X, y)
    difference = forest.predict(X) - forest.select([0]).predict(X)
    assert found.models[1].agreement == pytest.approx(np.sqrt(np.mean(difference**2)))
    assert found.models[0].agreement == 0.0
    assert "R2" in found.models[0].measures


def test_what_cannot_be_compared_is_refused(models):
    forest, small, X, y = models
    with pytest.raises(ValueError, match="takes two models or more, not 1"):
        bh.compare([forest], X, y)
    with pytest.raises(ValueError, match="is given twice"):
        bh.compare(["a.bhk", "a.bhk"], X, y)
    with pytest.raises(ValueError, match="there is no target 'uni'"):
        bh.compare([forest, small], X, y, target="uni")
    regression = bh.as_forest(RandomForestRegressor(2, max_leaf_nodes=4, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="Forest 1 is for regression, and Forest 0 for classification"):
        bh.compare([forest, regression], X, y)
