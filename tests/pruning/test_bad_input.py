import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

import billhook as bh
import naive.pruning

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return bh.as_forest(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "reduced_eror"}, ValueError, "no pruning method 'reduced_eror'; did you mean 'reduced_error'"),
        ({"method": "qwerty"}, ValueError, "known are individual_error, "),
        ({"n_trees": 0}, ValueError, "between 1 and 6, the trees of the forest, not 0"),
        ({"n_trees": 7}, ValueError, "between 1 and 6, the trees of the forest, not 7"),
        ({"n_trees": 2.5}, TypeError, "n_trees must be a whole number"),
        ({"y": y + 1}, ValueError, "labels that the forest does not know: 3; it knows 0, 1, 2"),
        ({"y": y[:10]}, ValueError, "X has 150 rows and y 10 labels"),
        ({"y": np.where(y == 0, np.nan, y)}, ValueError, "50 missing labels"),
        ({"y": np.where(y == 0, None, "1")}, ValueError, "50 missing labels"),
        ({"y": X}, ValueError, "y must have one dimension"),
        ({"X": X[:, :2]}, ValueError, "X has 2 features, but the forest was trained on 4"),
        ({"X": X[:0], "y": y[:0]}, ValueError, "at least one row"),
        ({"rho": 0.3}, TypeError, "reduced_error does not take the option 'rho'; its options: none"),
        ({"method": "drep", "p": 0.3}, TypeError, "drep does not take the option 'p'; its options: rho"),
        ({"method": "drep", "rho": 0.0}, ValueError, "rho must be above 0"),
        ({"method": "margin_distance", "p": 1.5}, ValueError, "p must lie between"),
        ({"method": "margin_diversity", "alpha": -1}, ValueError, "alpha must lie between"),
        ({"method": "combined_diversity", "alpha": 2}, ValueError, "alpha must lie between"),
        ({"method": "pairwise_error", "restarts": -1}, ValueError, "restarts must not be negative"),
        ({"method": "pairwise_error", "solver": "gurobi"}, ValueError, "'swaps' or 'scip', not 'gurobi'"),
        ({"method": "pairwise_error", "time_limit": 0}, ValueError, "time_limit must be above 0"),
        ({"method": "kappa", "pairing": "max"}, ValueError, "'pairs' or 'min', not 'max'"),
        ({"method": "ranking"}, TypeError, "ranking needs the option 'score'"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight must be 150 finite numbers"),
        ({"sample_weight": -np.ones(150)}, ValueError, "none negative"),
        ({"sample_weight": np.zeros(150)}, ValueError, "not all zero"),
    ],
)
def test_what_cannot_be_pruned_is_refused(forest, arguments, error, message):
    with pytest.raises(error, match=message):
        bh.prune(forest, **{"X": X, "y": y, "method": "reduced_error", "n_trees": 2, **arguments})


def test_methods_without_an_order_say_so(forest):
    with pytest.raises(ValueError, match=r"cluster_accuracy has no order.*reduced_error"):
        bh.pruning_order(forest, X, y, method="cluster_accuracy")


def test_methods_that_add_tree_by_tree_have_an_order(forest):
    without = {"cluster_accuracy", "cluster_centroid", "largest_mean_distance", "pairwise_error"}
    without |= {"combined_diversity", "programming", "proximal"}
    assert {method.name for method in bh.pruning_methods() if not method.nested} == without
    assert sorted(bh.pruning_order(forest, X, y, method="random", random_state=0).tolist()) == list(range(6))


def test_boosted_trees_are_not_judged_one_by_one():
    with pytest.raises(TypeError, match="correct one another"):
        bh.prune(GradientBoostingClassifier(n_estimators=3).fit(X, y), X, y, n_trees=2)


@pytest.mark.parametrize("labels", [y, y == 1])
def test_the_weighted_vote_of_ada_boost_can_be_pruned(labels):
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=9, random_state=0).fit(X, labels)
    pruned = bh.prune(model, X, labels, n_trees=3)
    assert (pruned.predict(X) == labels).mean() > 0.9
    assert pruned.tree_weight.sum() == pytest.approx(1.0)


