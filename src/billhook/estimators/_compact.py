from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from billhook.estimators._compact_forest import CompactForest


class CompactForestClassifier(ClassifierMixin, CompactForest):  # type: ignore[misc]  # scikit-learn has no types
    """The most accurate tree ensemble for classification that fits a number of bytes.

    Many configurations are evaluated on held-out rows: boosted trees and random forests, cut off or merged, refined
    or not, with leaf values of few bits or a codebook of few different leaves. The best are compared on other rows,
    and the winner is learned from all.

    Parameters
    ----------
    budget : int or str
        How many bytes the packed model may take, as 4096 or "4KB".
    target : str, optional
        A target that it has to fit, with the code that reads it; beside the budget or instead of it (None).
    reserve : int or str
        Bytes of the target's flash to keep for other code.
    max_projections : int, optional
        The most weighted sums of features that splits may test beside features; 0 for none, with which `forest_` is
        the model as a forest. By default as many as do best.
    estimator : estimator or Forest, optional
        An ensemble of your own that is compressed, instead of those that are grown here. It is cloned and fitted;
        wrap a fitted one in scikit-learn's FrozenEstimator, and give rows that it has not seen.
    scoring : str or callable, optional
        What is best: a name or a scorer of scikit-learn. Accuracy by default.
    time_limit : float
        The most seconds; it ends earlier where more time gains nothing. More time, better models.
    n_trials : int, optional
        How many configurations to evaluate, instead of a time: the same rows and seed then give the same model
        everywhere.
    class_weight : dict or "balanced", optional
    executor : Executor, optional
        Where trials run; threads of this process by default.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        How many trials at a time. It does not change what is found, but for the clock.

    Attributes
    ----------
    packed_ : Packed
        The model: `packed_.nbytes`, `packed_.save`, `emit(packed_, ...)`.
    forest_ : Forest
        The same model as a forest, on the same features, which answers the same; AttributeError if splits of the
        model test projections, weighted sums of features, which a forest does not have.
    front_ : tuple of FrontEntry
        The candidates that no other beats at no more bytes, smallest first: `nbytes`, `score`, `settings`.
    report_ : FitReport
        All that was tried: `report_.save("report.html")`.
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> model = bh.CompactForestClassifier("2KB", n_trials=3, random_state=0).fit(X[::2], y[::2])
    >>> model.packed_.nbytes <= 2048, model.score(X[1::2], y[1::2]) > 0.85
    (True, True)
    """

    def __init__(
        self,
        budget: int | str | None = "16KB",
        *,
        target: str | None = None,
        reserve: int | str = 0,
        max_projections: int | None = None,
        estimator: Any = None,
        scoring: Any = None,
        time_limit: float | None = 60.0,
        n_trials: int | None = None,
        class_weight: Any = None,
        executor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            target=target,
            reserve=reserve,
            max_projections=max_projections,
            estimator=estimator,
            scoring=scoring,
            time_limit=time_limit,
            n_trials=n_trials,
            executor=executor,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities."""
        return self._packed().predict_proba(self._rows(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the raw scores; of two classes the second's minus the first's."""
        return self._packed().decision_function(self._rows(X))


class CompactForestRegressor(RegressorMixin, CompactForest):  # type: ignore[misc]  # as above
    """The most accurate tree ensemble for regression that fits a number of bytes.

    The same search as that of `CompactForestClassifier`, for targets that are numbers: R2 on held-out rows, or what
    corresponds to it for another loss than squares, compares the configurations.

    Parameters
    ----------
    budget : int or str
        How many bytes the packed model may take, as 4096 or "4KB".
    target : str, optional
        A target that it has to fit, with the code that reads it; beside the budget or instead of it (None).
    reserve : int or str
        Bytes of the target's flash to keep for other code.
    max_projections : int, optional
        The most weighted sums of features that splits may test beside features; 0 for none, with which `forest_` is
        the model as a forest. By default as many as do best.
    estimator : estimator or Forest, optional
        An ensemble of your own that is compressed, instead of those that are grown here.
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson"}
        What is learned. Poisson is for counts, and predicts exp(score).
    quantile : float, optional
        For ``loss="quantile"``: which one, from 0.001 to 0.999.
    scoring : str or callable, optional
        What is best: a name or a scorer of scikit-learn. By default R2; for other losses than squares 1 - the mean
        loss, of that of the best constant (Huber: of absolute errors).
    time_limit : float
        The most seconds; it ends earlier where more time gains nothing. More time, better models.
    n_trials : int, optional
        How many configurations to evaluate, instead of a time.
    executor : Executor, optional
        Where trials run; threads of this process by default.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        How many trials at a time.

    Attributes
    ----------
    packed_ : Packed
    forest_ : Forest
        AttributeError if splits of the model test projections.
    front_ : tuple of FrontEntry
    report_ : FitReport

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import billhook as bh
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = bh.CompactForestRegressor("1KB", n_trials=3, random_state=0).fit(X[::2], y[::2])
    >>> model.packed_.nbytes <= 1024, model.score(X[1::2], y[1::2]) > 0.2
    (True, True)
    """

    def __init__(
        self,
        budget: int | str | None = "16KB",
        *,
        target: str | None = None,
        reserve: int | str = 0,
        max_projections: int | None = None,
        estimator: Any = None,
        loss: str | None = "squared_error",
        quantile: float | None = None,
        scoring: Any = None,
        time_limit: float | None = 60.0,
        n_trials: int | None = None,
        executor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            target=target,
            reserve=reserve,
            max_projections=max_projections,
            estimator=estimator,
            scoring=scoring,
            time_limit=time_limit,
            n_trials=n_trials,
            executor=executor,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.loss = loss
        self.quantile = quantile
