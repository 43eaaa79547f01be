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
from billhook.interop.onnx._scores import check_weights, columns_of
from billhook.interop.onnx._write import OWN_OPERATOR, PRODUCER, ROWS, SUMS, graph_around

LINKS = {"Sigmoid": "logistic", "Softmax": "softmax", "Exp": "exp"}


def read_own(model: Any) -> Forest | None:
    """Return the forest that a model was written from, or None if this is not just what would be written of it."""
    if model.producer_name != PRODUCER or len(find_ensembles(model)) != 1:
        return None
    try:
        forest = _forest(model)
        # The trees are what was read of them; all else must be what is written around them.
        again = graph_around(forest, lookup_of(forest))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return None
    return forest if _parts(model.graph) == _parts(again) else None


def _parts(graph: Any) -> list[bytes]:
    """Return all of a graph but the attributes of its trees, to be compared."""
    parts = [*graph.input, *graph.output, *graph.initializer]
    for node in graph.node:
        if node.op_type == OWN_OPERATOR:
            parts.append(type(node)(op_type=node.op_type, domain=node.domain, input=node.input, output=node.output))
        else:
            parts.append(node)
    return [part.SerializeToString(deterministic=True) for part in parts]


def _forest(model: Any) -> Forest:
    graph = model.graph
    attributes = Attributes(find_ensembles(model)[0], REGRESSOR)
    ensemble = ensemble_by_ids(attributes, "target")
    if attributes.text("post_transform", "NONE") != "NONE" or attributes.text("aggregate_function", "SUM") != "SUM":
        raise ValueError("the scores of the trees are not what to_onnx writes")
    n_columns = attributes.integer("n_targets", 1)
    constants = {one.name: one for one in graph.initializer}
    base = _array(constants["base"]).astype(np.float64)
    if base.size != n_columns or attributes.numbers("base_values").size:
        raise ValueError("the base values are not where to_onnx writes them")
    check_weights(ensemble, n_columns)
    value, tree_column = columns_of(ensemble, n_columns)
    n_features = int(next(one for one in graph.input if one.name == ROWS).type.tensor_type.shape.dim[1].dim_value)
    feature, sets = _categories(ensemble.nodes, n_features, constants)
    operators = {node.op_type: node for node in graph.node if SUMS in node.input or "scores" in node.input}
    about = json.loads({one.key: one.value for one in model.metadata_props}[PRODUCER])
    names = about["feature_names"]
    classes = _array(constants["classes"]) if "classes" in constants else None
    link = next((LINKS[name] for name in operators if name in LINKS), "identity")
    if "two" in constants:
        link = "isolation"
    return stack(
        trees_of(replace(ensemble.nodes, value=value, feature=feature, category_sets=sets), ensemble.root),
        tree_weight=np.ones(ensemble.root.size),
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


def _array(tensor: Any) -> NDArray[Any]:
    from onnx import numpy_helper

    array = np.asarray(numpy_helper.to_array(tensor))
    return np.array(array.tolist()) if array.dtype.kind == "O" else array


def _categories(
    nodes: Nodes, n_features: int, constants: dict[str, Any]
) -> tuple[NDArray[np.int64], dict[int, NDArray[Any]]]:
    """Return the features that are tested, and the sets, of which nodes look up columns of tables."""
    if "categorical" not in constants:
        return nodes.feature, {}
    columns = _array(constants["categorical"]).tolist()
    tables = [_array(constants[f"table_{number}"]) for number in range(len(columns))]
    tested = [column for column, table in zip(columns, tables, strict=True) for _ in range(table.shape[1])]
    sets = [np.flatnonzero(column == 0) - BELOW for table in tables for column in table.T]
    looked_up = np.flatnonzero(nodes.feature >= n_features)
    if (nodes.threshold[looked_up] != IN_OR_OUT).any() or nodes.equal_to:
        raise ValueError("the trees compare what is looked up with other numbers than to_onnx writes")
    feature = nodes.feature.copy()
    number = feature[looked_up] - n_features
    feature[looked_up] = np.array(tested)[number]
    return feature, {node: sets[k] for node, k in zip(looked_up.tolist(), number.tolist(), strict=True)}
