"""The trees of a CatBoost model as nodes, parents before their children."""

from functools import lru_cache
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._stack import growth_rank
from billhook.interop.catboost._features import NumberedTests
from billhook.interop.catboost._json import list_of, numbers_of, record_of
from billhook.kernels import average_upwards

# CatBoost grows none that are deeper.
MOST_LEVELS = 16


class OneTree(NamedTuple):
    """A tree whose inner nodes have no values yet; parents come before their children.

    Attributes
    ----------
    test : int32 array (nodes)
        The number of the split's test, -1 for a leaf.
    left, right : int32 array (nodes)
        -1 for a leaf.
    value : float64 array (nodes, values)
        0 for splits.
    weight : float64 array (nodes), optional
        Of the training rows in leaves, 0 for splits; None if the model does not say.
    """

    test: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    weight: NDArray[np.float64] | None


class AllTrees(NamedTuple):
    """The trees of a model one after the other, as `OneTree` has each.

    Attributes
    ----------
    n_nodes : int64 array (trees)
    is_weighed : bool array (trees)
        Whether the model says how many training rows are in the leaves; if not, leaves weigh alike.
    """

    n_nodes: NDArray[np.int64]
    test: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    weight: NDArray[np.float64]
    is_weighed: NDArray[np.bool_]


def symmetric_tree(tree: Any, tests: NumberedTests) -> OneTree:
    """Return a tree of a JSON model that asks the same of all rows on a level."""
    tree = record_of(tree, ("splits", "leaf_values", "leaf_weights"), "a tree")
    splits = list_of(tree.get("splits"), "splits")
    check_depth(len(splits))
    test = np.array([_number_of(split, tests) for split in splits], np.int32)
    values = numbers_of(tree.get("leaf_values"), "leaf_values")
    n_leaves = 2 ** len(splits)
    if not values.size or values.size % n_leaves:
        raise ModelFileError(f"a tree of {len(splits)} levels has {values.size} leaf values")
    weights = None
    if tree.get("leaf_weights") is not None:
        weights = numbers_of(tree["leaf_weights"], "leaf_weights")
        if weights.size != n_leaves:
            raise ModelFileError(f"a tree of {n_leaves} leaves has {weights.size} leaf weights")
    return tree_of_levels(test, values.reshape(n_leaves, -1), weights, tests)


def check_depth(depth: int) -> None:
    """Raise ModelFileError for a symmetric tree that is deeper than any."""
    if not 0 <= depth <= MOST_LEVELS:
        raise ModelFileError(f"a tree has {depth} levels; CatBoost's have {MOST_LEVELS} at most")


def tree_of_levels(
    test: NDArray[np.int32],
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    tests: NumberedTests,
) -> OneTree:
    """Return the tree that has one test for each level, and 2^levels leaves.

    The root is the first test, and its answer the lowest bit of the number of a leaf in CatBoost. All that are in a
    category go left here and right there, so that unknown ones can go the other way.
    """
    n_splits = 2**test.size - 1
    shape = _symmetric_shape(test.size)
    number = shape.leaf_number ^ sum(1 << level for level, number in enumerate(test) if tests.asks_category[number])
    return OneTree(
        np.append(test, np.int32(-1))[shape.level],
        shape.left,
        shape.right,
        np.concatenate([np.zeros((n_splits, values.shape[1])), values[number]]),
        None if weights is None else np.concatenate([np.zeros(n_splits), weights[number]]),
    )


def any_tree(tree: Any, tests: NumberedTests) -> OneTree:
    """Return a tree of any shape of a JSON model, in which it stands as objects within objects."""
    nodes, test = [tree], []
    left: list[int] = []
    value: list[Any] = []
    weight: list[Any] = []
    for node in nodes:  # which grows on the way
        if not isinstance(node, dict):
            raise ModelFileError("a node of a tree is not a JSON object")
        if "value" in node:
            record_of(node, ("value", "weight"), "a leaf")
            test.append(-1)
            left.append(-1)
            value.append(node["value"])
            weight.append(node.get("weight"))
            continue
        if node.keys() != {"split", "left", "right"}:
            raise ModelFileError("a node of a tree has neither a value nor a split and two children")
        asked = _number_of(node["split"], tests)
        test.append(asked)
        left.append(len(nodes))
        is_turned = tests.asks_category[asked]  # see `tree_of_levels`
        nodes += (node["right"], node["left"]) if is_turned else (node["left"], node["right"])
    first = np.array(left, np.int32)
    is_leaf = first < 0
    return OneTree(
        np.array(test, np.int32),
        first,
        np.where(is_leaf, first, first + 1),
        _spread(_values(value), is_leaf),
        None if None in weight else _spread(numbers_of(weight, "weights")[:, None], is_leaf)[:, 0],
    )


def all_trees(trees: list[OneTree]) -> AllTrees:
    """Return the trees one after the other. The list is emptied, so that they are in memory once less."""
    n_values = trees[0].value.shape[1]
    if any(tree.value.shape[1] != n_values for tree in trees):
        raise ModelFileError("trees have different numbers of values a leaf")
    parts = list(zip(*trees, strict=True))
    trees.clear()
    test, left, right, value, weight = parts
    # Leaves of unknown weight count alike.
    known = [1.0 * (one < 0) if own is None else own for one, own in zip(left, weight, strict=True)]
    return AllTrees(
        np.array([one.size for one in left]),
        np.concatenate(test),
        np.concatenate(left),
        np.concatenate(right),
        np.concatenate(value),
        np.concatenate(known),
        np.array([own is not None for own in weight]),
    )


