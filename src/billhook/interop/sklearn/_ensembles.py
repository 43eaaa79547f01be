"""Ensembles of other models: votes, stacks and calibration, where they are sums of trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from billhook.forest import Forest
from billhook.interop._combine import Part, check_same_features, combine, mean_of
from billhook.interop._dispatch import as_forest
from billhook.interop.sklearn._checks import check_predicts_as, checked_output

LINEAR = (LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV, HuberRegressor)


def read_voting_regressor(model: Any, output: int | None) -> Forest:
    """Return the weighted mean of regressors."""
    _check(model, VotingRegressor, output)
    forests = [_regressor(model, member) for member in model.estimators_]
    check_same_features(forests, type(model).__name__)
    return mean_of(forests, _shares(model), link="identity", task="regression", origin="sklearn.VotingRegressor")


def read_voting_classifier(model: Any, output: int | None) -> Forest:
    """Return the weighted mean of classifiers' probabilities."""
    _check(model, VotingClassifier, output)
    if model.voting != "soft":
        raise TypeError(
            "as_forest cannot read a VotingClassifier that counts votes, which are no sums; fit it with voting='soft'"
        )
    forests = [_probabilities(model, member) for member in model.estimators_]
    check_same_features(forests, type(model).__name__)
    about = {"link": "identity", "task": "classification", "classes": np.asarray(model.classes_)}
    return mean_of(forests, _shares(model), **about, origin="sklearn.VotingClassifier")


def read_stacking_regressor(model: Any, output: int | None) -> Forest:
    """Return the linear combination of regressors."""
    _check(model, StackingRegressor, output)
    final = _final(model, LINEAR, "LinearRegression, RidgeCV, Lasso or ElasticNet")
    forests = [_regressor(model, member) for member in model.estimators_]
    check_same_features(forests, type(model).__name__)
    factors = np.ravel(final.coef_).astype(np.float64)
    parts = [Part(forest, np.array([[factor]])) for forest, factor in zip(forests, factors, strict=True)]
    about = {"link": "identity", "task": "regression", "origin": "sklearn.StackingRegressor"}
    return combine(parts, np.ravel(final.intercept_).astype(np.float64), **about)


def read_stacking_classifier(model: Any, output: int | None) -> Forest:
    """Return the linear combination of classifiers' probabilities or scores, under a logistic link or a softmax."""
    _check(model, StackingClassifier, output)
    final = _final(model, (LogisticRegression, LogisticRegressionCV), "LogisticRegression")
    classes = np.asarray(model.classes_)
    n_columns = 1 if classes.size == 2 else classes.size
    if getattr(final, "multi_class", "auto") not in ("auto", "deprecated") or (
        n_columns > 1 and final.solver == "liblinear"
    ):
        raise TypeError(
            "as_forest cannot read a StackingClassifier whose LogisticRegression is fitted for one class against the "
            "others, or with multi_class; leave multi_class and solver out"
        )
    given = [_response(model, *one) for one in zip(model.estimators_, model.stack_method_, strict=True)]
    check_same_features([part.forest for part in given], type(model).__name__)
    ends = np.cumsum([len(part.factors) for part in given])
    factors = np.split(np.asarray(final.coef_, np.float64), ends[:-1], axis=1)
    parts = [part._replace(factors=own @ part.factors) for part, own in zip(given, factors, strict=True)]
    return combine(
        parts,
        np.asarray(final.intercept_, np.float64),
        link="logistic" if n_columns == 1 else "softmax",
        task="classification",
        classes=classes,
        origin="sklearn.StackingClassifier",
    )


