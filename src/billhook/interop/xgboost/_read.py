from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._outputs import SeveralOutputsError, check_only_output
from billhook.interop._stack import Tree, stack
from billhook.interop.xgboost._categories import encoding_of
from billhook.interop.xgboost._layout import (
    check_fields,
    check_version,
    count_at,
    floats_at,
    integers_at,
    list_at,
    object_at,
    text_at,
    trees_at,
)
from billhook.interop.xgboost._objective import HINGE, base_of, link_of
from billhook.interop.xgboost._trees import tree_of
from billhook.interop.xgboost._ubjson import decode_ubjson

LEARNER = ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
MODEL = ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees", "weight_drop")
MODEL_PARAMETERS = ("num_parallel_tree", "num_trees", "size_leaf_vector")
LEARNER_PARAMETERS = ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")


class Source(NamedTuple):
    """What a model was read from, as far as the model itself does not say it.

    Attributes
    ----------
    origin : str
    labels : array or None
        Of the classes, if they are known.
    is_classifier : bool
        Whether it is an estimator that predicts classes.
    n_rounds : int or None
        How many rounds of boosting it predicts with, None for all.
    """

    origin: str
    labels: NDArray[Any] | None = None
    is_classifier: bool = False
    n_rounds: int | None = None


class Boosted(NamedTuple):
    """The trees of all outputs.

    Attributes
    ----------
    trees : list of Tree
    output : array
        The output, or class, of each tree; 0 where a tree has a value for each.
    weight : array
        Of each tree.
    """

    trees: list[Tree]
    output: NDArray[np.int32]
    weight: NDArray[np.float64]

    @property
    def n_values(self) -> int:
        """How many values a leaf has."""
        return int(self.trees[0].value.shape[1])


def read(model: Any, *, output: int | None = None) -> Forest:
    """Return a fitted XGBClassifier, XGBRegressor, XGBRanker, XGBRF* or Booster as a forest.

    Of a model with early stopping, an estimator predicts with the rounds up to its best one: those are read. A
    Booster predicts with all of them. A model of probabilities that one class is there becomes a classifier of the
    classes 0 and 1. Hinge loss knows classes, and no probabilities: there, `predict_proba` is 0 and the raw score.

    A category is a whole number from 0 on: a number between -1 and 0 is none to XGBoost, and category 0 to a forest.

    Parameters
    ----------
    model : estimator or Booster
    output : int, optional
        Which of several outputs (targets, or quantiles) to read, from 0.
    """
    booster, source = _source_of(model)
    return _forest_of(decode_ubjson(bytes(booster.save_raw("ubj"))), source, output)


def read_json(model: dict[str, Any], *, output: int | None = None) -> Forest:
    """Return the forest of a model that XGBoost wrote as JSON, as a Booster would predict with it.

    A file does not know the labels of classes: they are 0, 1 and so on.
    """
    try:
        return _forest_of(model, Source("xgboost.Booster"), output)
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


def read_file(path: str | PathLike[str], *, output: int | None = None) -> Forest:
    """Return the forest of a model that XGBoost wrote as UBJSON, as `read_json`."""
    model = decode_ubjson(Path(path).read_bytes())
    if "learner" not in model:
        raise ModelFileError("this UBJSON is no model of XGBoost, which has a part 'learner'")
    return read_json(model, output=output)


def _source_of(model: Any) -> tuple[Any, Source]:
    """Return the booster, and what is known besides."""
    name = type(model).__name__
    if not hasattr(model, "get_booster"):
        if not hasattr(model, "save_raw"):
            raise TypeError(f"as_forest cannot read xgboost's {name}; pass a fitted estimator or a Booster")
        return model, Source(f"xgboost.{name}")
    booster = model.get_booster()  # says itself if it is not fitted
    missing = getattr(model, "missing", None)
    if missing is not None and not np.isnan(missing):
        raise ValueError(
            f"the {name} takes {missing} for a missing value, and a forest takes NaN: pass its get_booster(), and "
            f"rows with NaN in place of {missing}"
        )
    is_classifier = hasattr(model, "predict_proba")
    labels = np.asarray(model.classes_) if is_classifier else None
    best = booster.attr("best_iteration")
    return booster, Source(f"xgboost.{name}", labels, is_classifier, None if best is None else int(best) + 1)


