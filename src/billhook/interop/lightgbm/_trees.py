"""Trees as LightGBM numbers and tests them, to those of a Forest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.interop._stack import DTYPES, Tree, mean_of_leaves
from billhook.interop.lightgbm._zero import ABOVE_ALL_NEGATIVE, ZERO, Missing, with_zero_apart

CATEGORICAL, DEFAULT_LEFT = 1, 2
# Beyond this, LightGBM takes numbers for infinities; JSON has it in their place.
INFINITY = 1e300
MOST_ROWS = 2**31 - 1


class FlatTrees(NamedTuple):
    """Some trees, their splits one after the other and their leaves one after the other.

    Attributes
    ----------
    n_leaves : int64 array (trees)
        A tree has one split fewer.
    split_feature : array (splits)
    threshold : array (splits)
        Of a categorical split it does not matter.
    decision_type : array (splits)
        Bit 0: categorical; bit 1: missing values go left; bits 2 and 3: what is missing, see `Missing`.
    left_child, right_child : array (splits)
        The number of a split of the same tree, or -1 - the number of a leaf.
    split_weight, split_count : array (splits)
        Of the rows that passed.
    leaf_value, leaf_weight, leaf_count : array (leaves)
    category_sets : mapping
        From the place of a categorical split to the categories that go left, rising.
    """

    n_leaves: NDArray[np.int64]
    split_feature: NDArray[Any]
    threshold: NDArray[np.float64]
    decision_type: NDArray[Any]
    left_child: NDArray[Any]
    right_child: NDArray[Any]
    split_weight: NDArray[np.float64]
    split_count: NDArray[np.int64]
    leaf_value: NDArray[np.float64]
    leaf_weight: NDArray[np.float64]
    leaf_count: NDArray[np.int64]
    category_sets: Mapping[int, NDArray[np.int64]]


class _Places:
    """Where the nodes of all trees stand: the splits of a tree in LightGBM's order, and then its leaves."""

    def __init__(self, n_leaves: NDArray[np.int64]) -> None:
        n_splits = n_leaves - 1
        first_split, first_leaf = np.cumsum(n_splits) - n_splits, np.cumsum(n_leaves) - n_leaves
        self.first = first_split + first_leaf
        self.number = np.arange(n_splits.sum()) - np.repeat(first_split, n_splits)  # of each split in its tree
        self.root = np.repeat(self.first, n_splits)  # of each split's tree
        self.split = self.number + self.root
        self.leaf = np.arange(n_leaves.sum()) + np.repeat(first_split + n_splits, n_leaves)

    def of_nodes(self, dtype: Any, of_splits: Any, of_leaves: Any) -> NDArray[Any]:
        """Return an array of all nodes."""
        array = np.empty(self.split.size + self.leaf.size, dtype)
        array[self.split] = of_splits
        array[self.leaf] = of_leaves
        return array


class TreesRead(NamedTuple):
    """Trees whose nodes stand one after the other: `columns`, `n_nodes` and `category_sets` as `join` takes them."""

    columns: dict[str, NDArray[Any]]
    n_nodes: NDArray[np.int64]
    category_sets: dict[int, NDArray[np.int64]]


def trees_of(flat: FlatTrees, n_features: int) -> TreesRead:
    """Return the trees, or raise ValueError; the nodes of each are its splits and then its leaves."""
    _check_numbers(flat, n_features)
    places = _Places(flat.n_leaves)
    left, right = (_children(child, places.number, flat.n_leaves) for child in (flat.left_child, flat.right_child))
    threshold, missing_left = _tests(flat)
    columns: dict[str, Any] = {
        "feature": places.of_nodes(np.int32, flat.split_feature, -1),
        "threshold": places.of_nodes(np.float64, threshold, 0.0),
        "missing_left": places.of_nodes(np.bool_, missing_left, False),
        "n_rows": places.of_nodes(np.int32, flat.split_count, flat.leaf_count),
        "row_weight": places.of_nodes(np.float64, flat.split_weight, flat.leaf_weight),
        "impurity": np.broadcast_to(0.0, places.split.size + places.leaf.size),
        # Splits are numbered in the order in which they grew.
        "growth_rank": places.of_nodes(np.int32, places.number, -1),
    }
    # The nodes of all trees counted through: then the means are of all trees at once.
    counted: dict[str, Any] = {
        name: places.of_nodes(np.int32, child + places.root, -1) for name, child in (("left", left), ("right", right))
    }
    value = places.of_nodes(np.float64, 0.0, flat.leaf_value)[:, None]
    columns["value"] = mean_of_leaves(Tree(value=value, **counted, **columns), value)
    columns["left"], columns["right"] = (places.of_nodes(np.int32, child, -1) for child in (left, right))
    sets = {int(places.split[place]): categories for place, categories in flat.category_sets.items()}
    read = TreesRead(columns, 2 * flat.n_leaves - 1, sets)
    is_apart = _needs_zero_apart(flat)
    if not is_apart.any():
        return read
    default_left = places.of_nodes(np.bool_, (flat.decision_type & DEFAULT_LEFT) > 0, False)
    return _with_zero_apart(read, places.of_nodes(np.bool_, is_apart, False), default_left)


