"""Data sets as studies use them: numbers, labels, and how to split them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._types import RowNumbers
from billhook.tables import Categorical, CategoricalEncoding, Encoding, Table, encode, read_table

PARTS = ("train", "test")


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """A table as features and labels.

    Attributes
    ----------
    name : str
    X : float32 array (n_rows, n_features)
    y : array
        Labels of classes; float64 for regression.
    classes : array, optional
        The classes that occur, sorted; None for regression.
    feature_names : tuple of str
    train, test : arrays of row numbers, optional
        A given split; None if there is none.
    encoding : Encoding
        How the features come from the columns of the table: for `Packed.with_encoding`.
    notes : tuple of str
        What was dropped, filled in or differs from the paper, in sentences.
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[Any]
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...]
    train: RowNumbers | None
    test: RowNumbers | None
    encoding: Encoding
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        split = "" if self.train is None or self.test is None else f", split {len(self.train):,}/{len(self.test):,}"
        return f"DataSet({self.name!r}: {len(self.X):,} rows, {self.X.shape[1]:,} features, {kind}{split})"

    def folds(self, n: int = 5, seed: int = 0) -> Iterator[tuple[RowNumbers, RowNumbers]]:
        """Yield the rows to train on and to test on, n times; or the given split, once.

        Parameters
        ----------
        n : int
            Number of folds: stratified by class and shuffled, as in the paper. For regression only shuffled.
        seed : int
            Of the shuffling.
        """
        if self.train is not None and self.test is not None:
            yield self.train, self.test
            return
        from sklearn.model_selection import KFold, StratifiedKFold

        if not 2 <= n <= len(self.y):
            raise ValueError(f"n must be from 2 to the number of rows, {len(self.y):,}, not {n}")
        if self.classes is not None:
            label, n_rows = _rarest(self.y)
            if n_rows < n:
                raise ValueError(f"n is {n}, but class {label!r} has {n_rows} rows: take fewer folds")
        folds = (KFold if self.classes is None else StratifiedKFold)(n, shuffle=True, random_state=seed)
        for train, test in folds.split(self.X, self.y):
            yield np.asarray(train, np.int64), np.asarray(test, np.int64)


def load_table(
    path: str | PathLike[str],
    label: str,
    *,
    name: str | None = None,
    task: str | None = None,
    categorical: CategoricalEncoding = "one_hot",
    missing: Literal["keep", "remove"] = "keep",
    split: str | None = None,
) -> DataSet:
    """Return a table of your own as a data set.

    Parameters
    ----------
    path, label, task
        As for `read_table`; `notes` says what was guessed and dropped.
    name : str, optional
        By default that of the file, without its suffix.
    categorical : {"one_hot", "ordered"}
        See `encode`. The order of categories is learned from all rows, those to test on included.
    missing : {"keep", "remove"}
        Whether rows with missing values stay (NaN in numbers, 0 in all features of a one-hot column) or are removed.
    split : str, optional
        A column with "train" or "test" in each row, which is the given split and no feature.
    """
    is_removed = resolve_name(
        missing, {"keep": False, "remove": True}, "there is no treatment of missing values called"
    )
    table = read_table(path, label, task=task)
    notes = list(table.notes)
    parts = None
    if split is not None:
        table, parts = _without_split(table, split)
    if is_removed:
        rows = complete_rows(table)
        if len(rows) < len(table.y):
            notes.append(f"Removed {len(table.y) - len(rows):,} of {len(table.y):,} rows: they have missing values.")
        if not len(rows):
            raise ValueError(f"every row of {path} has missing values: use missing='keep'")
        table = table.take(rows)
        parts = None if parts is None else parts[rows]
    X, encoding = encode(table, categorical)
    train, test = (None, None) if parts is None else _split_of(parts, split, table.title)
    plain = Path(path).name.removesuffix(".gz")
    return DataSet(
        name or plain.rpartition(".")[0] or plain,
        X,
        table.y,
        None if table.task == "regression" else np.unique(table.y),
        encoding.feature_names,
        train,
        test,
        encoding,
        tuple(notes),
    )


def complete_rows(table: Table) -> RowNumbers:
    """Return the numbers of the rows without missing values."""
    is_complete = np.ones(len(table.y), np.bool_)
    for column in table.columns:
        is_complete &= column.codes >= 0 if isinstance(column, Categorical) else ~np.isnan(column)
    return np.flatnonzero(is_complete)


def _without_split(table: Table, split: str) -> tuple[Table, NDArray[Any]]:
    """Return the table without the column of the split, and what that holds."""
    if split in table.left_out:
        raise ValueError(f"column {split!r} of {table.title} {table.left_out[split]}: it is no split")
    at = table.names.index(resolve_name(split, {name: name for name in table.names}, f"{table.title} has no column"))
    column = table.columns[at]
    values = sorted(column.categories) if isinstance(column, Categorical) else ["numbers"]
    if not isinstance(column, Categorical) or values != sorted(PARTS) or (column.codes < 0).any():
        raise ValueError(f"column {split!r} of {table.title} must hold train or test in every row, not {values[:3]}")
    others = [k for k in range(len(table.names)) if k != at]
    if not others:
        raise ValueError(f"{table.title} has no column to learn from beside {split!r}")
    columns = tuple(table.columns[k] for k in others)
    rest = replace(table, names=tuple(table.names[k] for k in others), columns=columns)
    return rest, np.array(column.categories)[column.codes]


def _split_of(parts: NDArray[Any], split: str | None, title: str) -> tuple[RowNumbers, RowNumbers]:
    train, test = (np.flatnonzero(parts == part) for part in PARTS)
    if not len(train) or not len(test):
        raise ValueError(f"no row with {PARTS[bool(len(train))]} in column {split!r} of {title} is left")
    return train, test


def _rarest(y: NDArray[Any]) -> tuple[Any, int]:
    labels, n_rows = np.unique(y, return_counts=True)
    rarest = int(np.argmin(n_rows))
    return labels[rarest].item(), int(n_rows[rarest])
