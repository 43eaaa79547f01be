import tempfile
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._stack import Tree, growth_rank, mean_of_leaves, stack
from billhook.interop._wire import fields_in, integers_in
from billhook.interop.ydf._nodes import NodeTable, nodes_in
from billhook.interop.ydf._spec import (
    CATEGORICAL,
    as_floats,
    as_number,
    column_at,
    encoded_names,
    encoding_of,
    text_in,
)

CLASSIFICATION, REGRESSION, RANKING = 1, 2, 3
TASKS = {
    4: "CATEGORICAL_UPLIFT",
    5: "NUMERICAL_UPLIFT",
    6: "ANOMALY_DETECTION",
    7: "SURVIVAL_ANALYSIS",
    0: "UNDEFINED",
}
# The losses of gradient boosted trees by number, and the link of each.
LINKS = {
    1: "logistic",
    6: "logistic",
    3: "softmax",
    7: "exp",
    **dict.fromkeys((2, 4, 5, 8, 9), "identity"),
}
HEADERS = {"RANDOM_FOREST": "random_forest_header.pb", "GRADIENT_BOOSTED_TREES": "gradient_boosted_trees_header.pb"}
# ydf predicts nothing beyond e to this, or to its negative.
MOST_EXPONENT = 19.0


class HeaderOfTrees(NamedTuple):
    """What the header of a kind of model says.

    Attributes
    ----------
    n_shards : int
    n_trees : int
    averages : bool
    votes : bool
        Whether each tree counts for one class.
    link : str
    base : float64 array
    """

    n_shards: int
    n_trees: int
    averages: bool
    votes: bool
    link: str
    base: NDArray[np.float64]


def read(model: Any) -> Forest:
    """Return a model of ydf as a forest: random forests, CART, gradient boosted trees.

    A categorical feature is the number of its category in the model's dictionary, and 0 if it is not there. Data
    frames are encoded, and a category that is not there counts as missing, as models have it by default. One that
    tells the two apart, by `missing_value_policy` or `allow_na_conditions`, takes no data frame with its columns: its
    features are called so that this is seen, "colour (number)".

    Parameters
    ----------
    model : ydf model
        A random forest may have two classes with the same probability; then the first is predicted, where ydf's
        `predict_class` goes by rounding.
    """
    name = type(model).__name__
    if not hasattr(model, "save"):
        raise TypeError(f"as_forest cannot read ydf's {name}; pass a model, as a learner's train returns it")
    # The trees that a model gives out are objects, which take 40 microseconds a node.
    with tempfile.TemporaryDirectory() as folder:
        model.save(str(Path(folder) / "model"))
        return _forest_in(Path(folder) / "model", f"ydf.{name}")


def read_file(path: str | PathLike[str]) -> Forest:
    """Return the forest in a folder that ydf saved a model to; needs no ydf."""
    try:
        return _forest_in(Path(path), None)
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


def _forest_in(folder: Path, origin: str | None) -> Forest:
    header = fields_in(_bytes_of(folder / "header.pb"))
    kind, task = text_in(header, 1), as_number(header, 2)
    if kind not in HEADERS:
        raise TypeError(f"as_forest does not read ydf's {kind}: it reads {', '.join(HEADERS)}, of which CART is one")
    if task not in (CLASSIFICATION, REGRESSION, RANKING):
        raise TypeError(
            f"as_forest does not read the task {TASKS.get(task, task)}: it reads classification, regression "
            "and ranking"
        )
    columns = fields_in(_bytes_of(folder / "data_spec.pb")).get(1, [])
    features = {place: column_at(columns, place) for place in _integers(header, 5)}
    classes = None
    if task == CLASSIFICATION:
        label = column_at(columns, as_number(header, 3))
        if label.type != CATEGORICAL or len(label.categories) < 2:
            raise ModelFileError("the label of a classifier must have classes")
        classes = np.array(label.categories[1:])
    n_classes = 0 if classes is None else classes.size
    fields = fields_in(_bytes_of(folder / HEADERS[kind]))
    ensemble = _random_forest(fields, n_classes) if kind == "RANDOM_FOREST" else _boosted(fields, n_classes)
    inputs = list(features.values())
    if not inputs:
        raise ModelFileError("the model has no features")
    encoding = encoding_of(inputs)
    names = encoded_names(inputs)
    nodes = nodes_in(folder, ensemble.n_shards, features, n_classes if kind == "RANDOM_FOREST" else 0)
    if encoding is not None and not nodes.tells_unknown:
        names = encoding.feature_names
    else:
        encoding = None
    trees = _trees(nodes, ensemble)
    columns_of_trees = np.zeros(len(trees), np.int32)
    if ensemble.link == "softmax":
        columns_of_trees = (np.arange(len(trees)) % n_classes).astype(np.int32)
    forest = stack(
        trees,
        tree_weight=np.full(len(trees), 1 / len(trees) if ensemble.averages else 1.0),
        tree_column=columns_of_trees,
        averages=ensemble.averages,
        base=ensemble.base,
        link=ensemble.link,
        # It predicts the second class from a probability of one half on.
        ties="last" if ensemble.link == "logistic" else "first",
        task="regression" if classes is None else "classification",
        n_features=len(features),
        classes=classes,
        feature_names=names,
        encoding=encoding,
        origin=origin or ("ydf.RandomForestModel" if kind == "RANDOM_FOREST" else "ydf.GradientBoostedTreesModel"),
    )
    if ensemble.link == "exp":
        _check_exponents(trees, float(ensemble.base[0]))
    return forest


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        raise ModelFileError(f"the file {path.name} is missing")
    return path.read_bytes()


