"""From the nodes of a model's trees, in any order, to trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop._expand import expand
from billhook.interop._stack import Tree, growth_rank, mean_of_leaves

MAX_FEATURE = 2**31 - 2
# Of nodes among all: one after the other, or anywhere.
Places = slice | NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of all trees of a model; children are places among all of them, -1 for a leaf.

    Features and children are integers of any size that holds them, small where there are millions. The arrays mean
    what Forest's of the same names mean; the values of inner nodes do not matter.

    Attributes
    ----------
    gain : float64 array (nodes)
        What the split gained in training; NaN where the model does not say.
    equal_to : mapping of node to float32 array
        Splits that send numbers left that are equal to one of these, rising, each once; their thresholds do not
        matter.
    category_sets : mapping of node to array
        As `Tree` has it, of a single tree.
    """

    feature: NDArray[Any]
    threshold: NDArray[np.float64]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    row_weight: NDArray[np.float64]
    gain: NDArray[np.float64]
    equal_to: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)
    category_sets: Mapping[int, NDArray[Any]] = field(default_factory=dict)


def trees_of(nodes: Nodes, root: NDArray[np.int64]) -> list[Tree]:
    """Return the trees with these roots, with values for inner nodes and an order of growth.

    Nodes keep their order where parents come before their children, so that leaves keep their numbers.
    """
    _check(nodes, root)
    members, is_shared = _members(nodes, root)
    has_equal = np.zeros(nodes.left.size, np.bool_)
    has_equal[list(nodes.equal_to)] = True
    trees = []
    number = np.empty(nodes.left.size, np.int32)
    for top, own, shares in zip(root.tolist(), members, is_shared.tolist(), strict=True):
        n_own = own.stop - own.start if isinstance(own, slice) else own.size
        if shares or has_equal[own].any():
            trees.append(_expanded_tree(nodes, top, n_own))
        else:
            number[own] = np.arange(n_own)
            trees.append(_plain_tree(nodes, own, number))
    return trees


def _check(nodes: Nodes, root: NDArray[np.int64]) -> None:
    n_nodes = nodes.left.size
    is_leaf = nodes.left < 0
    children = np.concatenate([nodes.left[~is_leaf], nodes.right[~is_leaf], root])
    if root.size == 0:
        raise ValueError("the model has no trees")
    if children.min() < 0 or children.max() >= n_nodes:
        raise ValueError(f"a tree has a child that is not one of its {n_nodes:,} nodes")
    if (nodes.feature[~is_leaf] < 0).any() or (nodes.feature[~is_leaf] > MAX_FEATURE).any():
        raise ValueError("a split has a feature that is not there")
    if not np.isfinite(nodes.value[is_leaf]).all():
        raise ValueError("a leaf has a value that is not a finite number")


def _members(nodes: Nodes, root: NDArray[np.int64]) -> tuple[Sequence[Places], NDArray[np.bool_]]:
    """Return the nodes of each tree, parents before their children, and which trees have nodes that two lead to."""
    splits = np.flatnonzero(nodes.left >= 0)
    children = np.concatenate([nodes.left[splits], nodes.right[splits]])
    parents = np.concatenate([splits, splits])
    owner = np.zeros(nodes.left.size, np.int64)
    owner[root] = 1
    times = np.bincount(children, minlength=owner.size) + owner
    tree = np.cumsum(owner) - 1
    if (
        (times == 1).all()
        and (root[1:] > root[:-1]).all()
        and (children > parents).all()
        and (tree[children] == tree[parents]).all()
    ):
        ends = np.append(root[1:], owner.size).tolist()
        return list(map(slice, root.tolist(), ends)), np.zeros(root.size, np.bool_)
    return _found(nodes, root)


def _found(nodes: Nodes, root: NDArray[np.int64]) -> tuple[Sequence[Places], NDArray[np.bool_]]:
    """Return what `_members` does, by going down all trees at once, level by level."""
    owner = np.full(nodes.left.size, -1, np.int64)
    is_shared = np.zeros(root.size, np.bool_)
    level, tree = root, np.arange(root.size)
    reached, reached_by = [], []
    while level.size:
        first = np.zeros(level.size, np.bool_)
        first[np.unique(level, return_index=True)[1]] = True
        is_new = first & (owner[level] < 0)
        owner[level[is_new]] = tree[is_new]
        is_shared[tree[~is_new]] = True
        is_shared[owner[level[~is_new]]] = True
        level, tree = level[is_new], tree[is_new]
        reached.append(level)
        reached_by.append(tree)
        is_split = nodes.left[level] >= 0
        level = np.concatenate([nodes.left[level[is_split]], nodes.right[level[is_split]]])
        tree = np.concatenate([tree[is_split], tree[is_split]])
    in_order, of_tree = np.concatenate(reached), np.concatenate(reached_by)
    by_tree = np.argsort(of_tree, kind="stable")
    ends = np.cumsum(np.bincount(of_tree, minlength=root.size))[:-1]
    return np.split(in_order[by_tree], ends), is_shared


def _plain_tree(nodes: Nodes, own: Places, number: NDArray[np.int32]) -> Tree:
    """Return the tree of these nodes; `number` is what each of them becomes."""
    left, right = nodes.left[own], nodes.right[own]
    is_leaf = left < 0
    no_child = np.int32(-1)
    left, right = np.where(is_leaf, no_child, number[left]), np.where(is_leaf, no_child, number[right])
    return _tree(nodes, own, left, right, nodes.threshold[own], nodes.missing_left[own])


def _expanded_tree(nodes: Nodes, root: int, n_nodes: int) -> Tree:
    source, threshold, left, right, missing_left = map(np.array, expand(nodes, root, n_nodes))
    return _tree(nodes, source, left, right, threshold.astype(np.float64), missing_left.astype(np.bool_))


def _tree(
    nodes: Nodes,
    source: Places,
    left: NDArray[Any],
    right: NDArray[Any],
    threshold: NDArray[np.float64],
    missing_left: NDArray[np.bool_],
) -> Tree:
    """Return the tree whose nodes are copies of those in `source`."""
    sets = {}
    if nodes.category_sets:
        in_model = np.arange(nodes.left.size)[source].tolist()
        sets = {
            place: nodes.category_sets[node] for place, node in enumerate(in_model) if node in nodes.category_sets
        }
    tree = Tree(
        feature=nodes.feature[source],
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=nodes.value[source],
        n_rows=nodes.n_rows[source],
        row_weight=nodes.row_weight[source],
        impurity=np.broadcast_to(0.0, left.size),
        growth_rank=left,
        category_sets=sets,
    )
    tree = replace(tree, value=mean_of_leaves(tree, np.where(left[:, None] < 0, tree.value, 0.0)))
    gain = nodes.gain[source]
    if np.isnan(gain[left >= 0]).any():
        gain = _gain(tree)
    return replace(tree, growth_rank=growth_rank(left, right, gain))


def _gain(tree: Tree) -> NDArray[np.float64]:
    """Return by how much each split lowers the squared error of the values, where nothing else is known."""
    gain = np.zeros(tree.left.size)
    splits = np.flatnonzero(tree.left >= 0)
    left, right = tree.left[splits], tree.right[splits]
    left_weight, right_weight = tree.row_weight[left], tree.row_weight[right]
    both = left_weight + right_weight
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.where(both > 0, left_weight * right_weight / both, 1.0)
        gain[splits] = np.nan_to_num(share * ((tree.value[left] - tree.value[right]) ** 2).sum(axis=1))
    return gain
