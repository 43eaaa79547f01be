"""Histogram gradient boosting."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from billhook.forest import Forest
from billhook.interop._stack import Tree, growth_rank, mean_of_leaves
from billhook.interop._thresholds import check_thresholds
from billhook.interop.sklearn._boosting import boosted
from billhook.interop.sklearn._checks import two_or_more_labels
from billhook.interop.sklearn._tree import HIST_NODE_FIELDS, checked_nodes

# Losses of HistGradientBoostingRegressor whose raw score is the logarithm of the prediction.
LOG_LINK_LOSSES = ("poisson", "gamma")
# Those after which it fits the leaves anew, and only the leaves.
LEAF_FITTED_LOSSES = ("absolute_error", "quantile")


def read_hist_gradient_boosting(model: Any, output: int, about: dict[str, Any]) -> Forest:  # noqa: ARG001
    """Return the sum of histogram boosting's trees."""
    if not isinstance(model.loss, str):
        raise TypeError(f"as_forest reads losses given by name, not {model.loss!r}")
    labels = None if isinstance(model, HistGradientBoostingRegressor) else two_or_more_labels(model)
    # It compares float64 rows.
    about["rounding"] = "down"
    # Where there are categorical features, the trees see them first and the others after them.
    categorical = np.zeros(about["n_features"], bool) if model.is_categorical_ is None else model.is_categorical_
    seen_as = np.argsort(~categorical, kind="stable")
    leaf_fitted = model.loss in LEAF_FITTED_LOSSES
    rounds = model._predictors
    trees = []
    for predictor in (predictor for one_round in rounds for predictor in one_round):
        nodes = checked_nodes(predictor.nodes, HIST_NODE_FIELDS)
        is_leaf = nodes["is_leaf"].astype(bool)
        feature = seen_as[nodes["feature_idx"]]
        _refuse_categories(model, feature[nodes["is_categorical"].astype(bool) & ~is_leaf], about)
        left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
        right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
        tree = Tree(
            feature=feature,
            threshold=nodes["num_threshold"],
            left=left,
            right=right,
            missing_left=nodes["missing_go_to_left"],
            value=nodes["value"][:, None],
            n_rows=nodes["count"],
            row_weight=nodes["count"],
            impurity=np.zeros(left.size),
            growth_rank=growth_rank(left, right, nodes["gain"]),
        )
        # Inner nodes hold their Newton step before shrinkage, the root nothing.
        mean = mean_of_leaves(tree, tree.value)
        value = np.where(is_leaf[:, None], tree.value, mean if leaf_fitted else model.learning_rate * tree.value)
        value[0] = mean[0]
        trees.append(replace(tree, value=value))
    check_thresholds(trees, type(model).__name__)
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    link = "exp" if model.loss in LOG_LINK_LOSSES else "identity"
    return boosted(trees, len(rounds), base.size, base, link, labels, about)


def _refuse_categories(model: Any, split_on: NDArray[Any], about: dict[str, Any]) -> None:
    if split_on.size:
        names = about["feature_names"]
        which = f"feature {split_on[0]}" if names is None else f"feature {names[split_on[0]]!r}"
        raise ValueError(
            f"the {type(model).__name__} splits the categories of {which}, and as_forest cannot read categorical "
            "splits; encode the column (one-hot or ordered numbers) and fit without categorical_features"
        )
