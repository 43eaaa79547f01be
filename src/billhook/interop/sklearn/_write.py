"""Forests as fitted scikit-learn estimators.

Each writer fits an estimator of the right kind on a few made-up rows, so that scikit-learn itself sets all it sets in
a fit, and then puts the forest's trees in place of the fitted ones.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import sklearn.ensemble
import sklearn.tree
from numpy.typing import NDArray
from scipy.special import expit, softmax

from billhook.forest import Forest, cut_back
from billhook.interop.sklearn._boosting import initial_scores, vote_values
from billhook.interop.sklearn._tree import write_hist_nodes, write_tree


def write(forest: Forest) -> Any:
    """Return a fitted estimator of the kind the forest was read from, with the forest's trees."""
    kind = forest.origin.partition(".")[2]
    if kind not in WRITERS:
        raise ValueError(f"to_estimator does not know how to make a {forest.origin!r}")
    if forest.n_sets > 0:
        raise ValueError(
            "this forest has categorical splits, and to_estimator writes splits by thresholds only; "
            "predict with the forest itself"
        )
    estimator = WRITERS[kind](forest, kind)
    estimator.n_features_in_ = forest.n_features
    if forest.feature_names is not None:
        estimator.feature_names_in_ = np.array(forest.feature_names, dtype=object)
    if forest.classes is not None:
        estimator.classes_ = forest.classes.copy()
    return estimator


def _write_single(forest: Forest, kind: str) -> Any:
    if forest.n_trees != 1:
        raise ValueError(f"a {kind} holds one tree, and this forest has {forest.n_trees}; select one of them")
    estimator = _fitted(getattr(sklearn.tree, kind)(), forest)
    value = forest.value * forest.tree_weight[0] + forest.base
    estimator.tree_ = write_tree(forest, 0, value, estimator.tree_)
    return estimator


def _write_mean(forest: Forest, kind: str) -> Any:
    estimator = _fitted(getattr(sklearn.ensemble, kind)(n_estimators=1), forest)
    value = forest.value
    if (forest.tree_weight != 1.0 / forest.n_trees).any():
        value = value * _per_node(forest, forest.tree_weight * forest.n_trees)
    if forest.base.any():
        value = value + forest.base
    members = _members(estimator.estimators_[0], forest, value)
    estimator.set_params(n_estimators=len(members))
    estimator.estimators_ = members
    if kind.startswith("Bagging"):
        estimator.estimators_features_ = [np.arange(forest.n_features)] * len(members)
    return estimator


def _write_ada_boost(forest: Forest, kind: str) -> Any:
    assert forest.classes is not None
    votes = vote_values(forest.n_classes)
    winner = np.abs(forest.value[:, None, :] - votes).sum(axis=2).argmin(axis=1)
    is_mean = abs(forest.tree_weight.sum() - 1.0) < 1e-9 and not forest.base.any()
    if not is_mean or not np.array_equal(votes[winner], forest.value):
        raise ValueError(
            "an AdaBoostClassifier is a weighted mean of votes, and this forest is not (any more): "
            "its values must be votes and its weights must sum to one"
        )
    learner = sklearn.tree.DecisionTreeClassifier()
    estimator = _fitted(getattr(sklearn.ensemble, kind)(learner, n_estimators=1), forest)
    members = _members(estimator.estimators_[0], forest, np.eye(forest.n_classes)[winner])
    for member in members:
        member.classes_ = forest.classes.copy()
    estimator.set_params(n_estimators=len(members))
    estimator.estimators_ = members
    estimator.estimator_weights_ = forest.tree_weight.copy()
    estimator.estimator_errors_ = np.full(len(members), np.nan)
    return estimator


def _write_gradient_boosting(forest: Forest, kind: str) -> Any:
    n_columns = forest.base.size
    estimator = _fitted(getattr(sklearn.ensemble, kind)(n_estimators=1, learning_rate=1.0), forest)
    if forest.classes is None:
        estimator.init_.constant_ = forest.base.reshape(1, 1)
    elif n_columns == 1:
        estimator.init_.class_prior_ = np.array([expit(-forest.base[0]), expit(forest.base[0])])
    else:
        estimator.init_.class_prior_ = softmax(forest.base)
    # What a prior cannot say goes into the first tree of each class.
    rounds = _in_rounds(forest, forest.base - initial_scores(estimator, n_columns))
    template = estimator.estimators_[0, 0]
    members = np.empty((len(rounds), n_columns), dtype=object)
    for r, trees in enumerate(rounds):
        for column, tree in enumerate(trees):
            members[r, column] = _member(template, tree)
    estimator.set_params(n_estimators=len(rounds))
    estimator.n_estimators_ = len(rounds)
    estimator.estimators_ = members
    return estimator


