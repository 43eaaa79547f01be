from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, compute_sample_weight

from billhook._checks import as_bytes, at_least_one
from billhook.budget import TrainingRows, UserEnsemble, build, fit, limit_for, n_values_of, settings_of
from billhook.codegen import target_named
from billhook.estimators._forest_estimator import ForestEstimator
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.packing import Packed


class FrontEntry(NamedTuple):
    """A candidate that no other beats at no more bytes: its size, its score on rows held out, and its choices."""

    nbytes: int
    score: float
    settings: dict[str, Any]
    trial: Any


class _CompactForest(ForestEstimator):
    """What the two classes have in common."""

    class_weight: Any = None

    def __init__(
        self,
        budget: int | str | None = "16KB",
        *,
        target: str | None = None,
        reserve: int | str = 0,
        estimator: Any = None,
        scoring: Any = None,
        time_limit: float | None = 60.0,
        trials: int | None = None,
        workers: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.target = target
        self.reserve = reserve
        self.estimator = estimator
        self.scoring = scoring
        self.time_limit = time_limit
        self.trials = trials
        self.workers = workers
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Callable[[Any], None] | None = None,
    ) -> Self:
        """Search, and learn the best model from all rows; `progress` is called with the search after each trial."""
        X, y, weight = self._checked(X, y, sample_weight)
        rows = self._as_rows(X, y, weight)
        seed = int(check_random_state(self.random_state).randint(2**31))
        found = fit(
            rows,
            limit_for(self.budget, self.target, self.reserve),
            given=self._given(rows),
            scoring=self.scoring,
            time_limit=self._time_limit(),
            trials=None if self.trials is None else at_least_one(self.trials, "trials"),
            seed=seed,
            workers=self.workers,
            n_jobs=effective_n_jobs(self.n_jobs),
            target=None if self.target is None else target_named(self.target),
            title=type(self).__name__,
            progress=progress or (lambda _search: None),
        )
        self._seed = seed
        self.front_ = tuple(
            FrontEntry(one.nbytes, one.score, settings_of(one.trial), one.trial) for one in found.front
        )
        self.report_ = found.report
        self._set_model(found.packed)
        return self

    def refit(self, X: Any, y: Any, budget: int | str, sample_weight: ArrayLike | None = None) -> Self:
        """Learn, from these rows, the best model of the front that takes at most `budget` bytes; nothing is searched.

        `packed_` and `forest_` are replaced; `report_` and `front_` are still those of the search. One search so
        serves every smaller budget.
        """
        self._forest()
        most = as_bytes(budget, "budget")
        fitting = [entry for entry in self.front_ if entry.nbytes <= most]
        if not fitting:
            smallest = self.front_[0].nbytes
            raise ValueError(f"the smallest model of the front takes {smallest:,} bytes, more than {most:,}")
        X, y, weight = self._checked(X, y, sample_weight)
        rows = self._as_rows(X, y, weight)
        trial = replace(fitting[-1].trial, budget=min(most, fitting[-1].trial.budget))
        self._set_model(build(rows, trial, given=self._given(rows), seed=self._seed))
        return self

    def _set_model(self, packed: Packed) -> None:
        self.packed_ = packed
        self.forest_ = packed.to_forest()
        if isinstance(self, ClassifierMixin):
            self.classes_ = packed.classes

    def _time_limit(self) -> float | None:
        if self.time_limit is None and self.trials is None:
            raise ValueError("say when to stop: time_limit in seconds, or trials")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit must be above 0 seconds, not {self.time_limit!r}")
        return None if self.time_limit is None else float(self.time_limit)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the packed model's predictions."""
        return self._packed().predict(self._rows(X))

    def _packed(self) -> Packed:
        self._forest()
        packed: Packed = self.packed_
        return packed

    def _as_rows(self, X: NDArray[np.float32], y: NDArray[Any], weight: NDArray[np.float64] | None) -> TrainingRows:
        weights = np.ones(len(y)) if weight is None else weight
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        if not (weights >= 0.0).all():
            raise ValueError("sample_weight holds a weight that is negative or not a number")
        if not (weights > 0.0).all():  # they say nothing, and a class of such rows is none
            if not (weights > 0.0).any():
                raise ValueError("all weights are zero: sample_weight must be above 0 for some rows")
            X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
        if (weights != np.rint(weights)).any():  # whole ones count rows, as leaves do
            weights = weights / weights.mean()
        names = getattr(self, "feature_names_in_", None)
        named = None if names is None else tuple(names)
        if isinstance(self, RegressorMixin):
            return TrainingRows(X, np.asarray(y, np.float64), weights, None, named)
        classes, number = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: there is nothing to tell apart")
        return TrainingRows(X, number, weights, classes, named)

    def _given(self, rows: TrainingRows) -> UserEnsemble | None:
        if self.estimator is None:
            return None
        if isinstance(self.estimator, Forest):
            forest = self._named(self.estimator)
            return UserEnsemble.fitted(forest)
        if isinstance(self.estimator, FrozenEstimator):
            frozen = self._named(as_forest(self.estimator.estimator))
            return UserEnsemble.fitted(frozen)

        def fitted(of: TrainingRows, some: NDArray[np.int64]) -> Forest:
            return self._named(as_forest(self._fitted(of.X, of.labels, of.weight, some)))

        few = np.unique(rows.y, return_index=True)[1] if rows.classes is not None else np.arange(min(50, rows.n_rows))
        return UserEnsemble(fitted, n_values_of(fitted(rows, np.union1d(few, np.arange(min(200, rows.n_rows))))))


