"""From single trees to a Forest: what every reader ends with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import CategorySets, Forest, pool_sets, round_down
from billhook.kernels import average_upwards, rank_best_first

DTYPES = {
    "feature": np.int32,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "value": np.float64,
    "n_rows": np.int64,
    "row_weight": np.float64,
    "impurity": np.float64,
    "growth_rank": np.int32,
}


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One tree as its library has it; the arrays mean what Forest's of the same names mean.

    `category_sets` has, for each node that is a categorical split, the categories that go left: whole numbers from 0
    on, rising, each once. What such a node has for a threshold does not matter.
    """

    feature: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[Any]
    value: NDArray[Any]
    n_rows: NDArray[Any]
    row_weight: NDArray[Any]
    impurity: NDArray[Any]
    growth_rank: NDArray[Any]
    category_sets: Mapping[int, NDArray[Any]] = field(default_factory=dict)


def stack(trees: Sequence[Tree], **other: Any) -> Forest:
    """Return the forest of these trees; `other` are the fields of Forest that do not belong to nodes."""
    columns: dict[str, NDArray[Any]] = {
        name: np.concatenate([getattr(tree, name) for tree in trees]) for name in DTYPES
    }
    offset = np.concatenate([[0], np.cumsum([tree.left.size for tree in trees])]).astype(np.int64)
    is_leaf = columns["left"] < 0
    category_set, sets = _category_sets(trees, offset)
    columns["threshold"][category_set >= 0] = 0.0
    for name, of_leaf in (("feature", -1), ("threshold", 0.0), ("missing_left", False)):
        columns[name][is_leaf] = of_leaf
    columns["threshold"] = round_down(columns["threshold"])
    # Large forests are not copied for nothing.
    arrays: dict[str, Any] = {name: columns.pop(name).astype(dtype, copy=False) for name, dtype in DTYPES.items()}
    return Forest(
        **arrays,
        offset=offset,
        category_set=category_set,
        **sets._asdict(),
        **other,
    )


def _category_sets(trees: Sequence[Tree], offset: NDArray[np.int64]) -> tuple[NDArray[np.int32], CategorySets]:
    """Return the number of the set that each node of all trees tests, or -1, and the sets, equal ones once."""
    nodes = [int(first) + node for tree, first in zip(trees, offset, strict=False) for node in tree.category_sets]
    number, sets = pool_sets([categories for tree in trees for categories in tree.category_sets.values()])
    category_set = np.full(offset[-1], -1, np.int32)
    category_set[nodes] = number
    return category_set, sets


def growth_rank(left: NDArray[Any], right: NDArray[Any], gain: NDArray[Any]) -> NDArray[np.int32]:
    """Return the order of best-first growth of one tree by the gain of its splits."""
    rank = np.empty(left.size, np.int32)
    rank_best_first(left.astype(np.int32), right.astype(np.int32), gain.astype(np.float64), rank)
    return rank


def mean_of_leaves(tree: Tree, value: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values with every inner node's replaced by the mean, by training weight, of the leaves below."""
    value = value.astype(np.float64)
    average_upwards(
        tree.left.astype(np.int32), tree.right.astype(np.int32), tree.row_weight.astype(np.float64), value
    )
    return value