def _integers(fields: dict[int, list[Any]], number: int) -> list[int]:
    """Return the numbers of a repeated field, packed or not."""
    return [
        integer
        for value in fields.get(number, [])
        for integer in ([value] if isinstance(value, int) else integers_in(value))
    ]


def _random_forest(fields: dict[int, list[Any]], n_classes: int) -> HeaderOfTrees:
    return HeaderOfTrees(
        n_shards=as_number(fields, 1),
        n_trees=as_number(fields, 2),
        averages=True,
        votes=n_classes > 0 and as_number(fields, 3, default=1) != 0,
        link="identity",
        base=np.zeros(max(1, n_classes)),
    )


def _boosted(fields: dict[int, list[Any]], n_classes: int) -> HeaderOfTrees:
    loss = as_number(fields, 3)
    link = LINKS.get(loss)
    if link is None or (n_classes > 0) != (link in ("logistic", "softmax")):
        raise TypeError(f"as_forest does not know the loss {loss} of gradient boosted trees, or a loss of one's own")
    n_columns = n_classes if link == "softmax" else 1
    base = as_floats(fields, 4).astype(np.float64)
    if base.size != n_columns or as_number(fields, 5, default=1) != n_columns:
        raise ModelFileError(f"the model has {base.size} initial predictions for {n_columns} outputs")
    return HeaderOfTrees(
        as_number(fields, 1), as_number(fields, 2), averages=False, votes=False, link=link, base=base
    )


def _trees(nodes: NodeTable, ensemble: HeaderOfTrees) -> list[Tree]:
    negative, positive, root = _children(nodes.is_split, ensemble.n_trees)
    if not nodes.has_value[~nodes.is_split].all():
        raise ModelFileError("a leaf has no value")
    value = nodes.values
    if ensemble.votes:
        if (nodes.top_class[nodes.has_value] < 1).any() or (nodes.top_class > value.shape[1]).any():
            raise ModelFileError("a node votes for a class that is not there")
        value = (nodes.top_class[:, None] == np.arange(1, value.shape[1] + 1)).astype(np.float64)
    # Boosting may scale leaves after their tree is grown, and models for serving only have no values elsewhere.
    needs_mean = not ensemble.averages or not nodes.has_value.all()
    is_set = np.zeros(nodes.is_split.size, np.bool_)
    is_set[list(nodes.sets)] = True
    # The set of a categorical split goes left; else the larger values, for which a split is positive, go right.
    left, right = np.where(is_set, positive, negative), np.where(is_set, negative, positive)
    missing_left = nodes.missing_positive == is_set
    gain = nodes.gain * np.maximum(nodes.row_weight, 1.0)
    trees = []
    set_nodes = np.fromiter(nodes.sets, np.int64, len(nodes.sets))
    set_nodes.sort()
    for first, end in zip(root[:-1].tolist(), root[1:].tolist(), strict=True):
        own = slice(first, end)
        sets = set_nodes[np.searchsorted(set_nodes, first) : np.searchsorted(set_nodes, end)].tolist()
        tree = Tree(
            feature=nodes.feature[own],
            threshold=nodes.threshold[own],
            left=left[own],
            right=right[own],
            missing_left=missing_left[own],
            value=value[own],
            n_rows=nodes.n_rows[own],
            row_weight=nodes.row_weight[own],
            impurity=np.zeros(end - first),
            growth_rank=growth_rank(left[own], right[own], gain[own]),
            category_sets={node - first: nodes.sets[node] for node in sets},
        )
        trees.append(replace(tree, value=mean_of_leaves(tree, tree.value)) if needs_mean else tree)
    return trees


def _children(
    is_split: NDArray[np.bool_], n_trees: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the negative and the positive child of each node, numbered within its tree, and where trees begin.

    Nodes come depth first. How many nodes are still to come in a tree rises by one at a split and falls by one at a
    leaf. Behind a split comes its negative child; its positive child is the next node with as many to come.
    """
    n_nodes = is_split.size
    to_come = np.concatenate([[0], np.cumsum(np.where(is_split, 1, -1))])
    lowest = np.minimum.accumulate(to_come)
    is_root = np.append(True, lowest[1:-1] < lowest[:-2]) if n_nodes else np.zeros(0, np.bool_)
    root = np.append(np.flatnonzero(is_root), n_nodes)
    if not n_nodes or root.size - 1 != n_trees or to_come[-1] != -n_trees:
        raise ModelFileError(f"the nodes do not make {n_trees} trees")
    tree = np.cumsum(is_root) - 1
    order = np.lexsort((to_come[:-1], tree))
    following = np.empty(n_nodes, np.int64)
    following[order[:-1]], following[order[-1]] = order[1:], -1
    first = root[tree]
    number = np.arange(n_nodes) - first
    return np.where(is_split, number + 1, -1), np.where(is_split, following - first, -1), root


def _check_exponents(trees: list[Tree], base: float) -> None:
    for extreme in (np.max, np.min):
        furthest = base + sum(float(extreme(tree.value[tree.left < 0])) for tree in trees)
        if abs(furthest) > MOST_EXPONENT:
            raise ValueError(
                f"the model could predict e to the {furthest:.3g}, and ydf predicts nothing beyond e to the "
                f"{MOST_EXPONENT:g}: scale the labels"
            )
