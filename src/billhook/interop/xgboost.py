"""XGBoost's fitted tree boosters."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop._stack import Tree, growth_rank, stack

LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
SOFTMAX = ("multi:softprob", "multi:softmax")
LOGARITHM = ("count:poisson", "reg:gamma", "reg:tweedie")
PLAIN = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "binary:hinge")


def read(model: Any) -> Forest:
    """Return a fitted XGBClassifier, XGBRegressor, XGBRF* or Booster as a forest.

    Of a model with early stopping, an estimator predicts with the rounds up to its best one: those are read. A
    Booster predicts with all of them.
    """
    booster, labels, is_classifier, n_rounds = _booster_of(model)
    return _forest_of(
        json.loads(booster.save_raw("json")),
        labels,
        is_classifier=is_classifier,
        n_rounds=n_rounds,
        origin=f"xgboost.{type(model).__name__}",
    )


def read_json(model: dict[str, Any]) -> Forest:
    """Return the forest of a model that XGBoost wrote as JSON."""
    return _forest_of(model, None, is_classifier=False, n_rounds=None, origin="xgboost.Booster")


def _forest_of(
    model: dict[str, Any], labels: NDArray[Any] | None, *, is_classifier: bool, n_rounds: int | None, origin: str
) -> Forest:
    learner = model["learner"]
    objective = learner["objective"]["name"]
    gradient_booster = learner["gradient_booster"]
    weights = None
    if gradient_booster["name"] == "dart":
        weights = np.array(gradient_booster["weight_drop"], np.float64)
        gradient_booster = gradient_booster["gbtree"]
    elif gradient_booster["name"] != "gbtree":
        raise TypeError(f"as_forest reads boosters of trees, not {gradient_booster['name']}")
    parts = gradient_booster["model"]
    n_classes = int(learner["learner_model_param"]["num_class"])
    n_targets = int(learner["learner_model_param"].get("num_target", "1"))
    if n_targets > 1:
        raise TypeError(f"as_forest reads models of one target, not of {n_targets}")
    link = _link(objective, is_classifier)
    n_trees = len(parts["trees"])
    if n_rounds is not None:
        in_round = n_trees // max(1, len(parts["iteration_indptr"]) - 1)
        n_trees = min(n_trees, n_rounds * in_round)
    trees = [_tree(tree, learner) for tree in parts["trees"][:n_trees]]
    if not trees:
        raise ValueError("the model has no trees: fit it with one round at least")
    n_columns = n_classes if n_classes > 1 else 1
    per_class = trees[0].value.shape[1] < n_columns
    column = np.array(parts["tree_info"][:n_trees], np.int32) if per_class else np.zeros(n_trees, np.int32)
    if labels is None and (link in ("logistic", "softmax") or is_classifier):
        labels = np.arange(max(n_classes, 2))
    names = learner["feature_names"] or None
    return stack(
        trees,
        tree_weight=np.ones(n_trees) if weights is None else weights[:n_trees],
        tree_column=column,
        averages=False,
        base=_base(learner["learner_model_param"]["base_score"], link, objective, n_columns),
        link=link,
        task="regression" if labels is None else "classification",
        n_features=int(learner["learner_model_param"]["num_feature"]),
        classes=labels,
        feature_names=None if names is None else tuple(names),
        origin=origin,
    )


def _booster_of(model: Any) -> tuple[Any, NDArray[Any] | None, bool, int | None]:
    """Return the booster, the labels if it has any, whether it is a classifier, and how many rounds it uses."""
    if not hasattr(model, "get_booster"):
        if not hasattr(model, "save_raw"):
            name = type(model).__name__
            raise TypeError(f"as_forest cannot read xgboost's {name}; pass a fitted estimator or a Booster")
        return model, None, False, None
    booster = model.get_booster()  # says itself if it is not fitted
    is_classifier = hasattr(model, "predict_proba")
    labels = np.asarray(model.classes_) if is_classifier else None
    best = booster.attr("best_iteration")
    return booster, labels, is_classifier, None if best is None else int(best) + 1


def _link(objective: str, is_classifier: bool) -> str:
    if objective in LOGISTIC:
        return "logistic"
    if objective in SOFTMAX:
        return "softmax"
    if objective in LOGARITHM:
        return "exp"
    if objective in PLAIN and not is_classifier and objective != "binary:hinge":
        return "identity"
    known = ", ".join([*LOGISTIC, *SOFTMAX, *LOGARITHM, *PLAIN[:-1]])
    raise TypeError(f"as_forest does not know the objective {objective!r}; known are {known}")


def _base(text: str, link: str, objective: str, n_columns: int) -> NDArray[np.float64]:
    """Return the raw scores that trees are added to; the file has what the link makes of them."""
    scores = np.atleast_1d(np.array(json.loads(text), np.float64))
    base = np.broadcast_to(scores, n_columns).astype(np.float64)
    if link == "logistic" and objective != "binary:logitraw":
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(base) - np.log1p(-base))
    return np.asarray(np.log(base)) if link == "exp" else base


def _tree(tree: dict[str, Any], learner: dict[str, Any]) -> Tree:
    if tree["categories_nodes"]:
        names = learner["feature_names"]
        feature = tree["split_indices"][tree["categories_nodes"][0]]
        named = repr(names[feature]) if names else f"number {feature}"
        raise TypeError(f"as_forest reads splits by thresholds; the feature {named} is split by categories")
    left = np.array(tree["left_children"], np.int64)
    right = np.array(tree["right_children"], np.int64)
    is_leaf = left < 0
    n_values = max(1, int(tree["tree_param"]["size_leaf_vector"]))
    condition = np.array(tree["split_conditions"], np.float32)
    value = np.array(tree["base_weights"], np.float64).reshape(left.size, n_values)
    if n_values == 1:
        value[is_leaf, 0] = condition[is_leaf]
    elif "leaf_weights" in tree:
        # The right child of a leaf is its number.
        leaves = np.array(tree["leaf_weights"], np.float64).reshape(-1, n_values)
        value[is_leaf] = leaves[right[is_leaf]]
    weight = np.array(tree["sum_hessian"], np.float64)
    gain = np.array(tree["loss_changes"], np.float64)
    return Tree(
        feature=np.array(tree["split_indices"], np.int64),
        # It asks for less, not for less or equal.
        threshold=np.nextafter(condition, np.float32(-np.inf)),
        left=left,
        right=np.where(is_leaf, -1, right),
        missing_left=np.array(tree["default_left"], np.bool_),
        value=value,
        n_rows=np.zeros(left.size, np.int64),
        row_weight=weight,
        impurity=np.zeros(left.size),
        growth_rank=growth_rank(left, np.where(is_leaf, -1, right), gain),
    )
