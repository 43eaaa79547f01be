"""Splits at which zero, as a missing value, goes another way than the numbers on either side of it."""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop._stack import Tree, growth_rank, mean_of_leaves

# LightGBM's kZeroThreshold: numbers from -ZERO to ZERO are zero.
ZERO = float(np.float32(1e-35))
# The largest number below them, in float64 and, rounded down, in float32.
ABOVE_ALL_NEGATIVE = float(np.nextafter(-ZERO, -np.inf))
MOST_TIMES_LARGER = 4


class Missing(IntEnum):
    """What a split takes for missing: nothing, NaN being read as zero; zero, and NaN as well; NaN."""

    NONE = 0
    ZERO = 1
    NAN = 2


def with_zero_apart(tree: Tree, is_apart: NDArray[np.bool_], default_left: NDArray[np.bool_]) -> Tree:
    """Return the tree with these of its splits made of three, which send four intervals left, right, left and right.

    Where zero goes left below a threshold that is negative, the intervals end at the threshold and at the two ends of
    zero; where it goes right, and the threshold is positive, at the two ends of zero and at the threshold. What is
    below a split is then there twice, and half of its rows are counted for each.
    """
    nodes = np.flatnonzero(is_apart)
    goes_left = default_left[nodes]
    threshold = tree.threshold[nodes]
    high = np.where(goes_left, ZERO, threshold)
    middle = np.where(goes_left, ABOVE_ALL_NEGATIVE, ZERO)
    low = np.where(goes_left, threshold, ABOVE_ALL_NEGATIVE)
    n_nodes = tree.left.size
    second = n_nodes + np.arange(nodes.size)
    third = second + nodes.size
    below, above = tree.left[nodes], tree.right[nodes]
    left, right = np.concatenate([tree.left, third, below]), np.concatenate([tree.right, below, above])
    left[nodes] = second
    # By the links so far some nodes have two parents; now each way to a node makes a node.
    source, new_left, new_right, share = _unfolded(left, right, nodes, n_nodes)

    def extended(array: NDArray[Any], of_second: Any, of_third: Any) -> NDArray[Any]:
        more = [np.broadcast_to(np.asarray(of, array.dtype), nodes.size) for of in (of_second, of_third)]
        return np.asarray(np.concatenate([array, *more])[source])

    new_threshold = tree.threshold.copy()
    new_threshold[nodes] = high
    rows, weight = tree.n_rows.astype(np.float64), tree.row_weight
    unfolded = Tree(
        feature=extended(tree.feature, tree.feature[nodes], tree.feature[nodes]),
        threshold=extended(new_threshold, middle, low),
        left=new_left,
        right=new_right,
        # NaN goes left of the first and right of the second, or right of the first.
        missing_left=extended(tree.missing_left, False, False),
        value=np.concatenate([tree.value, tree.value[nodes], tree.value[nodes]])[source],
        n_rows=np.rint(extended(rows, rows[below] + rows[above] / 2, (rows[below] + rows[above]) / 2) * share).astype(
            np.int32
        ),
        row_weight=extended(weight, weight[below] + weight[above] / 2, (weight[below] + weight[above]) / 2) * share,
        impurity=np.zeros(source.size),
        growth_rank=growth_rank(
            new_left, new_right, -extended(tree.growth_rank, tree.growth_rank[nodes], tree.growth_rank[nodes])
        ),
        category_sets={
            int(node): tree.category_sets[int(source[node])]
            for node in np.flatnonzero(np.isin(source, list(tree.category_sets)))
        },
    )
    values = mean_of_leaves(unfolded, unfolded.value)
    return Tree(**{**vars(unfolded), "value": values})


def _unfolded(
    left: NDArray[np.int64], right: NDArray[np.int64], nodes: NDArray[np.int64], n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return which node each node of the tree is a copy of, the children of the copies, and their shares of the rows.

    `nodes` have been made of three; the second and the third of each stand behind the `n_nodes` of the tree.
    """
    halves_left, halves_right = np.zeros(left.size, np.bool_), np.zeros(left.size, np.bool_)
    halves_left[n_nodes + nodes.size :] = True
    halves_right[nodes] = True
    halves_right[n_nodes:] = True
    level, share = np.zeros(1, np.int64), np.ones(1)
    sources, shares, lefts, rights = [], [], [], []
    n_so_far = 0
    while level.size:
        n_so_far += level.size
        is_split = left[level] >= 0
        splits, its_share = level[is_split], share[is_split]
        if n_so_far + 2 * splits.size > MOST_TIMES_LARGER * n_nodes:
            raise ValueError(
                "a tree takes zero as missing at so many of its splits that, written as thresholds, its "
                f"{n_nodes:,} nodes would become more than {MOST_TIMES_LARGER * n_nodes:,}; fit with "
                "zero_as_missing=False, or with fewer leaves"
            )
        sources.append(level)
        shares.append(share)
        place = n_so_far + np.cumsum(is_split) - 1
        lefts.append(np.where(is_split, place, -1))
        rights.append(np.where(is_split, place + splits.size, -1))
        level = np.concatenate([left[splits], right[splits]])
        share = np.concatenate(
            [its_share * np.where(halves, 0.5, 1.0) for halves in (halves_left[splits], halves_right[splits])]
        )
    return np.concatenate(sources), np.concatenate(lefts), np.concatenate(rights), np.concatenate(shares)
