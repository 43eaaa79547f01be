"""Whether methods differ: Friedman's test, Wilcoxon's for each pair, Holm's correction, cliques (Demsar 2006)."""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr

from billhook.analysis._extras import pandas
from billhook.analysis._scores import complete, on_grid, rank

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# Up to here the distribution of the signed ranks is counted out, which takes a millisecond.
MOST_EXACT = 100


@dataclass(frozen=True, eq=False)
class Comparison:
    """Whether methods differ over several data sets.

    Attributes
    ----------
    mean_ranks : Series
        The mean rank of each method, best first.
    friedman_statistic, friedman_p : float
        Friedman's test that all methods are alike; missing for two methods, which it does not compare.
    pairs : DataFrame
        `first` (of the better mean rank), `second`, the p-value `p` of Wilcoxon's signed-rank test, `p_holm` after
        Holm's correction, and whether the two differ: p_holm is at most `alpha`, and so is Friedman's p-value.
    cliques : list of tuple of str
        Methods that follow one another in mean rank and of which no two differ; as many as possible each.
    alpha : float
    n_data : int
        The data sets that count.
    left_out : tuple of str
        Those that do not, because a method has no score there.
    """

    mean_ranks: "Series"
    friedman_statistic: float
    friedman_p: float
    pairs: "DataFrame"
    cliques: list[tuple[str, ...]]
    alpha: float
    n_data: int
    left_out: tuple[str, ...]


def compare(scores: "DataFrame", *, alpha: float = 0.05) -> Comparison:
    """Return which methods differ, by their scores on several data sets.

    Friedman's test comes first. Unless it finds a difference, no pair differs. Then Wilcoxon's signed-rank test,
    two-sided, for each pair, with Holm's correction for the number of pairs.

    Equal scores of two methods on a data set count for neither, but keep their place among the ranks (Pratt 1959): a
    tie is a sign that the two do not differ. The p-value is exact for up to 100 data sets, ties or not, and the
    normal approximation beyond. For n data sets it is never below 2 to the power of 1 - n: below 6 data sets no
    two methods differ at 0.05, and with ten methods (45 pairs) below 11.

    Parameters
    ----------
    scores : DataFrame
        A row per data set and a column per method; larger is better. A data set on which a method has no score is
        left out, of all tests. There are at least two of each.
    alpha : float
        The probability with which equal methods may be found different.
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
    table = complete(scores)
    if table.shape[1] < 2:
        raise ValueError(f"a comparison needs at least two methods; there is only {table.columns[0]!r}")
    if len(table) < 2:
        raise ValueError(
            "a comparison needs at least two data sets on which every method has a score; "
            f"there is only {table.index[0]!r}"
        )
    ranks = rank(table)
    mean_ranks = ranks.mean().sort_index().sort_values(kind="stable")
    statistic, p = friedman(ranks.to_numpy())
    pairs = _pairs(table[mean_ranks.index], alpha, is_open=not p > alpha)
    differing = {frozenset(pair) for pair in pairs.loc[pairs["differs"], ["first", "second"]].itertuples(index=False)}
    return Comparison(
        mean_ranks=mean_ranks.rename("mean rank"),
        friedman_statistic=statistic,
        friedman_p=p,
        pairs=pairs,
        cliques=cliques(list(mean_ranks.index), differing),
        alpha=alpha,
        n_data=len(table),
        left_out=tuple(str(name) for name in scores.index if name not in table.index),
    )


def friedman(ranks: NDArray[np.float64]) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p-value by the chi-squared distribution."""
    n, k = ranks.shape
    if k < 3:
        return np.nan, np.nan
    between = n * np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2)
    within = np.sum((ranks - (k + 1) / 2) ** 2) / (n * (k - 1))
    statistic = float(between / within) if within > 0 else 0.0  # all methods equal everywhere
    return statistic, float(chdtrc(k - 1, statistic))


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, with zeros as Pratt (1959) has them."""
    d = np.asarray(differences, np.float64)
    ranks = 2 * _mean_ranks(np.abs(d))  # twice, as means of two ranks are halves
    ranks, positive = ranks[d != 0], d[d != 0] > 0
    if not len(ranks):
        return 1.0
    above = ranks[positive].sum()
    if len(ranks) > MOST_EXACT:
        away = abs(above - ranks.sum() / 2) / np.sqrt(np.sum(ranks**2) / 4)
        return float(2 * ndtr(-away))
    chance = _chances_of_sums(ranks.astype(np.intp))
    least = min(chance[: int(above) + 1].sum(), chance[int(above) :].sum())
    return float(min(1.0, 2 * least))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return the p-values after Holm's step-down correction (Holm 1979)."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def cliques(order: list[str], differing: set[frozenset[str]]) -> list[tuple[str, ...]]:
    """Return the longest runs of at least two methods, in the given order, in which no two differ."""
    cliques: list[tuple[str, ...]] = []
    end = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and all(frozenset((order[stop], m)) not in differing for m in order[start:stop]):
            stop += 1
        if stop > end and stop - start > 1:
            cliques.append(tuple(order[start:stop]))
        end = max(end, stop)
    return cliques


def _pairs(table: "DataFrame", alpha: float, *, is_open: bool) -> "DataFrame":
    pd = pandas()
    named = list(combinations(table.columns, 2))
    values = table.to_numpy()
    # Rounded again: 0.9 - 0.8 and 0.8 - 0.7 are to be equal.
    differences = (on_grid(values[:, i] - values[:, j], values) for i, j in combinations(range(values.shape[1]), 2))
    p = [signed_rank_p(d) for d in differences]
    corrected = holm(p)
    return pd.DataFrame(
        {
            "first": [first for first, _ in named],
            "second": [second for _, second in named],
            "p": p,
            "p_holm": corrected,
            "differs": (corrected <= alpha) & is_open,
        }
    )


def _mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1 on, those of equal values averaged."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[which]


def _chances_of_sums(ranks: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how likely each sum of the ranks is, if every rank counts with probability one half."""
    chance = np.zeros(ranks.sum() + 1)
    chance[0] = 1.0
    for r in ranks:
        chance[r:] = 0.5 * chance[r:] + 0.5 * chance[: len(chance) - r]
        chance[:r] *= 0.5
    return chance