def _write_hist_gradient_boosting(forest: Forest, kind: str) -> Any:
    loss = {"loss": "poisson"} if forest.link == "exp" else {}
    estimator = _fitted(
        getattr(sklearn.ensemble, kind)(max_iter=1, learning_rate=1.0, **loss),
        forest,
        n_features=forest.n_features,
    )
    rounds = _in_rounds(forest, np.zeros(forest.base.size))
    template = estimator._predictors[0][0]
    no_categories = np.zeros((0, 8), dtype=np.uint32)
    estimator._predictors = [
        [
            type(template)(write_hist_nodes(*tree, template.nodes.dtype), no_categories, no_categories)
            for tree in trees
        ]
        for trees in rounds
    ]
    estimator._baseline_prediction = forest.base.reshape(1, -1).copy()
    estimator.set_params(max_iter=len(rounds))
    return estimator


def _fitted(estimator: Any, forest: Forest, n_features: int = 1) -> Any:
    """Return the estimator fitted on made-up rows with as many classes as the forest."""
    n_rows = max(2, forest.n_classes)
    X = np.zeros((n_rows, n_features), dtype=np.float32)
    X[:, 0] = np.arange(n_rows)
    return estimator.fit(X, np.arange(n_rows) % forest.n_classes if forest.classes is not None else np.ones(n_rows))


class _TreeToWrite(NamedTuple):
    """A tree to write: one of a forest's, with these values of the forest's nodes."""

    forest: Forest
    number: int
    value: NDArray[np.float64]


def _in_rounds(forest: Forest, extra: NDArray[np.float64]) -> list[list[_TreeToWrite]]:
    """Return the trees by round and column, weights and, in each column's first tree, `extra` folded in.

    Columns may have lost different numbers of trees: a single leaf stands where there is none.
    """
    stump = cut_back(forest.select([0]), np.zeros(forest.offset[1], np.bool_))
    value = forest.value * _per_node(forest, forest.tree_weight)
    by_column = [np.flatnonzero(forest.tree_column == column) for column in range(forest.base.size)]
    n_rounds = max(trees.size for trees in by_column)
    rounds: list[list[_TreeToWrite]] = [[] for _ in range(n_rounds)]
    for trees, more in zip(by_column, extra, strict=True):
        for r in range(n_rounds):
            tree = (
                _TreeToWrite(forest, int(trees[r]), value)
                if r < trees.size
                else _TreeToWrite(stump, 0, np.zeros((1, 1)))
            )
            if r == 0 and more != 0.0:
                tree = tree._replace(value=tree.value + more)
            rounds[r].append(tree)
    return rounds


def _members(template: Any, forest: Forest, value: NDArray[np.float64]) -> list[Any]:
    return [_member(template, _TreeToWrite(forest, index, value)) for index in range(forest.n_trees)]


def _member(template: Any, tree: _TreeToWrite) -> Any:
    member = copy(template)
    member.n_features_in_ = tree.forest.n_features
    member.tree_ = write_tree(*tree, template.tree_)
    return member


def _per_node(forest: Forest, of_tree: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.repeat(of_tree, np.diff(forest.offset))[:, None]


WRITERS: dict[str, Callable[[Forest, str], Any]] = {
    "RandomForestClassifier": _write_mean,
    "RandomForestRegressor": _write_mean,
    "ExtraTreesClassifier": _write_mean,
    "ExtraTreesRegressor": _write_mean,
    "BaggingClassifier": _write_mean,
    "BaggingRegressor": _write_mean,
    "DecisionTreeClassifier": _write_single,
    "DecisionTreeRegressor": _write_single,
    "ExtraTreeClassifier": _write_single,
    "ExtraTreeRegressor": _write_single,
    "GradientBoostingClassifier": _write_gradient_boosting,
    "GradientBoostingRegressor": _write_gradient_boosting,
    "HistGradientBoostingClassifier": _write_hist_gradient_boosting,
    "HistGradientBoostingRegressor": _write_hist_gradient_boosting,
    "AdaBoostClassifier": _write_ada_boost,
}
