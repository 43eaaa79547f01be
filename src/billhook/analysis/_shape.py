from typing import TYPE_CHECKING

from billhook.analysis._configurations import of_data, require_columns

if TYPE_CHECKING:
    from pandas import DataFrame


def by_shape(configurations: "DataFrame", data: str) -> "DataFrame":
    """Return the mean accuracy for each number of leaves and of trees, a column per method: pruning, revisited.

    Where a method has several configurations of the same shape, as DREP for different rho, the best counts.
    Configurations without a number of leaves or of trees have no place here; a method that has no others is
    missing.
    """
    require_columns(configurations, ["data", "method", "accuracy", "n_leaves", "n_trees"], "configurations")
    rows = of_data(configurations, data).dropna(subset=["n_leaves", "n_trees"])
    if rows.empty:
        raise ValueError(
            f"no configuration on {data!r} has a number of leaves and of trees; there is no table by them"
        )
    rows = rows.astype({"n_leaves": "int64", "n_trees": "int64"})
    best = rows.groupby(["n_leaves", "n_trees", "method"], observed=True)["accuracy"].max()
    return best.unstack("method").sort_index()
