"""The trees of a CatBoost model as nodes in the order of their levels, all nodes of a level side by side."""

from collections.abc import Sequence
from functools import lru_cache
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._stack import Tree, growth_rank
from billhook.interop.catboost._features import NumberedTests
from billhook.interop.catboost._json import list_of, numbers_of, record_of
from billhook.kernels import average_upwards

# CatBoost grows none that are deeper.
MOST_LEVELS = 16


class LeveledTree(NamedTuple):
    """A tree whose inner nodes have no values yet.

    Attributes
    ----------
    test : int64 array (nodes)
        The number of the split's test, -1 for a leaf.
    left, right : int64 array (nodes)
        -1 for a leaf.
    level : int64 array (nodes)
    value : float64 array (nodes, values)
    weight : float64 array (nodes), optional
        Of the training rows in leaves, 0 for splits; None if the model does not say.
    """

    test: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    level: NDArray[np.int64]
    value: NDArray[np.float64]
    weight: NDArray[np.float64] | None


def symmetric_tree(tree: Any, tests: NumberedTests) -> LeveledTree:
    """Return a tree that asks the same of all rows on a level: one split for each level, and 2^levels leaves.

    The root is the first split, and its answer the lowest bit of the number of a leaf in CatBoost. All that are in a
    category go left here and right there, so that unknown ones can go the other way.
    """
    tree = record_of(tree, ("splits", "leaf_values", "leaf_weights"), "a tree")
    splits = list_of(tree.get("splits"), "splits")
    depth = len(splits)
    if depth > MOST_LEVELS:
        raise ModelFileError(f"a tree has {depth} levels; CatBoost's have {MOST_LEVELS} at most")
    test = np.array([_number_of(split, tests) for split in splits], np.int64)
    values = numbers_of(tree.get("leaf_values"), "leaf_values")
    n_leaves = 2**depth
    if not values.size or values.size % n_leaves:
        raise ModelFileError(f"a tree of {depth} levels has {values.size} leaf values")
    values = values.reshape(n_leaves, -1)
    turned = sum(1 << level for level, number in enumerate(test) if tests.asks_category[number])
    shape = _symmetric_shape(depth)
    number = shape.leaf_number ^ turned
    weight = None
    if tree.get("leaf_weights") is not None:
        weights = numbers_of(tree["leaf_weights"], "leaf_weights")
        if weights.size != n_leaves:
            raise ModelFileError(f"a tree of {n_leaves} leaves has {weights.size} leaf weights")
        weight = np.concatenate([np.zeros(n_leaves - 1), weights[number]])
    return LeveledTree(
        np.append(test, -1)[shape.level],
        shape.left,
        shape.right,
        shape.level,
        np.concatenate([np.zeros((n_leaves - 1, values.shape[1])), values[number]]),
        weight,
    )


def any_tree(tree: Any, tests: NumberedTests) -> LeveledTree:
    """Return a tree of any shape, which stands in the model as objects within objects."""
    nodes, level, test = [tree], [0], []
    left: list[int] = []
    value: list[Any] = []
    weight: list[Any] = []
    for number, node in enumerate(nodes):  # which grows on the way
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
        is_turned = tests.asks_category[asked]  # see `symmetric_tree`
        nodes += (node["right"], node["left"]) if is_turned else (node["left"], node["right"])
        level += [level[number] + 1] * 2
    first = np.array(left, np.int64)
    is_leaf = first < 0
    return LeveledTree(
        np.array(test, np.int64),
        first,
        np.where(is_leaf, -1, first + 1),
        np.array(level, np.int64),
        _spread(_values(value), is_leaf),
        None if None in weight else _spread(numbers_of(weight, "weights")[:, None], is_leaf)[:, 0],
    )


def finished(trees: Sequence[LeveledTree], tests: NumberedTests) -> list[Tree]:
    """Return the trees with values for inner nodes, and an order in which to cut them back.

    CatBoost has no gains of single splits in its models: they are estimated by what the split takes away from the
    variance of the leaf values below it.
    """
    offset = np.append(0, np.cumsum([tree.left.size for tree in trees]))
    first = np.repeat(offset[:-1], np.diff(offset))
    columns = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in ("test", "left", "right")}
    is_leaf = columns["left"] < 0
    left = np.where(is_leaf, -1, columns["left"] + first).astype(np.int32)
    right = np.where(is_leaf, -1, columns["right"] + first).astype(np.int32)
    value = np.concatenate([tree.value for tree in trees])
    # Leaves of unknown weight count alike.
    weight = np.concatenate([1.0 * (tree.left < 0) if tree.weight is None else tree.weight for tree in trees])
    if (weight < 0.0).any():
        raise ModelFileError("the weight of a leaf is negative")
    with np.errstate(over="ignore", invalid="ignore"):  # an infinity is found out by the forest
        _sum_upwards(weight, left, right, np.concatenate([tree.level for tree in trees]))
        average_upwards(left, right, weight, value)
        gain = _gains(left, right, weight, value)
    known = np.repeat([tree.weight is not None for tree in trees], np.diff(offset))
    row_weight = np.where(known, weight, 0.0)
    # Rows weigh one each unless they were given weights.
    are_counts = (row_weight == np.rint(row_weight)).all() and row_weight.max() < 2**53
    n_rows = row_weight if are_counts else np.zeros(is_leaf.size)
    nothing = np.zeros(is_leaf.size)
    result = []
    for begin, end in zip(offset[:-1].tolist(), offset[1:].tolist(), strict=True):
        part = slice(begin, end)
        test = columns["test"][part]
        result.append(
            Tree(
                feature=tests.feature[test],
                threshold=tests.threshold[test],
                left=columns["left"][part],
                right=columns["right"][part],
                missing_left=tests.missing_left[test],
                value=value[part],
                n_rows=n_rows[part],
                row_weight=row_weight[part],
                impurity=nothing[part],
                growth_rank=growth_rank(columns["left"][part], columns["right"][part], gain[part]),
                category_sets=_category_sets(test, tests),
            )
        )
    return result


class _Shape(NamedTuple):
    """What all symmetric trees of a depth have in common; the nodes are those of a heap."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    level: NDArray[np.int64]
    leaf_number: NDArray[np.int64]


@lru_cache(maxsize=MOST_LEVELS + 1)
def _symmetric_shape(depth: int) -> _Shape:
    node = np.arange(2 ** (depth + 1) - 1)
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
    weight: NDArray[np.float64], left: NDArray[np.int32], right: NDArray[np.int32], level: NDArray[np.int64]
) -> None:
    """Set the weight of every split to the sum of its leaves', one level of all trees after the other."""
    splits = np.flatnonzero(left >= 0)
    splits = splits[np.argsort(level[splits], kind="stable")]
    begin = np.flatnonzero(np.diff(level[splits], prepend=-1))
    for nodes in reversed(np.split(splits, begin[1:])):
        weight[nodes] = weight[left[nodes]] + weight[right[nodes]]


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


def _category_sets(test: NDArray[np.int64], tests: NumberedTests) -> dict[int, NDArray[Any]]:
    nodes = np.flatnonzero(tests.asks_category[test])
    return {node: tests.categories[test[node]] for node in nodes.tolist()}