def joined(parts: list[TreesRead]) -> TreesRead:
    """Return the trees of all parts, whose columns are emptied."""
    n_nodes = [part.n_nodes for part in parts]
    sets: dict[int, NDArray[np.int64]] = {}
    first = 0
    for part in parts:
        sets |= {node + first: categories for node, categories in part.category_sets.items()}
        first += int(part.n_nodes.sum())
    # One column after the other, so that not all are there twice.
    columns = {name: np.concatenate([part.columns.pop(name) for part in parts]) for name in DTYPES}
    return TreesRead(columns, np.concatenate(n_nodes), sets)


def _with_zero_apart(read: TreesRead, is_apart: NDArray[np.bool_], default_left: NDArray[np.bool_]) -> TreesRead:
    """Return the trees with some of their splits made of three, one tree after the other."""
    parts = []
    first = 0
    for n in read.n_nodes.tolist():
        nodes = slice(first, first + n)
        sets = {
            node - first: read.category_sets[node] for node in range(first, first + n) if node in read.category_sets
        }
        first += n
        tree = Tree(category_sets=sets, **{name: column[nodes] for name, column in read.columns.items()})
        if is_apart[nodes].any():
            tree = with_zero_apart(tree, is_apart[nodes], default_left[nodes])
        columns = {name: getattr(tree, name) for name in DTYPES}
        parts.append(TreesRead(columns, np.array([tree.left.size]), dict(tree.category_sets)))
    return joined(parts)


def _check_numbers(flat: FlatTrees, n_features: int) -> None:
    feature, kind = flat.split_feature, flat.decision_type
    if ((feature < 0) | (feature >= n_features)).any():
        raise ValueError(f"a split tests a feature that is not between 0 and {n_features - 1}")
    unknown = kind[(kind < 0) | (kind >> 2 > max(Missing))]
    if unknown.size:
        raise ValueError(f"a split has the decision type {unknown[0]}, which is not known")
    for count in (flat.split_count, flat.leaf_count):
        if ((count < 0) | (count > MOST_ROWS)).any():
            raise ValueError(f"a node has a number of rows that is not between 0 and {MOST_ROWS:,}")


def _children(child: NDArray[Any], number: NDArray[np.int64], n_leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the node that follows each split, within its tree."""
    n_leaves = np.repeat(n_leaves, n_leaves - 1)
    is_leaf = child < 0
    if np.where(is_leaf, ~child >= n_leaves, (child <= number) | (child >= n_leaves - 1)).any():
        raise ValueError("a split has a child that is not a later split, or a leaf, of its tree")
    return np.where(is_leaf, n_leaves - 1 + ~child, child)


def _tests(flat: FlatTrees) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the threshold of each split and whether NaN goes left.

    LightGBM reads numbers around zero as zero, whatever it takes for missing: of a threshold among them it is the
    side of zero that counts.
    """
    threshold, kind = flat.threshold, flat.decision_type
    missing, default_left = kind >> 2, (kind & DEFAULT_LEFT) > 0
    is_categorical = (kind & CATEGORICAL) > 0
    zero_left = np.where(missing == Missing.ZERO, default_left, threshold >= 0.0)
    missing_left = np.where(missing == Missing.NAN, default_left, zero_left) & ~is_categorical
    is_around_zero = np.where(zero_left, threshold >= -ZERO, threshold <= ZERO) & (
        (missing == Missing.ZERO) | (np.abs(threshold) <= ZERO)
    )
    beside_zero = np.where(zero_left, np.maximum(threshold, ZERO), np.minimum(threshold, ABOVE_ALL_NEGATIVE))
    threshold = np.where(is_around_zero, beside_zero, threshold)
    # All float32 numbers but infinity are below.
    is_below_infinity = (threshold >= INFINITY) & (threshold < np.inf)
    threshold = np.where(is_below_infinity, float(np.finfo(np.float32).max), threshold)
    return np.where(threshold <= -INFINITY, -np.inf, threshold), missing_left


def _needs_zero_apart(flat: FlatTrees) -> NDArray[np.bool_]:
    """Return the splits at which zero goes another way than the numbers on either side of it."""
    kind, threshold = flat.decision_type, flat.threshold
    default_left = (kind & DEFAULT_LEFT) > 0
    is_of_zero = (kind >> 2 == Missing.ZERO) & (kind & CATEGORICAL == 0)
    return np.asarray(is_of_zero & np.where(default_left, threshold < -ZERO, threshold > ZERO))
