"""Trees, and the means of trees."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop._stack import Tree, stack
from billhook.interop.sklearn._checks import check_member, labels_of
from billhook.interop.sklearn._tree import read_tree


def read_single(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the one tree of a decision tree."""
    return mean([read_tree(model.tree_, output)], labels_of(model, output), about)


def read_forest(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the mean of a random forest's trees."""
    trees = [read_tree(member.tree_, output) for member in model.estimators_]
    return mean(trees, labels_of(model, output), about)


def read_bagging(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the mean of bagged trees, each of which sees some of the features."""
    labels = labels_of(model, output)
    trees = []
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        check_member(model, member)
        tree = read_tree(member.tree_, output)
        value = tree.value
        if labels is not None and len(member.classes_) != labels.size:
            # A member that saw only some of the classes gives the others nothing.
            value = np.zeros((tree.left.size, labels.size))
            value[:, member.classes_] = tree.value
        feature = np.asarray(features)[np.maximum(tree.feature, 0)]  # a leaf's is negative, and never read
        trees.append(replace(tree, value=value, feature=feature))
    return mean(trees, labels, about)


def mean(trees: list[Tree], labels: NDArray[Any] | None, about: dict[str, Any]) -> Forest:
    """Return the mean of the trees: numbers, or probabilities of these classes."""
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
