"""From a graph of ONNX to a Forest that answers as ONNX Runtime does."""

from dataclasses import replace

import numpy as np

from billhook.forest import Forest
from billhook.interop._nodes import trees_of
from billhook.interop._outputs import check_only_output
from billhook.interop._stack import stack
from billhook.interop.onnx._attributes import Attributes
from billhook.interop.onnx._ensemble import (
    CLASSIFIER,
    ENSEMBLE,
    REGRESSOR,
    OnnxTrees,
    ensemble_by_ids,
    ensemble_by_places,
)
from billhook.interop.onnx._graph import FoundEnsemble, check_after_classifier, find_ensemble, link_after_regressor
from billhook.interop.onnx._model import model_in
from billhook.interop.onnx._own import read_own
from billhook.interop.onnx._scores import classifier_scores, regressor_scores


def forest_of(data: bytes, output: int | None) -> Forest:
    """Return the forest of a model in bytes; `output` is the number of the target, of a regressor of several."""
    model = model_in(data)
    own = read_own(model)
    if own is not None:
        check_only_output(output, "the model")
        return own
    found = find_ensemble(model)
    weight = 1.0
    if found.node.op_type == "TreeEnsembleClassifier":
        check_only_output(output, "a classifier")
        attributes = Attributes(found.node, CLASSIFIER)
        ensemble = ensemble_by_ids(attributes, "class")
        scores = classifier_scores(attributes, ensemble)
        assert scores.classes is not None
        check_after_classifier(found, model.graph, scores.classes)
    else:
        by_ids = found.node.op_type == "TreeEnsembleRegressor"
        attributes = Attributes(found.node, REGRESSOR if by_ids else ENSEMBLE)
        ensemble = ensemble_by_ids(attributes, "target") if by_ids else ensemble_by_places(attributes)
        scores = regressor_scores(attributes, ensemble, output, by_ids)
        scores = scores._replace(link=link_after_regressor(found, model.graph))
        weight = 1 / ensemble.root.size if scores.averages else 1.0
    other = {
        "tree_weight": np.full(ensemble.root.size, weight),
        "tree_column": scores.tree_column.astype(np.int32),
        "averages": scores.averages,
        "base": scores.base,
        "link": scores.link,
        "task": "regression" if scores.classes is None else "classification",
        "n_features": _n_features(found, ensemble),
        "classes": scores.classes,
        "rounding": "down" if found.is_double else "nearest",
        "origin": f"onnx.{found.node.op_type}",
    }
    nodes, root = replace(ensemble.nodes, value=scores.value), ensemble.root
    del model, found, attributes, ensemble, scores, data  # which are large
    trees = trees_of(nodes, root)
    del nodes
    return stack(trees, **other)


def _n_features(found: FoundEnsemble, ensemble: OnnxTrees) -> int:
    return found.n_features or max(int(ensemble.nodes.feature.max()) + 1, 1)
