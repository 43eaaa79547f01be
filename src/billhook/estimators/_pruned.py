from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split

from billhook.estimators._forest_estimator import ForestEstimator
from billhook.interop import as_forest, in_bag_mask
from billhook.pruning import prune


class _PrunedForest(ForestEstimator):
    """What the two classes have in common."""

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
        """Fit the estimator, unless it is frozen, and keep the trees that the method selects."""
        X, y, weight = self._checked(X, y, sample_weight)
        is_classes = isinstance(self, ClassifierMixin)
        held_out = float(self.pruning_data) if isinstance(self.pruning_data, Real) else None
        if (held_out is None and self.pruning_data not in ("training", "oob")) or not 0.0 < (held_out or 0.5) < 1.0:
            raise ValueError(
                "pruning_data must be 'training', 'oob' or a share of the rows to hold out between 0 and 1, "
                f"not {self.pruning_data!r}"
            )
        growing = pruning = np.arange(len(y))
        if held_out is not None:
            growing, pruning = train_test_split(
                growing, test_size=held_out, stratify=y if is_classes else None, random_state=self.random_state
            )
        fitted = self._fitted(X, y, weight, growing)
        forest = self._named(as_forest(fitted))
        self.forest_, self.report_ = prune(
            forest,
            X[pruning],
            y[pruning],
            method=self.method,
            n_trees=self.n_trees,
            sample_weight=None if weight is None else weight[pruning],
            random_state=self.random_state,
            in_bag=in_bag_mask(fitted, len(y)) if self.pruning_data == "oob" else None,
            return_report=True,
            **(self.method_options or {}),
        )
        self.selected_ = self.report_.trees
        if is_classes:
            self.classes_ = self.forest_.classes
        return self


class PrunedForestClassifier(ClassifierMixin, _PrunedForest):  # type: ignore[misc]  # scikit-learn has no types
    """A forest for classification of which only the trees that a pruning method selects are kept.

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
        The rows the trees are evaluated on: the training rows; for each tree its out-of-bag rows (bootstrap only),
        while on the others it predicts what its root does, the class shares of its training rows; or a share of the
        rows that is held out of the training.
    method_options : dict, optional
        The method's own options.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        For fitting the estimator.

    Attributes
    ----------
    forest_ : Forest
        The pruned forest.
    selected_ : array
        The numbers of the trees kept among those of the fitted estimator.
    report_ : PruningReport
        The trees kept, and what the method minimised.
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


class PrunedForestRegressor(RegressorMixin, _PrunedForest):  # type: ignore[misc]  # scikit-learn has no types
    """A forest for regression of which only the trees that a pruning method selects are kept.

    Parameters
    ----------
    estimator : estimator, optional
        A tree ensemble whose trees are averaged: random forest (the default, 100 trees), extra trees, bagging. It is
        cloned and fitted; wrap a fitted one in scikit-learn's FrozenEstimator to prune it as it is.
    method : str
        One of `pruning_methods` that is for regression.
    n_trees : int
        How many trees to keep.
    pruning_data : {"training", "oob"} or float
        The rows the trees are evaluated on: the training rows; for each tree its out-of-bag rows (bootstrap only),
        while on the others it predicts what its root does, the mean of its training rows; or a share of the rows
        that is held out of the training.
    method_options : dict, optional
        The method's own options.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        For fitting the estimator.

    Attributes
    ----------
    forest_ : Forest
        The pruned forest.
    selected_ : array
        The numbers of the trees kept among those of the fitted estimator.
    report_ : PruningReport
        The trees kept, and what the method minimised.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import billhook as bh
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = bh.PrunedForestRegressor(n_trees=8, random_state=0).fit(X[::2], y[::2])
    >>> model.forest_.n_trees
    8
    >>> model.score(X[1::2], y[1::2]) > 0.7
    True
    """

    _default = RandomForestRegressor
