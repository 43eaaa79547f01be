"""One tree of XGBoost."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._stack import Tree, growth_rank, mean_of_leaves
from billhook.interop.xgboost._layout import check_fields, count_at, floats_at, integers_at, object_at

OF_NODES = (
    *(
        "left_children",
        "right_children",
        "parents",
        "split_indices",
        "split_conditions",
        "split_type",
        "default_left",
    ),
    *("base_weights", "leaf_weights", "loss_changes", "sum_hessian"),
)
OF_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
FIELDS = frozenset({"id", "tree_param", *OF_NODES, *OF_CATEGORIES})
PARAMETERS = ("num_deleted", "num_feature", "num_nodes", "size_leaf_vector")
BY_THRESHOLD, BY_CATEGORIES = 0, 1


def tree_of(fields: Any, n_features: int) -> Tree:
    """Return a tree as the model has it.

    A row goes left where x < condition, and right where x is one of the categories of a split: there left and right
    are exchanged, so that the set goes left and all else right.
    """
    if not isinstance(fields, dict):
        raise ModelFileError("a tree must be an object")
    check_fields(fields, FIELDS, "a tree")
    parameters = object_at(fields, "tree_param")
    check_fields(parameters, PARAMETERS, "a tree's tree_param")
    n_nodes = count_at(parameters, "num_nodes")
    left = integers_at(fields, "left_children", n_nodes)
    right = integers_at(fields, "right_children", n_nodes)
    is_leaf = left == -1
    if not is_leaf.any():
        raise ModelFileError("a tree has no leaves")
    n_values = max(1, count_at(parameters, "size_leaf_vector"))
    condition = floats_at(fields, "split_conditions", n_nodes)
    leaf_values = _leaf_values(fields, condition, right, is_leaf, n_values)
    right = np.where(is_leaf, -1, right)
    feature = integers_at(fields, "split_indices", n_nodes)
    category_sets = _category_sets(fields, is_leaf)
    swapped = np.fromiter(category_sets, np.int64, len(category_sets))
    missing_left = integers_at(fields, "default_left", n_nodes) != 0
    missing_left[swapped] = ~missing_left[swapped]
    left[swapped], right[swapped] = right[swapped], left[swapped]
    # Vector leaves have had no statistics before 3.2.
    zeros = np.zeros(n_nodes, np.float32)
    tree = Tree(
        feature=feature,
        # It asks for less, not for less or equal.
        threshold=np.nextafter(condition, np.float32(-np.inf)),
        left=left,
        right=right,
        missing_left=missing_left,
        value=leaf_values,
        n_rows=zeros,
        row_weight=floats_at(fields, "sum_hessian", n_nodes) if "sum_hessian" in fields else zeros,
        impurity=floats_at(fields, "loss_changes", n_nodes) if "loss_changes" in fields else zeros,
        growth_rank=zeros,
        category_sets=category_sets,
    )
    tree = _without_deleted_nodes(tree, count_at(parameters, "num_deleted", default=0))
    is_split = tree.left >= 0
    if (tree.feature[is_split] < 0).any() or (tree.feature[is_split] >= n_features).any():
        raise ModelFileError(f"split_indices must lie between 0 and {n_features - 1}")
    return replace(
        tree,
        # base_weights would say what an inner node predicts, but those of tree_method="hist" lack the learning rate.
        value=mean_of_leaves(tree, tree.value),
        growth_rank=growth_rank(tree.left, tree.right, np.nan_to_num(tree.impurity)),
        impurity=np.zeros(tree.left.size, np.float32),
    )


def _leaf_values(
    fields: dict[str, Any],
    condition: NDArray[np.float32],
    right: NDArray[np.int32],
    is_leaf: NDArray[np.bool_],
    n_values: int,
) -> NDArray[np.float32]:
    """Return the values of the leaves; those of inner nodes are 0."""
    n_nodes = condition.size
    if n_values == 1:
        leaves = condition[is_leaf][:, None]
    elif "leaf_weights" in fields:
        # The right child of a leaf is its number.
        numbers = right[is_leaf]
        if numbers.min() < 0 or numbers.max() >= numbers.size:
            raise ModelFileError("right_children must number the leaves of a tree with vector leaves")
        leaves = floats_at(fields, "leaf_weights", n_values * numbers.size).reshape(-1, n_values)[numbers]
    else:
        leaves = floats_at(fields, "base_weights", n_nodes * n_values).reshape(-1, n_values)[is_leaf]
    values = np.zeros((n_nodes, n_values), np.float32)
    values[is_leaf] = leaves
    return values


def _category_sets(fields: dict[str, Any], is_leaf: NDArray[np.bool_]) -> dict[int, NDArray[np.int32]]:
    """Return the categories that the splits by categories test."""
    if "split_type" not in fields:
        return {}
    split_type = integers_at(fields, "split_type", is_leaf.size)
    odd = split_type[(split_type != BY_THRESHOLD) & (split_type != BY_CATEGORIES)]
    if odd.size:
        raise ModelFileError(f"a tree has splits of type {odd[0]}; known are 0, by threshold, and 1, by categories")
    nodes = integers_at(fields, "categories_nodes")
    if not np.array_equal(nodes, np.flatnonzero(split_type == BY_CATEGORIES)):
        raise ModelFileError("categories_nodes must be the nodes of split_type 1")
    if not nodes.size:
        return {}
    first = integers_at(fields, "categories_segments", nodes.size)
    length = integers_at(fields, "categories_sizes", nodes.size)
    categories = integers_at(fields, "categories")
    if (length < 1).any() or length.sum() != categories.size or (first != np.cumsum(length) - length).any():
        raise ModelFileError("categories_segments and categories_sizes must divide up the categories")
    rises = np.diff(categories) > 0
    rises[first[1:] - 1] = True
    if not rises.all():
        raise ModelFileError("the categories of a split must rise")
    ends = first + length
    # A split that was turned into a leaf keeps its categories.
    return {
        node: categories[start:end]
        for node, start, end in zip(nodes.tolist(), first.tolist(), ends.tolist(), strict=True)
        if not is_leaf[node]
    }


def _without_deleted_nodes(tree: Tree, n_deleted: int) -> Tree:
    """Return the nodes that are in the tree, a parent before its children, or refuse what is no tree.

    Splits that were pruned leave their nodes behind; all else comes in the right order as it is.
    """
    n_nodes = tree.left.size
    is_split = tree.left != -1
    parents = np.flatnonzero(is_split)
    children = np.concatenate([tree.left[is_split], tree.right[is_split]])
    if not n_nodes or (children < 1).any() or (children >= n_nodes).any():
        raise ModelFileError(f"children must lie between 1 and {n_nodes - 1}")
    times_child = np.bincount(children, minlength=n_nodes)
    if not n_deleted and (times_child[1:] == 1).all() and (children > np.tile(parents, 2)).all():
        return tree
    order = _breadth_first(tree.left, tree.right)
    if order.size + n_deleted != n_nodes:
        raise ModelFileError(f"{n_nodes - order.size} nodes are in no tree, and num_deleted is {n_deleted}")
    number = np.full(n_nodes + 1, -1, np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    kept = {
        name: getattr(tree, name)[order]
        for name in (
            "feature",
            "threshold",
            "missing_left",
            "value",
            "n_rows",
            "row_weight",
            "impurity",
            "growth_rank",
        )
    }
    sets = {int(number[node]): cats for node, cats in tree.category_sets.items() if number[node] >= 0}
    return Tree(left=number[tree.left[order]], right=number[tree.right[order]], category_sets=sets, **kept)


def _breadth_first(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the nodes that are reached from the root, level by level."""
    level = np.zeros(1, np.int32)
    levels = [level]
    n_reached = 1
    while True:
        splits = level[left[level] >= 0]
        level = np.stack([left[splits], right[splits]], axis=1).ravel()
        if not level.size:
            break
        n_reached += level.size
        if n_reached > left.size:
            raise ModelFileError("children do not form a tree")
        levels.append(level)
    order = np.concatenate(levels)
    if np.unique(order).size < order.size:
        raise ModelFileError("children do not form a tree")
    return order