class CompactForestClassifier(ClassifierMixin, _CompactForest):  # type: ignore[misc]  # scikit-learn has no types
    """The most accurate tree ensemble that fits a number of bytes.

    Many ways to such a model are tried on rows held out: boosted trees and random forests, cut off or merged, refined
    or not, with leaves of few bits or few different leaves. The best of them are compared on other rows, and the
    winner is learned from all.

    Parameters
    ----------
    budget : int or str
        How many bytes the packed model may take, as 4096 or "4KB".
    target : str, optional
        A device that it has to fit, with the program that reads it; beside the budget or instead of it (None).
    reserve : int or str
        What the device's flash has to keep free for other programs.
    estimator : estimator or Forest, optional
        An ensemble of your own that is made to fit, instead of those that are grown here. It is cloned and fitted;
        wrap a fitted one in scikit-learn's FrozenEstimator, and give rows that it has not seen.
    scoring : str or callable, optional
        What is best: a name or a scorer of scikit-learn. Accuracy by default, R2 for numbers.
    time_limit : float
        Seconds. More time, better models.
    trials : int, optional
        How many ways are tried, instead of a time: the same rows and seed then give the same model everywhere.
    class_weight : dict or "balanced", optional
    workers : optional
        Where trials run; threads of this process by default.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        How many trials at a time. It does not change what is found, but for the clock.

    Weights that are whole numbers count as so many rows; of others only the ratio matters.

    Attributes
    ----------
    packed_ : Packed
        The model: `packed_.nbytes`, `packed_.save`, `emit(packed_, ...)`.
    forest_ : Forest
        The same model, which answers the same.
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
    >>> model = bh.CompactForestClassifier("2KB", trials=3, random_state=0).fit(X[::2], y[::2])
    >>> model.packed_.nbytes <= 2048, model.score(X[1::2], y[1::2]) > 0.85
    (True, True)
    """

    def __init__(
        self,
        budget: int | str | None = "16KB",
        *,
        target: str | None = None,
        reserve: int | str = 0,
        estimator: Any = None,
        scoring: Any = None,
        time_limit: float | None = 60.0,
        trials: int | None = None,
        class_weight: Any = None,
        workers: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            target=target,
            reserve=reserve,
            estimator=estimator,
            scoring=scoring,
            time_limit=time_limit,
            trials=trials,
            workers=workers,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities."""
        return self._packed().predict_proba(self._rows(X))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the raw scores; of two classes the second's minus the first's."""
        return self._packed().decision_function(self._rows(X))


class CompactForestRegressor(RegressorMixin, _CompactForest):  # type: ignore[misc]  # as above
    """As CompactForestClassifier, for numbers: see there."""
