"""Runs on single folds, put together to configurations."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from billhook._checks import resolve_name
from billhook.analysis._extras import pandas
from billhook.analysis._schema import BOOSTING, CONFIGURATION_COLUMNS, CONFIGURATION_KEY, DONE, SEARCH, SIZES

if TYPE_CHECKING:
    from pandas import DataFrame

KEY = list(CONFIGURATION_KEY)


def configurations(results: "DataFrame", *, size: str = "paper") -> "DataFrame":
    """Return one row per configuration: its mean accuracy and size over the folds that are done.

    Parameters
    ----------
    results : DataFrame
        One row per run. Runs that are not `done`, or have no accuracy or no size, are left out; a configuration
        some of whose folds are missing keeps the mean of the others, and `n_folds` says of how many.
    size : {"paper", "as_published", "packed"}
        Which of the columns `size_paper`, `size_published` and `size_packed` counts.

    Returns
    -------
    DataFrame
        `data`, `method`, `base`, `options`, `n_leaves`, `n_trees`, `accuracy` (mean), `spread` (standard deviation
        over the folds; missing for one fold), `nbytes` (mean) and `n_folds`. Where the results are of several
        kinds of forests, the method is named after both: `extra_trees RE`.
    """
    runs = counted_runs(results, size)
    groups = runs.groupby(KEY, dropna=False, sort=True, observed=True)
    means = groups.agg(
        accuracy=("accuracy", "mean"), spread=("accuracy", "std"), nbytes=("nbytes", "mean"), n_folds=("fold", "size")
    ).reset_index()
    means["method"] = labels(means)
    order = ["data", "method", "n_leaves", "n_trees", "options"]
    return means[list(CONFIGURATION_COLUMNS)].sort_values(order, kind="stable", ignore_index=True)


def counted_runs(results: "DataFrame", size: str) -> "DataFrame":
    """Return the runs that are done and have an accuracy and a size, which is in the column `nbytes`."""
    column = resolve_name(size, SIZES, "there is no size").column
    require_columns(results, [*KEY, "fold", "status", "accuracy", column], "results")
    runs = results.loc[results["status"] == DONE, [*KEY, "fold", "accuracy", column]]
    if runs.empty:
        counts = ", ".join(f"{n} {status}" for status, n in results["status"].value_counts().items())
        raise ValueError(
            f"none of the {len(results)} runs is done ({counts or 'no rows'}): there is nothing to analyse"
        )
    runs = _with_numbers(runs, column)
    if runs.empty:
        raise ValueError(
            f"no run that is done has both an accuracy and a {column}; choose another size than {size!r}"
        )
    twice = runs.duplicated([*KEY, "fold"])
    if twice.any():
        first = ", ".join(f"{name} {value}" for name, value in runs.loc[twice, [*KEY, "fold"]].iloc[0].items())
        raise ValueError(
            f"{twice.sum()} runs are in the results more than once, the first being {first}; "
            f"keep one of each with results.drop_duplicates({[*KEY, 'fold']}, keep='last')"
        )
    return runs.rename(columns={column: "nbytes"})


def of_data(table: "DataFrame", data: str) -> "DataFrame":
    """Return the rows of one data set."""
    names = {str(name): name for name in table["data"].unique()}
    name = resolve_name(data, names, "there are no results on the data set", "there are some on")
    return table[table["data"] == name]


def require_columns(table: Any, wanted: Collection[str], what: str) -> None:
    """Say which columns are missing."""
    if not hasattr(table, "columns"):
        raise TypeError(f"{what} must be a pandas DataFrame, not {type(table).__name__}")
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ValueError(
            f"the {what} lack the column {', '.join(map(repr, missing))}; "
            f"they have {', '.join(map(repr, table.columns)) or 'none'}"
        )


def labels(table: "DataFrame") -> Any:
    """Return what methods are called: after their forests too, where there are several kinds of forests."""
    forests = ~table["base"].isin((BOOSTING, SEARCH))
    if table.loc[forests, "base"].nunique() < 2:
        return table["method"]
    return table["method"].where(~forests, table["base"] + " " + table["method"])


def _with_numbers(runs: "DataFrame", column: str) -> "DataFrame":
    """Return the runs with numbers where there are to be some, of whatever type they were read as."""
    pd = pandas()
    numbers = {name: pd.to_numeric(runs[name]).astype("float64") for name in ("accuracy", column)}
    shape = {name: pd.to_numeric(runs[name]).astype("Int64") for name in ("n_leaves", "n_trees")}
    return runs.assign(**numbers, **shape).dropna(subset=["accuracy", column])
