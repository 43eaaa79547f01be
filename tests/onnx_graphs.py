"""Graphs of ONNX made by hand, and what ONNX Runtime answers."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
TYPES = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.int64: TensorProto.INT64}


def run(model, X, name="X"):
    """Return what ONNX Runtime answers, by the names of outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {name: X}), strict=True))


def probabilities(answer, classes):
    """Return an array of what ZipMap made a list of dictionaries."""
    return np.array([[row[label] for label in classes.tolist()] for row in answer])


def graph(nodes, outputs, n_features, dtype=np.float32, initializers=(), ml_version=3):
    """Return a model of these operators."""
    inputs = [helper.make_tensor_value_info("X", TYPES[dtype], [None, n_features])]
    outputs = [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs]
    return helper.make_model(
        helper.make_graph(list(nodes), "made by hand", inputs, outputs, list(initializers)),
        opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", ml_version)],
        ir_version=8,
    )


def attributes(forest, modes, tracks=None, dtype=np.float32):
    """Return attributes for the trees of a forest with other comparisons at its splits; true leads left."""
    is_leaf = forest.feature < 0
    sizes = np.diff(forest.offset)
    found = {
        "nodes_treeids": np.repeat(np.arange(forest.n_trees), sizes).tolist(),
        "nodes_nodeids": np.concatenate([np.arange(size) for size in sizes]).tolist(),
        "nodes_featureids": np.where(is_leaf, 0, forest.feature).tolist(),
        "nodes_truenodeids": np.where(is_leaf, 0, forest.left).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, forest.right).tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", modes).tolist(),
    }
    if tracks is not None:
        found["nodes_missing_value_tracks_true"] = tracks.astype(int).tolist()
    if dtype == np.float64:
        return found | {"nodes_values_as_tensor": numpy_helper.from_array(forest.threshold.astype(np.float64))}
    return found | {"nodes_values": forest.threshold.tolist()}


def weights(forest, kind, n_values=None):
    """Return the weights of a forest's leaves, for all columns or the first."""
    n_values = n_values or forest.value.shape[1]
    sizes = np.diff(forest.offset)
    leaves = np.repeat(np.flatnonzero(forest.feature < 0), n_values)
    tree = np.repeat(np.arange(forest.n_trees), sizes)
    number = np.concatenate([np.arange(size) for size in sizes])
    return {
        f"{kind}_treeids": tree[leaves].tolist(),
        f"{kind}_nodeids": number[leaves].tolist(),
        f"{kind}_ids": np.tile(np.arange(n_values), leaves.size // n_values).tolist(),
        f"{kind}_weights": forest.value[forest.feature < 0, :n_values].ravel().tolist(),
    }


def regressor(forest, modes=MODES[0], tracks=None, dtype=np.float32, **options):
    """Return a TreeEnsembleRegressor of a forest's trees."""
    options = {"n_targets": forest.value.shape[1]} | options
    made = attributes(forest, modes, tracks, dtype) | weights(forest, "target") | options
    if dtype == np.float64:
        made["target_weights_as_tensor"] = numpy_helper.from_array(np.array(made.pop("target_weights"), np.float64))
    node = helper.make_node("TreeEnsembleRegressor", ["X"], ["Y"], domain="ai.onnx.ml", **made)
    return graph([node], [("Y", TensorProto.FLOAT)], forest.n_features, dtype)


def classifier(forest, n_values=None, dtype=np.float32, **options):
    """Return a TreeEnsembleClassifier of a forest's trees, or of the first columns of their values."""
    is_text = "classlabels_strings" in options
    made = attributes(forest, MODES[0]) | weights(forest, "class", n_values) | options
    node = helper.make_node("TreeEnsembleClassifier", ["X"], ["L", "P"], domain="ai.onnx.ml", **made)
    outputs = [("L", TensorProto.STRING if is_text else TensorProto.INT64), ("P", TensorProto.FLOAT)]
    return graph([node], outputs, forest.n_features, dtype)


def ensemble(forest, modes, tracks, members, dtype=np.float32, **options):
    """Return a TreeEnsemble of version 5 of a forest's trees, which have a split each at least and one value."""
    is_leaf = forest.feature < 0
    place = np.where(is_leaf, np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    splits = np.flatnonzero(~is_leaf)
    left, right = forest.left[splits] + root[splits], forest.right[splits] + root[splits]
    values = np.concatenate([[*some, np.nan] for some in members] or [[]])

    def tensor(array, as_type=dtype):
        return numpy_helper.from_array(np.asarray(array, as_type))

    made = {
        "tree_roots": place[forest.offset[:-1]].tolist(),
        "n_targets": 1,
        "nodes_featureids": forest.feature[splits].tolist(),
        "nodes_modes": tensor(modes[splits], np.uint8),
        "nodes_splits": tensor(forest.threshold[splits]),
        "nodes_truenodeids": place[left].tolist(),
        "nodes_falsenodeids": place[right].tolist(),
        "nodes_trueleafs": is_leaf[left].astype(int).tolist(),
        "nodes_falseleafs": is_leaf[right].astype(int).tolist(),
        "nodes_missing_value_tracks_true": tracks[splits].astype(int).tolist(),
        "leaf_targetids": [0] * int(is_leaf.sum()),
        "leaf_weights": tensor(forest.value[is_leaf, 0]),
    } | options
    if values.size:
        made["membership_values"] = tensor(values)
    node = helper.make_node("TreeEnsemble", ["X"], ["Y"], domain="ai.onnx.ml", **made)
    return graph([node], [("Y", TYPES[dtype])], forest.n_features, dtype, ml_version=5)


def changed(model, **options):
    """Return a copy of a model whose first operator has other attributes; those that are None are left out."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    node = copy.graph.node[0]
    kept = [one for one in node.attribute if one.name not in options]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in options.items() if value is not None)
    return copy
