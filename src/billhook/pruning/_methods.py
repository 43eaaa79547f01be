"""Every pruning method by name, and the two functions that call them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import as_int, resolve_name
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.pruning import _clustering, _ordering, _programming, _ranking, _weighting
from billhook.pruning._choice import Chosen, PruningChoice
from billhook.pruning._judged import Judged, equally_weighted, judge


@dataclass(frozen=True)
class PruningMethod:
    """A pruning method: what it is called, what it can do, and where it comes from.

    Attributes
    ----------
    name, family : str
    options : dict
        Names and defaults.
    reference : str
    nested : bool
        Whether the choice of K trees is the start of the choice of more: then `pruning_order` has all of them.
    regression : bool
        Whether it prunes forests that predict numbers too.
    """

    name: str
    family: str
    options: dict[str, Any]
    reference: str
    nested: bool
    regression: bool
    choose: Callable[..., Any]


def random(judged: Judged, n_trees: int, random_state: Any) -> NDArray[np.int64]:
    """Take trees at random, without replacement."""
    from sklearn.utils import check_random_state

    order: NDArray[np.int64] = check_random_state(random_state).permutation(judged.n_trees)
    return order[:n_trees]


def _ranked(score: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[np.int64]]:
    def choose(judged: Judged, n_trees: int, **options: Any) -> NDArray[np.int64]:
        return _ordering.in_order(score(judged, **options))[:n_trees]

    return choose


# What has a meaning for numbers too.
FOR_REGRESSION = {
    "individual_error",
    "random",
    "ranking",
    "reduced_error",
    "complementariness",
    "ordering",
    "cluster_accuracy",
    "largest_mean_distance",
    "cluster_centroid",
    "pairwise_error",
    "programming",
    "proximal",
}


def _table() -> dict[str, PruningMethod]:
    rows: list[tuple[str, Callable[..., Any], str, bool]] = [
        ("ranking", _ranking.individual_error, "", True),
        ("ranking", _ranking.individual_contribution, "Lu et al. 2010", True),
        ("ranking", _ordering.kappa, "Margineantu and Dietterich 1997", True),
        ("ranking", _ranking.reference_vector, "Martínez-Muñoz and Suárez 2006", True),
        ("ranking", _ranking.error_ambiguity, "Jiang et al. 2017", True),
        ("ranking", _ranking.margin_diversity, "Guo et al. 2018", True),
        ("ranking", _ranking.individual_auc, "", True),
        ("ranking", random, "", True),
        ("ranking", _ranking.ranking, "your own score", True),
        ("ordering", _ordering.reduced_error, "Margineantu and Dietterich 1997", True),
        ("ordering", _ordering.complementariness, "Martínez-Muñoz and Suárez 2004", True),
        ("ordering", _ordering.drep, "Li, Yu and Zhou 2012", True),
        ("ordering", _ordering.margin_distance, "Martínez-Muñoz and Suárez 2004", True),
        ("ordering", _ordering.ensemble_auc, "", True),
        ("ordering", _ordering.ordering, "your own score", True),
        ("clustering", _clustering.cluster_accuracy, "Lazarevic and Obradovic 2001", False),
        ("clustering", _clustering.largest_mean_distance, "Giacinto, Roli and Fumera 2000", False),
        ("clustering", _clustering.cluster_centroid, "Bakker and Heskes 2003", False),
        ("programming", _programming.pairwise_error, "Zhang, Burer and Street 2006", False),
        ("programming", _programming.combined_diversity, "Cavalcanti et al. 2016", False),
        ("programming", _programming.programming, "your own scores", False),
        ("weighting", _weighting.proximal, "", False),
    ]
    table = {}
    for family, function, reference, nested in rows:
        parameters = inspect.signature(function).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        choose = function if "n_trees" in inspect.signature(function).parameters else _ranked(function)
        name = function.__name__
        table[name] = PruningMethod(name, family, options, reference, nested, name in FOR_REGRESSION, choose)
    return table


METHODS = _table()


def pruning_methods() -> tuple[PruningMethod, ...]:
    """Return every pruning method, family by family.

    Examples
    --------
    >>> import billhook as bh
    >>> [m.name for m in bh.pruning_methods() if m.family == "clustering"]
    ['cluster_accuracy', 'largest_mean_distance', 'cluster_centroid']
    """
    return tuple(METHODS.values())


def prune(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "reduced_error",
    n_trees: int,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    **options: Any,
) -> Forest:
    """Return the forest of the `n_trees` trees that the method chooses, judged on the rows X with labels y.

    Parameters
    ----------
    model : Forest or fitted estimator
    X, y : rows and their labels
        The training rows, or rows kept apart for pruning.
    method : str
        One of `pruning_methods`.
    n_trees : int
        How many trees to keep; proximal may keep fewer.
    sample_weight : array, optional
        The weight of each row.
    random_state : int or RandomState, optional
        For the methods that draw: random, clustering, programming, proximal.
    **options
        The method's own, for example ``rho=0.3`` for drep.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> rf = RandomForestClassifier(64, random_state=0).fit(X[::2], y[::2])
    >>> bh.prune(rf, X[1::2], y[1::2], method="reduced_error", n_trees=8).n_trees
    8
    """
    return pruning_choice(
        model,
        X,
        y,
        method=method,
        n_trees=n_trees,
        sample_weight=sample_weight,
        random_state=random_state,
        **options,
    ).forest


def pruning_choice(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "reduced_error",
    n_trees: int,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    seen: NDArray[np.bool_] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> PruningChoice:
    """Do what `prune` does, and tell how: which trees are kept and, of the programming methods, the objective.

    The parameters are those of `prune`, and two more. `seen`, of shape (trees, rows), says which rows a tree was
    trained on; there it is not judged, but says what its root says. `progress` is called with the number of steps
    done and of all steps by the methods that take long.
    """
    chosen, forest = _choose(model, X, y, method, n_trees, sample_weight, random_state, options, seen, progress)
    pruned = forest.select(chosen.trees)
    if chosen.weight is not None:
        # The sum of the weights is part of what was learned.
        pruned = pruned.with_weights(chosen.weight * forest.tree_weight[chosen.trees] * forest.n_trees)
    return PruningChoice(pruned, chosen.trees, chosen.objective, chosen.gap)


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
    """Return the trees from the first to the last that a nested method takes: its choice of K is the first K.

    The parameters are those of `prune`; without `n_trees` all trees are put in order.
    """
    found = _method(method)
    if not found.nested:
        nested = ", ".join(m.name for m in METHODS.values() if m.nested)
        raise ValueError(
            f"{method} has no order: its choice for each number of trees is another. Nested are {nested}"
        )
    order, _ = _choose(model, X, y, method, n_trees, sample_weight, random_state, options)
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
    judged = judge(forest, X, y, sample_weight)
    if not equally_weighted(forest):
        raise ValueError("pruning_gain is defined for a mean of trees with equal weights")
    if judged.n_trees < 2:
        raise ValueError("a forest of one tree has none to leave out")
    products = judged.residual_products / judged.total_weight
    whole = products.sum()
    error = float(whole / judged.n_trees**2)
    without = (whole - 2.0 * products.sum(axis=1) + np.diagonal(products)) / (judged.n_trees - 1) ** 2
    return PruningGain(products, error, without, without < error)


def _choose(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    method: str,
    n_trees: int | None,
    sample_weight: ArrayLike | None,
    random_state: Any,
    options: dict[str, Any],
    seen: NDArray[np.bool_] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Chosen, Forest]:
    found = _method(method)
    unknown = sorted(set(options) - set(found.options))
    if unknown:
        takes = ", ".join(found.options) or "none"
        raise TypeError(f"{method} does not take the option {unknown[0]!r}; its options: {takes}")
    needed = [name for name, default in found.options.items() if default is inspect.Parameter.empty]
    if set(needed) - set(options):
        raise TypeError(f"{method} needs the option {needed[0]!r}")
    if needed and sample_weight is not None:
        raise TypeError(f"{method} cannot weigh rows: your own function sees them all; weigh them in it")
    forest = as_forest(model)
    if forest.classes is None and not found.regression:
        raise TypeError(
            f"{method} judges class votes, and this forest predicts numbers; for regression there are "
            f"{', '.join(sorted(FOR_REGRESSION))}"
        )
    wanted = forest.n_trees if n_trees is None else _tree_count(n_trees, forest)
    judged = judge(forest, X, y, sample_weight, seen, progress)
    return choose(judged, method, wanted, random_state, options), forest


def choose(judged: Judged, method: str, n_trees: int, random_state: Any, options: dict[str, Any]) -> Chosen:
    """Return what a method chooses of trees that have been judged."""
    found = _method(method)
    if "random_state" in inspect.signature(found.choose).parameters:
        options = {"random_state": random_state, **options}
    chosen = found.choose(judged, n_trees, **options)
    return chosen if isinstance(chosen, Chosen) else Chosen(chosen)


def _method(name: str) -> PruningMethod:
    return resolve_name(name, METHODS, "there is no pruning method")


def _tree_count(n_trees: Any, forest: Forest) -> int:
    count = as_int(n_trees, "n_trees")
    if not 1 <= count <= forest.n_trees:
        raise ValueError(f"n_trees must be between 1 and {forest.n_trees}, the trees of the forest, not {count}")
    return count
