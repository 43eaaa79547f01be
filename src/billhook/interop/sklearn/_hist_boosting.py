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
from billhook.interop.sklearn._fold import folded
from billhook.interop.sklearn._routes import Link, Route
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
    leaf_fitted = model.loss in LEAF_FITTED_LOSSES
    rounds = model._predictors
    trees = []
    known = _known_categories(model)
    for predictor in (predictor for one_round in rounds for predictor in one_round):
        nodes = checked_nodes(predictor.nodes, HIST_NODE_FIELDS)
        is_leaf = nodes["is_leaf"].astype(bool)
        left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
        right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
        tree = Tree(
            feature=nodes["feature_idx"].astype(np.int64),
            threshold=nodes["num_threshold"],
            left=left,
            right=right,
            missing_left=nodes["missing_go_to_left"],
            value=nodes["value"][:, None],
            n_rows=nodes["count"],
            row_weight=nodes["count"],
            impurity=np.zeros(left.size),
            growth_rank=growth_rank(left, right, nodes["gain"]),
            category_sets=_left_categories(predictor, known),
        )
        # Inner nodes hold their Newton step before shrinkage, the root nothing.
        mean = mean_of_leaves(tree, tree.value)
        value = np.where(is_leaf[:, None], tree.value, mean if leaf_fitted else model.learning_rate * tree.value)
        value[0] = mean[0]
        trees.append(replace(tree, value=value))
    check_thresholds(trees, type(model).__name__)
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    link = "exp" if model.loss in LOG_LINK_LOSSES else "identity"
    forest = boosted(trees, len(rounds), base.size, base, link, labels, about | {"feature_names": None})
    if model.is_categorical_ is None:
        return replace(forest, feature_names=about["feature_names"])
    routes = _routes(model)
    return folded(forest, None, routes, len(routes), about["feature_names"], cuts_off=True)


def _routes(model: Any) -> list[Route]:
    """Return where the features that trees see come from: first categorical columns, as places, then the others."""
    encoder = model._preprocessor.named_transformers_["encoder"]
    categorical, others = np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)
    encoded = [Route(int(column), (Link(encoder, k, k, False),)) for k, column in enumerate(categorical)]
    return encoded + [Route(int(column)) for column in others]


def _known_categories(model: Any) -> dict[int, NDArray[np.bool_]]:
    """Return, for each feature that is categorical to the trees, which places were seen in training."""
    if model.is_categorical_ is None:
        return {}
    bits, row_of_feature = model._bin_mapper.make_known_categories_bitsets()
    return {k: _members(bits[row_of_feature[k]]) for k in range(int(model.is_categorical_.sum()))}


def _left_categories(predictor: Any, known: dict[int, NDArray[np.bool_]]) -> dict[int, NDArray[np.int64]]:
    """Return the places that go left at each categorical split; those not seen in training go as missing ones do."""
    nodes = predictor.nodes
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)):
        goes_left = _members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        if nodes["missing_go_to_left"][node]:
            goes_left = goes_left | ~known[int(nodes["feature_idx"][node])]
        sets[int(node)] = np.flatnonzero(goes_left)
    return sets


def _members(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which bits are set."""
    return np.asarray((words[:, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)).ravel().astype(bool))
