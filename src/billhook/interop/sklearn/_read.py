"""Fitted scikit-learn ensembles as forests."""

from collections.abc import Callable
from dataclasses import replace
from inspect import getattr_static
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.dummy import DummyClassifier, DummyRegressor
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
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.validation import check_is_fitted

from billhook.forest import Forest
from billhook.interop._stack import Tree, growth_rank, mean_of_leaves, stack
from billhook.interop._thresholds import check_thresholds
from billhook.interop.sklearn._tree import HIST_NODE_FIELDS, checked_nodes, read_tree

# Losses of HistGradientBoostingRegressor whose raw score is the logarithm of the prediction.
LOG_LINK_LOSSES = ("poisson", "gamma")
# Those after which it fits the leaves anew, and only the leaves.
LEAF_FITTED_LOSSES = ("absolute_error", "quantile")


def read(model: Any) -> Forest:
    """Return the fitted estimator as a forest."""
    kind, reader = _reader_for(model)
    check_is_fitted(model)
    _check_predicts_as(model, kind)
    names = getattr(model, "feature_names_in_", None)
    return reader(
        model,
        {
            "n_features": int(model.n_features_in_),
            "feature_names": None if names is None else tuple(str(name) for name in names),
            "origin": f"sklearn.{kind.__name__}",
        },
    )


def _reader_for(model: Any) -> tuple[type, Callable[[Any, dict[str, Any]], Forest]]:
    for parent in type(model).__mro__:
        if parent in READERS:
            return parent, READERS[parent]
    name = type(model).__name__
    if hasattr(model, "steps"):
        hint = f"it is a {name}: pass its last step, model[-1], and transform the rows yourself"
    elif hasattr(model, "best_estimator_"):
        hint = f"it is a {name}: pass model.best_estimator_"
    else:
        hint = f"supported are {', '.join(sorted(kind.__name__ for kind in READERS))}"
    raise TypeError(f"as_forest cannot read a {name}; {hint}")


def _read_single(model: Any, about: dict[str, Any]) -> Forest:
    return _mean([read_tree(model.tree_)], _labels(model), about)


def _read_forest(model: Any, about: dict[str, Any]) -> Forest:
    return _mean([read_tree(member.tree_) for member in model.estimators_], _labels(model), about)


def _read_bagging(model: Any, about: dict[str, Any]) -> Forest:
    labels = _labels(model)
    trees = []
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        _check_member(model, member)
        tree = read_tree(member.tree_)
        value = tree.value
        if labels is not None and len(member.classes_) != labels.size:
            # A member that saw only some of the classes gives the others nothing.
            value = np.zeros((tree.left.size, labels.size))
            value[:, member.classes_] = tree.value
        feature = np.asarray(features)[np.maximum(tree.feature, 0)]  # a leaf's is negative, and never read
        trees.append(replace(tree, value=value, feature=feature))
    return _mean(trees, labels, about)


def _mean(trees: list[Tree], labels: NDArray[Any] | None, about: dict[str, Any]) -> Forest:
    return stack(
        trees,
        tree_weight=np.full(len(trees), 1.0 / len(trees)),
        tree_column=np.zeros(len(trees), np.int32),
        averages=True,
        base=np.zeros(1 if labels is None else labels.size),
        link="identity",
        task="regression" if labels is None else "classification",
        classes=labels,
        **about,
    )


def _read_ada_boost(model: Any, about: dict[str, Any]) -> Forest:
    """Every node votes for its most frequent class, and the vote is weighted (SAMME; Zhu et al. 2009)."""
    labels = _two_or_more_labels(model)
    n_classes = labels.size
    trees = []
    for member in model.estimators_:
        _check_member(model, member)
        tree = read_tree(member.tree_)
        winner = np.searchsorted(labels, np.asarray(member.classes_)[tree.value.argmax(axis=1)])
        trees.append(replace(tree, value=vote_values(n_classes)[winner]))
    weight = np.asarray(model.estimator_weights_, np.float64)[: len(trees)]
    return stack(
        trees,
        tree_weight=weight / weight.sum(),
        tree_column=np.zeros(len(trees), np.int32),
        averages=True,
        base=np.zeros(1 if n_classes == 2 else n_classes),
        link="logistic" if n_classes == 2 else "softmax",
        task="classification",
        classes=labels,
        **about,
    )


