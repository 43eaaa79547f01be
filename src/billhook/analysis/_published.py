import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from billhook._checks import resolve_name
from billhook.analysis._extras import pandas

if TYPE_CHECKING:
    from pandas import DataFrame


def published(name: str) -> "DataFrame":
    """Return a table that the paper prints, in the form in which the functions here return theirs.

    Parameters
    ----------
    name : str
        `accuracy_below_64KB` and `accuracy_below_256KB`, as of `best_below`; `area_under_pareto_front`, as of
        `areas`; `eeg_accuracy_by_n_l_and_K`, as of `by_shape`. Accuracies are from 0 to 1; the paper has percent.

    Examples
    --------
    >>> from billhook.analysis import published
    >>> float(published("accuracy_below_64KB").loc["chess", "RF-LR"])
    0.57382
    """
    pd = pandas()
    table = resolve_name(name, _tables(), "the paper has no table", "there are")
    if isinstance(table, list):
        frame = pd.DataFrame(table).rename(columns={"n_l": "n_leaves", "K": "n_trees"})
        frame = frame.set_index(["n_leaves", "n_trees"])
    else:
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("data")
    frame = frame.rename_axis(columns="method").sort_index().sort_index(axis="columns")
    return (frame / 100).round(7) if "accuracy" in name else frame


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads((files("billhook.analysis") / "published.json").read_text(encoding="utf-8"))
    return tables
