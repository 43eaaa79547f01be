"""From a CatBoost model to a Forest."""

from pathlib import Path
from typing import Any

import numpy as np

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._stack import stack
from billhook.interop.catboost._features import features_of
from billhook.interop.catboost._json import record_of, trees_in
from billhook.interop.catboost._library import json_of_file, json_of_model
from billhook.interop.catboost._outputs import output_of
from billhook.interop.catboost._trees import any_tree, finished, symmetric_tree

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
    return _forest_of(json_of_model(model), output, origin=f"catboost.{type(model).__name__}")


def read_json(model: dict[str, Any], *, output: int | None = None) -> Forest:
    """Return the forest of a model that CatBoost wrote as JSON."""
    try:
        return _forest_of(model, output, origin="catboost.CatBoost")
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


def read_file(path: Path, *, output: int | None = None) -> Forest:
    """Return the forest in a binary file of CatBoost."""
    return read_json(json_of_file(path), output=output)


def _forest_of(model: dict[str, Any], output: int | None, *, origin: str) -> Forest:
    model = record_of(model, PARTS, "the model")
    features = features_of(model.get("features_info"))
    are_symmetric = "oblivious_trees" in model
    read_tree = symmetric_tree if are_symmetric else any_tree
    records = trees_in(model.get("oblivious_trees" if are_symmetric else "trees"))
    if not len(records):
        raise ValueError("the model has no trees: train it for one iteration at least")
    trees = [read_tree(tree, features.tests) for tree in records]
    n_values = trees[0].value.shape[1]
    if any(tree.value.shape[1] != n_values for tree in trees):
        raise ModelFileError("trees have different numbers of values a leaf")
    chosen = output_of(model, n_values, output)
    trees = [tree._replace(value=tree.value[:, chosen.columns]) for tree in trees]
    return stack(
        finished(trees, features.tests),
        tree_weight=np.full(len(trees), chosen.scale),
        tree_column=np.zeros(len(trees), np.int32),
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
