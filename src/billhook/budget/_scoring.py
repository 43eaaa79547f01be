"""How good a model is on rows it has not seen."""

from collections.abc import Callable
from inspect import signature
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.budget._costs import CostScorer
from billhook.budget._regression_loss import RegressionLoss
from billhook.budget._splits import TrainingRows
from billhook.forest import Forest
from billhook.packing import Packed

# Scores that are at most 1, which is reached without a mistake.
SHARES_OF_ONE = ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "r2", "roc_auc")
# The scores of scikit-learn that may be any number above 0; all others are at most 1, or 0 by their names.
UNBOUNDED = ("mutual_info_score", "positive_likelihood_ratio")
# Of a class that a model rules out; steps to the best scale of scores.
LEAST_PROBABILITY, NEWTON_STEPS = 1e-9, 8
ScoredModel = Union[Packed, Forest, "RememberedModel"]
Score = Callable[[ScoredModel, NDArray[np.float32], NDArray[Any], NDArray[np.float64]], float]


class RememberedModel:
    """A model whose answers on some rows are computed once, for scores of many parts of them.

    Parameters
    ----------
    model : Packed
    X : float32 array (rows, features)
    """

    def __init__(self, model: Packed, X: NDArray[np.float32]) -> None:
        self.model, self.X, self.classes = model, X, model.classes
        self._known: dict[str, NDArray[Any]] = {}

    def of_rows(self, some: NDArray[np.int64]) -> "RememberedModel":
        """Return the model that remembers its answers on some of the rows, `X` of it."""
        part = _Part(self.model, self.X[some])
        part.whole, part.some = self, some
        return part

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return labels or numbers."""
        return self._answer("predict", X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return probabilities of the classes."""
        return self._answer("predict_proba", X)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores."""
        return self._answer("decision_function", X)

    def _answer(self, method: str, X: ArrayLike) -> NDArray[Any]:
        if X is not self.X:  # a scorer may ask for other rows
            return np.asarray(getattr(self.model, method)(X))
        if method not in self._known:
            self._known[method] = self._computed(method)
        return self._known[method]

    def _computed(self, method: str) -> NDArray[Any]:
        return np.asarray(getattr(self.model, method)(self.X))


class _Part(RememberedModel):
    whole: RememberedModel
    some: NDArray[np.int64]

    def _computed(self, method: str) -> NDArray[Any]:
        return self.whole._answer(method, self.whole.X)[self.some]


class AsEstimator:
    """A packed model, or a forest, as scikit-learn's scorers take it."""

    def __init__(self, model: ScoredModel) -> None:
        self.model = model
        self._estimator_type = "regressor" if model.classes is None else "classifier"
        if model.classes is not None:
            self.classes_ = model.classes

    def fit(self, *_: Any) -> "AsEstimator":
        """Nothing is left to learn."""
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return labels or numbers."""
        return self.model.predict(X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return probabilities of the classes."""
        return self.model.predict_proba(X)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores."""
        return self.model.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        tags = BaseEstimator().__sklearn_tags__()
        tags.estimator_type = self._estimator_type
        return tags


def score_of(scoring: Any, rows: TrainingRows) -> Score:
    """Return the score of this name, or of a scorer of scikit-learn; by default accuracy, or R2 for regression.

    For other losses than squares it is what is R2 for them: 1 - the mean loss, of that of the best constant.
    """
    if scoring is None:
        return accuracy if rows.classes is not None else _score_of_loss(rows.loss)
    if scoring == "accuracy" and rows.classes is not None:
        return accuracy
    if scoring == "neg_log_loss" and rows.classes is not None:
        return _minus_log_loss
    scorer = scoring if callable(scoring) else _named(scoring)
    # A plain function need not know of weights.
    takes_weights = hasattr(scorer, "_score_func") or "sample_weight" in signature(scorer).parameters

    def score(model: ScoredModel, X: NDArray[np.float32], labels: NDArray[Any], weight: NDArray[np.float64]) -> float:
        estimator = AsEstimator(model)
        weighed = {"sample_weight": weight} if takes_weights and not (weight == weight[0]).all() else {}
        try:
            return float(scorer(estimator, X, labels, **weighed))
        except (ValueError, TypeError) as error:
            if not isinstance(scoring, str):
                raise
            raise ValueError(f"the scoring {scoring!r} cannot judge this target: {error}") from error

    return score


def check_scoring(scoring: Any) -> None:
    """Raise ValueError for a name that no scorer of scikit-learn has."""
    if isinstance(scoring, str) and scoring != "accuracy":
        _named(scoring)


def tempered_log_loss(
    model: ScoredModel, X: NDArray[np.float32], y: NDArray[Any], weight: NDArray[np.float64]
) -> float:
    """Return the log loss of a classifier whose scores are scaled by what suits the rows best.

    It tells more of a model than its mistakes do, and unlike the plain log loss it is not ruled by how sure of itself
    the model is, which is easily changed.

    Parameters
    ----------
    model : Packed or Forest
    X : array (rows, features)
    y : array (rows)
        Class numbers.
    weight : array (rows)
    """
    score = np.log(np.maximum(model.predict_proba(X), LEAST_PROBABILITY))
    own = score[np.arange(len(y)), y]
    scale = 1.0
    for _ in range(NEWTON_STEPS):  # the loss is convex in the scale
        probability = _softmax(scale * score)
        mean = (probability * score).sum(axis=1)
        slope = np.average(mean - own, weights=weight)
        curvature = np.average((probability * score**2).sum(axis=1) - mean**2, weights=weight)
        scale = float(np.clip(scale - slope / max(curvature, 1e-9), 0.3 * scale, 3.0 * scale))
    probability = _softmax(scale * score)[np.arange(len(y)), y]
    return float(-np.average(np.log(np.maximum(probability, LEAST_PROBABILITY)), weights=weight))


def _softmax(score: NDArray[np.float64]) -> NDArray[np.float64]:
    power = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def perfect_score(scoring: Any) -> float | None:
    """Return the score of a model without a mistake; None if that is not known."""
    if scoring is None or scoring in SHARES_OF_ONE:
        return 1.0
    return 0.0 if isinstance(scoring, str) and scoring.startswith("neg_") else None


def highest_score(scoring: Any) -> float:
    """Return what no score exceeds; infinity if that is not known."""
    if scoring is None:
        return 1.0
    if isinstance(scoring, CostScorer):
        return scoring.highest
    if not isinstance(scoring, str) or scoring in UNBOUNDED:
        return float(np.inf)
    return 0.0 if scoring.startswith("neg_") else 1.0


def _named(scoring: str) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    from billhook._checks import resolve_name

    resolve_name(scoring, dict.fromkeys(get_scorer_names()), "there is no scoring")
    return get_scorer(scoring)


def accuracy(model: ScoredModel, X: NDArray[np.float32], labels: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """Return the share of the weight of rows whose label is right."""
    return float(np.average(model.predict(X) == labels, weights=weight))


def _minus_log_loss(
    model: ScoredModel, X: NDArray[np.float32], labels: NDArray[Any], weight: NDArray[np.float64]
) -> float:
    from sklearn.metrics import log_loss

    return -float(log_loss(labels, model.predict_proba(X), sample_weight=weight, labels=model.classes))


def _score_of_loss(loss: RegressionLoss) -> Score:
    def score(
        model: ScoredModel, X: NDArray[np.float32], targets: NDArray[Any], weight: NDArray[np.float64]
    ) -> float:
        return loss.score(model.predict(X), targets, weight)

    return score