def read_calibrated(model: Any, output: int | None) -> Forest:
    """Return a classifier of two classes with its scores calibrated (Platt 1999)."""
    _check(model, CalibratedClassifierCV, output)
    calibrated = model.calibrated_classifiers_
    if len(calibrated) > 1:
        raise TypeError(
            f"as_forest cannot read a CalibratedClassifierCV of {len(calibrated)} calibrated classifiers, the mean "
            "of which is no sum; fit it with ensemble=False"
        )
    if calibrated[0].method != "sigmoid":
        raise TypeError(
            f"as_forest cannot read a CalibratedClassifierCV with method={calibrated[0].method!r}, which is no "
            "logistic function; fit it with method='sigmoid'"
        )
    classes = np.asarray(model.classes_)
    member = calibrated[0].estimator
    if classes.size != 2 or not np.array_equal(member.classes_, classes):
        raise TypeError(
            f"as_forest cannot read a CalibratedClassifierCV of {classes.size} classes, whose probabilities are "
            "divided by their sum; calibrate one classifier for each class against the others, of two classes each"
        )
    given = _response(model, member, "decision_function" if hasattr(member, "decision_function") else "predict_proba")
    calibrator = calibrated[0].calibrators[0]
    return combine(
        [given._replace(factors=-float(calibrator.a_) * given.factors)],
        np.array([-float(calibrator.b_)]),
        link="logistic",
        task="classification",
        classes=classes,
        origin="sklearn.CalibratedClassifierCV",
    )


def _check(model: Any, kind: type, output: int | None) -> None:
    check_is_fitted(model)
    check_predicts_as(model, kind)
    checked_output(output, 1, type(model).__name__)


def _shares(model: Any) -> NDArray[np.float64]:
    weights = [1.0] * len(model.estimators_)
    if model.weights is not None:
        given = zip(model.estimators, model.weights, strict=True)
        weights = [float(weight) for (_, member), weight in given if not _is_dropped(member)]
    return np.asarray(np.array(weights) / np.sum(weights))


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == "drop"


def _final(model: Any, kinds: tuple[type, ...], named: str) -> Any:
    """Return the last estimator of a stack, if it is linear and takes nothing but the members' predictions."""
    name = type(model).__name__
    if model.passthrough:
        raise TypeError(
            f"as_forest cannot read a {name} whose last estimator takes the features too; fit it with "
            "passthrough=False"
        )
    final = model.final_estimator_
    kind = next((kind for kind in kinds if isinstance(final, kind)), None)
    if kind is None:
        raise TypeError(
            f"as_forest cannot read a {name} that ends in a {type(final).__name__}, which is no sum; fit it with "
            f"final_estimator={named}"
        )
    check_predicts_as(final, kind)
    return final


def _regressor(model: Any, member: Any) -> Forest:
    """Return a member that predicts a sum of leaf values."""
    forest = as_forest(member)
    if forest.task != "regression" or forest.link != "identity":
        raise TypeError(
            f"as_forest cannot read a {type(model).__name__} of a {type(member).__name__}, whose prediction is no "
            f"sum of leaf values (link {forest.link}); leave it out, or read the members one by one"
        )
    return forest


def _probabilities(model: Any, member: Any) -> Forest:
    """Return a member whose probabilities are sums of leaf values."""
    forest = as_forest(member)
    n_classes = len(model.classes_)
    if forest.task != "classification" or forest.link != "identity" or forest.n_classes != n_classes:
        raise TypeError(
            f"as_forest cannot read a {type(model).__name__} of a {type(member).__name__}, whose probabilities are "
            f"no sums of leaf values (link {forest.link}); leave it out, or read the members one by one"
        )
    return forest


def _response(model: Any, member: Any, method: str) -> Part:
    """Return a member and what one above it sees of it: probabilities, of two the second alone, or scores."""
    if method == "predict_proba":
        forest = _probabilities(model, member)
        columns = np.eye(forest.n_classes)
        return Part(forest, columns[1:] if forest.n_classes == 2 else columns)
    forest = as_forest(member)
    if method != "decision_function" or forest.link not in ("logistic", "softmax"):
        raise TypeError(
            f"as_forest cannot read a {type(model).__name__} of a {type(member).__name__}, whose {method} is no sum "
            "of leaf values; leave it out, or read the members one by one"
        )
    inner = _innermost(member)
    # Some scores are read as a multiple of which the link makes the probability.
    factor = 0.5 if getattr(inner, "loss", None) == "exponential" else 1.0
    if isinstance(inner, AdaBoostClassifier) and forest.n_classes > 2:
        factor = forest.n_classes - 1.0
    return Part(forest, factor * np.eye(forest.base.size))


def _innermost(model: Any) -> Any:
    """Return the model at the end of pipelines and searches."""
    while True:
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, GridSearchCV | RandomizedSearchCV):
            model = model.best_estimator_
        else:
            return model
