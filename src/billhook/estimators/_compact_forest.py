"""The search as an estimator: what the classifier and the regressor have in common."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from billhook._checks import as_bytes, at_least_one, n_threads_of
from billhook.budget import (
    Clock,
    Search,
    TrainingRows,
    UserEnsemble,
    build,
    check_max_projections,
    checked_time_limit,
    encode_table,
    fit,
    limit_for,
    projections_for,
    regression_loss,
    settings_of,
    training_rows,
)
from billhook.codegen import target_named
from billhook.estimators._forest_estimator import ForestEstimator, groups_of
from billhook.estimators._frames import frame_features, frame_table, has_categories
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.packing import Packed
from billhook.tables import CategoricalEncoding, Encoding


class FrontEntry(NamedTuple):
    """A candidate that no other beats at no more bytes: its size, its score on held-out rows, and its settings."""

    nbytes: int
    score: float
    settings: dict[str, Any]
    trial: Any


class CompactForest(ForestEstimator):
    """What the two classes have in common."""

    class_weight: Any = None
    loss: str | None = None
    quantile: float | None = None

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
        executor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.target = target
        self.reserve = reserve
        self.max_projections = max_projections
        self.estimator = estimator
        self.scoring = scoring
        self.time_limit = time_limit
        self.n_trials = n_trials
        self.executor = executor
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        progress: Callable[[Search], None] | None = None,
    ) -> Self:
        """Search, and learn the best model from all rows.

        Parameters
        ----------
        X : array or data frame (rows, features)
            Data frames may have categorical, string and boolean columns, and missing values, as they are.
        y : array
        sample_weight : array, optional
            Weights that are whole numbers count as so many rows; of others only the ratio matters.
        groups : array, optional
            For each row its group, such as the patient: rows of one group are held out together.
        progress : function, optional
            Called with the search after each batch of trials.
        """
        may_project = self.estimator is None and self.max_projections != 0
        limit = limit_for(self.budget, self.target, self.reserve, may_project=may_project)
        check_max_projections(self.max_projections, self.estimator)
        n_trials = None if self.n_trials is None else at_least_one(self.n_trials, "n_trials")
        seed = int(check_random_state(self.random_state).randint(2**31))
        clock = Clock(checked_time_limit(self.time_limit, n_trials))
        of_choice = clock if n_trials is None else None
        rows, encoding, notes = self._training_rows(X, y, sample_weight, limit, seed, clock=of_choice, groups=groups)
        result = fit(
            rows,
            limit,
            user_ensemble=self._user_ensemble(rows),
            max_projections=projections_for(self.max_projections, self.target, self.reserve),
            scoring=self.scoring,
            clock=clock,
            n_trials=n_trials,
            seed=seed,
            executor=self.executor,
            n_jobs=n_threads_of(self.n_jobs),
            target=None if self.target is None else target_named(self.target),
            title=type(self).__name__,
            notes=notes,
            progress=progress,
        )
        self._seed = seed
        self.front_ = tuple(
            FrontEntry(candidate.nbytes, candidate.score, settings_of(candidate.trial), candidate.trial)
            for candidate in result.front
        )
        self.report_ = result.report
        self._set_model(result.packed, encoding)
        return self

    def refit(self, X: Any, y: Any, budget: int | str, sample_weight: ArrayLike | None = None) -> Self:
        """Learn, from these rows, the best model of the front that takes at most `budget` bytes; nothing is searched.

        `packed_` and `forest_` are replaced; `report_` and `front_` are still those of the search. One search so
        serves every smaller budget.
        """
        check_is_fitted(self)
        limit = as_bytes(budget, "budget")
        fitting = [entry for entry in self.front_ if entry.nbytes <= limit]
        if not fitting:
            smallest = self.front_[0].nbytes
            raise ValueError(f"the smallest model of the front takes {smallest:,} bytes, more than {limit:,}")
        rows, encoding, _ = self._training_rows(X, y, sample_weight, limit, self._seed, fitted=self._packed())
        trial = replace(fitting[-1].trial, budget=min(limit, fitting[-1].trial.budget))
        packed = build(rows, trial, user_ensemble=self._user_ensemble(rows), seed=self._seed)
        self._set_model(packed, encoding)
        return self

    def _training_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        limit: int,
        seed: int,
        fitted: Packed | None = None,
        clock: Clock | None = None,
        groups: ArrayLike | None = None,
    ) -> tuple[TrainingRows, Encoding | None, tuple[str, ...]]:
        """Return the rows to learn from and, if columns are categorical, how they became features.

        They have to be like those of a `fitted` model, and are encoded as they were for that.
        """
        is_classification = isinstance(self, ClassifierMixin)
        loss = regression_loss(self.loss, self.quantile)
        if loss is not None and loss.name != "squared_error" and self.estimator is not None:
            raise ValueError(f"loss={self.loss!r} is for trees that are grown here: leave it out, or the estimator")
        reset = fitted is None
        if has_categories(X):
            options: dict[str, Any] = {"is_classification": is_classification, "reset": reset}
            table, weight = frame_table(self, X, y, sample_weight, **options)
            table = replace(table, groups=groups_of(groups, len(table.y)))
            encoded = encode_table(
                table,
                limit,
                categorical=self._encoding_kind(fitted),
                scoring=self.scoring,
                weight=weight,
                class_weight=self.class_weight,
                loss=loss,
                seed=seed,
                clock=clock,
            )
            return encoded.rows, encoded.encoding, (*table.notes, *encoded.notes)
        X, y, weight = self._checked(X, y, sample_weight, reset=reset)
        names = getattr(self, "feature_names_in_", None)
        rows = training_rows(
            X,
            y,
            is_classification=is_classification,
            weight=weight,
            class_weight=self.class_weight,
            feature_names=None if names is None else tuple(names),
            loss=loss,
            groups=groups_of(groups, len(X)),
        )
        return rows, None, ()

    def _encoding_kind(self, fitted: Packed | None) -> CategoricalEncoding | None:
        """Return how categorical columns are encoded: as they were, or one-hot for an ensemble of the user's."""
        if fitted is not None and fitted.encoding is not None:
            kinds = {column.kind for column in fitted.encoding.columns}
            return "one_hot" if "one_hot" in kinds else "ordered"
        return None if self.estimator is None else "one_hot"

    def _set_model(self, packed: Packed, encoding: Encoding | None) -> None:
        # A model that is not of all rows comes with the encoding of its own.
        has_own = encoding is None or packed.encoding is not None
        self.packed_ = packed if has_own else packed.with_encoding(encoding)
        if isinstance(self, ClassifierMixin):
            self.classes_ = packed.classes

    @property
    def forest_(self) -> Forest:
        """The packed model as a forest on the same features; AttributeError where its splits test projections."""
        try:
            return self._packed().to_forest()
        except TypeError as error:
            raise AttributeError(str(error)) from None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the packed model."""
        return self._packed().predict(self._rows(X))

    def _rows(self, X: Any) -> Any:
        packed = self._packed()
        return super()._rows(X) if packed.encoding is None else frame_features(self, X, packed)

    def _packed(self) -> Packed:
        check_is_fitted(self)
        packed: Packed = self.packed_
        return packed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _user_ensemble(self, rows: TrainingRows) -> UserEnsemble | None:
        if self.estimator is None:
            return None
        if isinstance(self.estimator, Forest):
            return UserEnsemble.fitted(self._named(self.estimator, rows.feature_names))
        if isinstance(self.estimator, FrozenEstimator):
            return UserEnsemble.fitted(self._named(as_forest(self.estimator.estimator), rows.feature_names))

        def fitted(rows: TrainingRows, train: NDArray[np.int64]) -> Forest:
            forest = as_forest(self._fitted(rows.X, rows.labels, rows.weight, train))
            return self._named(forest, rows.feature_names)

        first = np.arange(min(50, rows.n_rows))
        if rows.classes is not None:
            first = np.unique(rows.y, return_index=True)[1]
        few = np.union1d(first, np.arange(min(200, rows.n_rows)))
        return UserEnsemble.of(fitted, rows, few)
