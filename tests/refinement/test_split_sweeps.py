import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeRegressor

import billhook as bh
from billhook.forest import Forest
from billhook.refinement import KnownTests, Problem, choose_splits, loss_named
from billhook.refinement._losses import fits
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import CATEGORIES, random_forest, rows_of_categories, tricky_rows, with_sets
from naive import refinement as naive

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
BY_CLASSES = {1: (X_n, y_n / y_n.std()), 2: (X2, y2), 3: (X3, y3)}


def chosen_again(forest, X, y, loss, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return choose_splits(KnownTests(forest, X.astype(np.float32)), y, loss=loss, sample_weight=weight)


def total_loss(forest, X, y, loss, weight, width=1.0):
    raw = forest.decision_function(X).reshape(len(y), -1)
    raw = raw[:, 1:] - raw[:, :1] if raw.shape[1] == 2 else raw
    target = Problem(forest).targets(np.searchsorted(forest.classes, y) if forest.classes is not None else y, loss)
    return (naive.row_losses(loss.name, raw, target, width) * weight).sum()


def assert_same_choices(forest, X, y, loss, weight):
    known = loss_named(loss)
    labels = np.searchsorted(forest.classes, y) if forest.classes is not None else y
    width = 1.0
    if known.has_width:
        share = {"huber": 0.9}.get(loss, 0.5)
        error = np.abs(forest.decision_function(X) - y)
        order = np.argsort(error)
        of_weight = np.cumsum(weight[order])
        width = error[order[np.searchsorted(of_weight, share * of_weight[-1])]]
    has, left, right = naive.choose_splits(forest, X, Problem(forest).targets(labels, known), loss, weight, width)
    new = chosen_again(forest, X, y, loss, weight)
    inner = has >= 0
    if new is None:
        np.testing.assert_array_equal(forest.threshold[inner], forest.threshold[has[inner]])
        np.testing.assert_array_equal(forest.left, left)
        return forest
    for name in ("feature", "threshold", "missing_left", "category_set"):
        np.testing.assert_array_equal(getattr(new, name)[inner], getattr(forest, name)[has[inner]], err_msg=name)
    np.testing.assert_array_equal(new.left, left)
    np.testing.assert_array_equal(new.right, right)
    return new


CASES = [(1, loss) for loss in ("mse", "absolute", "huber", "quantile_0.8")] + [
    (classes, loss) for classes in (2, 3) for loss in ("cross_entropy", "mse", "squared_hinge")
]


@pytest.mark.parametrize(("classes", "loss"), CASES)
def test_the_naive_twin_chooses_the_same(classes, loss):
    X, y = BY_CLASSES[classes]
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    ensembles = REGRESSORS if classes == 1 else CLASSIFIERS
    for model in ensembles.values():
        forest = bh.as_forest(clone(model).fit(X, y))
        if not fits(loss_named(loss), forest):
            continue
        forest = forest.select(range(min(3, forest.n_trees))).truncate(max_leaves=9)
        weight = np.random.default_rng(1).uniform(0.2, 3.0, rows.size)
        # Rows as the forest rounds them.
        assert_same_choices(forest, X[rows].astype(np.float32), y[rows], loss, weight)


@pytest.mark.parametrize("seed", range(6))
def test_missing_values_and_sets_of_categories_are_tests_too(seed):
    rng = np.random.default_rng(seed)
    per_class = seed % 2 == 1
    forest = random_forest(rng, sizes=(1, 5, 12) * (1 + 2 * per_class), per_class=per_class)
    X = tricky_rows(rng, 60, forest.n_features)
    if seed > 2:
        forest = with_sets(rng, forest, share=0.6, categories=CATEGORIES)
        X = rows_of_categories(rng, 60, forest.n_features)
    y = forest.classes[rng.integers(0, len(forest.classes), 60)]
    new = assert_same_choices(forest, X, y, "cross_entropy", rng.uniform(0.5, 2.0, 60))
    assert not np.array_equal(new.feature, forest.feature)


def test_the_fields_make_a_forest_and_its_counts_are_those_of_the_rows():
    forest = bh.as_forest(clone(CLASSIFIERS["random forest"]).fit(X3, y3))
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y3))
    new = chosen_again(forest, X3, y3, "cross_entropy", weight)
    Forest(**{name: getattr(new, name) for name in forest.__dataclass_fields__})  # checked
    reached = new.apply(X3)
    for tree, (begin, end) in enumerate(zip(new.offset[:-1], new.offset[1:], strict=True)):
        is_leaf = new.feature[begin:end] < 0
        count = np.bincount(reached[:, tree], minlength=end - begin)
        np.testing.assert_array_equal(new.n_rows[begin:end][is_leaf], count[is_leaf])
        assert new.n_rows[begin] == len(y3)
        np.testing.assert_allclose(new.row_weight[begin], weight.sum())
        for node in np.flatnonzero(~is_leaf):
            below = new.left[begin + node], new.right[begin + node]
            assert new.n_rows[begin + node] == sum(new.n_rows[begin + child] for child in below)


