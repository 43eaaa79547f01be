"""From what a checkpoint of treelite holds to a Forest."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, labels_from_json
from billhook.interop._comparisons import EQ, GE, GT, LE, LT, as_splits
from billhook.interop._expand import equal_numbers
from billhook.interop._nodes import Nodes, trees_of
from billhook.interop._outputs import SeveralOutputsError
from billhook.interop._stack import Tree, stack
from billhook.interop.treelite._checkpoint import CATEGORICAL, LEAF, NUMERICAL, Checkpoint

# Treelite's numbers of its comparisons, from 1 on.
COMPARISONS = np.array([-1, EQ, LT, LE, GT, GE])
# What is put together of all trees at once; the rest is large, and read tree by tree.
OF_SPLITS = (
    "node_type",
    "cleft",
    "cright",
    "split_index",
    "default_left",
    "threshold",
    "cmp",
    "category_list_right_child",
)
# What is read: the link, and the columns of scores that it is of.
LINKS = {
    "identity": "identity",
    "identity_multiclass": "identity",
    "sigmoid": "logistic",
    "softmax": "softmax",
    "exponential": "exp",
    "exponential_standard_ratio": "exp",
}
# Links of which one score tells two classes apart.
ONE_SCORE = ("logistic", "isolation")
# So many trees are read at once: all of them would be in memory once more.
TOGETHER = 64


class ChosenTarget(NamedTuple):
    """The target that is read: its number, its classes, and which trees it has."""

    target: int
    n_columns: int
    trees: NDArray[np.int64]


class ScoreLink(NamedTuple):
    """How the scores are to be read, and the factor that makes them those of the link."""

    name: str
    is_classifier: bool
    scale: float


def forest_of(checkpoint: Checkpoint, output: int | None) -> Forest:
    """Return the forest of the target with the number `output`, which a model of one target need not have."""
    chosen = _chosen(checkpoint, output)
    link, base = _link(checkpoint, chosen.n_columns), _base(checkpoint, chosen)
    if _is_our_isolation(checkpoint, chosen):
        link, base = ScoreLink("isolation", True, 1.0), base - 1.0
    column, is_vector = _columns(checkpoint, chosen)
    weighs = "sum_hess" if _is_known(checkpoint, chosen, "sum_hess") else "data_count"
    trees: list[Tree] = []
    for start in range(0, chosen.trees.size, TOGETHER):
        some = chosen._replace(trees=chosen.trees[start : start + TOGETHER])
        root, nodes = _nodes(checkpoint, some, is_vector, weighs)
        trees += trees_of(nodes, root)
        del nodes
    about = _about(checkpoint, chosen.n_columns if link.name not in ONE_SCORE else 2)
    other = {
        "tree_weight": link.scale * _share(checkpoint, chosen, column, is_vector),
        "tree_column": column.astype(np.int32),
        "averages": checkpoint.average_tree_output,
        "base": link.scale * base,
        "link": link.name,
        "task": "classification" if link.is_classifier else "regression",
        "n_features": checkpoint.num_feature,
        "classes": about["classes"] if link.is_classifier else None,
        "feature_names": about["feature_names"],
        "ties": about["ties"] if link.name in ONE_SCORE else "first",
        "rounding": "down" if checkpoint.float_type == "float64" else "nearest",
        "origin": "treelite.Model",
    }
    del checkpoint  # which keeps all the bytes of a file
    return stack(trees, **other)


def _chosen(checkpoint: Checkpoint, output: int | None) -> ChosenTarget:
    n_targets = checkpoint.num_class.size
    if output is None:
        if n_targets > 1:
            raise SeveralOutputsError("the model", n_targets)
        output = 0
    if not isinstance(output, int) or not 0 <= output < n_targets:
        raise ValueError(f"output must be the number of one of the model's {n_targets} targets, not {output!r}")
    if checkpoint.target_id.size != len(checkpoint.trees) or checkpoint.class_id.size != len(checkpoint.trees):
        raise ValueError("target_id and class_id must have an entry for each tree")
    if (checkpoint.num_class < 1).any() or checkpoint.leaf_vector_shape.size != 2:
        raise ValueError("num_class must be positive, and leaf_vector_shape have two entries")
    shape = n_targets, int(checkpoint.num_class.max())
    if checkpoint.base_scores.size != shape[0] * shape[1]:
        raise ValueError(f"base_scores must have {shape[0] * shape[1]} entries, not {checkpoint.base_scores.size}")
    trees = np.flatnonzero(np.isin(checkpoint.target_id, (-1, output)))
    if trees.size == 0:
        raise ValueError("the model has no trees")
    return ChosenTarget(output, int(checkpoint.num_class[output]), trees)


def _link(checkpoint: Checkpoint, n_columns: int) -> ScoreLink:
    name, task = checkpoint.postprocessor, checkpoint.task_type
    if name not in LINKS:
        raise TypeError(f"as_forest does not know treelite's postprocessor {name!r}; known are {', '.join(LINKS)}")
    link = LINKS[name]
    is_classifier = link in ("softmax", "logistic") or task == "kMultiClf"
    if link == "identity" and task == "kBinaryClf":
        raise TypeError(
            f"the model's task is kBinaryClf and its postprocessor {name!r}, which does not say from which score on "
            "the second class is meant; set the postprocessor to 'sigmoid', or the task to kRegressor"
        )
    if (n_columns > 1) != (link != "logistic" and is_classifier) and not (n_columns == 1 and link == "identity"):
        raise TypeError(f"the model has {n_columns} columns of scores for the postprocessor {name!r}")
    if link == "logistic":
        return ScoreLink(link, is_classifier, checkpoint.sigmoid_alpha)
    if name != "exponential_standard_ratio":
        return ScoreLink(link, is_classifier, 1.0)
    # 2 ** (-score / c), as of an isolation forest.
    if checkpoint.ratio_c == 0.0:
        raise ValueError("ratio_c is 0")
    return ScoreLink(link, is_classifier, -math.log(2) / checkpoint.ratio_c)


def _is_our_isolation(checkpoint: Checkpoint, chosen: ChosenTarget) -> bool:
    """Return whether Billhook wrote an isolation forest, whose classes treelite has no field for."""
    is_ratio = checkpoint.postprocessor == "exponential_standard_ratio" and checkpoint.ratio_c == 1.0
    return is_ratio and chosen.n_columns == 1 and _written(checkpoint).get("link") == "isolation"


def _columns(checkpoint: Checkpoint, chosen: ChosenTarget) -> tuple[NDArray[np.int64], bool]:
    """Return the column of scores that each tree is added to, and whether leaves have values for all of them."""
    most = int(checkpoint.num_class.max())
    n_targets = checkpoint.num_class.size
    target, column = checkpoint.target_id[chosen.trees], checkpoint.class_id[chosen.trees]
    if most == 1:
        column = np.zeros_like(column)
    is_vector = bool((column == -1).all())
    if not is_vector and ((column < 0).any() or (column >= chosen.n_columns).any()):
        raise ValueError(f"class_id must be -1, or from 0 to {chosen.n_columns - 1}, for all trees")
    shape = [n_targets if (target == -1).any() and n_targets > 1 else 1, most if is_vector else 1]
    mixed = n_targets > 1 and len(set((target == -1).tolist())) > 1
    if mixed or checkpoint.leaf_vector_shape.tolist() != shape:
        raise ValueError(f"leaf_vector_shape must be {shape} for these trees")
    return np.where(column < 0, 0, column).astype(np.int64), is_vector


def _share(
    checkpoint: Checkpoint, chosen: ChosenTarget, column: NDArray[np.int64], is_vector: bool
) -> NDArray[np.float64]:
    """Return the weight of each tree: 1, or a share in the mean of the trees of the same column."""
    if not checkpoint.average_tree_output:
        return np.ones(chosen.trees.size)
    if is_vector:
        return np.full(chosen.trees.size, 1 / chosen.trees.size)
    n_trees = np.bincount(column, minlength=chosen.n_columns)
    if (n_trees == 0).any():
        raise ValueError("average_tree_output is set, and one of the classes has no trees")
    return np.asarray(1 / n_trees[column])


def _base(checkpoint: Checkpoint, chosen: ChosenTarget) -> NDArray[np.float64]:
    shape = checkpoint.num_class.size, int(checkpoint.num_class.max())
    return np.array(checkpoint.base_scores.reshape(shape)[chosen.target, : chosen.n_columns], np.float64)


def _nodes(
    checkpoint: Checkpoint, chosen: ChosenTarget, is_vector: bool, weighs: str
) -> tuple[NDArray[np.int64], Nodes]:
    """Return where the trees begin among all nodes, and these; `weighs` names the weight of their rows."""
    trees = [checkpoint.trees[tree] for tree in chosen.trees.tolist()]
    sizes = np.array([tree["cleft"].size for tree in trees], np.int64)
    if (sizes == 0).any():
        raise ValueError("a tree has no nodes")
    root = np.append(0, np.cumsum(sizes)[:-1])
    first, end = np.repeat(root, sizes), np.repeat(root + sizes, sizes)
    column = {name: np.concatenate([tree[name] for tree in trees]) for name in OF_SPLITS}
    is_leaf = column["node_type"] == LEAF
    left, right = first + column["cleft"], first + column["cright"]
    if not np.isin(column["node_type"], (LEAF, NUMERICAL, CATEGORICAL)).all():
        raise ValueError("a node has a type that treelite 4 does not know")
    if not np.array_equal(is_leaf, column["cleft"] == -1) or not np.array_equal(is_leaf, column["cright"] == -1):
        raise ValueError("a leaf must have no children, and a split two")
    if (np.minimum(left, right) < first)[~is_leaf].any() or (np.maximum(left, right) >= end)[~is_leaf].any():
        raise ValueError("a node has a child that is not in its tree")
    left, right, threshold, missing_left, equal = _splits(column, is_leaf, left, right)
    known = {name: _statistic(trees, name, sizes.tolist()) for name in ("data_count", "sum_hess", "gain")}
    return root, Nodes(
        feature=np.where(is_leaf, np.int32(-1), column["split_index"]),
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=_values(checkpoint, chosen, trees, is_leaf, is_vector),
        n_rows=np.nan_to_num(known["data_count"]).astype(np.int64),
        row_weight=np.nan_to_num(known[weighs]),
        gain=known["gain"],
        equal_to={node: equal_numbers(threshold[node : node + 1]) for node in equal.tolist()},
        category_sets=_category_sets(trees, root),
    )


def _splits(
    column: dict[str, NDArray[Any]], is_leaf: NDArray[np.bool_], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the children, thresholds and ways of missing values of all nodes, and which test for equality."""
    numerical = np.flatnonzero(column["node_type"] == NUMERICAL)
    code = column["cmp"][numerical]
    if ((code < 1) | (code >= COMPARISONS.size)).any():
        raise ValueError("a split has a comparison that treelite 4 does not know")
    missing_left = column["default_left"].astype(np.bool_)
    split = as_splits(
        COMPARISONS[code],
        column["threshold"][numerical],
        left[numerical],
        right[numerical],
        missing_left[numerical],
    )
    threshold = np.zeros(is_leaf.size)
    threshold[numerical] = split.threshold
    left[numerical], right[numerical], missing_left[numerical] = split.left, split.right, split.missing_left
    # In the set goes left in a Forest.
    swapped = (column["node_type"] == CATEGORICAL) & column["category_list_right_child"].astype(np.bool_)
    left[swapped], right[swapped] = right[swapped], left[swapped]
    missing_left ^= swapped
    left[is_leaf] = right[is_leaf] = -1
    missing_left[is_leaf] = False
    return left, right, threshold, missing_left, numerical[COMPARISONS[code] == EQ]


