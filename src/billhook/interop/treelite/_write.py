"""A Forest as treelite's model."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, categories_of, labels_to_json
from billhook.interop.treelite._checkpoint import CATEGORICAL, LEAF, NUMERICAL, Checkpoint, write_checkpoint

LESS_OR_EQUAL = 3
POSTPROCESSORS = {
    "logistic": "sigmoid",
    "softmax": "softmax",
    "exp": "exponential",
    "isolation": "exponential_standard_ratio",
}
TASKS = {"logistic": "kBinaryClf", "isolation": "kIsolationForest"}


def write(forest: Forest) -> Any:
    """Return the forest as a treelite.Model with thresholds and leaves in float64.

    Of an isolation forest, treelite predicts the probability of an outlier; it does not end at one.
    """
    try:
        import treelite
    except ImportError:
        raise ImportError("to_treelite needs treelite: pip install 'billhook[treelite]'") from None
    return treelite.Model.deserialize_bytes(write_checkpoint(checkpoint_of(forest)))


def checkpoint_of(forest: Forest) -> Checkpoint:
    """Return what a checkpoint of the forest holds."""
    n_columns, n_values = forest.base.size, forest.value.shape[1]
    is_vector = n_values > 1
    # Only where every tree serves every column is treelite's mean the mean of all trees.
    is_mean = forest.averages and n_values == n_columns and np.unique(forest.tree_weight).size == 1
    factor = forest.tree_weight * forest.n_trees if is_mean else forest.tree_weight
    is_classifier = forest.classes is not None
    identity = "identity_multiclass" if is_classifier else "identity"
    return Checkpoint(
        float_type="float64",
        num_feature=forest.n_features,
        task_type=TASKS.get(forest.link, "kMultiClf") if is_classifier else "kRegressor",
        average_tree_output=is_mean,
        num_class=np.array([n_columns]),
        leaf_vector_shape=np.array([1, n_values]),
        target_id=np.full(forest.n_trees, 0),
        class_id=np.full(forest.n_trees, -1) if is_vector else forest.tree_column,
        postprocessor=POSTPROCESSORS.get(forest.link, identity),
        sigmoid_alpha=1.0,
        ratio_c=1.0,
        # The outlier's probability is 2 ** (-1 - score), and treelite's 2 ** -score.
        base_scores=forest.base + (forest.link == "isolation"),
        attributes=json.dumps({"billhook": _about(forest)}),
        trees=_trees(forest, forest.value * np.repeat(factor, np.diff(forest.offset))[:, None]),
    )


def _about(forest: Forest) -> dict[str, Any]:
    """Return what treelite has no field for."""
    return {
        "classes": None if forest.classes is None else labels_to_json(forest.classes),
        "feature_names": None if forest.feature_names is None else list(forest.feature_names),
        "ties": forest.ties,
        "link": forest.link,
    }


def _trees(forest: Forest, value: NDArray[np.float64]) -> list[dict[str, NDArray[Any]]]:
    sets = [categories_of(forest, number) for number in range(forest.n_sets)]
    return [
        _tree(forest, slice(int(start), int(end)), value, sets)
        for start, end in zip(forest.offset[:-1], forest.offset[1:], strict=True)
    ]


def _tree(
    forest: Forest, own: slice, value: NDArray[np.float64], sets: list[NDArray[np.int64]]
) -> dict[str, NDArray[Any]]:
    is_leaf = forest.feature[own] < 0
    number = forest.category_set[own]
    n_nodes = is_leaf.size
    nothing = np.zeros(0)
    n_values = value.shape[1] if value.shape[1] > 1 else 0
    vector_end = np.cumsum(np.where(is_leaf, n_values, 0))
    lists = [sets[k] for k in number[number >= 0].tolist()]
    list_size = np.zeros(n_nodes, np.int64)
    list_size[number >= 0] = [one.size for one in lists]
    list_end = np.cumsum(list_size)
    return {
        "node_type": np.where(is_leaf, LEAF, np.where(number >= 0, CATEGORICAL, NUMERICAL)),
        "cleft": forest.left[own],
        "cright": forest.right[own],
        "split_index": forest.feature[own],
        "default_left": forest.missing_left[own],
        "leaf_value": np.where(is_leaf & (n_values == 0), value[own, 0], 0.0),
        "threshold": forest.threshold[own],
        "cmp": np.where(is_leaf | (number >= 0), 0, LESS_OR_EQUAL),
        "category_list_right_child": np.zeros(n_nodes),
        "leaf_vector": value[own][is_leaf].ravel() if n_values else nothing,
        "leaf_vector_begin": vector_end - np.where(is_leaf, n_values, 0),
        "leaf_vector_end": vector_end,
        "category_list": np.concatenate([nothing, *lists]),
        "category_list_begin": list_end - list_size,
        "category_list_end": list_end,
        "data_count": forest.n_rows[own],
        "data_count_present": np.ones(n_nodes),
        "sum_hess": forest.row_weight[own],
        "sum_hess_present": np.ones(n_nodes),
        "gain": nothing,
        "gain_present": nothing,
    }
