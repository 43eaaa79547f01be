import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (RandomForestClassifier(9, max_leaf_nodes=8, random_state=0), X3, np.array(["a", "b", "c"])[y3]),
        (GradientBoostingClassifier(n_estimators=9, random_state=0), X3, y3),
        (RandomForestClassifier(9, max_leaf_nodes=8, random_state=0), X2, y2),
        (GradientBoostingClassifier(n_estimators=9, random_state=0), X2, y2),
    ],
)
@pytest.mark.parametrize("leaf_bits", [2, 16])
def test_a_report_on_classes_says_what_the_models_say(model, X, y, leaf_bits):
    model.fit(X[::2], y[::2])
    packed = bh.pack(model, threshold_bits="exact", leaf_bits=leaf_bits)
    rows = X[1::2].astype(np.float32)
    report = bh.pack_report(model, packed, rows, y[1::2])
    before, after = bh.as_forest(model).predict(rows), packed.predict(rows)
    assert report.n_rows == len(rows)
    assert report.changed == np.mean(before != after)
    assert report.accuracy_before == np.mean(before == y[1::2])
    assert report.accuracy_after == np.mean(after == y[1::2])
    assert report.error_before is report.error_after is None
    assert report.nbytes == packed.nbytes
    if leaf_bits == 16:
        assert 0.0 < report.largest_difference < 1e-2
    assert f"{report.changed:.2%} get another class\naccuracy {report.accuracy_before:.2%} before" in str(report)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(9, max_leaf_nodes=8, random_state=0),
        HistGradientBoostingRegressor(max_iter=9, loss="poisson"),
    ],
)
def test_a_report_on_numbers_says_how_far_off_they_are(model):
    model.fit(X_n, y_n)
    forest = bh.as_forest(model)
    packed = bh.pack(forest, leaf_bits=4)
    report = bh.pack_report(model, packed, X_n, y_n)
    assert report.changed is report.accuracy_before is report.accuracy_after is None
    assert report.error_before == np.sqrt(np.mean((forest.predict(X_n) - y_n) ** 2))
    assert report.error_after == np.sqrt(np.mean((packed.predict(X_n) - y_n) ** 2))
    assert report.largest_difference == np.abs(forest.decision_function(X_n) - packed.decision_function(X_n)).max()
    assert "\nroot mean squared error" in str(report)


def test_without_labels_there_is_no_accuracy():
    rf = RandomForestClassifier(3, random_state=0).fit(X3, y3)
    report = bh.pack_report(rf, bh.pack(rf), X3)
    assert report.accuracy_before is report.accuracy_after is None
    assert "accuracy" not in str(report)
    assert "\n" not in str(report)


def test_what_does_not_belong_together_is_refused():
    rf = RandomForestClassifier(3, random_state=0).fit(X3, y3)
    other = RandomForestClassifier(3, random_state=0).fit(X3, y3 + 1)
    with pytest.raises(ValueError, match=r"was not packed from .*: features or classes differ"):
        bh.pack_report(rf, bh.pack(other), X3)
    with pytest.raises(ValueError, match="X has 150 rows and y 9 labels"):
        bh.pack_report(rf, bh.pack(rf), X3, y3[:9])
    with pytest.raises(ValueError, match="needs rows; X has none"):
        bh.pack_report(rf, bh.pack(rf), X3[:0])