def vote_values(n_classes: int) -> NDArray[np.float64]:
    """Return the value of a vote for each class, scaled so that the link of the weighted mean is the probability.

    scikit-learn's decision function counts 1 for the class and -1/(C-1) for each other. For two classes it takes the
    difference of the two; for more, the softmax is of the C-1st part.
    """
    if n_classes == 2:
        return np.array([[-2.0], [2.0]])
    others = -1.0 / (n_classes - 1)
    return (np.eye(n_classes) * (1.0 - others) + others) / (n_classes - 1)


def _read_gradient_boosting(model: Any, about: dict[str, Any]) -> Forest:
    labels = _labels(model)
    n_rounds, n_columns = model.estimators_.shape
    # Under the exponential loss the probability is the logistic function of twice the raw score.
    scale = 2.0 if model.loss == "exponential" else 1.0
    trees = []
    for member in model.estimators_.ravel():
        tree = read_tree(member.tree_)
        # Only leaves hold what is added (a line search along the residuals); inner nodes, the mean of what is below.
        trees.append(replace(tree, value=mean_of_leaves(tree, scale * model.learning_rate * tree.value)))
    about["ties"] = "last" if labels is not None and n_columns == 1 else "first"
    return _boosted(trees, n_rounds, n_columns, initial_scores(model, n_columns), "identity", labels, about)


def initial_scores(model: Any, n_columns: int) -> NDArray[np.float64]:
    """Return the raw scores from which scikit-learn's gradient boosting starts."""
    init = model.init_
    if isinstance(init, str):  # "zero"
        return np.zeros(n_columns)
    if type(init) is DummyRegressor:
        return np.ravel(init.constant_).astype(np.float64)
    if type(init) is DummyClassifier and init.strategy != "stratified":  # which is random
        version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
        epsilon = np.finfo(np.float64 if version >= (1, 8) else np.float32).eps
        prior = np.clip(init.predict_proba(np.zeros((1, 1)))[0], epsilon, 1 - epsilon, dtype=np.float64)
        if n_columns == 1:
            # With the exponential loss, half of this, times the scale of two.
            return np.array([logit(prior[1])])
        return np.asarray(np.log(prior / np.exp(np.mean(np.log(prior)))))
    raise TypeError(
        f"as_forest cannot read a {type(model).__name__} that starts from a {type(init).__name__}; "
        "fit it with init=None or init='zero'"
    )


def _read_hist_gradient_boosting(model: Any, about: dict[str, Any]) -> Forest:
    if not isinstance(model.loss, str):
        raise TypeError(f"as_forest reads losses given by name, not {model.loss!r}")
    labels = None if isinstance(model, HistGradientBoostingRegressor) else _two_or_more_labels(model)
    # It compares float64 rows.
    about["rounding"] = "down"
    # Where there are categorical features, the trees see them first and the others after them.
    categorical = np.zeros(about["n_features"], bool) if model.is_categorical_ is None else model.is_categorical_
    seen_as = np.argsort(~categorical, kind="stable")
    leaf_fitted = model.loss in LEAF_FITTED_LOSSES
    rounds = model._predictors
    trees = []
    for predictor in (predictor for one_round in rounds for predictor in one_round):
        nodes = checked_nodes(predictor.nodes, HIST_NODE_FIELDS)
        is_leaf = nodes["is_leaf"].astype(bool)
        feature = seen_as[nodes["feature_idx"]]
        _refuse_categories(model, feature[nodes["is_categorical"].astype(bool) & ~is_leaf], about)
        left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
        right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
        tree = Tree(
            feature=feature,
            threshold=nodes["num_threshold"],
            left=left,
            right=right,
            missing_left=nodes["missing_go_to_left"],
            value=nodes["value"][:, None],
            n_rows=nodes["count"],
            row_weight=nodes["count"],
            impurity=np.zeros(left.size),
            growth_rank=growth_rank(left, right, nodes["gain"]),
        )
        # Inner nodes hold their Newton step before shrinkage, the root nothing.
        mean = mean_of_leaves(tree, tree.value)
        value = np.where(is_leaf[:, None], tree.value, mean if leaf_fitted else model.learning_rate * tree.value)
        value[0] = mean[0]
        trees.append(replace(tree, value=value))
    check_thresholds(
        np.concatenate([tree.feature[tree.left >= 0] for tree in trees]),
        np.concatenate([tree.threshold[tree.left >= 0] for tree in trees]),
        type(model).__name__,
    )
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    link = "exp" if model.loss in LOG_LINK_LOSSES else "identity"
    return _boosted(trees, len(rounds), base.size, base, link, labels, about)


