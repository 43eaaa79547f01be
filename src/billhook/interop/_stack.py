"""From single trees to a Forest: what every reader ends with."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, round_down
from billhook.kernels import average_upwards, rank_best_first


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One tree as its library has it; the arrays mean what Forest's of the same names mean."""

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


def stack(trees: Sequence[Tree], **other: Any) -> Forest:
    """Return the forest of these trees; `other` are the fields of Forest that do not belong to nodes."""
    columns = {field.name: np.concatenate([getattr(tree, field.name) for tree in trees]) for field in fields(Tree)}
    is_leaf = columns["left"] < 0
    for name, of_leaf in (("feature", -1), ("threshold", 0.0), ("missing_left", False)):
        columns[name] = np.where(is_leaf, of_leaf, columns[name])
    return Forest(
        feature=columns["feature"].astype(np.int32),
        threshold=round_down(columns["threshold"]),
        left=columns["left"].astype(np.int32),
        right=columns["right"].astype(np.int32),
        missing_left=columns["missing_left"].astype(np.bool_),
        value=columns["value"].astype(np.float64),
        n_rows=columns["n_rows"].astype(np.int64),
        row_weight=columns["row_weight"].astype(np.float64),
        impurity=columns["impurity"].astype(np.float64),
        growth_rank=columns["growth_rank"].astype(np.int32),
        offset=np.concatenate([[0], np.cumsum([tree.left.size for tree in trees])]).astype(np.int64),
        **other,
    )


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
