"""What float32 does to the thresholds of a library that compares in float64."""

import warnings
from collections.abc import Sequence

import numpy as np

from billhook.forest import round_down
from billhook.interop._stack import Tree


def check_thresholds(trees: Sequence[Tree], kind: str) -> None:
    """Refuse thresholds beyond float32, and warn of thresholds that float32 cannot tell from one another.

    Parameters
    ----------
    trees : sequence of Tree
    kind : str
        What messages call the model.
    """
    of_splits = [_by_threshold(tree) for tree in trees]
    feature = np.concatenate([tree.feature[nodes] for tree, nodes in zip(trees, of_splits, strict=True)])
    threshold = np.concatenate([tree.threshold[nodes] for tree, nodes in zip(trees, of_splits, strict=True)])
    limit = np.finfo(np.float32).max
    beyond = threshold[np.isfinite(threshold) & (np.abs(threshold) > limit)]
    if beyond.size:
        raise ValueError(
            f"the {kind} splits at {np.abs(beyond).max():.3g}, beyond float32 ({limit:.3g}), in which a forest reads "
            "its rows; scale the features and fit again"
        )
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    rounded = round_down(threshold)
    is_new = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    is_told_apart = (feature[1:] != feature[:-1]) | (rounded[1:] != rounded[:-1])
    n_same = int(np.count_nonzero(is_new & ~is_told_apart))
    if n_same:
        n_different = int(np.count_nonzero(is_new)) + 1
        warnings.warn(
            f"{n_same} of {n_different} thresholds of the {kind} are the same as another in float32, in which a "
            "forest reads its rows: predictions may differ; subtract an offset from features like timestamps and fit "
            "again",
            UserWarning,
            stacklevel=5,
        )


def _by_threshold(tree: Tree) -> np.typing.NDArray[np.bool_]:
    """Return which nodes of a tree are splits by thresholds."""
    is_split = np.asarray(tree.left >= 0)
    is_split[list(tree.category_sets)] = False
    return is_split
