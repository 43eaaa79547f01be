"""Models that treelite wrote as JSON (`dump_as_json`), as checkpoints."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop.treelite._checkpoint import CATEGORICAL, LEAF, NUMERICAL, TASKS, Checkpoint

COMPARISONS = {"==": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
NODE_TYPES = {"numerical_test_node": NUMERICAL, "categorical_test_node": CATEGORICAL}
NODE_FIELDS = {
    "node_id",
    "leaf_value",
    "split_feature_id",
    "default_left",
    "node_type",
    "comparison_op",
    "threshold",
    "category_list_right_child",
    "category_list",
    "left_child",
    "right_child",
    "data_count",
    "sum_hess",
    "gain",
}


def checkpoint_of(model: dict[str, Any]) -> Checkpoint:
    """Return what the JSON object of a model says."""
    if model["task_type"] not in TASKS:
        raise ModelFileError(f"the model has the task {model['task_type']!r}, which treelite 4 does not know")
    trees = [_tree(tree) for tree in model["trees"]]
    # Older ones do not say; thresholds that are float32 numbers mean the same in both.
    thresholds = np.concatenate([tree["threshold"] for tree in trees]) if trees else np.zeros(0)
    with np.errstate(over="ignore", under="ignore"):
        narrow = bool((thresholds.astype(np.float32) == thresholds).all())
    float_type = model.get("threshold_type", "float32" if narrow else "float64")
    if float_type not in ("float32", "float64"):
        raise ModelFileError(f"the model has thresholds of the type {float_type!r}, which treelite 4 does not know")
    return Checkpoint(
        float_type=float_type,
        num_feature=int(model["num_feature"]),
        task_type=model["task_type"],
        average_tree_output=bool(model["average_tree_output"]),
        postprocessor=str(model["postprocessor"]),
        sigmoid_alpha=float(model["sigmoid_alpha"]),
        ratio_c=float(model["ratio_c"]),
        base_scores=np.array(model["base_scores"], np.float64).ravel(),
        attributes=str(model.get("attributes", "")),
        trees=trees,
        **{
            name: np.array(model[name], np.int32).ravel()
            for name in ("num_class", "leaf_vector_shape", "target_id", "class_id")
        },
    )


def _tree(tree: dict[str, Any]) -> dict[str, NDArray[Any]]:
    nodes = tree["nodes"]
    for place, node in enumerate(nodes):
        if node["node_id"] != place:
            raise ModelFileError(f"node {node['node_id']!r} of a tree is in place {place}")
        if not node.keys() <= NODE_FIELDS:
            raise ModelFileError(f"a node has unknown fields: {', '.join(sorted(node.keys() - NODE_FIELDS))}")
    node_type = [LEAF if "leaf_value" in node else NODE_TYPES[node["node_type"]] for node in nodes]
    vectors = [np.atleast_1d(np.array(node.get("leaf_value", []), np.float64)) for node in nodes]
    lists = [np.array(node.get("category_list", []), np.uint32) for node in nodes]
    numerical = [kind == NUMERICAL for kind in node_type]
    arrays: dict[str, NDArray[Any]] = {
        "node_type": np.array(node_type, np.int8),
        "cleft": np.array([node.get("left_child", -1) for node in nodes], np.int32),
        "cright": np.array([node.get("right_child", -1) for node in nodes], np.int32),
        "split_index": np.array([node.get("split_feature_id", -1) for node in nodes], np.int32),
        "default_left": np.array([bool(node.get("default_left")) for node in nodes], np.uint8),
        "leaf_value": np.zeros(len(nodes)),
        "threshold": np.array(
            [node["threshold"] if has else 0.0 for node, has in zip(nodes, numerical, strict=True)], np.float64
        ),
        "cmp": np.array(
            [COMPARISONS[node["comparison_op"]] if has else 0 for node, has in zip(nodes, numerical, strict=True)],
            np.int8,
        ),
        "category_list_right_child": np.array(
            [bool(node.get("category_list_right_child")) for node in nodes], np.uint8
        ),
    }
    for name, parts in (("leaf_vector", vectors), ("category_list", lists)):
        ends = np.cumsum([part.size for part in parts])
        arrays |= {
            name: np.concatenate(parts),
            f"{name}_begin": np.append(0, ends[:-1]).astype(np.uint64),
            f"{name}_end": ends.astype(np.uint64),
        }
    for name in ("data_count", "sum_hess", "gain"):
        arrays[name] = np.array([node.get(name, 0) for node in nodes], np.float64)
        arrays[f"{name}_present"] = np.array([name in node for node in nodes], np.uint8)
    return arrays
