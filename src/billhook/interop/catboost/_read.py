"""From a CatBoost model to a Forest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._stack import join
from billhook.interop.catboost._binary import BinaryModel
from billhook.interop.catboost._features import NumberedTests, features_of
from billhook.interop.catboost._json import record_of, trees_in
from billhook.interop.catboost._library import bytes_of_model
from billhook.interop.catboost._outputs import output_of
from billhook.interop.catboost._trees import AllTrees, all_trees, any_tree, finished, symmetric_tree

PARTS = ("features_info", "model_info", "oblivious_trees", "trees", "scale_and_bias", "ctr_data")


def read(model: Any, output: int | None = None) -> Forest:
    """Return a fitted CatBoost, CatBoostClassifier, CatBoostRegressor or CatBoostRanker as a forest.

    Parameters
    ----------
    model : fitted model
    output : int, optional
        Of a model of several outputs (MultiRMSE, MultiQuantile, MultiLogloss, MultiCrossEntropy, MultiClassOneVsAll),
        which one to read: a target, or whether a label is there.
    """
    binary = BinaryModel(bytes_of_model(model))
    return _forest_of(binary.fields, binary.trees, output, origin=f"catboost.{type(model).__name__}")


def read_json(model: dict[str, Any], *, output: int | None = None) -> Forest:
    """Return the forest of a model that CatBoost wrote as JSON."""
    try:
        model = record_of(model, PARTS, "the model")
        return _forest_of(model, lambda tests: _trees_of(model, tests), output, origin="catboost.CatBoost")
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


def read_file(path: Path, *, output: int | None = None) -> Forest:
    """Return the forest in a binary file of CatBoost."""
    try:
        binary = BinaryModel(path.read_bytes())
        return _forest_of(binary.fields, binary.trees, output, origin="catboost.CatBoost")
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


def _trees_of(model: dict[str, Any], tests: NumberedTests) -> AllTrees:
    """Return the trees of a JSON model."""
    are_symmetric = "oblivious_trees" in model
    read_tree = symmetric_tree if are_symmetric else any_tree
    records = trees_in(model.get("oblivious_trees" if are_symmetric else "trees"))
    if not len(records):
        raise ValueError("the model has no trees: train it for one iteration at least")
    return all_trees([read_tree(tree, tests) for tree in records])


def _forest_of(
    model: dict[str, Any], trees_of: Callable[[NumberedTests], AllTrees], output: int | None, *, origin: str
) -> Forest:
    features = features_of(model.get("features_info"))
    trees = trees_of(features.tests)
    chosen = output_of(model, trees.value.shape[1], output)
    trees = trees._replace(value=np.ascontiguousarray(trees.value[:, chosen.columns]))
    n_nodes = trees.n_nodes
    columns, category_sets = finished(trees, features.tests)
    del trees  # which is large
    return join(
        columns,
        n_nodes,
        category_sets,
        tree_weight=np.full(n_nodes.size, chosen.scale),
        tree_column=np.zeros(n_nodes.size, np.int32),
        averages=False,
        base=chosen.base,
        link=chosen.link,
        task=chosen.task,
        n_features=features.n_features,
        classes=chosen.classes,
        feature_names=features.names if features.encoding is None else features.encoding.feature_names,
        encoding=features.encoding,
        origin=origin,
    )
