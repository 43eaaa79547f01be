"""From single trees to a Forest: what every reader ends with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import CategorySets, Forest, pool_sets, round_down
from billhook.kernels import average_upwards, rank_best_first

# The thresholds of the forests that are stacked, while somebody asks for them.
_recorded: ContextVar[list["Thresholds"] | None] = ContextVar("_recorded", default=None)


class Thresholds(NamedTuple):
    """The thresholds of all nodes of a forest before they were rounded to float32, and how it rounds its rows."""

    threshold: NDArray[Any]
    rounding: str


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
    names = [array.name for array in fields(Tree) if array.name != "category_sets"]
    columns = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    offset = np.concatenate([[0], np.cumsum([tree.left.size for tree in trees])]).astype(np.int64)
    is_leaf = columns["left"] < 0
    category_set, sets = _category_sets(trees, offset)
    columns["threshold"] = np.where(category_set >= 0, 0.0, columns["threshold"])
    for name, of_leaf in (("feature", -1), ("threshold", 0.0), ("missing_left", False)):
        columns[name] = np.where(is_leaf, of_leaf, columns[name])
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(Thresholds(columns["threshold"], other.get("rounding", "nearest")))
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
        offset=offset,
        category_set=category_set,
        **sets._asdict(),
        **other,
    )


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