def test_regression_needs_numbers():
    Xd, yd = load_diabetes(return_X_y=True)
    rf = RandomForestRegressor(3).fit(Xd, yd)
    with pytest.raises(ValueError, match="1 numbers that are missing or infinite"):
        bh.prune(rf, Xd, np.where(np.arange(len(yd)) == 5, np.nan, yd), n_trees=2)
    with pytest.raises(ValueError, match="list of numbers"):
        bh.prune(rf, Xd, np.where(yd > 100, "high", "low"), n_trees=2)
    with pytest.raises(ValueError, match="only if its trees have equal weights"):
        bh.prune(bh.as_forest(rf).with_weights([0.2, 0.3, 0.5]), Xd, yd, n_trees=2)


@pytest.mark.parametrize("method", [m.name for m in bh.pruning_methods() if not {"score", "pair"} & set(m.options)])
def test_one_row_one_class_and_one_tree_are_enough(forest, method):
    for n_trees in (1, 3, 6):
        assert bh.prune(forest, X[:1], y[:1], method=method, n_trees=n_trees, random_state=0).n_trees == n_trees
        assert bh.prune(forest, X[:20], y[:20], method=method, n_trees=n_trees, random_state=0).n_trees == n_trees
    assert bh.prune(forest.select([2]), X, y, method=method, n_trees=1, random_state=0).n_trees == 1


def test_pruning_changes_neither_forest_nor_rows(forest):
    rows, labels = X.copy(), y.copy()
    before = bh.Forest(**forest.__getstate__())
    for method in bh.pruning_methods():
        if not {"score", "pair"} & set(method.options):
            bh.prune(forest, rows, labels, method=method.name, n_trees=2, random_state=0)
    assert forest == before
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, y)


def test_your_own_scores_do_what_the_named_methods_do(forest):
    def accuracy(P, true):
        return (P.argmax(axis=1) == true).mean()

    same = bh.pruning_order(forest, X, y, method="individual_error").tolist()
    assert bh.pruning_order(forest, X, y, method="ranking", score=accuracy).tolist() == same
    same = bh.pruning_order(forest, X, y, method="reduced_error").tolist()
    assert bh.pruning_order(forest, X, y, method="ordering", score=accuracy).tolist() == same

    def squared_error(P, true):
        np.testing.assert_allclose(P.sum(axis=1), 1.0)  # the mean of the trees, not their sum
        return -((P - np.eye(3)[true]) ** 2).sum()

    expected = naive.pruning.grown(
        naive.pruning.probability_lists(forest, X),
        lambda chosen, tree: -squared_error(forest.select([*chosen, tree]).predict_proba(X), y),
    )
    assert bh.pruning_order(forest, X, y, method="ordering", score=squared_error).tolist() == expected

    def wrong_together(P, Q, true):
        return ((P.argmax(axis=1) != true) & (Q.argmax(axis=1) != true)).mean()

    about = {"method": "programming", "n_trees": 3, "random_state": 0, "return_report": True}
    pruned, report = bh.prune(forest, X, y, pair=wrong_together, **about)
    wrong = [forest.select([tree]).predict(X) != y for tree in range(6)]
    pair = [[(one & other).mean() / 2 for other in wrong] for one in wrong]
    assert pruned.n_trees == 3
    assert report.objective == pytest.approx(naive.pruning.quadratic_choice([0.0] * 6, pair, 3))


def test_scores_of_your_own_must_be_numbers_and_weigh_rows_themselves(forest):
    with pytest.raises(ValueError, match="the score of tree 0 is not a number"):
        bh.prune(forest, X, y, method="ranking", score=lambda *_: np.nan, n_trees=2)
    with pytest.raises(TypeError, match="ranking cannot weigh rows"):
        bh.prune(forest, X, y, method="ranking", score=lambda *_: 1.0, n_trees=2, sample_weight=np.ones(150))
    order = iter([0.1, 0.9, -np.inf, 0.5, 0.2, 0.3])
    ranked = bh.pruning_order(forest, X, y, method="ranking", score=lambda *_: next(order))
    assert ranked.tolist() == [1, 3, 5, 4, 0, 2]


def test_trees_without_weight_are_not_judged(forest):
    with pytest.raises(ValueError, match="weights above 0"):
        bh.prune(forest.with_weights([0.5, 0.5, 0, 0, 0, 0]), X, y, n_trees=2)


def test_what_was_seen_must_be_of_the_right_shape(forest):
    with pytest.raises(ValueError, match=r"in_bag has shape \(2, 2\); there are 6 trees and 150 rows"):
        bh.prune(forest, X, y, n_trees=2, in_bag=np.zeros((2, 2), bool))