def _forest_of(model: dict[str, Any], source: Source, output: int | None) -> Forest:
    check_fields(model, ("learner", "version"), "the model")
    check_version(model)
    learner = object_at(model, "learner")
    check_fields(learner, LEARNER, "the model's learner")
    parameters = object_at(learner, "learner_model_param")
    check_fields(parameters, LEARNER_PARAMETERS, "the model's learner_model_param")
    n_features = count_at(parameters, "num_feature")
    n_classes = count_at(parameters, "num_class")
    n_targets = count_at(parameters, "num_target", default=1)
    n_outputs = max(n_classes, n_targets, 1)
    parts, weight_drop = _parts_of(object_at(learner, "gradient_booster"))
    boosted = _boosted(parts, weight_drop, n_features, n_outputs, source.n_rounds)
    objective = text_at(object_at(learner, "objective"), "name")
    link = link_of(objective, is_classifier=source.is_classifier)
    base = base_of(text_at(parameters, "base_score"), objective, n_outputs)
    if n_targets > 1:
        boosted, base = _one_of(boosted, base, _checked_output(output, n_targets))
        n_classes = 0
    else:
        check_only_output(output, "the model")
    labels = source.labels
    if link in ("logistic", "softmax") or objective == HINGE:
        n_labels = max(n_classes, 2)
        labels = np.arange(n_labels) if labels is None or n_targets > 1 else labels
    tree_column = boosted.output
    if objective == HINGE:
        # The first class has the score 0, which the second must exceed.
        base, tree_column = np.append(0.0, base), tree_column + np.int32(1)
    names = list_at(learner, "feature_names") if "feature_names" in learner else []
    encoding = encoding_of(parts, names)
    return stack(
        boosted.trees,
        tree_weight=boosted.weight,
        tree_column=tree_column,
        averages=False,
        base=base,
        link=link,
        task="regression" if labels is None else "classification",
        n_features=n_features,
        classes=labels,
        feature_names=(tuple(names) or None) if encoding is None else encoding.feature_names,
        encoding=encoding,
        origin=source.origin,
    )


def _parts_of(booster: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the trees and what belongs to them, and the object that may have weights of trees."""
    name = text_at(booster, "name")
    if name == "dart":
        check_fields(booster, ("gbtree", "name", "weight_drop"), "the model's gradient_booster")
        inner = object_at(booster, "gbtree")
        if text_at(inner, "name") != "gbtree":
            raise ModelFileError("the trees of a dart booster must be a gbtree")
        return object_at(inner, "model"), booster
    if name != "gbtree":
        raise TypeError(
            f"as_forest reads boosters of trees, not {name}, which has none: fit with booster='gbtree' or 'dart'"
        )
    check_fields(booster, ("model", "name"), "the model's gradient_booster")
    parts = object_at(booster, "model")
    return parts, parts


def _boosted(
    parts: dict[str, Any], weight_drop: dict[str, Any], n_features: int, n_outputs: int, n_rounds: int | None
) -> Boosted:
    """Return the trees of the first rounds."""
    check_fields(parts, MODEL, "the model")
    parameters = object_at(parts, "gbtree_model_param")
    check_fields(parameters, MODEL_PARAMETERS, "the model's gbtree_model_param")
    entries = trees_at(parts, "trees")
    n_all = len(entries)
    if count_at(parameters, "num_trees") != n_all:
        raise ModelFileError(f"num_trees is {parameters['num_trees']}, and there are {n_all} trees")
    output = integers_at(parts, "tree_info", n_all)
    # Newer versions write weights only where there are some.
    weight = floats_at(weight_drop, "weight_drop", n_all) if "weight_drop" in weight_drop else np.ones(n_all)
    n_trees = n_all if n_rounds is None else _n_trees(parts, parameters, n_all, n_outputs, n_rounds)
    if not n_trees:
        raise ValueError("the model has no trees: fit it with one round at least")
    trees = [tree_of(entry, n_features) for entry in islice(entries, n_trees)]
    boosted = Boosted(trees, output[:n_trees], weight[:n_trees].astype(np.float64))
    if {tree.value.shape[1] for tree in trees} != {boosted.n_values}:
        raise TypeError("as_forest does not read models of which some trees have vector leaves and some have not")
    if boosted.n_values not in (1, n_outputs):
        raise ModelFileError(f"leaves have {boosted.n_values} values for {n_outputs} outputs")
    n_groups = n_outputs if boosted.n_values == 1 else 1
    if (output < 0).any() or (output >= n_groups).any():
        raise ModelFileError(f"tree_info must lie between 0 and {n_groups - 1}")
    if n_groups > n_trees:
        raise ModelFileError(f"the model has {n_trees} trees for {n_groups} outputs")
    return boosted


def _n_trees(parts: dict[str, Any], parameters: dict[str, Any], n_all: int, n_outputs: int, n_rounds: int) -> int:
    """Return the number of trees of the first rounds."""
    if "iteration_indptr" not in parts:  # before 2.0, which has no vector leaves either
        return min(n_all, n_rounds * n_outputs * count_at(parameters, "num_parallel_tree"))
    ends = integers_at(parts, "iteration_indptr")
    return int(np.clip(ends[min(n_rounds, ends.size - 1)], 0, n_all)) if ends.size else 0


def _checked_output(output: int | None, n_targets: int) -> int:
    if output is None:
        raise SeveralOutputsError("the model", n_targets)
    if not 0 <= output < n_targets:
        raise ValueError(f"output is {output}, and the model has the outputs 0 to {n_targets - 1}")
    return output


def _one_of(boosted: Boosted, base: NDArray[np.float64], output: int) -> tuple[Boosted, NDArray[np.float64]]:
    """Return the trees and the base of one of several outputs."""
    if boosted.n_values > 1:
        trees = [replace(tree, value=tree.value[:, [output]]) for tree in boosted.trees]
        return Boosted(trees, boosted.output, boosted.weight), base[[output]]
    own = np.flatnonzero(boosted.output == output)
    trees = [boosted.trees[k] for k in own]
    if not trees:
        raise ValueError(f"output {output} of the model has no trees")
    return Boosted(trees, np.zeros(own.size, np.int32), boosted.weight[own]), base[[output]]
