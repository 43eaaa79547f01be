"""A study as the page shows it: its configurations, the fronts among them, and the order of methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from billhook.analysis._comparison import Comparison, compare
from billhook.analysis._configurations import configurations, counted_runs, labels
from billhook.analysis._fronts import areas, best_below, pareto_front
from billhook.analysis._schema import BOOSTING
from billhook.analysis.report._methods import Look, look_of
from billhook.html import Scale, byte_scale

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class StudyReport:
    """What the page is made from.

    Attributes
    ----------
    results : DataFrame
    runs : DataFrame
        The results, with methods called what they are in the configurations.
    size : str
        The accounting of bytes.
    table : DataFrame
        The configurations, with a column `front`: whether one is on the front of its method on its data set.
    areas : DataFrame
        Data sets by methods.
    below : dict from float to DataFrame
        The best accuracy below so many KB, the memory caps in ascending order.
    uneven : DataFrame
        The configurations that lack folds which others on the same data set have.
    comparison : Comparison or None
        Of the areas.
    obstacle : str
        Why there is no comparison.
    looks : tuple of Look
        Of the methods, the best on average first.
    largest : int
        Bytes up to which models are drawn.
    """

    results: "pd.DataFrame"
    runs: "pd.DataFrame"
    size: str
    table: "pd.DataFrame"
    areas: "pd.DataFrame"
    below: "dict[float, pd.DataFrame]"
    uneven: "pd.DataFrame"
    comparison: Comparison | None
    obstacle: str
    looks: tuple[Look, ...]
    largest: int

    @property
    def data(self) -> list[str]:
        """The names of the data sets, in the order of the alphabet."""
        return sorted(self.table["data"].unique())

    @property
    def caps(self) -> list[float]:
        """The memory caps in KB, in ascending order."""
        return list(self.below)

    @property
    def span(self) -> Scale:
        """The axis of bytes, as logarithms."""
        return byte_scale([int(self.table["nbytes"].min()), self.largest])

    @property
    def methods(self) -> list[str]:
        """The names of the methods, the best on average first."""
        return [look.name for look in self.looks]


def study_of(results: "pd.DataFrame", size: str, caps: Sequence[float]) -> StudyReport:
    """Return what a page shows of results."""
    table = with_fronts(configurations(results, size=size))
    scores = areas(table)
    obstacle, comparison = "", None
    try:
        comparison = compare(scores)
    except ValueError as error:  # one method, one data set, or none that all methods share
        obstacle = str(error)
    mean_ranks = scores.rank(axis="columns", ascending=False).mean() if comparison is None else comparison.mean_ranks
    ordered = sorted(scores.columns, key=lambda name: (np.nan_to_num(mean_ranks[name], nan=np.inf), name))
    return StudyReport(
        results=results,
        runs=_with_all_columns(results),
        size=size,
        table=table,
        areas=scores,
        below={cap: best_below(table, cap) for cap in caps},
        uneven=_uneven(table, counted_runs(results, size)),
        comparison=comparison,
        obstacle=obstacle,
        looks=tuple(look_of(name) for name in ordered),
        largest=_largest(table),
    )


def with_fronts(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return configurations with a column that says which are on the front of their method on their data set."""
    is_on_front = np.zeros(len(table), np.bool_)
    accuracy, nbytes = table["accuracy"].to_numpy(), table["nbytes"].to_numpy()
    for rows in table.groupby(["data", "method"]).indices.values():
        is_on_front[rows[pareto_front(accuracy[rows], nbytes[rows])]] = True
    return table.assign(front=is_on_front)


def _with_all_columns(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return results with methods named as in the configurations; no reasons and times where there are none."""
    missing = {name: value for name, value in (("reason", ""), ("seconds", np.nan)) if name not in results}
    return results.assign(method=labels(results), **missing)


def _uneven(table: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
    """Return the configurations of fewer folds than all those of their data set together."""
    folds = runs.groupby("data", observed=True)["fold"].nunique()
    return table[table["n_folds"].to_numpy() < folds.loc[table["data"].to_list()].to_numpy()]


def _largest(table: "pd.DataFrame") -> int:
    """Return the size of the largest forest; boosting for many classes has far larger models, of no use here."""
    forests = table.loc[table["base"] != BOOSTING, "nbytes"]
    return int(np.ceil((table["nbytes"] if forests.empty else forests).max()))
