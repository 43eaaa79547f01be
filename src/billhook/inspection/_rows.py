"""The rows of a table as a model takes them, some thousand at a time, and what there is to say about the table."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, count_of
from billhook.inspection._models import allows_missing, categorical_of, columns_of
from billhook.packing import Packed
from billhook.tables import (
    Categorical,
    Column,
    Table,
    TableBlocks,
    features_of,
    frame_for_prediction,
    is_frame,
    labels_like,
    read_blocks,
    unknown_categories,
)

MOST_NAMES = 5


class RowBlock(NamedTuple):
    """Some rows as features, and their labels as the model knows them; none where no label was asked for."""

    X: NDArray[np.float32]
    y: NDArray[Any]


@dataclass
class ModelRows:
    """The rows of a table for a model; iterate once.

    Attributes
    ----------
    title : str
        What messages call the table.
    about_n_rows : int or None
        About how many rows there are, if that can be said before they are read.
    notes : list of str
        What is said of the table: complete when the last block has been read.
    """

    model: Forest | Packed
    title: str
    about_n_rows: int | None
    blocks: Iterator[Table]
    absent: tuple[str, ...]
    notes: list[str]
    unknown: dict[str, tuple[int, str]] = field(default_factory=dict)
    n_missing: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[RowBlock]:
        for table in self.blocks:
            whole = _with_absent(table, self.absent, self.model)
            if self.model.encoding is not None:
                self._count_unknown(whole)
            X = _features(whole, self.model)
            if not allows_missing(self.model):
                self._count_missing(X)
            yield RowBlock(X, labels_like(table.y, self.model.classes) if len(table.y) else table.y)
        self.notes += [_unknown_text(name, *found) for name, found in self.unknown.items()]
        self.notes += [_missing_text(name, n_cells) for name, n_cells in self.n_missing.items()]

    def _count_unknown(self, table: Table) -> None:
        assert self.model.encoding is not None
        for name, (n_cells, example) in unknown_categories(table, self.model.encoding).items():
            before, first = self.unknown.get(name, (0, example))
            self.unknown[name] = before + n_cells, first

    def _count_missing(self, X: NDArray[np.float32]) -> None:
        names = self.model.feature_names or tuple(f"feature {number}" for number in range(self.model.n_features))
        for number in np.flatnonzero(np.isnan(X).any(axis=0)):
            name = names[number]
            self.n_missing[name] = self.n_missing.get(name, 0) + int(np.isnan(X[:, number]).sum())


def rows_for(
    model: Forest | Packed, table: Any, label: str | None = None, *, fill_missing: bool | None = False
) -> ModelRows:
    """Return the rows of a file or a data frame as a model takes them.

    Columns go by their names, and those that the model does not know are ignored. With `fill_missing` columns that
    are not there count as missing in every row; else they are refused. None says that there is no such choice.
    """
    if is_frame(table):
        blocks = _frame_blocks(table, label, model)
    elif isinstance(table, str | PathLike):
        blocks = read_blocks(
            table, label, names=columns_of(model), categorical=categorical_of(model), rounding=model.rounding
        )
    else:
        raise TypeError(f"table must be the path of a file or a data frame, not {type(table).__name__}")
    expected = columns_of(model)
    if expected is not None and blocks.label in expected:
        raise ValueError(f"label {blocks.label!r} is a column that the model predicts from, not what it predicts")
    if expected is None:
        return ModelRows(model, blocks.title, blocks.about_n_rows, blocks.tables, (), list(blocks.notes))
    absent = tuple(name for name in expected if name not in blocks.names)
    surplus = [name for name in blocks.names if name not in set(expected)]
    if absent:
        _check_absent(absent, surplus, expected, blocks, model, fill_missing=fill_missing)
    notes = list(blocks.notes)
    if absent:
        notes.append(f"{_columns_text(absent)} not in {blocks.title}: counted as missing in every row.")
    if surplus:
        notes.append(f"{_columns_text(surplus)} not known to the model: ignored.")
    return ModelRows(model, blocks.title, blocks.about_n_rows, blocks.tables, absent, notes)


def _frame_blocks(frame: Any, label: str | None, model: Forest | Packed) -> TableBlocks:
    table, names = frame_for_prediction(
        frame, label, names=columns_of(model), categorical=categorical_of(model), rounding=model.rounding
    )
    return TableBlocks(table.title, names, label, (), None, iter([table]))


def _check_absent(
    absent: tuple[str, ...],
    surplus: list[str],
    expected: tuple[str, ...],
    blocks: TableBlocks,
    model: Forest | Packed,
    *,
    fill_missing: bool | None,
) -> None:
    """Raise ValueError for columns that are not there, unless they may count as missing."""
    which = f"{blocks.title} lacks {count_of(len(absent), 'column')} that the model was trained on: {_listed(absent)}"
    if not fill_missing:
        near = get_close_matches(absent[0], surplus, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {_listed(surplus)} instead" if surplus else ""
        remedy = "Rename the columns" if near else "; rename the columns"
        if allows_missing(model) and fill_missing is not None:
            remedy += ", or predict as if these values were missing in every row, with fill_missing=True"
        raise ValueError(f"{which}{hint}{' ' if near else ''}{remedy}")
    if len(absent) == len(expected):
        raise ValueError(f"{which}, all there are: is this the right table?")
    if not allows_missing(model):
        raise ValueError(f"{which}, and it was made without missing values: add the columns")


def _with_absent(table: Table, absent: tuple[str, ...], model: Forest | Packed) -> Table:
    """Return the table with columns in which every cell is missing."""
    if not absent:
        return table
    n_rows = len(table.columns[0].codes if isinstance(table.columns[0], Categorical) else table.columns[0])
    categorical = categorical_of(model)
    columns: list[Column] = [
        Categorical(np.full(n_rows, -1, np.int32), ()) if name in categorical else np.full(n_rows, np.nan, np.float32)
        for name in absent
    ]
    return replace(table, names=table.names + absent, columns=(*table.columns, *columns))


def _features(table: Table, model: Forest | Packed) -> NDArray[np.float32]:
    X = features_of(table, model)
    if X.shape[1] != model.n_features:
        n_columns = count_of(X.shape[1], "column")
        raise ValueError(
            f"the model knows no column names and takes {count_of(model.n_features, 'feature')}; {table.title} has "
            f"{n_columns} of numbers: leave out what is no feature" + (", as with label" if X.shape[1] else "")
        )
    return X


def _columns_text(names: Collection[str]) -> str:
    """Return names as the beginning of a sentence."""
    return f"Column {_listed(names)} is" if len(names) == 1 else f"Columns {_listed(names)} are"


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else "")


def _unknown_text(name: str, n_cells: int, example: str) -> str:
    others = "" if n_cells == 1 else f", {short(example)} the first"
    what = f"one cell with {short(example)}," if n_cells == 1 else f"{n_cells:,} cells with categories"
    return f"Column {name!r} has {what} that the model does not know{others}: counted as missing."


def _missing_text(name: str, n_cells: int) -> str:
    return (
        f"Column {name!r} has {count_of(n_cells, 'missing cell')}, and the model was made without missing values: "
        "counted as very large."
    )
