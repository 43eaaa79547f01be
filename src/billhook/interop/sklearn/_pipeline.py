"""Pipelines: steps column by column before a model, folded into its splits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from billhook.forest import Forest, round_down
from billhook.interop._dispatch import as_forest
from billhook.interop._stack import Thresholds, are_recorded, recorded_thresholds
from billhook.interop.sklearn._fold import folded
from billhook.interop.sklearn._routes import Route, Routes, through


def read_pipeline(model: Any, output: int | None) -> Forest:
    """Return the forest that takes what the pipeline takes: the steps before the model are in its splits."""
    check_is_fitted(model)
    steps, last = _unfolded(model)
    steps = [step for step in steps if not (step is None or (isinstance(step, str) and step == "passthrough"))]
    if not steps:
        return as_forest(last, output=output)
    if are_recorded():
        raise TypeError(
            "as_forest cannot read an ensemble of pipelines that is itself the last step of a pipeline; move the "
            "first steps into each of its members"
        )
    with recorded_thresholds() as recorded:
        forest = as_forest(last, output=output)
    if forest.encoding is not None:
        raise TypeError(
            f"as_forest cannot read a pipeline whose {type(last).__name__} encodes categories itself; pass it alone, "
            "with the rows as the steps before it make them"
        )
    exact = _exact(forest, recorded, last)
    for step in steps:
        check_is_fitted(step)
    names = getattr(steps[0], "feature_names_in_", None)
    n_columns = int(getattr(steps[0], "n_features_in_", 0))  # a step that does not know is none that is read
    routes = Routes(tuple(Route(column) for column in range(n_columns)))
    for step in steps:
        routes = through(step, routes)
    _check_what_the_model_is_given(routes, forest, last)
    return folded(forest, exact, routes.columns, n_columns, names)


def _exact(forest: Forest, recorded: list[Thresholds], last: Any) -> NDArray[np.float64] | None:
    """Return the thresholds with which the model compares float64 numbers; None if it compares float32 numbers."""
    if forest.rounding == "nearest":
        return None
    exact = np.concatenate([np.zeros(0), *(one.threshold for one in recorded)])
    if any(one.rounding == "nearest" for one in recorded) or exact.size != forest.n_nodes:
        raise TypeError(
            f"as_forest cannot read a pipeline with a {type(last).__name__} some of whose members compare float32 "
            "numbers and some float64 numbers, or count nothing; move the steps before it into each of its members"
        )
    # Where the model's categories have become thresholds, none was recorded.
    return np.where(round_down(exact) == forest.threshold, exact, forest.threshold)


def _unfolded(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the model, and the model, of a pipeline that may end in another."""
    steps: list[Any] = []
    while True:
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, GridSearchCV | RandomizedSearchCV) and hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return steps, model


def _check_what_the_model_is_given(routes: Routes, forest: Forest, last: Any) -> None:
    if len(routes.columns) != forest.n_features:
        raise ValueError(
            f"the steps of the pipeline give {len(routes.columns)} columns, and the {type(last).__name__} takes "
            f"{forest.n_features}; fit the pipeline as a whole"
        )
    library = type(last).__module__.partition(".")[0]
    if routes.is_sparse and library not in ("sklearn", "lightgbm"):
        raise TypeError(
            f"as_forest cannot read a pipeline that gives a {type(last).__name__} a sparse matrix, whose zeros it "
            "may take for missing values; fit it with sparse_output=False and sparse_threshold=0"
        )
