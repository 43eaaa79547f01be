"""Symmetric trees: all splits on a level ask the same, so that a test for each level tells all."""

from dataclasses import replace
from typing import Any

import numpy as np

from billhook._types import Int64Array
from billhook.forest import Forest
from billhook.packing._bits import bits_for
from billhook.packing._layout import ByteLayout
from billhook.packing._order import LevelOrder, level_order

# A reader has 16 bits for the number of a leaf in its tree.
MOST_LEVELS = 16
# Of all trees: what a file may say, since leaves may take no bits at all.
MOST_LEAVES = 2**20


def are_symmetric(forest: Forest) -> bool:
    """Return whether all trees of a forest on codes have splits, and are symmetric."""
    order = level_order(forest)
    n_levels = _levels(order.n_inner)
    is_full = (order.n_inner == (1 << n_levels) - 1).all() and order.n_inner.min() > 0
    if not is_full or n_levels.max() > MOST_LEVELS or forest.n_leaves > MOST_LEAVES:
        return False
    first, _ = first_of_levels(order)
    same = np.repeat(first, _splits_of_levels(n_levels))
    # Full trees whose children come in level order: all leaves are on the last level.
    is_last = np.concatenate([np.arange(n) >= n // 2 for n in order.n_inner])
    asked = (forest.feature, forest.threshold, forest.missing_left)
    is_level = (order.goes_on == ~is_last[:, None]).all()
    return bool(is_level and all((of_node[order.inner] == of_node[same]).all() for of_node in asked))


def first_of_levels(order: LevelOrder) -> tuple[Int64Array, Int64Array]:
    """Return the first split of each level of all trees, which must be full, and how many levels each tree has."""
    n_levels = _levels(order.n_inner)
    begin = np.repeat(np.cumsum(order.n_inner) - order.n_inner, n_levels)
    level = np.concatenate([np.arange(n) for n in n_levels.tolist()])
    return order.inner[begin + (1 << level) - 1], n_levels


def with_levels(plain: ByteLayout, n_levels: Int64Array) -> ByteLayout:
    """Return the layout with one test for each level of trees with so many."""
    return replace(
        plain,
        is_symmetric=True,
        n_inner=int(n_levels.sum()),
        tree_bits=bits_for(int(n_levels.max() - n_levels.min()) + 1),
        least_inner=int(n_levels.min()),
    )


def check_levels(n_levels: Int64Array, layout: ByteLayout) -> None:
    """Raise ValueError unless trees with so many levels have the leaves of a layout."""
    if int(n_levels.max()) > MOST_LEVELS or int((1 << n_levels).sum()) != layout.n_leaves:
        raise ValueError(f"trees of up to {n_levels.max()} levels do not have {layout.n_leaves} leaves")


def with_splits(nodes: dict[str, Any]) -> dict[str, Any]:
    """Return what the bytes say about each level, as `_decode` has it, about each split; `n_inner` has the levels."""
    n_levels = nodes["n_inner"]
    n_splits = _splits_of_levels(n_levels)
    goes_on = [np.arange((1 << n) - 1) < (1 << n) // 2 - 1 for n in n_levels.tolist()]
    by_split = {name: np.repeat(nodes[name], n_splits) for name in ("feature", "code", "missing_left")}
    both = np.repeat(np.concatenate(goes_on)[:, None], 2, axis=1)
    return nodes | by_split | {"n_inner": (1 << n_levels) - 1, "goes_on": both}


def _levels(n_inner: Int64Array) -> Int64Array:
    """Return how many levels hold so many splits."""
    return np.array([int(n).bit_length() for n in n_inner], np.int64)


def _splits_of_levels(n_levels: Int64Array) -> Int64Array:
    return np.concatenate([1 << np.arange(n) for n in n_levels.tolist()])
