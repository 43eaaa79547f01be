"""From single trees to a Forest: what every reader ends with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, hand_over, pool_sets, round_down
from billhook.kernels import average_upwards, rank_best_first

# The thresholds of the forests that are stacked, while somebody asks for them.
_recorded: ContextVar[list["Thresholds"] | None] = ContextVar("_recorded", default=None)


class Thresholds(NamedTuple):
    """The thresholds of all nodes of a forest before they were rounded to float32, and how it rounds its rows."""

    threshold: NDArray[Any]
    rounding: str


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


def stack(trees: list[Tree], **other: Any) -> Forest:
    """Return the forest of these trees; `other` are the fields of Forest that do not belong to nodes.

    The list is emptied, so that a large forest is in memory once less.
    """
    n_nodes = np.array([tree.left.size for tree in trees])
    first = np.cumsum(n_nodes) - n_nodes
    sets = {
        node + start: categories
        for tree, start in zip(trees, first.tolist(), strict=True)
        for node, categories in tree.category_sets.items()
    }
    arrays = {name: [getattr(tree, name) for tree in trees] for name in DTYPES}
    trees.clear()
    columns = {name: np.concatenate(arrays.pop(name)) for name in DTYPES}
    return join(columns, n_nodes, sets, **other)


def join(
    columns: dict[str, NDArray[Any]], n_nodes: NDArray[Any], category_sets: Mapping[int, NDArray[Any]], **other: Any
) -> Forest:
    """Return the forest of trees that stand one after the other already.

    Parameters
    ----------
    columns : dict
        The arrays of a `Tree` by their names, of all trees. They may be changed, and the dict is emptied, so that a
        large forest is in memory once less.
    n_nodes : int array
        The nodes of each tree.
    category_sets : mapping
        As those of a `Tree`, by the place of the node among those of all trees.
    **other
        The fields of Forest that do not belong to nodes.
    """
    offset = np.append(0, np.cumsum(n_nodes)).astype(np.int64)
    is_leaf = columns["left"] < 0
    number, sets = pool_sets(list(category_sets.values()))
    category_set = np.full(offset[-1], -1, np.int32)
    category_set[list(category_sets)] = number
    columns["threshold"][category_set >= 0] = 0.0
    for name, of_leaf in (("feature", -1), ("threshold", 0.0), ("missing_left", False)):
        columns[name][is_leaf] = of_leaf
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(Thresholds(columns["threshold"], other.get("rounding", "nearest")))
    columns["threshold"] = round_down(columns["threshold"])
    arrays: dict[str, Any] = {"category_set": hand_over(category_set)}
    for name, dtype in DTYPES.items():
        arrays[name] = hand_over(columns.pop(name).astype(dtype, copy=False))
    return Forest(**arrays, offset=offset, **sets._asdict(), **other)


@contextmanager
def recorded_thresholds() -> Iterator[list[Thresholds]]:
    """Give the thresholds of every forest that is stacked meanwhile, before they are rounded to float32.

    Whoever computes the features of a model in float64 compares with these.
    """
    recorded: list[Thresholds] = []
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)


def are_recorded() -> bool:
    """Return whether somebody asks for the thresholds as they were before rounding."""
    return _recorded.get() is not None


def growth_rank(left: NDArray[Any], right: NDArray[Any], gain: NDArray[Any]) -> NDArray[np.int32]:
    """Return the order of best-first growth of one tree by the gain of its splits."""
    _check_children(left, right)
    rank = np.empty(left.size, np.int32)
    rank_best_first(left.astype(np.int32), right.astype(np.int32), gain.astype(np.float64), rank)
    return rank


def mean_of_leaves(tree: Tree, value: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values with every inner node's replaced by the mean, by training weight, of the leaves below."""
    _check_children(tree.left, tree.right)
    value = value.astype(np.float64)
    average_upwards(
        tree.left.astype(np.int32), tree.right.astype(np.int32), tree.row_weight.astype(np.float64), value
    )
    return value


def _check_children(left: NDArray[Any], right: NDArray[Any]) -> None:
    """Raise ValueError unless each node but the first is the child of one node before it, as the kernels rely on."""
    splits = np.flatnonzero(left >= 0)
    children = np.concatenate([left[splits], right[splits]]).astype(np.int64)
    parents = np.concatenate([splits, splits])
    if (children <= parents).any() or (children >= left.size).any():
        raise ValueError("children must come after their parent, within the same tree")
    if np.bincount(children, minlength=1).max() > 1:
        raise ValueError("a node is the child of two nodes: children do not form trees")
