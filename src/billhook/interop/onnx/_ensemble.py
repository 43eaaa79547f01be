"""The tree ensembles of ONNX, of all versions, as nodes and their weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.interop._comparisons import EQ, NE, as_splits
from billhook.interop._expand import equal_numbers
from billhook.interop._nodes import MAX_FEATURE, Nodes
from billhook.interop.onnx._attributes import LEAF, MEMBER, Attributes

NODES = (
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_hitrates",
    "nodes_hitrates_as_tensor",
    "nodes_missing_value_tracks_true",
    "nodes_modes",
    "nodes_nodeids",
    "nodes_treeids",
    "nodes_truenodeids",
    "nodes_values",
    "nodes_values_as_tensor",
    "base_values",
    "base_values_as_tensor",
    "post_transform",
)
CLASSIFIER = (
    *NODES,
    "class_ids",
    "class_nodeids",
    "class_treeids",
    "class_weights",
    "class_weights_as_tensor",
    "classlabels_int64s",
    "classlabels_strings",
)
REGRESSOR = (
    *NODES,
    "aggregate_function",
    "n_targets",
    "target_ids",
    "target_nodeids",
    "target_treeids",
    "target_weights",
    "target_weights_as_tensor",
)
ENSEMBLE = (
    "aggregate_function",
    "leaf_targetids",
    "leaf_weights",
    "membership_values",
    "n_targets",
    "nodes_falseleafs",
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_hitrates",
    "nodes_missing_value_tracks_true",
    "nodes_modes",
    "nodes_splits",
    "nodes_trueleafs",
    "nodes_truenodeids",
    "post_transform",
    "tree_roots",
)
# From here on ONNX Runtime tests sets as a Forest does, with the fraction cut off; below, for equality.
MAX_SMALL = 30
MAX_CATEGORIES = 2**24


class OnnxTrees(NamedTuple):
    """The trees of an ensemble.

    Attributes
    ----------
    nodes : Nodes
        Their values are all 0.
    root : int array (trees)
    tree : int array (nodes)
        The tree that each node is in.
    place, column, weight : array (weights)
        What leaves add to the columns of scores.
    """

    nodes: Nodes
    root: NDArray[np.int64]
    tree: NDArray[np.int64]
    place: NDArray[np.int64]
    column: NDArray[np.int64]
    weight: NDArray[np.float64]


def ensemble_by_ids(attributes: Attributes, kind: str) -> OnnxTrees:
    """Return the trees of a TreeEnsembleClassifier or a TreeEnsembleRegressor, whose nodes have ids."""
    mode = attributes.modes("nodes_modes")
    threshold = attributes.numbers("nodes_values")
    integers = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    trees, ids, feature, if_true, if_false = (attributes.integers(name) for name in integers)
    _check_sizes((*integers, "nodes_values"), (trees, ids, feature, if_true, if_false, threshold), mode.size)
    if mode.size == 0:
        raise ValueError("the ensemble has no nodes")
    begins = np.append(True, trees[1:] != trees[:-1])
    root = np.flatnonzero(begins)
    if np.unique(trees[root]).size != root.size:
        raise ValueError("the nodes of each tree must stand together")
    tree = np.cumsum(begins) - 1
    find = NodeFinder(trees[root], root, tree, ids)
    is_leaf = mode == LEAF
    left, right = np.full((2, mode.size), -1)
    left[~is_leaf] = find.places(tree[~is_leaf], if_true[~is_leaf])
    right[~is_leaf] = find.places(tree[~is_leaf], if_false[~is_leaf])
    led_to = np.bincount(np.concatenate([left[~is_leaf], right[~is_leaf]]), minlength=mode.size) > 0
    led_to[root] ^= True
    if not led_to.all():
        raise ValueError("the first node of each tree must be its root, and lead to all the others")
    nodes = _nodes(mode, feature, threshold, left, right, _tracks(attributes, mode.size), {})
    del feature, threshold, left, right, if_true, if_false, led_to  # which are large
    weights = attributes.numbers(f"{kind}_weights").astype(np.float64)
    of_tree, of_node, column = (attributes.integers(f"{kind}_{name}") for name in ("treeids", "nodeids", "ids"))
    for name, array in (("treeids", of_tree), ("nodeids", of_node), ("ids", column)):
        if array.size != weights.size:
            raise ValueError(f"{kind}_{name} has {array.size} entries for {weights.size} weights")
    place = find.places(find.trees(of_tree), of_node)
    # Old converters gave weights to splits too, which ONNX Runtime does not add.
    at_leaf = is_leaf[place]
    return OnnxTrees(nodes, root, tree, place[at_leaf], column[at_leaf], weights[at_leaf])


class NodeFinder:
    """Finds nodes by the id of their tree and their own."""

    def __init__(
        self, tree_ids: NDArray[np.int64], root: NDArray[np.int64], tree: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> None:
        if ids.min() < 0 or ids.max() >= 2**31:
            raise ValueError(f"node ids must lie between 0 and {2**31 - 1}")
        self.root, self.size = root, np.diff(np.append(root, ids.size))
        self.in_order = np.array_equal(ids, np.arange(ids.size) - root[tree])
        self.n_ids = int(ids.max()) + 1
        if not self.in_order:
            key = tree * self.n_ids + ids
            self.order = np.argsort(key, kind="stable")
            self.key = key[self.order]
            if (self.key[1:] == self.key[:-1]).any():
                raise ValueError("two nodes of a tree have the same id")
        self.tree_order = np.argsort(tree_ids)
        self.tree_ids = tree_ids[self.tree_order]

    def trees(self, tree_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the trees with these ids."""
        place = np.minimum(np.searchsorted(self.tree_ids, tree_ids), self.tree_ids.size - 1)
        if (self.tree_ids[place] != tree_ids).any():
            raise ValueError("a weight is for a tree that is not there")
        return self.tree_order[place]

    def places(self, tree: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the nodes with these ids in these trees stand."""
        if ids.size == 0:
            return ids
        if ids.min() < 0 or ids.max() >= self.n_ids or (self.in_order and (ids >= self.size[tree]).any()):
            raise ValueError("a node is named that is not there")
        if self.in_order:
            return self.root[tree] + ids
        key = tree * self.n_ids + ids
        place = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
        if (self.key[place] != key).any():
            raise ValueError("a node is named that is not there")
        return self.order[place]


def ensemble_by_places(attributes: Attributes) -> OnnxTrees:
    """Return the trees of a TreeEnsemble of version 5, whose splits and leaves are apart."""
    mode = attributes.tensor("nodes_modes").astype(np.int64)
    split = attributes.tensor("nodes_splits")
    names = (
        "nodes_featureids",
        "nodes_truenodeids",
        "nodes_falsenodeids",
        "nodes_trueleafs",
        "nodes_falseleafs",
    )
    feature, if_true, if_false, true_leaf, false_leaf = (attributes.integers(name) for name in names)
    column, weight = attributes.integers("leaf_targetids"), attributes.tensor("leaf_weights").astype(np.float64)
    root = attributes.integers("tree_roots")
    n_splits, n_leaves = mode.size, column.size
    _check_sizes((*names, "nodes_splits"), (feature, if_true, if_false, true_leaf, false_leaf, split), n_splits)
    if weight.size != n_leaves:
        raise ValueError(f"leaf_weights has {weight.size} entries for {n_leaves} leaves")
    if ((mode < 0) | (mode > MEMBER)).any():
        raise TypeError(f"as_forest does not know the node mode {int(mode[(mode < 0) | (mode > MEMBER)][0])}")
    for child, is_leaf in ((if_true, true_leaf), (if_false, false_leaf)):
        if (child < 0).any() or (child >= np.where(is_leaf != 0, n_leaves, n_splits)).any():
            raise ValueError("a node has a child that is not there")
    if root.size == 0 or root.min() < 0 or root.max() >= n_splits:
        raise ValueError("tree_roots must name nodes that are there")
    left = np.append(if_true + np.where(true_leaf != 0, n_splits, 0), np.full(n_leaves, -1))
    right = np.append(if_false + np.where(false_leaf != 0, n_splits, 0), np.full(n_leaves, -1))
    tracks = np.append(_tracks(attributes, n_splits), np.zeros(n_leaves, np.bool_))
    nodes = _nodes(
        np.append(mode, np.full(n_leaves, LEAF)),
        np.append(feature, np.full(n_leaves, -1)),
        np.append(split, np.zeros(n_leaves, split.dtype)),
        left,
        right,
        tracks,
        _members(mode, attributes.tensor("membership_values")),
    )
    return OnnxTrees(nodes, root, np.zeros(0, np.int64), n_splits + np.arange(n_leaves), column, weight)


def _check_sizes(names: Sequence[str], arrays: Sequence[NDArray[Any]], n_nodes: int) -> None:
    for name, array in zip(names, arrays, strict=True):
        if array.size != n_nodes:
            raise ValueError(f"{name} has {array.size} entries for {n_nodes} nodes")


def _tracks(attributes: Attributes, n_nodes: int) -> NDArray[np.bool_]:
    tracks = attributes.integers("nodes_missing_value_tracks_true")
    if tracks.size not in (0, n_nodes):
        raise ValueError(f"nodes_missing_value_tracks_true has {tracks.size} entries for {n_nodes} nodes")
    return tracks == 1 if tracks.size else np.zeros(n_nodes, np.bool_)


def _members(mode: NDArray[np.int64], values: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return the members of the set that each node tests; NaN ends a set."""
    testing = np.flatnonzero(mode == MEMBER)
    ends = np.flatnonzero(np.isnan(values))
    if values.size and not np.isnan(values[-1]):
        ends = np.append(ends, values.size)
    if ends.size != testing.size:
        raise ValueError(f"membership_values has {ends.size} sets for {testing.size} nodes that test one")
    starts = np.append(0, ends[:-1] + 1)
    return {
        node: np.unique(values[start:end])
        for node, start, end in zip(testing.tolist(), starts.tolist(), ends.tolist(), strict=False)
    }


def _nodes(
    mode: NDArray[Any],
    feature: NDArray[np.int64],
    threshold: NDArray[Any],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    tracks_true: NDArray[np.bool_],
    members: dict[int, NDArray[Any]],
) -> Nodes:
    is_leaf, comparing = mode == LEAF, np.flatnonzero(mode < MEMBER)
    if (mode == MEMBER).any() and not members:
        raise TypeError("as_forest knows the node mode BRANCH_MEMBER of TreeEnsemble, version 5, only")
    split = as_splits(
        mode[comparing], threshold[comparing], left[comparing], right[comparing], tracks_true[comparing]
    )
    at_most = np.zeros(mode.size)
    missing_left = tracks_true & ~is_leaf
    at_most[comparing] = split.threshold
    left[comparing], right[comparing], missing_left[comparing] = split.left, split.right, split.missing_left
    equal = np.flatnonzero((mode == EQ) | (mode == NE))
    equal_to = {node: equal_numbers(threshold[node : node + 1]) for node in equal.tolist()}
    equal_to |= {node: equal_numbers(some) for node, some in members.items() if not _is_category_set(some)}
    # One that is too large stays one that is not there.
    small = np.where(is_leaf, -1, np.where(feature > MAX_FEATURE, -2, feature)).astype(np.int32)
    return Nodes(
        feature=small,
        threshold=at_most,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=missing_left,
        value=np.broadcast_to(0.0, (mode.size, 1)),
        n_rows=np.broadcast_to(np.int64(0), mode.size),  # views: graphs say nothing of them
        row_weight=np.broadcast_to(0.0, mode.size),
        gain=np.broadcast_to(np.nan, mode.size),
        equal_to=equal_to,
        category_sets={node: some.astype(np.int64) for node, some in members.items() if _is_category_set(some)},
    )


def _is_category_set(members: NDArray[Any]) -> bool:
    is_large = members.size > MAX_SMALL or bool((members > MAX_SMALL).any())
    whole = (members >= 0) & (members < MAX_CATEGORIES) & (members == np.floor(members))
    return is_large and bool(whole.all())
