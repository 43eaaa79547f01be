"""A Forest as a graph of ONNX: a tree ensemble for the raw scores, and standard operators for the rest."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop.onnx._categories import IN_OR_OUT, Lookup, Operator, lookup_of, lookup_operators
from billhook.interop.onnx._model import FLOAT, INT64, Value, type_of

PRODUCER = "billhook"
OWN_OPERATOR = "TreeEnsembleRegressor"
# Of 2020 and 2017: what runtimes have known for long.
OPSET, ML_OPSET, IR_VERSION = 13, 1, 7
ROWS, WEIGHTED, SUMS = "X", "weighted", "sums"


class Frame(NamedTuple):
    """What stands around the trees of a forest in a graph.

    Attributes
    ----------
    before, after : list of operators
        Those on the way to the trees, and from their sums to the answers.
    constants : dict of arrays
    outputs : list
        For each output its name, the type of its numbers, and its sizes, 0 for that of rows.
    """

    before: list[Operator]
    after: list[Operator]
    constants: dict[str, NDArray[Any]]
    outputs: list[Value]


def write(forest: Forest) -> Any:
    """Return the forest as an onnx.ModelProto."""
    try:
        from onnx import helper
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'billhook[onnx]'") from None
    lookup = lookup_of(forest)
    model = helper.make_model(
        _graph(forest, lookup),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name=PRODUCER,
    )
    helper.set_model_props(model, {PRODUCER: json.dumps(_about(forest))})
    # Written into its place, and not copied there, since it is large.
    _describe_trees(next(node for node in model.graph.node if node.op_type == OWN_OPERATOR), forest, lookup)
    return model


def frame_of(forest: Forest, lookup: Lookup) -> Frame:
    """Return what stands around the trees of a forest."""
    before, constants = lookup_operators(lookup)
    after, others, outputs = _after(forest)
    return Frame(before, after, constants | others, outputs)


def _graph(forest: Forest, lookup: Lookup) -> Any:
    """Return the graph of a forest, in which nothing is said yet of its trees."""
    from onnx import helper

    frame = frame_of(forest, lookup)
    return helper.make_graph(
        [helper.make_node(name, inputs, made, **options) for name, inputs, made, options in frame.before]
        + [helper.make_node(OWN_OPERATOR, [lookup.tree_input], [WEIGHTED], domain="ai.onnx.ml")]
        + [helper.make_node(name, inputs, made, **options) for name, inputs, made, options in frame.after],
        PRODUCER,
        [_value_info(Value(ROWS, FLOAT, [0, forest.n_features]))],
        [_value_info(value) for value in frame.outputs],
        [_tensor(name, array) for name, array in frame.constants.items()],
    )


def _value_info(value: Value) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(value.name, value.elem_type, [size or None for size in value.shape])


def _about(forest: Forest) -> dict[str, Any]:
    """Return what graphs have no place for."""
    names = None if forest.feature_names is None else list(forest.feature_names)
    return {
        "feature_names": names,
        "averages": forest.averages,
        "rounding": forest.rounding,
        "refined": forest.refined,
    }


def _tensor(name: str, array: NDArray[Any]) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)


def _describe_trees(node: Any, forest: Forest, lookup: Lookup) -> None:
    """Give the operator that computes the raw scores its trees."""
    is_leaf = forest.feature < 0
    sizes = np.diff(forest.offset)
    tree = np.repeat(np.arange(forest.n_trees), sizes)
    number = np.arange(forest.n_nodes) - np.repeat(forest.offset[:-1], sizes)
    threshold = np.where(forest.category_set >= 0, IN_OR_OUT, forest.threshold)
    n_values = forest.value.shape[1]
    leaves = np.repeat(np.flatnonzero(is_leaf), n_values)
    weight = (forest.value * forest.tree_weight[tree, None])[is_leaf].ravel()
    column = forest.tree_column[tree[leaves]] + np.tile(np.arange(n_values), leaves.size // n_values)
    _add(node, "n_targets", int(forest.base.size))
    _add(node, "nodes_falsenodeids", np.where(is_leaf, 0, forest.right))
    _add(node, "nodes_featureids", np.where(is_leaf, 0, lookup.feature))
    _add(node, "nodes_missing_value_tracks_true", forest.missing_left)
    _add(node, "nodes_modes", np.array([b"BRANCH_LEQ", b"LEAF"])[is_leaf.astype(np.int64)])
    _add(node, "nodes_nodeids", number)
    _add(node, "nodes_treeids", tree)
    _add(node, "nodes_truenodeids", np.where(is_leaf, 0, forest.left))
    _add(node, "nodes_values", np.where(is_leaf, 0.0, threshold).astype(np.float32))
    _add(node, "post_transform", b"NONE")
    _add(node, "target_ids", column)
    _add(node, "target_nodeids", number[leaves])
    _add(node, "target_treeids", tree[leaves])
    _add(node, "target_weights", as_float32(weight))


def as_float32(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the numbers as ONNX's tree ensembles have them, or say which is too large."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = numbers.astype(np.float32)
    if not np.isfinite(rounded).all():
        large = numbers[~np.isfinite(rounded)][0]
        raise ValueError(
            f"ONNX's tree ensembles add float32 numbers, and {large:g} is beyond them; scale the targets"
        )
    return rounded


def _add(node: Any, name: str, value: Any) -> None:
    """Add an attribute; lists go in without a look at each element, as there are millions."""
    from onnx import AttributeProto

    attribute = node.attribute.add()
    attribute.name = name
    if isinstance(value, int):
        attribute.type, attribute.i = AttributeProto.INT, value
    elif isinstance(value, bytes):
        attribute.type, attribute.s = AttributeProto.STRING, value
    elif value.dtype.kind == "S":
        attribute.type = AttributeProto.STRINGS
        attribute.strings.extend(value.tolist())
    elif value.dtype.kind == "f":
        attribute.type = AttributeProto.FLOATS
        attribute.floats.extend(value.tolist())
    else:
        attribute.type = AttributeProto.INTS
        attribute.ints.extend(value.astype(np.int64).tolist())


def _after(forest: Forest) -> tuple[list[Operator], dict[str, NDArray[Any]], list[Value]]:
    """Return the operators from the sums to the answers, their constants, and the answers."""
    is_one = forest.base.size == 1
    # Not as base_values of the trees: ONNX Runtime leaves those out where a column has no trees.
    operators: list[Operator] = [("Add", [WEIGHTED, "base"], [SUMS], {})]
    constants: dict[str, NDArray[Any]] = {"base": as_float32(forest.base)}
    if is_one:
        operators.append(("Squeeze", [SUMS, "second_axis"], ["scores"], {}))
        constants["second_axis"] = np.array([1])
    else:
        operators.append(("Identity", [SUMS], ["scores"], {}))
    scores = Value("scores", FLOAT, [0] if is_one else [0, forest.base.size])
    if forest.classes is None:
        link = "Exp" if forest.link == "exp" else "Identity"
        operators.append((link, ["scores"], ["prediction"], {}))
        return operators, constants, [Value("prediction", FLOAT, [0]), scores]
    constants["classes"] = labels_of(forest.classes)
    if forest.link == "isolation":  # of the first class, the outliers: the least of 1 and 2^(-1 - score)
        constants |= {"zero": np.zeros((), np.float32), "one": np.ones((), np.float32)}
        constants["two"] = np.full((), 2.0, np.float32)
        operators += [
            ("Add", [SUMS, "one"], ["halvings"], {}),
            ("Neg", ["halvings"], ["exponent"], {}),
            ("Pow", ["two", "exponent"], ["anomaly"], {}),
            ("Min", ["anomaly", "one"], ["of_first"], {}),
            ("Sub", ["one", "of_first"], ["of_second"], {}),
            ("Concat", ["of_first", "of_second"], ["probabilities"], {"axis": 1}),
            ("GreaterOrEqual" if forest.ties == "last" else "Greater", ["scores", "zero"], ["is_second"], {}),
            ("Cast", ["is_second"], ["winner"], {"to": INT64}),
        ]
    elif forest.link == "logistic":
        wins = "GreaterOrEqual" if forest.ties == "last" else "Greater"
        constants |= {"zero": np.zeros((), np.float32), "one": np.ones((), np.float32)}
        operators += [
            ("Sigmoid", [SUMS], ["of_second"], {}),
            ("Sub", ["one", "of_second"], ["of_first"], {}),
            ("Concat", ["of_first", "of_second"], ["probabilities"], {"axis": 1}),
            (wins, ["scores", "zero"], ["is_second"], {}),
            ("Cast", ["is_second"], ["winner"], {"to": INT64}),
        ]
    else:
        link, options = ("Softmax", {"axis": 1}) if forest.link == "softmax" else ("Identity", {})
        operators += [
            (link, [SUMS], ["probabilities"], options),
            ("ArgMax", [SUMS], ["winner"], {"axis": 1, "keepdims": 0}),
        ]
    operators.append(("Gather", ["classes", "winner"], ["label"], {"axis": 0}))
    label = Value("label", type_of(constants["classes"]), [0])
    probabilities = Value("probabilities", FLOAT, [0, forest.n_classes])
    return operators, constants, [label, probabilities, scores]


def labels_of(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class labels as an array that a graph can hold, of one type of number or of text."""
    if classes.dtype.kind in "bifuU":
        return classes
    types = {type(label) for label in classes.tolist()}
    if len(types) == 1 and types <= {bool, int, float, str}:
        return np.array(classes.tolist())
    found = ", ".join(sorted(one.__name__ for one in types))
    raise TypeError(f"the class labels are of the types {found}; a graph of ONNX holds numbers, or text, or booleans")