def finished(trees: AllTrees, tests: NumberedTests) -> tuple[dict[str, NDArray[Any]], dict[int, NDArray[Any]]]:
    """Return what `join` takes: values for inner nodes too, and an order in which to cut the trees back.

    CatBoost has no gains of single splits in its models: they are estimated by what the split takes away from the
    variance of the leaf values below it.
    """
    offset = np.append(0, np.cumsum(trees.n_nodes))
    first = np.repeat(offset[:-1].astype(np.int32), trees.n_nodes)
    is_leaf = trees.left < 0
    left, right = np.where(is_leaf, -1, trees.left + first), np.where(is_leaf, -1, trees.right + first)
    value, weight = trees.value, trees.weight
    if (weight < 0.0).any():
        raise ModelFileError("the weight of a leaf is negative")
    with np.errstate(over="ignore", invalid="ignore"):  # an infinity is found out by the forest
        _sum_upwards(weight, left, right, offset[:-1])
        average_upwards(left, right, weight, value)
        gain = _gains(left, right, weight, value)
    row_weight = np.where(np.repeat(trees.is_weighed, trees.n_nodes), weight, 0.0)
    # Rows weigh one each unless they were given weights.
    are_counts = (row_weight == np.rint(row_weight)).all() and row_weight.max() < 2**53
    rank = np.empty(is_leaf.size, np.int32)
    for begin, end in zip(offset[:-1].tolist(), offset[1:].tolist(), strict=True):
        part = slice(begin, end)
        rank[part] = growth_rank(trees.left[part], trees.right[part], gain[part])
    columns: dict[str, NDArray[Any]] = {
        "feature": tests.feature[trees.test],
        "threshold": tests.threshold[trees.test],
        "left": trees.left,
        "right": trees.right,
        "missing_left": tests.missing_left[trees.test],
        "value": value,
        "n_rows": row_weight.astype(np.int64) if are_counts else np.zeros(is_leaf.size, np.int64),
        "row_weight": row_weight,
        "impurity": np.zeros(is_leaf.size),
        "growth_rank": rank,
    }
    asking = np.flatnonzero(tests.asks_category[trees.test]).tolist()
    return columns, {node: tests.categories[trees.test[node]] for node in asking}


class _Shape(NamedTuple):
    """What all symmetric trees of a depth have in common; the nodes are those of a heap."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    level: NDArray[np.int64]
    leaf_number: NDArray[np.int64]


@lru_cache(maxsize=MOST_LEVELS + 1)
def _symmetric_shape(depth: int) -> _Shape:
    node = np.arange(2 ** (depth + 1) - 1, dtype=np.int32)
    is_leaf = node >= 2**depth - 1
    leaf_number = np.zeros(1, np.int64)
    for level in reversed(range(depth)):
        leaf_number = np.concatenate([leaf_number, leaf_number + (1 << level)])
    return _Shape(
        np.where(is_leaf, -1, 2 * node + 1),
        np.where(is_leaf, -1, 2 * node + 2),
        np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1)),
        leaf_number,
    )


def _number_of(split: Any, tests: NumberedTests) -> int:
    """Return the number of what a split asks; it must be the same that the split has written beside it."""
    if not isinstance(split, dict):
        raise ModelFileError("a split is not a JSON object")
    kind = split.get("split_type")
    if kind == "FloatFeature":
        asked = (kind, split.get("float_feature_index"), split.get("border"))
    elif kind == "OneHotFeature":
        asked = (kind, split.get("cat_feature_index"), split.get("value"))
    else:
        raise ModelFileError(f"a split is of the type {kind!r}, which is not known")
    try:
        number = tests.asked.get(asked)  # type: ignore[arg-type]  # whatever stands there
    except TypeError:
        number = None
    if number is None or split.get("split_index") != number:
        raise ModelFileError(f"a split asks for {short(asked)}, and features_info has no such border or category")
    return number


def _values(value: list[Any]) -> NDArray[np.float64]:
    """Return the values of leaves, each one number or as many as those of the others."""
    if not isinstance(value[0], list):
        return numbers_of(value, "the values of leaves")[:, None]
    n_values = len(value[0])
    if not n_values or not all(isinstance(one, list) and len(one) == n_values for one in value):
        raise ModelFileError("leaves have different numbers of values")
    return numbers_of([number for one in value for number in one], "the values of leaves").reshape(-1, n_values)


def _spread(of_leaves: NDArray[np.float64], is_leaf: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return rows for all nodes of which only those of leaves are given; others are 0."""
    rows = np.zeros((is_leaf.size, of_leaves.shape[1]))
    rows[is_leaf] = of_leaves
    return rows


def _sum_upwards(
    weight: NDArray[np.float64], left: NDArray[np.int32], right: NDArray[np.int32], root: NDArray[np.int64]
) -> None:
    """Set the weight of every split to the sum of its leaves', one level of all trees after the other."""
    levels, nodes = [], root
    while nodes.size:
        splits = nodes[left[nodes] >= 0]
        levels.append(splits)
        nodes = np.concatenate([left[splits], right[splits]])
    for splits in reversed(levels):
        weight[splits] = weight[left[splits]] + weight[right[splits]]


def _gains(
    left: NDArray[np.int32], right: NDArray[np.int32], weight: NDArray[np.float64], value: NDArray[np.float64]
) -> NDArray[np.float64]:
    gain = np.zeros(left.size)
    splits = np.flatnonzero(left >= 0)
    to_left, to_right = left[splits], right[splits]
    apart = ((value[to_left] - value[to_right]) ** 2).sum(axis=1)
    both = np.maximum(weight[splits], np.finfo(np.float64).tiny)
    gain[splits] = apart * weight[to_left] * (weight[to_right] / both)
    return gain
