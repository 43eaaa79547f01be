"""What float32 does to the thresholds of a library that compares in float64."""

import warnings
from collections.abc import Sequence
from inspect import currentframe
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    n_same = _n_same(feature, threshold)
    if n_same:
        n_different = np.unique(np.stack([feature, threshold]), axis=1).shape[1]
        warnings.warn(
            f"{n_same} of {n_different} thresholds of the {kind} are the same as another in float32, in which a "
            "forest reads its rows: predictions may differ; subtract an offset from features like timestamps and fit "
            "again",
            UserWarning,
            stacklevel=_n_frames_inside() + 1,
        )


def _n_same(feature: NDArray[Any], threshold: NDArray[Any]) -> int:
    """Return how many thresholds of a feature are the same as another of it when rounded."""
    rounded = round_down(threshold)
    of_any = round_down(np.unique(threshold))
    # Thresholds of different features may well be the same; few are left to compare.
    is_shared = np.isin(rounded, of_any[1:][of_any[1:] == of_any[:-1]])
    exact, inexact = (
        np.unique(np.stack([feature[is_shared], numbers[is_shared]]), axis=1) for numbers in (threshold, rounded)
    )
    return int(exact.shape[1] - inexact.shape[1])


def _n_frames_inside() -> int:
    """Return how many of the calls that led to the caller are Billhook's own: it warns whoever called those."""
    frame, n_frames = currentframe(), -1  # this one does not count
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "billhook":
        frame, n_frames = frame.f_back, n_frames + 1
    return n_frames


def _by_threshold(tree: Tree) -> NDArray[np.bool_]:
    """Return which nodes of a tree are splits by thresholds."""
    is_split = np.asarray(tree.left >= 0)
    is_split[list(tree.category_sets)] = False
    return is_split
