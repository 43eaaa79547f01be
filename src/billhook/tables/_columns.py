"""The columns of a table, and how they become the features of a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time

Kind = Literal["number", "one_hot", "ordered"]
# Of a column of a table that models are trained on: what a feature of eight bits can tell apart.
MOST_CATEGORIES = 256
# Of a column that a model knows by name, whoever trained it: a header of C has a line for each.
MOST_NAMED = 4096
# What booleans are as text, in any case.
BOOLEANS = frozenset({"false", "true"})


class Categorical(NamedTuple):
    """A categorical column.

    Attributes
    ----------
    codes : int32 array
        For each row the number of its category; -1 where it is missing.
    categories : tuple of str
    """

    codes: NDArray[np.int32]
    categories: tuple[str, ...]


Column = NDArray[np.float32] | Categorical


def n_rows(column: Column) -> int:
    """Return the number of rows of a column."""
    return len(column.codes if isinstance(column, Categorical) else column)


@dataclass(frozen=True)
class EncodedColumn:
    """How one column of a table becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "one_hot", "ordered"}
        A numeric column as it is; one-hot, a feature for each category, 1 where the row has it and else 0; or
        ordered, one feature, the place of the row's category among `categories`, from 0.
    categories : tuple of str
        In the order of the features, or of the places; empty for a numeric column.
    missing : str, optional
        The category that a missing cell counts as; by default it counts as none, as unknown ones do.
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    missing: str | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of the column, with the category where a feature says whether a row has that one."""
        if self.kind == "one_hot":
            return tuple(f"{self.name}={category}" for category in self.categories)
        return (f"{self.name}={self.categories[1]}" if len(self.categories) == 2 else self.name,)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.categories) if self.kind == "one_hot" else 1


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the features of a model.

    A category that the encoding does not know is 0 in all features of a one-hot column, and NaN in an ordered one; so
    is a missing one, unless it counts as another. A column of two categories is best ordered: one feature that is 0,
    1 or missing.

    Attributes
    ----------
    columns : tuple of EncodedColumn

    Examples
    --------
    >>> import numpy as np
    >>> colour = EncodedColumn("colour", "one_hot", ("blue", "green", "red"))
    >>> encoding = Encoding((EncodedColumn("age"), colour))
    >>> encoding.feature_names
    ('age', 'colour=blue', 'colour=green', 'colour=red')
    >>> seen = Categorical(np.array([1, 0, -1], np.int32), ("blue", "red"))
    >>> encoding.apply({"colour": seen, "age": np.array([30, 40, 50], np.float32)})
    array([[30.,  0.,  0.,  1.],
           [40.,  1.,  0.,  0.],
           [50.,  0.,  0.,  0.]], dtype=float32)
    """

    columns: tuple[EncodedColumn, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature: that of the column, or `column=category`."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(column.n_features for column in self.columns)

    @property
    def categorical(self) -> frozenset[str]:
        """The names of the categorical columns."""
        return frozenset(column.name for column in self.columns if column.kind != "number")

    def apply(self, columns: Mapping[str, Column]) -> NDArray[np.float32]:
        """Return the features (rows, features) of a table's columns, given by name; other columns do not matter."""
        for column in self.columns:
            if column.name not in columns:
                raise ValueError(f"the table lacks the column {column.name!r}, which the model was trained on")
        features = np.zeros((n_rows(columns[self.columns[0].name]), self.n_features), np.float32)
        first = 0
        for column in self.columns:
            check_time()
            after = first + column.n_features
            _fill(features[:, first:after], column, columns[column.name])
            first = after
        return features

    def check(self) -> None:
        """Raise ValueError unless this says for each of some columns how it is encoded."""
        if not isinstance(self.columns, tuple) or not self.columns:
            raise ValueError("an encoding must have columns")
        for column in self.columns:
            _check_column(column)
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the encoding has more than one column {twice!r}")


def encoding_to_json(encoding: Encoding) -> list[list[Any]]:
    """Return the encoding as it stands in a file."""
    return [
        [column.name, column.kind, list(column.categories), *([] if column.missing is None else [column.missing])]
        for column in encoding.columns
    ]


def encoding_from_json(entries: Any) -> Encoding:
    """Return the encoding that stands in a file, or raise ValueError."""
    if not isinstance(entries, list) or not all(
        isinstance(entry, list) and len(entry) in (3, 4) for entry in entries
    ):
        raise ValueError("an encoding must have a name, a kind and categories for each column")
    if not all(isinstance(entry[2], list) for entry in entries):
        raise ValueError("the categories of an encoded column must be a list")
    encoding = Encoding(
        tuple(EncodedColumn(name, kind, tuple(categories), *missing) for name, kind, categories, *missing in entries)
    )
    encoding.check()
    return encoding


def _check_column(column: Any) -> None:
    if not isinstance(column, EncodedColumn) or not isinstance(column.name, str):
        raise ValueError(f"an encoded column must have a name, not {column!r}")
    if column.kind not in get_args(Kind):
        raise ValueError(f"column {column.name!r} has kind {column.kind!r}; known are {', '.join(get_args(Kind))}")
    categories = column.categories
    if not isinstance(categories, tuple) or not all(isinstance(category, str) for category in categories):
        raise ValueError(f"the categories of column {column.name!r} must be strings")
    if len(set(categories)) < len(categories):
        raise ValueError(f"column {column.name!r} has a category twice")
    if column.missing is not None and column.missing not in categories:
        raise ValueError(f"column {column.name!r} has missing {column.missing!r}, which is none of its categories")
    least, most = (0, 0) if column.kind == "number" else (1, MOST_NAMED)
    if not least <= len(categories) <= most:
        raise ValueError(
            f"column {column.name!r}, kind {column.kind}, has {len(categories)} categories, not {least} to {most}"
        )


def _fill(features: NDArray[np.float32], column: EncodedColumn, cells: Column) -> None:
    """Set the features of one column."""
    if n_rows(cells) != len(features):
        raise ValueError(f"column {column.name!r} has {n_rows(cells)} rows; others have {len(features)}")
    if column.kind == "number":
        if isinstance(cells, Categorical):
            raise ValueError(f"column {column.name!r} holds text, and the model was trained on numbers there")
        features[:, 0] = cells
        return
    if not isinstance(cells, Categorical):
        raise ValueError(f"column {column.name!r} holds numbers, and the model was trained on categories there")
    # The last entry is for -1: missing.
    missing = -1 if column.missing is None else column.categories.index(column.missing)
    place = np.array([*places(cells.categories, column.categories), missing], np.int64)[cells.codes]
    if column.kind == "ordered":
        features[:, 0] = np.where(place < 0, np.nan, place)
        return
    rows = np.flatnonzero(place >= 0)
    features[rows, place[rows]] = 1.0


def places(categories: tuple[str, ...], known: tuple[str, ...]) -> list[int]:
    """Return the place of each category among those that are known, -1 if it is not one of them.

    Booleans are the same in any case: files have true, True and TRUE, and data frames have no text for them.
    """
    exact = {category: place for place, category in enumerate(known)}
    booleans = {category.lower(): place for category, place in exact.items() if category.lower() in BOOLEANS}
    return [exact.get(category, booleans.get(category.lower(), -1)) for category in categories]
