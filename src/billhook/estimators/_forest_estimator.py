from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from billhook.forest import Forest


def as_weights_of(y: NDArray[Any], sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return the weights of rows as an array, one for each label."""
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight is not None and weight.shape != (len(y),):
        raise ValueError(f"sample_weight has shape {weight.shape} for {len(y)} rows")
    return weight


def groups_of(groups: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Return the number of the group of each row."""
    if groups is None:
        return None
    cells = np.asarray(groups)
    if cells.shape != (n_rows,):
        raise ValueError(f"groups has shape {cells.shape} for {n_rows} rows")
    if any(cell is None or cell != cell for cell in cells.tolist()):
        raise ValueError("groups holds missing values: give every row a group")
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


class ForestEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the estimators that fit a forest and prune or refine it have in common.

    The subclass says which estimator is the default, and its `fit` sets `forest_`.
    """

    _default: Any
    estimator: Any
    random_state: Any
    n_jobs: int | None

    def _checked(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, reset: bool = True
    ) -> tuple[Any, Any, NDArray[np.float64] | None]:
        """Return the rows, labels and weights of a fit as arrays."""
        is_classes = isinstance(self, ClassifierMixin)
        options = {"dtype": np.float32, "ensure_all_finite": "allow-nan", "y_numeric": not is_classes}
        X, y = validate_data(self, X, y, reset=reset, **options)
        if is_classes:
            check_classification_targets(y)
        return X, y, as_weights_of(y, sample_weight)

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

    def _named(self, forest: Forest, names: tuple[str, ...] | None = None) -> Forest:
        """Return the forest with the names of its features, which must be those a frozen one was trained on.

        They are those of the columns of X, unless `names` says otherwise.
        """
        if (forest.classes is None) != isinstance(self, RegressorMixin):
            raise TypeError(f"{type(self).__name__} cannot take an estimator for {forest.task}")
        names = getattr(self, "feature_names_in_", None) if names is None else names
        if names is None:
            return forest
        if forest.feature_names is not None and forest.feature_names != tuple(names):
            raise ValueError(
                "the columns of X, or their order, are not those that the frozen estimator was trained on"
            )
        return replace(forest, feature_names=tuple(names))

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the forest's predictions."""
        return self._forest().predict(self._rows(X))

    def _forest(self) -> Forest:
        check_is_fitted(self)
        forest: Forest = self.forest_
        return forest

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
