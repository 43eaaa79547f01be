"""`prune` and what else is said of a forest's trees: their order, and whether leaving one out would help."""

import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import as_int
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.pruning._evaluation import equally_weighted, evaluate_trees
from billhook.pruning._methods import FOR_REGRESSION, METHODS, method_of, select_trees
from billhook.pruning._selection import PruningReport, Selection


@overload
def prune(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = ...,
    n_trees: int,
    sample_weight: ArrayLike | None = ...,
    in_bag: NDArray[np.bool_] | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    progress: Callable[[int, int], None] | None = ...,
    return_report: Literal[False] = ...,
    **options: Any,
) -> Forest: ...
@overload
def prune(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = ...,
    n_trees: int,
    sample_weight: ArrayLike | None = ...,
    in_bag: NDArray[np.bool_] | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    progress: Callable[[int, int], None] | None = ...,
    return_report: Literal[True],
    **options: Any,
) -> tuple[Forest, PruningReport]: ...
def prune(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "reduced_error",
    n_trees: int,
    sample_weight: ArrayLike | None = None,
    in_bag: NDArray[np.bool_] | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], None] | None = None,
    return_report: bool = False,
    **options: Any,
) -> Forest | tuple[Forest, PruningReport]:
    """Return the forest of the `n_trees` trees that a pruning method selects, evaluated on the rows X with labels y.

    Parameters
    ----------
    model : Forest or fitted estimator
        One whose trees are averaged: a random forest, extra trees, bagging, AdaBoost.
    X, y : rows and their labels or targets
        The training rows, or rows held out for pruning.
    method : str
        One of `pruning_methods`.
    n_trees : int
        How many trees to keep; proximal may keep fewer.
    sample_weight : array, optional
        The weight of each row.
    in_bag : array, optional
        Which rows each tree was trained on, (trees, rows). On these it is not evaluated, but predicts what its root
        does: the class shares or the mean of its training rows.
    random_state : int or RandomState, optional
        For the methods that draw: random, clustering, programming, proximal.
    progress : function, optional
        Called by the methods that take long with the number of steps done, and of how many.
    return_report : bool
        Whether to return ``(forest, report)``.
    **options
        The method's own, for example ``rho=0.3`` for drep.

    Returns
    -------
    Forest, or (Forest, PruningReport) with `return_report`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> rf = RandomForestClassifier(64, random_state=0).fit(X[::2], y[::2])
    >>> small, report = bh.prune(rf, X[1::2], y[1::2], method="reduced_error", n_trees=8, return_report=True)
    >>> small.n_trees, report.trees.size
    (8, 8)
    """
    selected, forest = _select(model, X, y, method, n_trees, sample_weight, random_state, options, in_bag, progress)
    pruned = forest.select(selected.trees)
    if selected.weight is not None:
        # The sum of the weights is part of what was learned.
        pruned = pruned.with_weights(selected.weight * forest.tree_weight[selected.trees] * forest.n_trees)
    report = PruningReport(method, selected.trees, selected.objective, selected.gap)
    return (pruned, report) if return_report else pruned


def pruning_order(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "reduced_error",
    n_trees: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    **options: Any,
) -> NDArray[np.int64]:
    """Return the trees from the first to the last that a nested method selects: the K it keeps are the first K.

    The parameters are those of `prune`; without `n_trees` all trees are put in order.
    """
    if not method_of(method).nested:
        nested = ", ".join(m.name for m in METHODS.values() if m.nested)
        raise ValueError(
            f"{method} has no order: it selects other trees for each number of them. Nested methods are {nested}"
        )
    order, _ = _select(model, X, y, method, n_trees, sample_weight, random_state, options)
    return order.trees


class PruningGain(NamedTuple):
    """What leaving out single trees does to the squared error of the mean: see `pruning_gain`."""

    products: NDArray[np.float64]
    error: float
    error_without: NDArray[np.float64]
    helps: NDArray[np.bool_]


def pruning_gain(model: Any, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> PruningGain:
    """Return whether leaving out a tree would lower the squared error of the mean, tree by tree.

    The error of a mean of M trees is the sum of C_ij = E[(h_i - y)(h_j - y)] over all i and j, divided by M^2: for
    classes, h is the vector of probabilities and y that of the true class. Without tree k it is the sum without its
    row and column, divided by (M - 1)^2. Where no tree `helps`, pruning can only trade accuracy for size.

    Returns
    -------
    PruningGain
        `products`, the matrix C; `error` of the mean of all trees; `error_without` each tree; `helps`, whether that
        is lower.
    """
    forest = as_forest(model)
    evaluated = evaluate_trees(forest, X, y, sample_weight)
    if not equally_weighted(forest):
        raise ValueError("pruning_gain is defined for a mean of trees with equal weights")
    if evaluated.n_trees < 2:
        raise ValueError("a forest of one tree has none to leave out")
    products = evaluated.residual_products / evaluated.total_weight
    whole = products.sum()
    error = float(whole / evaluated.n_trees**2)
    without = (whole - 2.0 * products.sum(axis=1) + np.diagonal(products)) / (evaluated.n_trees - 1) ** 2
    return PruningGain(products, error, without, without < error)


def _select(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    method: str,
    n_trees: int | None,
    sample_weight: ArrayLike | None,
    random_state: Any,
    options: dict[str, Any],
    in_bag: NDArray[np.bool_] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Selection, Forest]:
    """Check the options and the forest, and return the trees that the method selects."""
    pruning_method = method_of(method)
    unknown = sorted(set(options) - set(pruning_method.options))
    if unknown:
        takes = ", ".join(pruning_method.options) or "none"
        raise TypeError(f"{method} does not take the option {unknown[0]!r}; its options: {takes}")
    needed = [name for name, default in pruning_method.options.items() if default is inspect.Parameter.empty]
    if set(needed) - set(options):
        raise TypeError(f"{method} needs the option {needed[0]!r}")
    if needed and sample_weight is not None:
        raise TypeError(f"{method} cannot weigh rows: your own function sees them all; weigh them in it")
    forest = as_forest(model)
    if forest.classes is None and not pruning_method.regression:
        raise TypeError(
            f"{method} needs class votes, and this is a regression forest; for regression there are "
            f"{', '.join(sorted(FOR_REGRESSION))}"
        )
    wanted = forest.n_trees if n_trees is None else _tree_count(n_trees, forest)
    evaluated = evaluate_trees(forest, X, y, sample_weight, in_bag, progress)
    return select_trees(evaluated, method, wanted, random_state, options), forest


def _tree_count(n_trees: Any, forest: Forest) -> int:
    count = as_int(n_trees, "n_trees")
    if not 1 <= count <= forest.n_trees:
        raise ValueError(f"n_trees must be between 1 and {forest.n_trees}, the trees of the forest, not {count}")
    return count
