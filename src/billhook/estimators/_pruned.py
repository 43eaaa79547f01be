from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.pruning import pruning_choice


class _PrunedForest(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the two classes have in common; the subclass says which estimator is the default."""

    _default: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "reduced_error",
        n_trees: int = 32,
        pruning_data: Any = "training",
        method_options: dict[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.n_trees = n_trees
        self.pruning_data = pruning_data
        self.method_options = method_options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator, unless it is frozen, and keep the trees that the method chooses."""
        is_classes = isinstance(self, ClassifierMixin)
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", y_numeric=not is_classes)
        if is_classes:
            check_classification_targets(y)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weight is not None and weight.shape != (len(y),):
            raise ValueError(f"sample_weight has shape {weight.shape} for {len(y)} rows")
        held_out = float(self.pruning_data) if isinstance(self.pruning_data, Real) else None
        if (held_out is None and self.pruning_data not in ("training", "oob")) or not 0.0 < (held_out or 0.5) < 1.0:
            raise ValueError(
                "pruning_data must be 'training', 'oob' or a share of the rows to hold out between 0 and 1, "
                f"not {self.pruning_data!r}"
            )
        growing = judging = np.arange(len(y))
        if held_out is not None:
            growing, judging = train_test_split(
                growing, test_size=held_out, stratify=y if is_classes else None, random_state=self.random_state
            )
        fitted = self._fitted(X, y, weight, growing)
        forest = self._named(as_forest(fitted))
        seen = _seen_rows(fitted, len(y)) if self.pruning_data == "oob" else None
        choice = pruning_choice(
            forest,
            X[judging],
            y[judging],
            method=self.method,
            n_trees=self.n_trees,
            sample_weight=None if weight is None else weight[judging],
            random_state=self.random_state,
            seen=seen,
            **(self.method_options or {}),
        )
        self.forest_, self.selected_ = choice.forest, choice.trees
        if is_classes:
            self.classes_ = self.forest_.classes
        return self

    def _fitted(self, X: Any, y: Any, weight: Any, rows: NDArray[np.int64]) -> Any:
        if isinstance(self.estimator, FrozenEstimator):
            return self.estimator.estimator
        model = self._default() if self.estimator is None else clone(self.estimator)
        parameters = model.get_params()
        if self.random_state is not None and parameters.get("random_state", 0) is None:
            model.set_params(random_state=self.random_state)
        if self.n_jobs is not None and "n_jobs" in parameters:
            model.set_params(n_jobs=self.n_jobs)
        if weight is None:
            return model.fit(X[rows], y[rows])
        if not has_fit_parameter(model, "sample_weight"):
            raise TypeError(f"{type(model).__name__} takes no sample_weight")
        return model.fit(X[rows], y[rows], sample_weight=weight[rows])

    def _named(self, forest: Forest) -> Forest:
        """Return the forest with the names of the columns, which must be those a frozen one was trained on."""
        if (forest.classes is None) != isinstance(self, RegressorMixin):
            raise TypeError(f"{type(self).__name__} cannot prune an estimator for {forest.task}")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return forest
        if forest.feature_names is not None and forest.feature_names != tuple(names):
            raise ValueError("the columns of X are not those, or not in the order, that the frozen estimator knows")
        return replace(forest, feature_names=tuple(names))

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the pruned forest's predictions."""
        return self._forest().predict(self._rows(X))

    def _forest(self) -> Forest:
        check_is_fitted(self)
        forest: Forest = self.forest_
        return forest

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class PrunedForestClassifier(ClassifierMixin, _PrunedForest):  # type: ignore[misc]  # as above
    """A forest of which only the trees that a pruning method chooses are kept.

    Parameters
    ----------
    estimator : estimator, optional
        A tree ensemble whose trees are averaged: random forest (the default, 100 trees), extra trees, bagging. It is
        cloned and fitted; wrap a fitted one in scikit-learn's FrozenEstimator to prune it as it is.
    method : str
        One of `pruning_methods`.
    n_trees : int
        How many trees to keep.
    pruning_data : {"training", "oob"} or float
        The rows the trees are judged on: those they are trained on; for each tree those it did not see (bootstrap
        only), while on the others it says what its root says, the class shares or mean of its training rows; or a
        share of the rows that is held out of the training.
    method_options : dict, optional
        The method's own options.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        For fitting the estimator.

    Attributes
    ----------
    forest_ : Forest
    selected_ : array
        The numbers of the trees kept among those of the fitted estimator.
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bh.PrunedForestClassifier(n_trees=8, random_state=0).fit(X, y)
    >>> model.forest_.n_trees
    8
    """

    _default = RandomForestClassifier

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the pruned forest's class probabilities."""
        return self._forest().predict_proba(self._rows(X))


class PrunedForestRegressor(RegressorMixin, _PrunedForest):  # type: ignore[misc]  # as above
    """As PrunedForestClassifier, for numbers: see there."""

    _default = RandomForestRegressor


def _seen_rows(fitted: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which rows each tree was trained on: (trees, rows)."""
    if not hasattr(fitted, "estimators_samples_") or not (
        getattr(fitted, "bootstrap", False) or getattr(fitted, "max_samples", None) not in (None, 1.0)
    ):
        raise ValueError(
            "pruning_data='oob' needs trees that saw only some of the rows, and those of the "
            f"{type(fitted).__name__} saw all; fit it with bootstrap=True"
        )
    seen = np.zeros((len(fitted.estimators_), n_rows), np.bool_)
    for tree, rows in enumerate(fitted.estimators_samples_):
        if rows.size and rows.max() >= n_rows:
            raise ValueError(f"the estimator was fitted on more rows than the {n_rows:,} given for pruning")
        seen[tree, rows] = True
    return seen
