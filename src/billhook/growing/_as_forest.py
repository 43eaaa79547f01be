"""From grown trees to a Forest."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from billhook.forest import Forest
from billhook.growing._trees import GrownTree


def forest_of_trees(trees: Sequence[GrownTree], **other: Any) -> Forest:
    """Return the forest of these trees; thresholds are bins. `other` are the fields that do not belong to nodes."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "missing_left", "left", "right", "value", "n_rows", "row_weight")
    }
    bins = np.concatenate([tree.bin for tree in trees])
    # Splits are numbered as they are made, and their children beside each other.
    rank = np.where(columns["left"] < 0, -1, (columns["left"] - 1) // 2).astype(np.int32)
    return Forest(
        **columns,
        threshold=np.maximum(bins, 0).astype(np.float32),
        impurity=np.zeros(bins.size),
        growth_rank=rank,
        offset=np.concatenate([[0], np.cumsum([tree.left.size for tree in trees])]).astype(np.int64),
        **other,
    )
