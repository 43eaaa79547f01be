"""Fitted scikit-learn estimators as forests."""

from collections.abc import Callable
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.validation import check_is_fitted

from billhook.forest import Forest
from billhook.interop._dispatch import as_forest
from billhook.interop.sklearn._averages import read_bagging, read_forest, read_single
from billhook.interop.sklearn._boosting import read_ada_boost, read_gradient_boosting
from billhook.interop.sklearn._checks import check_predicts_as, checked_output, n_outputs_of
from billhook.interop.sklearn._ensembles import (
    read_calibrated,
    read_stacking_classifier,
    read_stacking_regressor,
    read_voting_classifier,
    read_voting_regressor,
)
from billhook.interop.sklearn._hist_boosting import read_hist_gradient_boosting
from billhook.interop.sklearn._isolation import read_isolation_forest
from billhook.interop.sklearn._pipeline import read_pipeline


def read(model: Any, *, output: int | None = None) -> Forest:
    """Return the fitted estimator, or one of its outputs, as a forest."""
    wrapper = next((WRAPPERS[parent] for parent in type(model).__mro__ if parent in WRAPPERS), None)
    if wrapper is not None:
        return wrapper(model, output)
    kind, reader = _reader_for(model)
    check_is_fitted(model)
    check_predicts_as(model, kind)
    names = getattr(model, "feature_names_in_", None)
    about = {
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else tuple(str(name) for name in names),
        "origin": f"sklearn.{kind.__name__}",
    }
    return reader(model, checked_output(output, n_outputs_of(model), type(model).__name__), about)


def _reader_for(model: Any) -> tuple[type, Callable[[Any, int, dict[str, Any]], Forest]]:
    for parent in type(model).__mro__:
        if parent in READERS:
            return parent, READERS[parent]
    name = type(model).__name__
    if isinstance(model, RandomTreesEmbedding):
        raise TypeError(
            f"as_forest cannot read a {name}, which predicts nothing: it says which leaves a row falls into; read "
            "the model that was fitted on that, or an ExtraTreesClassifier, whose `apply` says the same"
        )
    known = ", ".join(sorted(kind.__name__ for kind in (*READERS, *WRAPPERS)))
    raise TypeError(f"as_forest cannot read a {name}; supported are {known}")


def _read_best(model: Any, output: int | None) -> Forest:
    """Return the best estimator that a search found."""
    check_is_fitted(model)
    if not hasattr(model, "best_estimator_"):
        raise TypeError(f"the {type(model).__name__} kept no estimator; fit it with refit=True")
    return as_forest(model.best_estimator_, output=output)


def _read_frozen(model: Any, output: int | None) -> Forest:
    return as_forest(model.estimator, output=output)


READERS: dict[type, Callable[[Any, int, dict[str, Any]], Forest]] = {
    RandomForestClassifier: read_forest,
    RandomForestRegressor: read_forest,
    ExtraTreesClassifier: read_forest,
    ExtraTreesRegressor: read_forest,
    DecisionTreeClassifier: read_single,
    DecisionTreeRegressor: read_single,
    ExtraTreeClassifier: read_single,
    ExtraTreeRegressor: read_single,
    BaggingClassifier: read_bagging,
    BaggingRegressor: read_bagging,
    GradientBoostingClassifier: read_gradient_boosting,
    GradientBoostingRegressor: read_gradient_boosting,
    HistGradientBoostingClassifier: read_hist_gradient_boosting,
    HistGradientBoostingRegressor: read_hist_gradient_boosting,
    AdaBoostClassifier: read_ada_boost,
    IsolationForest: read_isolation_forest,
}
# What holds other estimators, of any library.
WRAPPERS: dict[type, Callable[[Any, int | None], Forest]] = {
    Pipeline: read_pipeline,
    GridSearchCV: _read_best,
    RandomizedSearchCV: _read_best,
    FrozenEstimator: _read_frozen,
    VotingClassifier: read_voting_classifier,
    VotingRegressor: read_voting_regressor,
    StackingClassifier: read_stacking_classifier,
    StackingRegressor: read_stacking_regressor,
    CalibratedClassifierCV: read_calibrated,
}
