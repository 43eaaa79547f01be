from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from billhook._checks import as_int
from billhook.estimators._forest_estimator import ForestEstimator
from billhook.forest import Forest
from billhook.interop import as_forest, in_bag_mask
from billhook.refinement import RefinementOptions, refine


class _RefinedForest(ForestEstimator):
    """What the two classes have in common."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_trees: int | None = None,
        trees: Literal["first", "random"] = "first",
        max_leaves: int | None = None,
        loss: Any = None,
        solver: Literal["bcd", "sgd"] = "bcd",
        epochs: int | None = None,
        step_size: float = 0.1,
        batch_size: int = 128,
        l2: float | None = None,
        validation_fraction: float | None = 0.15,
        refine_options: dict[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_trees = n_trees
        self.trees = trees
        self.max_leaves = max_leaves
        self.loss = loss
        self.solver = solver
        self.epochs = epochs
        self.step_size = step_size
        self.batch_size = batch_size
        self.l2 = l2
        self.validation_fraction = validation_fraction
        self.refine_options = refine_options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator, unless it is frozen, keep the trees and leaves asked for, and refine the leaf values."""
        X, y, weight = self._checked(X, y, sample_weight)
        if self.trees not in ("first", "random"):
            raise ValueError(f"trees must be 'first' or 'random', not {self.trees!r}")
        options = dict(self.refine_options or {})
        own = sorted(set(options) & set(self.get_params(deep=False)))
        if own:
            raise TypeError(f"{own[0]} is a parameter of {type(self).__name__}: do not put it into refine_options")
        RefinementOptions.check_names(options, ["validation", "in_bag", "refit"])
        seed = check_random_state(self.random_state).randint(2**31)
        fitted = self._fitted(X, y, weight, np.arange(len(y)))

        def reduced(estimator: Any) -> tuple[Forest, NDArray[np.int64]]:
            forest = self._named(as_forest(estimator))
            if self.max_leaves is not None:
                forest = forest.truncate(max_leaves=self.max_leaves)
            chosen = self._chosen(forest.n_trees, seed)
            return forest.select(chosen) if chosen.size < forest.n_trees else forest, chosen

        def grow(rows: NDArray[np.int64]) -> Forest:
            return reduced(self._fitted(X, y, weight, rows))[0]

        forest, chosen = reduced(fitted)
        if options.get("validation") == "oob":
            options.setdefault("in_bag", in_bag_mask(fitted, len(y))[chosen])
        self.forest_, self.report_ = refine(
            forest,
            X,
            y,
            sample_weight=weight,
            validation_fraction=self.validation_fraction,
            random_state=seed,
            n_jobs=self.n_jobs,
            refit_estimator=False if isinstance(self.estimator, FrozenEstimator) else grow,
            loss=self.loss,
            solver=self.solver,
            epochs=self.epochs,
            step_size=self.step_size,
            batch_size=self.batch_size,
            l2=self.l2,
            return_report=True,
            **options,
        )
        if isinstance(self, ClassifierMixin):
            self.classes_ = self.forest_.classes
        return self

    def _chosen(self, n_grown: int, seed: int) -> NDArray[np.int64]:
        """Return the numbers of the trees to keep."""
        n_trees = n_grown if self.n_trees is None else as_int(self.n_trees, "n_trees")
        if not 1 <= n_trees <= n_grown:
            raise ValueError(f"n_trees must be between 1 and {n_grown}, the trees grown, not {n_trees}")
        if self.trees == "first":
            return np.arange(n_trees)
        return np.sort(np.random.RandomState(seed).permutation(n_grown)[:n_trees])


class RefinedForestClassifier(ClassifierMixin, _RefinedForest):  # type: ignore[misc]  # scikit-learn has no types
    """A forest for classification whose leaf values are learned again, together, so that their sum fits the labels.

    Parameters
    ----------
    estimator : estimator, optional
        Any tree ensemble that `as_forest` reads: random forest (the default, 100 trees), extra trees, bagging,
        boosting. It is cloned and fitted; wrap a fitted one in scikit-learn's FrozenEstimator to refine it as it is.
    n_trees : int, optional
        How many trees to keep: the first ones, or random ones with ``trees="random"``. All if it is None.
    trees : {"first", "random"}
    max_leaves : int, optional
        To how many leaves each tree is truncated before.
    loss, solver, epochs, step_size, batch_size, l2
        As for `refine`.
    validation_fraction : float or None
        The share of the rows held out to see whether refinement helps, and which L2 penalty and how many passes are
        best, on a second forest that is fitted without them; then the first is refined on all rows. With None no
        rows are held out, and all epochs are made.
    refine_options : dict, optional
        Other options of `refine`.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        For fitting the estimator and looking up leaves.

    Attributes
    ----------
    forest_ : Forest
        The refined forest.
    report_ : RefinementReport
        The loss, the L2 penalty and the number of passes, and the error on the held-out rows.
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0)
    >>> model = bh.RefinedForestClassifier(rf, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > rf.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    True
    """

    _default = RandomForestClassifier

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities; only scores, if the forest was refined for another loss than cross-entropy."""
        return self._forest().predict_proba(self._rows(X))


class RefinedForestRegressor(RegressorMixin, _RefinedForest):  # type: ignore[misc]  # as above
    """A forest for regression whose leaf values are learned again, together, so that their sum fits the targets.

    Parameters
    ----------
    estimator : estimator, optional
        Any tree ensemble that `as_forest` reads: random forest (the default, 100 trees), extra trees, bagging,
        boosting. It is cloned and fitted; wrap a fitted one in scikit-learn's FrozenEstimator to refine it as it is.
    n_trees : int, optional
        How many trees to keep: the first ones, or random ones with ``trees="random"``. All if it is None.
    trees : {"first", "random"}
    max_leaves : int, optional
        To how many leaves each tree is truncated before.
    loss, solver, epochs, step_size, batch_size, l2
        As for `refine`.
    validation_fraction : float or None
        The share of the rows held out to see whether refinement helps, and which L2 penalty and how many passes are
        best, on a second forest that is fitted without them; then the first is refined on all rows. With None no
        rows are held out, and all epochs are made.
    refine_options : dict, optional
        Other options of `refine`.
    random_state : int or RandomState, optional
    n_jobs : int, optional
        For fitting the estimator and looking up leaves.

    Attributes
    ----------
    forest_ : Forest
        The refined forest.
    report_ : RefinementReport
        The loss, the L2 penalty and the number of passes, and the loss on the held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import billhook as bh
    >>> X, y = make_friedman1(600, random_state=0)
    >>> rf = RandomForestRegressor(16, max_leaf_nodes=16, random_state=0)
    >>> model = bh.RefinedForestRegressor(rf, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > rf.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    True
    """

    _default = RandomForestRegressor
