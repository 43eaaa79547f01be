"""A quadratic choice: the K trees with the smallest sum of single and pairwise scores."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.kernels import improve_by_swaps
from billhook.pruning._evaluation import EvaluatedTrees
from billhook.pruning._ranking import kappa_matrix
from billhook.pruning._selection import Selection


def pairwise_error(
    evaluated: EvaluatedTrees,
    n_trees: int,
    random_state: Any,
    *,
    solver: str = "swaps",
    restarts: int = 10,
    time_limit: float = 60.0,
) -> Selection:
    """Choose trees that seldom are wrong, and seldom together (Zhang, Burer and Street 2006).

    For regression, trees whose residuals have the smallest sum of products.
    """
    search = QuadraticSearch(solver, restarts, time_limit, random_state)
    if evaluated.forest.classes is None:
        pair = evaluated.residual_products / evaluated.total_weight
        return minimise(np.zeros(evaluated.n_trees), pair, n_trees, search)
    total = evaluated.total_weight
    wrong = (total - evaluated.n_right).astype(np.float64)
    both = both_wrong(evaluated)
    # Of a tree that is never wrong, no share of its errors is another's.
    share = np.divide(both, wrong[:, None], out=np.zeros_like(both), where=wrong[:, None] > 0)
    pair = (share + share.T) / 2
    np.fill_diagonal(pair, wrong / total)
    return minimise(np.zeros(evaluated.n_trees), pair, n_trees, search)


def combined_diversity(
    evaluated: EvaluatedTrees,
    n_trees: int,
    random_state: Any,
    *,
    alpha: float = 1.0,
    solver: str = "swaps",
    restarts: int = 10,
    time_limit: float = 60.0,
) -> Selection:
    """Choose trees by the mean of five measures of how alike two trees are (Cavalcanti et al. 2016).

    Minus the disagreement, Q statistic, correlation, kappa, double fault; with `alpha` below 1, and single errors.
    """
    _check_alpha(alpha)
    total = float(evaluated.total_weight)
    right = evaluated.n_right / total
    # Rows that both get right, only one, only the other, neither.
    a, d = evaluated.both_right, both_wrong(evaluated)
    b, c = evaluated.n_right[:, None] - a, evaluated.n_right - a
    apart = b * c
    q = _ratio(a * d - apart, a * d + apart)
    correlation = _ratio(a * d - apart, np.sqrt((a + b) * (c + d)) * np.sqrt((a + c) * (b + d)))
    pair = ((d - b - c) / total + q + correlation + kappa_matrix(evaluated)) / 5
    np.fill_diagonal(pair, 0.0)
    search = QuadraticSearch(solver, restarts, time_limit, random_state)
    return minimise((1 - alpha) * (1.0 - right), alpha * pair, n_trees, search)


def programming(
    evaluated: EvaluatedTrees,
    n_trees: int,
    random_state: Any,
    *,
    pair: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[Any]], float],
    single: Callable[[NDArray[np.float64], NDArray[Any]], float] | None = None,
    alpha: float = 0.5,
    solver: str = "swaps",
    restarts: int = 10,
    time_limit: float = 60.0,
) -> Selection:
    """Choose by the caller's own scores: `single(P, y)` of a tree and `pair(P, Q, y)` of two; smaller is better."""
    _check_alpha(alpha)
    n = evaluated.n_trees
    q, p = np.zeros(n), np.zeros((n, n))
    for i in range(n):
        of_i = evaluated.leaf_value(i)[evaluated.leaf[i]]
        q[i] = single(of_i, evaluated.y) if single else 0.0
        for j in range(i, n):
            p[i, j] = p[j, i] = pair(of_i, evaluated.leaf_value(j)[evaluated.leaf[j]], evaluated.y)
    if not np.isfinite(q).all() or not np.isfinite(p).all():
        raise ValueError("single and pair must return finite numbers")
    return minimise((1 - alpha) * q, alpha * p, n_trees, QuadraticSearch(solver, restarts, time_limit, random_state))


class QuadraticSearch(NamedTuple):
    """How to search for the trees with the lowest objective."""

    solver: str
    restarts: int
    time_limit: float
    random_state: Any


