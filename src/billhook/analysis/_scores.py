"""Tables of scores, a row per data set and a column per method: which are equal, ranks, wins."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from billhook.analysis._extras import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

# Scores that differ by less are equal: sums in another order end in other bits, and would break ties.
DIGITS = 10


def rank(scores: "DataFrame") -> "DataFrame":
    """Return the ranks of the methods on each data set: 1 is best, equal scores share the mean of their ranks.

    Parameters
    ----------
    scores : DataFrame
        A row per data set and a column per method; larger is better. Scores are equal that agree in the first ten
        digits of the largest. A data set on which a method has no score is left out: ranks of fewer methods are no
        match for ranks of all.
    """
    return complete(scores).rank(axis="columns", ascending=False, method="average")


def wins(scores: "DataFrame") -> "DataFrame":
    """Return on how many data sets the method of a row wins, ties and loses against that of a column: "9/1/6".

    Data sets on which either has no score are not counted.
    """
    pd = pandas()
    table = rounded(scores)
    columns = list(table.to_numpy().T)
    cells = [[_win_tie_loss(a, b) if i != j else "" for j, b in enumerate(columns)] for i, a in enumerate(columns)]
    return pd.DataFrame(cells, index=table.columns.rename("method"), columns=table.columns.rename("against"))


def complete(scores: "DataFrame") -> "DataFrame":
    """Return the rows in which every method has a score, rounded."""
    table = rounded(scores)
    rows = table.dropna()
    if rows.empty:
        n_missing = table.isna().sum()
        worst = n_missing.idxmax()
        raise ValueError(
            f"there is no data set on which every method has a score; {worst!r} has none on {n_missing.max()} of "
            f"{len(table)}: leave such methods out, as with scores.drop(columns={worst!r})"
        )
    return rows


def rounded(scores: "DataFrame") -> "DataFrame":
    """Return the scores, as floats that are equal where they are meant to be."""
    pd = pandas()
    if not isinstance(scores, pd.DataFrame):
        raise TypeError(f"scores must be a pandas DataFrame with a row per data set, not {type(scores).__name__}")
    if scores.empty:
        raise ValueError(f"the table of scores is empty: it has {scores.shape[0]} rows and {scores.shape[1]} columns")
    for axis, names in (("data set", scores.index), ("method", scores.columns)):
        if not names.is_unique:
            raise ValueError(f"the {axis} {names[names.duplicated()][0]!r} is in the table of scores more than once")
    values = scores.to_numpy(dtype="float64", na_value=np.nan)
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"the score of {scores.columns[j]!r} on {scores.index[i]!r} is {values[i, j]}, which is not finite"
        )
    return pd.DataFrame(on_grid(values, values), index=scores.index, columns=scores.columns)


def on_grid(numbers: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers on a grid of decimals as fine as ten digits of the largest score."""
    largest = np.nanmax(np.abs(like), initial=0.0)
    return np.round(numbers, DIGITS - (math.ceil(math.log10(largest)) if largest > 0 else 0))


def _win_tie_loss(first: NDArray[np.float64], second: NDArray[np.float64]) -> str:
    return f"{np.sum(first > second)}/{np.sum(first == second)}/{np.sum(first < second)}"