def _refuse_categories(model: Any, split_on: NDArray[Any], about: dict[str, Any]) -> None:
    if split_on.size:
        names = about["feature_names"]
        which = f"feature {split_on[0]}" if names is None else f"feature {names[split_on[0]]!r}"
        raise ValueError(
            f"the {type(model).__name__} splits the categories of {which}, and as_forest cannot read categorical "
            "splits; encode the column (one-hot or ordered numbers) and fit without categorical_features"
        )


def _boosted(
    trees: list[Tree],
    n_rounds: int,
    n_columns: int,
    base: NDArray[np.float64],
    regression_link: str,
    labels: NDArray[Any] | None,
    about: dict[str, Any],
) -> Forest:
    return stack(
        trees,
        tree_weight=np.ones(len(trees)),
        tree_column=np.tile(np.arange(n_columns, dtype=np.int32), n_rounds),
        averages=False,
        base=base,
        link=regression_link if labels is None else "logistic" if n_columns == 1 else "softmax",
        task="regression" if labels is None else "classification",
        classes=labels,
        **about,
    )


def _labels(model: Any) -> NDArray[Any] | None:
    return np.asarray(model.classes_) if hasattr(model, "classes_") else None


def _two_or_more_labels(model: Any) -> NDArray[Any]:
    labels = np.asarray(model.classes_)
    if labels.size < 2:
        raise ValueError(
            f"the {type(model).__name__} was fitted on the one class {labels[0]!r}; it needs two or more"
        )
    return labels


def _check_member(model: Any, member: Any) -> None:
    kind = DecisionTreeClassifier if hasattr(model, "classes_") else DecisionTreeRegressor
    if not isinstance(member, kind):
        raise TypeError(
            f"as_forest reads a {type(model).__name__} over decision trees of its own task, "
            f"not over {type(member).__name__}"
        )
    _check_predicts_as(member, kind)


def _check_predicts_as(model: Any, kind: type) -> None:
    """Refuse a subclass that predicts in a way of its own."""
    for name in ("predict", "predict_proba", "decision_function"):
        if getattr_static(type(model), name, None) is not getattr_static(kind, name, None):
            raise TypeError(
                f"as_forest cannot read a {type(model).__name__}: it is a {kind.__name__} with a {name} of its own"
            )


READERS: dict[type, Callable[[Any, dict[str, Any]], Forest]] = {
    RandomForestClassifier: _read_forest,
    RandomForestRegressor: _read_forest,
    ExtraTreesClassifier: _read_forest,
    ExtraTreesRegressor: _read_forest,
    DecisionTreeClassifier: _read_single,
    DecisionTreeRegressor: _read_single,
    ExtraTreeClassifier: _read_single,
    ExtraTreeRegressor: _read_single,
    BaggingClassifier: _read_bagging,
    BaggingRegressor: _read_bagging,
    GradientBoostingClassifier: _read_gradient_boosting,
    GradientBoostingRegressor: _read_gradient_boosting,
    HistGradientBoostingClassifier: _read_hist_gradient_boosting,
    HistGradientBoostingRegressor: _read_hist_gradient_boosting,
    AdaBoostClassifier: _read_ada_boost,
}
