"""Random forests (Breiman 2001) and extremely randomised trees (Geurts et al. 2006), best-first, on bins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.growing._binned_rows import BinnedRows
from billhook.growing._trees import GrownTree, TreeGrower, TreeOptions
from billhook.kernels import GROWTH_LOSSES, loss_gradients


def grow_random_forest(
    rows: BinnedRows,
    target: NDArray[Any],
    weight: NDArray[Any],
    *,
    n_classes: int | None,
    n_trees: int,
    max_leaves: int,
    max_features: int,
    is_extra: bool = False,
    min_weight: float = 0.0,
    seed: int = 0,
) -> list[GrownTree]:
    """Return trees whose leaves have the shares of the classes, or the mean of the targets, of their rows.

    Parameters
    ----------
    rows : BinnedRows
    target : array (rows)
        Class numbers, or numbers.
    weight : array (rows)
    n_classes : int or None
        None for regression.
    n_trees, max_leaves : int
    max_features : int
        How many features are tried for a split; more, if none of them gains anything.
    is_extra : bool
        Whether trees are extremely randomised: grown on all rows, with one random threshold tried of each feature.
        Others are grown on rows drawn with replacement.
    min_weight : float
        The least weight of a leaf.
    seed : int
    """
    options = TreeOptions(
        max_leaves=max_leaves,
        l2=0.0,
        min_weight=min_weight,
        n_tried_features=min(max_features, rows.n_features),
        is_random_threshold=is_extra,
        is_share=True,
    )
    n_outputs = 1 if n_classes is None else n_classes
    grower = TreeGrower(rows, n_outputs, options)
    score = np.zeros((rows.n_rows, grower.n_lanes), np.float32)
    target = np.ascontiguousarray(target, np.float32)
    weight = np.ascontiguousarray(weight, np.float32)
    loss = GROWTH_LOSSES["squared" if n_classes is None else "shares"]
    random = np.random.default_rng(seed)
    trees = []
    for _ in range(n_trees):
        check_time()
        of_rows, sampled = weight, None
        if not is_extra:
            times = np.bincount(random.integers(rows.n_rows, size=rows.n_rows), minlength=rows.n_rows)
            sampled = np.flatnonzero(times)
            of_rows = weight * times.astype(np.float32)
        loss_gradients(loss, 0.0, n_outputs, score, target, of_rows, *grower.gradients)
        of_tree = int(random.integers(2**63))
        trees.append(grower.grow(target, of_rows, score, sampled=sampled, seed=of_tree))
    return trees