@pytest.mark.parametrize(("classes", "loss"), [*CASES, (1, "poisson")])
def test_the_loss_falls_and_the_forest_of_before_stays(classes, loss):
    X, y = BY_CLASSES[classes]
    if loss == "poisson":
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(loss="poisson", max_iter=5, max_leaf_nodes=8)
        y = np.round(3.0 * y)
    else:
        model = (REGRESSORS if classes == 1 else CLASSIFIERS)["random forest"]
    forest = bh.as_forest(clone(model).fit(X, y))
    before = {name: np.copy(getattr(forest, name)) for name in ("feature", "threshold", "left", "n_rows", "value")}
    new = chosen_again(forest, X, y, loss)
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(forest, name), array)
    known, weight = loss_named(loss), np.ones(len(y))
    width = np.quantile(np.abs(forest.predict(X) - y), 0.9, method="inverted_cdf") if loss == "huber" else 1.0
    assert total_loss(new, X, y, known, weight, width) < total_loss(forest, X, y, known, weight, width)
    tests = {(f, t) for f, t in zip(forest.feature, forest.threshold, strict=True) if f >= 0}
    assert {(f, t) for f, t in zip(new.feature, new.threshold, strict=True) if f >= 0} <= tests
    assert new.n_leaves == forest.n_leaves


def test_nothing_is_returned_where_no_split_changes():
    forest = bh.as_forest(clone(CLASSIFIERS["random forest"]).fit(X3, y3))
    assert chosen_again(forest.truncate(max_leaves=1), X3, y3, "cross_entropy") is None
    for _ in range(9):
        new = chosen_again(forest, X3, y3, "cross_entropy")
        if new is None:
            break
        forest = new
    assert new is None


@pytest.mark.parametrize(
    ("ensemble", "loss", "named"),
    [
        (CLASSIFIERS["random forest"], "huber", "cross_entropy, mse, squared_hinge"),
        (REGRESSORS["random forest"], "poisson", "mse, huber, absolute"),
        (REGRESSORS["random forest"], "cross_entropy", "mse, huber, absolute"),
        (REGRESSORS["random forest"], "quantile_2", "mse, huber, absolute"),
    ],
)
def test_another_loss_is_refused(ensemble, loss, named):
    forest = bh.as_forest(clone(ensemble).fit(X3, y3))
    with pytest.raises(ValueError, match=f"one of {named}, not '{loss}'"):
        chosen_again(forest, X3, y3, loss)


def test_weights_are_checked():
    forest = bh.as_forest(clone(REGRESSORS["one tree"]).fit(X3, y3))
    for wrong in (-np.ones(150), np.ones(149)):
        with pytest.raises(ValueError, match="weight"):
            chosen_again(forest, X3, y3, "mse", wrong)
    assert chosen_again(forest, X3, y3, "mse", np.ones(150, int)) is None  # a tree that knows every row


def test_a_feature_may_have_as_many_thresholds_as_buckets_have_numbers():
    n = 65_536
    X = np.arange(n + 1, dtype=np.float32)[:, None]
    y = np.random.default_rng(0).normal(size=n + 1)
    forest = bh.as_forest(DecisionTreeRegressor(random_state=0).fit(X, y))
    thresholds = np.unique(forest.threshold[forest.feature >= 0])
    assert thresholds.size > 65_535
    with pytest.raises(ValueError, match="thresholds of a feature; at most 65,535 are possible"):
        KnownTests(forest, X[:5])
    known = KnownTests(forest.truncate(max_leaves=65_536), X)
    assert known.bucket.max() == 65_535
