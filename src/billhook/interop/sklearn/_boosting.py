"""Boosting on sorted values: AdaBoost and gradient boosting."""

from dataclasses import replace
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.dummy import DummyClassifier, DummyRegressor

from billhook.forest import Forest
from billhook.interop._stack import Tree, mean_of_leaves, stack
from billhook.interop.sklearn._checks import check_member, labels_of, two_or_more_labels
from billhook.interop.sklearn._tree import read_tree


def read_ada_boost(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the weighted mean of votes: every node votes for its most frequent class (SAMME; Zhu et al. 2009)."""
    labels = two_or_more_labels(model)
    n_classes = labels.size
    trees = []
    for member in model.estimators_:
        check_member(model, member)
        tree = read_tree(member.tree_, output)
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


def read_gradient_boosting(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the sum of gradient boosting's trees."""
    labels = labels_of(model, output)
    n_rounds, n_columns = model.estimators_.shape
    # Under the exponential loss the probability is the logistic function of twice the raw score.
    scale = 2.0 if model.loss == "exponential" else 1.0
    trees = []
    for member in model.estimators_.ravel():
        tree = read_tree(member.tree_, output)
        # Only leaves hold what is added (a line search along the residuals); inner nodes, the mean of what is below.
        trees.append(replace(tree, value=mean_of_leaves(tree, scale * model.learning_rate * tree.value)))
    about["ties"] = "last" if labels is not None and n_columns == 1 else "first"
    return boosted(trees, n_rounds, n_columns, initial_scores(model, n_columns), "identity", labels, about)


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


def boosted(
    trees: list[Tree],
    n_rounds: int,
    n_columns: int,
    base: NDArray[np.float64],
    regression_link: str,
    labels: NDArray[Any] | None,
    about: dict[str, Any],
) -> Forest:
    """Return the sum of the trees, which come in rounds of one for each column."""
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
