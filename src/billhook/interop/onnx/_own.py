"""Graphs that `to_onnx` wrote, read back."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop._nodes import Nodes, trees_of
from billhook.interop._stack import stack
from billhook.interop.onnx._attributes import Attributes
from billhook.interop.onnx._categories import BELOW, IN_OR_OUT, lookup_of
from billhook.interop.onnx._ensemble import REGRESSOR, ensemble_by_ids
from billhook.interop.onnx._graph import find_ensembles
from billhook.interop.onnx._model import FLOAT, Graph, OnnxModel, Value
from billhook.interop.onnx._scores import check_weights, columns_of
from billhook.interop.onnx._write import OWN_OPERATOR, PRODUCER, ROWS, SUMS, WEIGHTED, Frame, frame_of

LINKS = {"Sigmoid": "logistic", "Softmax": "softmax", "Exp": "exp"}


def read_own(model: OnnxModel) -> Forest | None:
    """Return the forest that a model was written from, or None if this is not just what would be written of it."""
    if model.producer_name != PRODUCER or len(find_ensembles(model)) != 1:
        return None
    try:
        forest = _forest(model)
        lookup = lookup_of(forest)
        # The trees are what was read of them; all else must be what is written around them.
        is_own = _is_within(model.graph, frame_of(forest, lookup), lookup.tree_input, forest.n_features)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return None
    return forest if is_own else None


def _is_within(graph: Graph, frame: Frame, tree_input: str, n_features: int) -> bool:
    """Return whether trees stand in a graph within this frame, and nothing else."""
    operators: list[Any] = [
        (node.op_type, node.input, node.output, {one.name: one.i for one in node.attribute})
        for node in graph.node
        if node.op_type != OWN_OPERATOR
    ]
    trees = next(node for node in graph.node if node.op_type == OWN_OPERATOR)
    constants = {one.name: one.array() for one in graph.initializer}
    return (
        [(trees.input, trees.output)] == [([tree_input], [WEIGHTED])]
        and all(node.domain == "" for node in graph.node if node is not trees)
        and all(one.is_integer for node in graph.node if node is not trees for one in node.attribute)
        and operators == [*frame.before, *frame.after]
        and graph.input == [Value(ROWS, FLOAT, [0, n_features])]
        and graph.output == frame.outputs
        and [one.name for one in graph.initializer] == list(frame.constants)
        and all(_is_same(constants[name], array) for name, array in frame.constants.items())
    )


def _is_same(array: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays have the same bits, and are of the same type and shape."""
    if array.dtype.kind == "U":
        return array.shape == other.shape and array.tolist() == other.tolist()
    return (array.dtype, array.shape, array.tobytes()) == (other.dtype, other.shape, other.tobytes())


def _forest(model: OnnxModel) -> Forest:
    graph = model.graph
    attributes = Attributes(find_ensembles(model)[0], REGRESSOR)
    ensemble = ensemble_by_ids(attributes, "target")
    if attributes.text("post_transform", "NONE") != "NONE" or attributes.text("aggregate_function", "SUM") != "SUM":
        raise ValueError("the scores of the trees are not what to_onnx writes")
    n_columns = attributes.integer("n_targets", 1)
    constants = {one.name: one.array() for one in graph.initializer}
    base = constants["base"].astype(np.float64)
    if base.size != n_columns or attributes.numbers("base_values").size:
        raise ValueError("the base values are not where to_onnx writes them")
    check_weights(ensemble, n_columns)
    value, tree_column = columns_of(ensemble, n_columns)
    n_features = next(one for one in graph.input if one.name == ROWS).shape[1]
    feature, sets = _categories(ensemble.nodes, n_features, constants)
    operators = {node.op_type: node for node in graph.node if SUMS in node.input or "scores" in node.input}
    about = json.loads(model.metadata[PRODUCER])
    names = about["feature_names"]
    classes = constants.get("classes")
    link = next((LINKS[name] for name in operators if name in LINKS), "identity")
    if "two" in constants:
        link = "isolation"
    nodes, root = replace(ensemble.nodes, value=value, feature=feature, category_sets=sets), ensemble.root
    del ensemble, value, feature  # which are large
    trees = trees_of(nodes, root)
    del nodes
    return stack(
        trees,
        tree_weight=np.ones(root.size),
        tree_column=tree_column.astype(np.int32),
        averages=about["averages"],
        base=base,
        link=link,
        task="regression" if classes is None else "classification",
        n_features=n_features,
        classes=classes,
        feature_names=None if names is None else tuple(names),
        ties="last" if "GreaterOrEqual" in operators else "first",
        rounding=about["rounding"],
        refined=about["refined"],
        origin=f"onnx.{attributes.operator}",
    )


def _categories(
    nodes: Nodes, n_features: int, constants: dict[str, NDArray[Any]]
) -> tuple[NDArray[Any], dict[int, NDArray[Any]]]:
    """Return the features that are tested, and the sets, of which nodes look up columns of tables."""
    if "categorical" not in constants:
        return nodes.feature, {}
    columns = constants["categorical"].tolist()
    tables = [constants[f"table_{number}"] for number in range(len(columns))]
    tested = [column for column, table in zip(columns, tables, strict=True) for _ in range(table.shape[1])]
    sets = [np.flatnonzero(column == 0) - BELOW for table in tables for column in table.T]
    looked_up = np.flatnonzero(nodes.feature >= n_features)
    if (nodes.threshold[looked_up] != IN_OR_OUT).any() or nodes.equal_to:
        raise ValueError("the trees compare what is looked up with other numbers than to_onnx writes")
    feature = nodes.feature.copy()
    number = feature[looked_up] - n_features
    feature[looked_up] = np.array(tested)[number]
    return feature, {node: sets[k] for node, k in zip(looked_up.tolist(), number.tolist(), strict=True)}
