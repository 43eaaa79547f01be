"""One scikit-learn tree: to arrays, and back."""

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop._stack import Tree, growth_rank

NODE_FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
)
HIST_NODE_FIELDS = (
    "value",
    "count",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "gain",
    "depth",
    "is_leaf",
    "bin_threshold",
    "is_categorical",
    "bitset_idx",
)


def read_tree(tree: Any, output: int = 0) -> Tree:
    """Return a fitted `tree_`, for one of its outputs; what its nodes hold must be exactly what is known here."""
    state = tree.__getstate__()
    nodes = checked_nodes(state["nodes"], NODE_FIELDS)
    left, right = nodes["left_child"], nodes["right_child"]
    weight, impurity = nodes["weighted_n_node_samples"], nodes["impurity"]
    return Tree(
        feature=nodes["feature"],
        threshold=nodes["threshold"],
        left=left,
        right=right,
        missing_left=nodes["missing_go_to_left"],
        # Padded to the most classes of any output.
        value=state["values"][:, output, : tree.n_classes[output]],
        n_rows=nodes["n_node_samples"],
        row_weight=weight,
        impurity=impurity,
        growth_rank=_growth_rank(left, right, weight, impurity),
    )


def checked_nodes(nodes: NDArray[Any], known: tuple[str, ...]) -> NDArray[Any]:
    """Return the nodes if their fields are the known ones; else refuse, for a new field could change the answer."""
    if nodes.dtype.names is None or set(nodes.dtype.names) != set(known):
        odd = sorted(set(nodes.dtype.names or ()) ^ set(known))
        raise TypeError(
            f"the trees of scikit-learn {sklearn.__version__} hold nodes of a kind unknown to this Billhook "
            f"(new or missing fields: {', '.join(odd)}); upgrade Billhook"
        )
    return nodes


def _growth_rank(
    left: NDArray[Any], right: NDArray[Any], weight: NDArray[Any], impurity: NDArray[Any]
) -> NDArray[np.int32]:
    splits = np.flatnonzero(left >= 0)
    if np.array_equal(right[splits], left[splits] + 1):
        # Best-first growth (`max_leaf_nodes`) numbers both children when it makes a split, so the order
        # of the children is the order of the splits. Depth-first numbering has siblings side by side
        # everywhere only in a chain, whose order is the same either way.
        rank = np.full(left.size, -1, np.int32)
        rank[splits[np.argsort(left[splits])]] = np.arange(splits.size)
        return rank
    gain = np.zeros(left.size)
    below = weight * impurity
    gain[splits] = below[splits] - below[left[splits]] - below[right[splits]]
    return growth_rank(left, right, gain)


def write_tree(forest: Forest, index: int, value: NDArray[np.float64], template: Any) -> Any:
    """Return one tree of the forest as a `tree_` like the template, with these values of the forest's nodes."""
    picked = slice(forest.offset[index], forest.offset[index + 1])
    is_leaf = forest.feature[picked] < 0
    nodes = np.zeros(is_leaf.size, checked_nodes(template.__getstate__()["nodes"], NODE_FIELDS).dtype)
    nodes["left_child"] = forest.left[picked]
    nodes["right_child"] = forest.right[picked]
    nodes["feature"] = np.where(is_leaf, -2, forest.feature[picked])
    nodes["threshold"] = np.where(is_leaf, -2.0, forest.threshold[picked])
    nodes["impurity"] = forest.impurity[picked]
    nodes["n_node_samples"] = forest.n_rows[picked]
    nodes["weighted_n_node_samples"] = forest.row_weight[picked]
    nodes["missing_go_to_left"] = forest.missing_left[picked]
    new = type(template)(forest.n_features, np.array(template.n_classes), template.n_outputs)
    new.__setstate__(
        {
            "max_depth": int(depths_of(nodes["left_child"], nodes["right_child"]).max()),
            "node_count": nodes.size,
            "nodes": nodes,
            "values": np.ascontiguousarray(value[picked][:, None, :]),
        }
    )
    return new


def write_hist_nodes(forest: Forest, index: int, value: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return one tree of the forest as the nodes of a histogram boosting predictor.

    Gains are made up so that they tell the order of growth.
    """
    picked = slice(forest.offset[index], forest.offset[index + 1])
    is_leaf = forest.feature[picked] < 0
    nodes = checked_nodes(np.zeros(is_leaf.size, dtype), HIST_NODE_FIELDS)
    nodes["value"] = value[picked][:, 0]
    nodes["count"] = forest.n_rows[picked]
    nodes["feature_idx"] = np.where(is_leaf, 0, forest.feature[picked])
    nodes["num_threshold"] = forest.threshold[picked]
    nodes["missing_go_to_left"] = forest.missing_left[picked]
    nodes["left"] = np.where(is_leaf, 0, forest.left[picked])
    nodes["right"] = np.where(is_leaf, 0, forest.right[picked])
    nodes["gain"] = np.where(is_leaf, -1, is_leaf.size - forest.growth_rank[picked])
    nodes["depth"] = depths_of(forest.left[picked], forest.right[picked])
    nodes["is_leaf"] = is_leaf
    return nodes


def depths_of(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many splits are above each node."""
    depth = np.zeros(left.size, np.int64)
    level = np.zeros(1, np.int64)
    while (level := level[left[level] >= 0]).size:
        children = np.concatenate([left[level], right[level]])
        depth[children] = depth[level[0]] + 1
        level = children
    return depth
