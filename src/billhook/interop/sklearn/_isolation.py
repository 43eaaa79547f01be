"""Isolation forests: how deep rows lie, as the mean of leaf values."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop._stack import Tree, stack
from billhook.interop.sklearn._tree import depths_of, read_tree

# Rows whose depth is the limit, as that of a training row often is, are no outliers; a sum in another order is off by
# less than this.
MARGIN = 1e-12


def read_isolation_forest(model: Any, output: int, about: dict[str, Any]) -> Forest:
    """Return the forest of outliers, -1, and inliers, 1 (Liu, Ting and Zhou 2008).

    The value of a node is its depth, with the average depth of a tree of its rows added, as a multiple of the average
    depth of a tree of all rows, minus the multiple at which a row is no outlier any more.
    """
    if model._max_samples < 2:
        raise ValueError("the IsolationForest has trees of one row each, to which all rows are alike; give it more")
    if not -1.0 <= model.offset_ < 0.0:
        raise ValueError(f"the offset_ of an IsolationForest must lie between -1 and 0, not {model.offset_!r}")
    whole = average_depth(np.array([model._max_samples]))[0]
    limit = -np.log2(-model.offset_) - MARGIN
    trees: list[Tree] = []
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        tree = read_tree(member.tree_, output)
        depth = depths_of(tree.left, tree.right) + average_depth(tree.n_rows)
        feature = np.asarray(features)[np.maximum(tree.feature, 0)]  # a leaf's is negative, and never read
        trees.append(replace(tree, feature=feature, value=(depth / whole - limit)[:, None]))
    return stack(
        trees,
        tree_weight=np.full(len(trees), 1.0 / len(trees)),
        tree_column=np.zeros(len(trees), np.int32),
        averages=True,
        base=np.zeros(1),
        link="isolation",
        ties="last",
        task="classification",
        classes=np.array([-1, 1]),
        **about,
    )


def average_depth(n_rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the average depth of a tree of as many rows, all of them alone in their leaves."""
    n = np.maximum(n_rows, 3).astype(np.float64)
    large = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, large))