def _statistic(trees: list[dict[str, NDArray[Any]]], name: str, sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return what is known of all nodes, NaN where it is not."""
    found = []
    for tree, size in zip(trees, sizes, strict=True):
        number, is_there = tree[name], tree[f"{name}_present"]
        if is_there.size != size or number.size != size:
            found.append(np.full(size, np.nan))
        else:
            found.append(np.where((is_there != 0) & (number >= 0), number.astype(np.float64), np.nan))
    known = np.concatenate(found)
    return np.where(np.isfinite(known) & (known < 2.0**62), known, np.nan)


def _is_known(checkpoint: Checkpoint, chosen: ChosenTarget, name: str) -> bool:
    """Return whether a statistic is known of all nodes."""
    trees = (checkpoint.trees[tree] for tree in chosen.trees.tolist())
    return not any(np.isnan(_statistic([tree], name, tree["cleft"].shape)).any() for tree in trees)


def _values(
    checkpoint: Checkpoint,
    chosen: ChosenTarget,
    trees: list[dict[str, NDArray[Any]]],
    is_leaf: NDArray[np.bool_],
    is_vector: bool,
) -> NDArray[np.float64]:
    """Return what the leaves add to the columns of the target, or to one of them; 0 for inner nodes."""
    n_rows, n_columns = checkpoint.leaf_vector_shape.tolist()
    length = n_rows * n_columns
    places = slice(0, 1)
    if length > 1:
        first = (chosen.target if n_rows > 1 else 0) * n_columns
        places = slice(first, first + (chosen.n_columns if is_vector else 1))
    found = np.zeros((is_leaf.size, places.stop - places.start))
    start = 0
    for tree in trees:
        leaves = np.flatnonzero(is_leaf[start : start + tree["cleft"].size])
        begin, end = (tree[name].astype(np.int64) for name in ("leaf_vector_begin", "leaf_vector_end"))
        vectors = tree["leaf_vector"]
        has_vectors = begin.size == tree["cleft"].size == end.size and (end[leaves] > begin[leaves]).any()
        if not has_vectors:
            if length > 1:
                raise ValueError(f"the leaves of a tree have no vectors; they must have {length} values each")
            found[start + leaves, 0] = tree["leaf_value"][leaves]
        else:
            begin, end = begin[leaves], end[leaves]
            if (end - begin != length).any() or (begin < 0).any() or (end > vectors.size).any():
                raise ValueError(f"the leaves of a tree must have vectors of {length} values each")
            found[start + leaves] = vectors[begin[:, None] + np.arange(places.start, places.stop)]
        start += tree["cleft"].size
    return found


def _category_sets(trees: list[dict[str, NDArray[Any]]], root: NDArray[np.int64]) -> dict[int, NDArray[Any]]:
    sets = {}
    for tree, first in zip(trees, root.tolist(), strict=True):
        nodes = np.flatnonzero(tree["node_type"] == CATEGORICAL)
        begin, end, categories = tree["category_list_begin"], tree["category_list_end"], tree["category_list"]
        if nodes.size and not begin.size == end.size == tree["cleft"].size:
            raise ValueError("a tree has categorical splits without lists of categories")
        for node in nodes.tolist():
            if not begin[node] <= end[node] <= categories.size:
                raise ValueError("the list of categories of a split is not there")
            sets[first + node] = np.unique(categories[int(begin[node]) : int(end[node])])
    return sets


def _about(checkpoint: Checkpoint, n_classes: int) -> dict[str, Any]:
    """Return the class labels and the names of features, which only models that Billhook wrote have."""
    about: dict[str, Any] = {"classes": np.arange(n_classes), "feature_names": None, "ties": "first"}
    own = _written(checkpoint)
    if own.get("classes") is not None:
        about["classes"] = labels_from_json(own["classes"])
    if isinstance(own.get("feature_names"), list):
        about["feature_names"] = tuple(own["feature_names"])
    if own.get("ties") == "last":
        about["ties"] = "last"
    return about


def _written(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what Billhook wrote beside the fields of treelite, if it did."""
    try:
        own = json.loads(checkpoint.attributes or "{}")["billhook"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return own if isinstance(own, dict) else {}
