"""The JSON object that LightGBM's dump_model makes."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.interop._json_parts import OneByOne
from billhook.interop.lightgbm._model import LINEAR, NO_TREES, ColumnRange, Written, check_version, checked_categories
from billhook.interop.lightgbm._trees import CATEGORICAL, DEFAULT_LEFT, INFINITY, FlatTrees, joined, trees_of
from billhook.interop.lightgbm._zero import Missing

MISSING = {"None": Missing.NONE, "Zero": Missing.ZERO, "NaN": Missing.NAN}
BETWEEN_CATEGORIES = "||"
MOST = 2**31 - 1
FINITE = float(np.finfo(np.float64).max)
OF_TEST = ("split_feature", "split_gain", "threshold", "decision_type", "default_left", "missing_type")
OF_ROWS = ("internal_value", "internal_weight", "internal_count")
OF_SPLIT = frozenset(("split_index", *OF_TEST, *OF_ROWS, "left_child", "right_child"))
OF_LEAF = frozenset(("leaf_index", "leaf_value", "leaf_weight", "leaf_count"))
OF_LINEAR_LEAF = frozenset(("leaf_const", "leaf_features", "leaf_coeff"))

# Feature, threshold, decision type, children, weight and number of rows; value, weight and number of rows.
Split = tuple[int, float, int, int, int, float, int]
Leaf = tuple[float, float, int]
# So many trees are taken over at once.
TOGETHER = 64


class FlatTree(NamedTuple):
    """A tree: the fields of its splits, and of its leaves, as rows; and the categories of splits that test them."""

    splits: NDArray[np.float64]
    leaves: NDArray[np.float64]
    sets: dict[int, NDArray[np.int64]]


def parse(model: dict[str, Any]) -> Written:
    """Return the model that the object says, or raise ValueError."""
    check_version(model.get("version"))
    n_features = _whole(model, "max_feature_idx") + 1
    names = model.get("feature_names")
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must be {n_features} texts")
    infos = model.get("feature_infos", {})
    if not isinstance(infos, dict):
        raise ValueError("feature_infos must say something of each feature")
    objective = model.get("objective")
    if not isinstance(objective, str | None):
        raise ValueError("objective must be a text")
    averages = model.get("average_output", False)
    if not isinstance(averages, bool):
        raise ValueError("average_output must be true or false")
    return Written(
        n_columns=_whole(model, "num_tree_per_iteration"),
        n_features=n_features,
        objective=objective,
        averages=averages,
        feature_names=tuple(names),
        ranges=tuple(_range(infos.get(name)) for name in names),
        trees=joined([trees_of(flat, n_features) for flat in _flat_parts(model.get("tree_info"))]),
        pandas_categories=checked_categories(model.get("pandas_categorical")),
    )


def _range(info: Any) -> ColumnRange:
    if info is None:
        return ColumnRange(False, None, None)
    if not isinstance(info, dict) or not isinstance(info.get("values"), list):
        raise ValueError("feature_infos must say something of each feature")
    low, high = _number(info, "min_value"), _number(info, "max_value")
    return ColumnRange(bool(info["values"]), low, high)


def _flat_parts(tree_info: Any) -> Iterator[FlatTrees]:
    """Yield the trees, some at a time: all of them would be in memory once more."""
    if not isinstance(tree_info, list | OneByOne):
        raise ValueError("tree_info must be a list of trees")
    if not len(tree_info):
        raise ValueError(NO_TREES)
    trees: list[FlatTree] = []
    for tree in tree_info:
        if not isinstance(tree, dict) or not isinstance(tree.get("tree_structure"), dict):
            raise ValueError("a tree must have a tree_structure")
        splits, leaves, sets = _nodes(tree["tree_structure"])
        # As arrays: Python's numbers would take several times the file.
        arrays = np.array(splits, np.float64).reshape(-1, 7).T, np.array(leaves, np.float64).T
        trees.append(FlatTree(*arrays, {number: np.array(some, np.int64) for number, some in sets.items()}))
        if len(trees) == TOGETHER:
            yield _flat(trees)
            trees = []
    if trees:
        yield _flat(trees)


def _flat(trees: list[FlatTree]) -> FlatTrees:
    n_leaves = np.array([tree.leaves.shape[1] for tree in trees], np.int64)
    first_split = (np.cumsum(n_leaves - 1) - (n_leaves - 1)).tolist()
    feature, threshold, kind, left, right, split_weight, split_count = np.concatenate(
        [tree.splits for tree in trees], axis=1
    )
    value, weight, count = np.concatenate([tree.leaves for tree in trees], axis=1)
    return FlatTrees(
        n_leaves=n_leaves,
        split_feature=feature.astype(np.int64),
        threshold=threshold,
        decision_type=kind.astype(np.int64),
        left_child=left.astype(np.int64),
        right_child=right.astype(np.int64),
        split_weight=split_weight,
        split_count=split_count.astype(np.int64),
        leaf_value=value,
        leaf_weight=weight,
        leaf_count=count.astype(np.int64),
        category_sets={
            first + number: categories
            for first, tree in zip(first_split, trees, strict=True)
            for number, categories in tree.sets.items()
        },
    )


def _nodes(root: dict[str, Any]) -> tuple[list[Split], list[Leaf], dict[int, list[int]]]:
    """Return the splits and the leaves of a tree by their numbers, and the sets of its categorical splits."""
    splits: dict[int, Split] = {}
    leaves: dict[int, Leaf] = {}
    sets: dict[int, list[int]] = {}
    to_do = [root]
    n_nodes = 0
    while to_do:
        node = to_do.pop()
        n_nodes += 1
        if "split_index" not in node:
            leaves[_leaf_number(node)] = _leaf(node)
            continue
        if not node.keys() <= OF_SPLIT:
            raise ValueError(f"a split has {_odd(node, OF_SPLIT)}, which is not known")
        number = _whole(node, "split_index")
        left, right = node.get("left_child"), node.get("right_child")
        if not isinstance(left, dict) or not isinstance(right, dict):
            raise ValueError("a split must have a left_child and a right_child")
        to_do += [left, right]
        kind, threshold = _test(node)
        if isinstance(threshold, list):
            sets[number], threshold = threshold, 0.0
        feature, rows = _whole(node, "split_feature"), _rows(node, "internal")
        splits[number] = feature, threshold, kind, _number_of(left), _number_of(right), *rows
    is_numbered = [said.keys() == set(range(len(said))) for said in (splits, leaves)]
    if len(splits) + len(leaves) != n_nodes or not all(is_numbered):
        raise ValueError("the splits and the leaves of a tree must be numbered from 0")
    return [splits[k] for k in range(len(splits))], [leaves[k] for k in range(len(leaves))], sets


def _number_of(child: dict[str, Any]) -> int:
    """Return the number of a split, or -1 - that of a leaf."""
    return _whole(child, "split_index") if "split_index" in child else -1 - _leaf_number(child)


def _leaf_number(leaf: dict[str, Any]) -> int:
    # The only leaf of a tree has no number.
    return _whole(leaf, "leaf_index") if "leaf_index" in leaf else 0


def _leaf(leaf: dict[str, Any]) -> Leaf:
    if leaf.keys() & OF_LINEAR_LEAF:
        raise ValueError(LINEAR)
    if not leaf.keys() <= OF_LEAF:
        raise ValueError(f"a leaf has {_odd(leaf, OF_LEAF)}, which is not known")
    return _number(leaf, "leaf_value"), *_rows(leaf, "leaf")


def _rows(node: dict[str, Any], kind: str) -> tuple[float, int]:
    """Return the weight and the number of the rows of a node, as far as they are said."""
    count = _whole(node, f"{kind}_count") if f"{kind}_count" in node else 0
    return _number(node, f"{kind}_weight") if f"{kind}_weight" in node else float(count), count


def _test(split: dict[str, Any]) -> tuple[int, float | list[int]]:
    """Return the decision type of a split, as the text has it, and its threshold or the categories that go left."""
    missing, test, default_left = (split.get(name) for name in ("missing_type", "decision_type", "default_left"))
    if not isinstance(missing, str) or missing not in MISSING or not isinstance(default_left, bool):
        raise ValueError(f"a split has missing_type {missing!r} and default_left {default_left!r}")
    kind = MISSING[missing] << 2 | DEFAULT_LEFT * default_left
    if test == "<=":
        threshold = _number(split, "threshold")
        return kind, threshold if abs(threshold) < INFINITY else math.copysign(math.inf, threshold)
    if test != "==":
        raise ValueError(f"a split has decision_type {test!r}; known are '<=' and '=='")
    categories = str(split.get("threshold")).split(BETWEEN_CATEGORIES)
    if not all(category.isdecimal() and len(category) < 12 for category in categories):
        raise ValueError(f"a categorical split has threshold {str(split.get('threshold'))[:40]!r}")
    return kind | CATEGORICAL, sorted(set(map(int, categories)))


def _odd(said: dict[str, Any], known: frozenset[str]) -> str:
    return repr(min(said.keys() - known)[:40])


def _whole(said: dict[str, Any], name: str) -> int:
    number = said.get(name)
    if type(number) is not int or not 0 <= number <= MOST:
        raise ValueError(f"{name} must be a whole number, not {str(number)[:40]}")
    return number


def _number(said: dict[str, Any], name: str) -> float:
    number: Any = said.get(name)
    if type(number) not in (int, float) or not abs(number) <= FINITE:
        raise ValueError(f"{name} must be a number, not {str(number)[:40]}")
    return float(number)
