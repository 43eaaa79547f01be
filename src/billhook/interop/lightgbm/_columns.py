"""The columns of the data frame that a model was trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop.lightgbm._model import ColumnRange, Written
from billhook.tables import MOST_NAMED, EncodedColumn, Encoding, text_of

WAY_OUT = (
    "set booster.pandas_categorical = None (in a file, remove the last line), and give the forest arrays with the "
    "codes of the categories, frame[column].cat.codes, and NaN for -1"
)
# Columns times lists of categories that are tried out.
MOST_TRIED = 10**7


def encoding_of(model: Written) -> Encoding | None:
    """Return how the columns of a frame become the features; None if all are numbers.

    Like LightGBM, it has the place of a category among those of training, and NaN for one that is not among them.
    """
    if not model.pandas_categories:
        return None
    places = _places(model.pandas_categories, model.ranges)
    categories = dict(zip(places, model.pandas_categories, strict=True))
    return Encoding(
        tuple(
            EncodedColumn(name, "ordered", _texts(name, categories[place]))
            if place in categories
            else EncodedColumn(name)
            for place, name in enumerate(model.feature_names)
        )
    )


def _texts(name: str, categories: Sequence[Any]) -> tuple[str, ...]:
    if len(categories) > MOST_NAMED:
        raise ValueError(
            f"column {name!r} has {len(categories):,} categories of pandas, and a forest knows {MOST_NAMED:,} by "
            f"name; {WAY_OUT}"
        )
    texts = tuple(text_of(category) for category in categories)
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"column {name!r} has different categories of pandas that read {twice!r}; {WAY_OUT}")
    return texts


def _places(lists: Sequence[Sequence[Any]], ranges: Sequence[ColumnRange]) -> list[int]:
    """Return which columns the lists of categories are of.

    The lists are in the order of the columns, and nothing says whose they are. LightGBM splits pandas' categories as
    such, but ordered ones as numbers. So all columns that it splits by categories have a list, and others can have
    one if their numbers are places in it. If there is more than one way, none is taken.
    """
    n_lists, n_columns = len(lists), len(ranges)
    if n_lists * n_columns > MOST_TRIED:
        raise ValueError(f"there are {n_lists:,} columns with pandas' categories among {n_columns:,}; {WAY_OUT}")
    length = np.array([len(categories) for categories in lists])
    # How many ways there are to give the first so many lists to the columns up to one; two stands for more.
    n_ways = np.zeros((n_columns + 1, n_lists + 1), np.int8)
    n_ways[0, 0] = 1
    fits = np.zeros((n_columns, n_lists), np.bool_)
    for column, its_range in enumerate(ranges):
        fits[column] = _fits(its_range, length)
        without = 0 if its_range.is_categorical else n_ways[column]
        n_ways[column + 1] = without
        n_ways[column + 1, 1:] += np.where(fits[column], n_ways[column, :-1], 0)
        np.minimum(n_ways[column + 1], 2, out=n_ways[column + 1])
    if n_ways[-1, -1] != 1:
        raise ValueError(
            f"the model has categories of {n_lists} columns of a data frame, and does not say of which: of ordered "
            f"categories, or of columns that were given as categorical_feature, it cannot be told; {WAY_OUT}"
        )
    places = []
    left = n_lists
    for column in range(n_columns - 1, -1, -1):
        if left and fits[column, left - 1] and n_ways[column, left - 1]:
            places.append(column)
            left -= 1
    return places[::-1]


def _fits(its_range: ColumnRange, length: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which numbers of categories a column can have."""
    low, high = its_range.low, its_range.high
    if low is None or high is None:
        return np.ones(length.size, np.bool_)
    if low % 1 or high % 1 or low < (-1 if its_range.is_categorical else 0):
        return np.zeros(length.size, np.bool_)
    return np.asarray(high < length)