def minimise(
    single: NDArray[np.float64], pair: NDArray[np.float64], n_trees: int, search: QuadraticSearch
) -> Selection:
    """Return the K trees with the smallest single.w + w'pair w.

    Found by the best swaps from a greedy start and from as many random ones as there are restarts; with
    ``solver="scip"``, that is where the exact solver begins, and the gap says how far it came in the time it had.
    """
    if search.solver not in ("swaps", "scip"):
        raise ValueError(f"solver must be 'swaps' or 'scip', not {search.solver!r}")
    if search.restarts < 0:
        raise ValueError(f"restarts must not be negative, not {search.restarts}")
    if not search.time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds, not {search.time_limit}")
    # In units of the largest score, so that the choice does not depend on those of the target.
    unit = float(max(np.abs(single).max(), np.abs(pair).max())) or 1.0
    single, pair = single / unit, np.ascontiguousarray(pair / unit)
    selection = _search_by_swaps(single, pair, n_trees, search)
    if search.solver == "scip":
        every = n_trees == single.size
        selection = (
            selection._replace(gap=0.0) if every else _prove_by_scip(single, pair, selection, search.time_limit)
        )
    return selection._replace(objective=(selection.objective or 0.0) * unit)


def _search_by_swaps(
    single: NDArray[np.float64], pair: NDArray[np.float64], n_trees: int, search: QuadraticSearch
) -> Selection:
    from sklearn.utils import check_random_state

    n = single.size
    rng = check_random_state(search.random_state)
    best, lowest = _greedy(single, pair, n_trees), np.inf
    for attempt in range(search.restarts + 1):
        chosen = np.zeros(n, np.bool_)
        chosen[best if attempt == 0 else rng.permutation(n)[:n_trees]] = True
        objective = improve_by_swaps(single, pair, chosen)
        if attempt == 0 or objective < lowest - 1e-12 * (1.0 + abs(lowest)):
            best, lowest = np.flatnonzero(chosen), objective
    return Selection(best, objective=float(lowest))


def _prove_by_scip(
    single: NDArray[np.float64], pair: NDArray[np.float64], start: Selection, time_limit: float
) -> Selection:
    try:
        from pyscipopt import Model, quicksum
    except ImportError:
        raise ImportError("solver='scip' needs PySCIPOpt: pip install 'billhook[scip]'") from None
    assert start.objective is not None
    n = single.size
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", time_limit)
    take = [model.addVar(vtype="B") for _ in range(n)]
    cost = model.addVar(lb=None)
    model.addCons(quicksum(take) == start.trees.size)
    both = quicksum(2.0 * pair[i, j] * take[i] * take[j] for i in range(n) for j in range(i))
    alone = quicksum((single[i] + pair[i, i]) * take[i] for i in range(n))
    model.addCons(alone + both <= cost)
    model.setObjective(cost)
    known = model.createSol()
    for i in range(n):
        model.setSolVal(known, take[i], float(i in start.trees))
    model.setSolVal(known, cost, start.objective)
    model.addSol(known)
    model.optimize()
    gap = float(model.getGap())
    if model.getNSols() and model.getObjVal() < start.objective - 1e-9:
        trees = np.array([i for i in range(n) if model.getVal(take[i]) > 0.5], np.int64)
        return Selection(trees, objective=float(model.getObjVal()), gap=gap)
    return start._replace(gap=gap)


def both_wrong(evaluated: EvaluatedTrees) -> NDArray[np.float64]:
    """Return the weight of the rows that both of two trees get wrong."""
    right = evaluated.n_right
    return np.asarray(evaluated.total_weight - right[:, None] - right + evaluated.both_right)


def _greedy(single: NDArray[np.float64], pair: NDArray[np.float64], n_trees: int) -> NDArray[np.int64]:
    chosen: list[int] = []
    cost = single + np.diagonal(pair)
    for _ in range(n_trees):
        cost[chosen] = np.inf
        tree = int(cost.argmin())
        chosen.append(tree)
        cost = cost + 2.0 * pair[tree]
    return np.array(chosen, np.int64)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ratio, 0 where it has no meaning: a measure of two trees of which one is always right, say."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _check_alpha(alpha: float) -> None:
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
