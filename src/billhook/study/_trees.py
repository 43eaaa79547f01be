"""The ensembles that a study begins with, and those that it compares with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop import as_forest, boosting_parameters
from billhook.study._rows import ClassNumbers

RATE = 0.1


def grow(base: str, X: NDArray[np.float32], y: ClassNumbers, n_trees: int, max_leaves: int, seed: int) -> Forest:
    """Return a base ensemble: trees of fewer leaves are the beginnings of these."""
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    models: dict[str, Any] = {
        "random_forest": lambda: RandomForestClassifier(n_trees, max_leaf_nodes=max_leaves, random_state=seed),
        "extra_trees": lambda: ExtraTreesClassifier(
            n_trees, max_leaf_nodes=max_leaves, bootstrap=True, random_state=seed
        ),
        "bagging": lambda: BaggingClassifier(
            DecisionTreeClassifier(max_leaf_nodes=max_leaves), n_trees, random_state=seed
        ),
    }
    return as_forest(models[base]().set_params(n_jobs=1).fit(X, y))


def boost(
    X: NDArray[np.float32], y: ClassNumbers, n_rounds: int, max_leaves: int, seed: int, options: dict[str, Any]
) -> Forest:
    """Return boosted trees, all classes of a round one after the other.

    `engine` is "xgboost", "histogram" or "exact" (both scikit-learn's); the loss is the cross-entropy, without
    penalties. The paper gives the leaves of its trees, but its numbers are those of trees of depth 3, which is what
    scikit-learn grows if one does not say: hence `max_depth`.
    """
    common = {
        "learning_rate": options.get("learning_rate", RATE),
        "max_depth": options.get("max_depth"),
        "random_state": seed,
    }
    engine = options.get("engine", "xgboost")
    if engine == "xgboost":
        try:
            from xgboost import XGBClassifier
        except ImportError:
            raise ImportError(
                "to grow boosted trees, pip install 'billhook[xgboost]', or use engine = \"histogram\""
            ) from None
        # Without a limit of its own, XGBoost has one of 6.
        common["max_depth"] = common["max_depth"] or 0
        without_penalties = {"reg_lambda": 0.0, "min_child_weight": 0.0}
        parameters = boosting_parameters(
            int(y.max()) + 1, max_leaves=max_leaves, has_vector_leaves=False, **common, **without_penalties
        )
        model: Any = XGBClassifier(n_estimators=n_rounds, n_jobs=1, **parameters)
        return as_forest(model.fit(X, y))
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

    common |= {"max_leaf_nodes": max_leaves, "min_samples_leaf": options.get("min_samples_leaf", 1)}
    if engine == "histogram":
        model = HistGradientBoostingClassifier(max_iter=n_rounds, early_stopping=False, **common)
    else:
        model = GradientBoostingClassifier(n_estimators=n_rounds, **common)
    return as_forest(model.fit(X, y))
