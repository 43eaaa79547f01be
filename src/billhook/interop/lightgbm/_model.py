"""What a model of LightGBM says, in whichever form it is written."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from billhook.interop.lightgbm._trees import TreesRead

# v2: LightGBM 2.1 and 2.2; v3, with weights of leaves: 2.3 to 3.3; v4: from 4.0 on.
VERSIONS = ("v2", "v3", "v4")
MOST_FEATURES = 2**31 - 1
NO_TREES = "the model has no trees: fit it with one round at least"
LINEAR = (
    "its trees have linear functions in the leaves (linear_tree), and those of a forest have numbers; fit with "
    "linear_tree=False"
)


class ColumnRange(NamedTuple):
    """What the training rows had in a column: numbers between two, or categories, from -1 on, up to the highest.

    A column of which nothing is known, since no tree could split it, is neither.
    """

    is_categorical: bool
    low: float | None
    high: float | None


class Written(NamedTuple):
    """A model as it is written.

    Attributes
    ----------
    n_columns : int
        Trees in a round: one for each column of the raw scores.
    n_features : int
    objective : str or None
        With its parameters; None for one of the user's own.
    averages : bool
    feature_names : tuple of str
    ranges : tuple of ColumnRange
        Of the features.
    trees : TreesRead
    pandas_categories : list or None
        The categories of each categorical column of the data frame that was trained on.
    """

    n_columns: int
    n_features: int
    objective: str | None
    averages: bool
    feature_names: tuple[str, ...]
    ranges: tuple[ColumnRange, ...]
    trees: TreesRead
    pandas_categories: Sequence[Sequence[Any]] | None


def check_version(version: object) -> None:
    """Refuse a version that is not known."""
    if version not in VERSIONS:
        raise ValueError(
            f"this model of LightGBM has version {version!r}; known are {', '.join(VERSIONS)}: write it anew with "
            "lightgbm.Booster(model_file='old.txt').save_model('new.txt')"
        )


def checked_categories(categories: Any) -> Sequence[Sequence[Any]] | None:
    """Return pandas' categories, or refuse what are none."""
    if categories is None:
        return None
    if not isinstance(categories, list) or not all(isinstance(column, list) for column in categories):
        raise ValueError("pandas_categorical must be a list of categories for each column")
    if not all(isinstance(category, str | bool | int | float) for column in categories for category in column):
        raise ValueError("pandas_categorical holds a category that is neither text nor a number")
    return categories
