"""What the weights of an ensemble's leaves are to a Forest, by the rules of ONNX Runtime."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.interop._outputs import SeveralOutputsError
from billhook.interop.onnx._attributes import Attributes
from billhook.interop.onnx._ensemble import OnnxTrees

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
# Of nodes and classes, where a few weights can stand for many: 2 GB.
MAX_VALUES = 2**28


class LeafScores(NamedTuple):
    """What the weights of leaves are to a Forest.

    Attributes
    ----------
    value : float64 array (nodes, values)
    tree_column : int array (trees)
    base : float64 array (columns)
    link : str
    averages : bool
        Whether the trees are averaged, or have shares in probabilities.
    classes : array or None
    """

    value: NDArray[np.float64]
    tree_column: NDArray[np.int64]
    base: NDArray[np.float64]
    link: str
    averages: bool
    classes: NDArray[Any] | None


def regressor_scores(attributes: Attributes, ensemble: OnnxTrees, output: int | None, by_ids: bool) -> LeafScores:
    """Return the scores of one target."""
    if by_ids:
        post, aggregate = attributes.text("post_transform", "NONE"), attributes.text("aggregate_function", "SUM")
        base = attributes.numbers("base_values").astype(np.float64)
    else:
        post = _named(POST_TRANSFORMS, attributes.integer("post_transform", 0), "post_transform")
        aggregate = _named(AGGREGATES, attributes.integer("aggregate_function", 1), "aggregate_function")
        base = np.zeros(0)
    if post != "NONE":
        raise TypeError(
            f"the post_transform {post} of a regressor is not applied by ONNX Runtime where there is one target; "
            "as_forest reads NONE"
        )
    if aggregate not in ("SUM", "AVERAGE"):
        raise TypeError(f"as_forest reads the aggregate_function SUM and AVERAGE, not {aggregate}")
    n_targets = attributes.integer("n_targets", 1)
    if not 1 <= n_targets < 2**31 or base.size not in (0, n_targets):
        raise ValueError(f"base_values has {base.size} entries for {n_targets} targets")
    if output is None and n_targets > 1:
        raise SeveralOutputsError("the model", n_targets)
    target = 0 if output is None else output
    if not isinstance(target, int) or not 0 <= target < n_targets:
        raise ValueError(f"output must be the number of one of the model's {n_targets} targets, not {output!r}")
    check_weights(ensemble, n_targets)
    of_target = ensemble.column == target
    if base.size > 1 and not _is_always_scored(ensemble, ensemble.place[of_target]):
        raise TypeError(
            f"target {target} has no weight in some leaves of every tree, and ONNX Runtime leaves its base value out "
            "where it has none; give the leaves a weight of 0 for it"
        )
    value = np.zeros((ensemble.nodes.left.size, 1))
    value[ensemble.place[of_target], 0] = ensemble.weight[of_target]
    base = base[target : target + 1] if base.size else np.zeros(1)
    no_column = np.zeros(ensemble.root.size, np.int64)
    return LeafScores(value, no_column, base, "identity", aggregate == "AVERAGE", None)


def _named(names: tuple[str, ...], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise TypeError(f"as_forest does not know {what} {number}")
    return names[number]


def classifier_scores(attributes: Attributes, ensemble: OnnxTrees) -> LeafScores:
    """Return the scores of a classifier."""
    labels: list[Any] = attributes.texts("classlabels_strings")
    classes = np.array(labels) if labels else attributes.integers("classlabels_int64s")
    post = attributes.text("post_transform", "NONE")
    base = attributes.numbers("base_values").astype(np.float64)
    if post not in POST_TRANSFORMS[:3]:
        raise TypeError(f"as_forest reads the post_transform NONE, SOFTMAX and LOGISTIC, not {post}")
    if classes.size < 2:
        raise TypeError(f"as_forest reads classifiers of two or more classes; this one has {classes.size}")
    check_weights(ensemble, classes.size)
    if classes.size == 2:
        return _two_classes(ensemble, classes, post, base)
    if base.size not in (0, classes.size):
        raise ValueError(f"base_values has {base.size} entries for {classes.size} classes")
    if post == "LOGISTIC":
        raise TypeError(
            f"LOGISTIC for {classes.size} classes gives each a probability of its own; as_forest reads SOFTMAX and "
            "NONE for more than two classes"
        )
    if base.size == 0:
        _check_all_are_scored(ensemble, classes.size)
    value, tree_column = columns_of(ensemble, classes.size)
    return LeafScores(
        value,
        tree_column,
        base if base.size else np.zeros(classes.size),
        "softmax" if post == "SOFTMAX" else "identity",
        post == "NONE" and bool((ensemble.weight >= 0).all()),
        classes,
    )


def _two_classes(ensemble: OnnxTrees, classes: NDArray[Any], post: str, base: NDArray[np.float64]) -> LeafScores:
    """Return the scores of two classes, by the rules of ONNX Runtime.

    It takes the sum s of weights for the first class as the score of the second. Where no weight is negative, it is a
    probability: the second class wins above 0.5, and the scores are 1 - s and s; else it wins above 0, and the scores
    are -s and s.
    """
    if (ensemble.column != 0).any() or base.size > 1:
        raise TypeError(
            "ONNX Runtime does not compare the scores of two classes if both have weights or base_values; as_forest "
            "reads classifiers of two classes with all weights and one base value for the first (class_ids 0)"
        )
    is_share = bool((ensemble.weight >= 0).all())
    if post == "SOFTMAX":
        raise TypeError("ONNX Runtime does not apply SOFTMAX to the one score of two classes; use LOGISTIC")
    value = np.zeros((ensemble.nodes.left.size, 1))
    value[ensemble.place, 0] = ensemble.weight
    start = float(base[0]) if base.size else 0.0
    no_column = np.zeros(ensemble.root.size, np.int64)
    if post == "LOGISTIC":
        if is_share:
            raise TypeError(
                "no weight is negative, and ONNX Runtime then chooses the second class from a score of 0.5 on, "
                "against the probabilities that LOGISTIC makes of it"
            )
        return LeafScores(value, no_column, np.array([start]), "logistic", False, classes)
    both = np.array([1.0 - start if is_share else -start, start])
    return LeafScores(value * [-1.0, 1.0], no_column, both, "identity", is_share, classes)


def _check_all_are_scored(ensemble: OnnxTrees, n_classes: int) -> None:
    """Raise TypeError if a class may have no weight in a row: ONNX Runtime never chooses it then, whatever it is."""
    if (ensemble.weight > 0).all():
        return
    order = np.argsort(ensemble.column, kind="stable")
    ends = np.cumsum(np.bincount(ensemble.column, minlength=n_classes))[:-1]
    for place in np.split(ensemble.place[order], ends):
        if not _is_always_scored(ensemble, place):
            raise TypeError(
                "a class has no weight in some leaves of every tree, and ONNX Runtime then never chooses it, even "
                "where the scores of the others are negative; give the leaves a weight of 0 for it"
            )


def _is_always_scored(ensemble: OnnxTrees, place: NDArray[np.int64]) -> bool:
    """Return whether there is a tree all of whose leaves are among these places."""
    n_trees = ensemble.root.size
    n_leaves = np.bincount(ensemble.tree[ensemble.nodes.left < 0], minlength=n_trees)
    return bool((np.bincount(ensemble.tree[place], minlength=n_trees) == n_leaves).any())


def check_weights(ensemble: OnnxTrees, n_columns: int) -> None:
    """Raise ValueError unless every leaf has at most one weight for each column."""
    column = ensemble.column
    if column.size and (column.min() < 0 or column.max() >= n_columns):
        raise ValueError(f"weights must be for columns from 0 to {n_columns - 1}")
    key = np.sort(ensemble.place * n_columns + column)
    if (key[1:] == key[:-1]).any():
        raise ValueError("a leaf has two weights for the same column")


def columns_of(ensemble: OnnxTrees, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the values of the nodes for all classes, or for the one that each tree serves, and which that is."""
    n_nodes, n_trees = ensemble.nodes.left.size, ensemble.root.size
    lowest, highest = np.full(n_trees, n_classes), np.zeros(n_trees, np.int64)
    of_tree = ensemble.tree[ensemble.place]
    np.minimum.at(lowest, of_tree, ensemble.column)
    np.maximum.at(highest, of_tree, ensemble.column)
    if (lowest >= highest).all():
        value = np.zeros((n_nodes, 1))
        value[ensemble.place, 0] = ensemble.weight
        return value, highest
    if n_nodes * n_classes > MAX_VALUES:
        raise ValueError(
            f"{n_nodes:,} nodes with values for {n_classes:,} classes are too many; convert a smaller model"
        )
    value = np.zeros((n_nodes, n_classes))
    value[ensemble.place, ensemble.column] = ensemble.weight
    return value, np.zeros(n_trees, np.int64)
