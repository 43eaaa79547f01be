"""Every pruning method by name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook.pruning import _clustering, _ordering, _programming, _ranking, _weighting
from billhook.pruning._evaluation import EvaluatedTrees
from billhook.pruning._selection import Selection


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
        Whether the K trees it selects are the first of those it selects when more are kept: then `pruning_order` has
        all of them.
    regression : bool
        Whether it prunes regression forests too.
    """

    name: str
    family: str
    options: dict[str, Any]
    reference: str
    nested: bool
    regression: bool
    select: Callable[..., Any]


def random(evaluated: EvaluatedTrees, n_trees: int, random_state: Any) -> NDArray[np.int64]:
    """Take trees at random, without replacement."""
    from sklearn.utils import check_random_state

    order: NDArray[np.int64] = check_random_state(random_state).permutation(evaluated.n_trees)
    return order[:n_trees]


def _ranked(score: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[np.int64]]:
    def select(evaluated: EvaluatedTrees, n_trees: int, **options: Any) -> NDArray[np.int64]:
        return _ordering.in_order(score(evaluated, **options))[:n_trees]

    return select


# What has a meaning for regression too.
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
        select = function if "n_trees" in inspect.signature(function).parameters else _ranked(function)
        name = function.__name__
        table[name] = PruningMethod(name, family, options, reference, nested, name in FOR_REGRESSION, select)
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


def method_of(name: str) -> PruningMethod:
    """Return the method of this name, or raise ValueError with the nearest one."""
    return resolve_name(name, METHODS, "there is no pruning method")


def select_trees(
    evaluated: EvaluatedTrees, method: str, n_trees: int, random_state: Any, options: dict[str, Any]
) -> Selection:
    """Return the trees that a method selects."""
    pruning_method = method_of(method)
    if "random_state" in inspect.signature(pruning_method.select).parameters:
        options = {"random_state": random_state, **options}
    selected = pruning_method.select(evaluated, n_trees, **options)
    return selected if isinstance(selected, Selection) else Selection(selected)
