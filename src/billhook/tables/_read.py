"""Tables read from files, for training or for prediction."""

import errno
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from billhook.tables._arff import arff, looks_like_arff
from billhook.tables._collect import FileColumns, ReadOptions, TableFile
from billhook.tables._columns import n_rows
from billhook.tables._delimited import Delimited, delimited
from billhook.tables._held_together import hold_out
from billhook.tables._labels import check_present, label_column, label_name, target_of
from billhook.tables._parquet import MAGIC, parquet
from billhook.tables._table import Table, parted, training_table

# Of a block: cells in all, as strings take some 60 bytes each, and rows at least.
CELLS, LEAST_ROWS = 2**18, 512


def read_table(
    path: str | PathLike[str],
    label: str,
    *,
    task: str | None = None,
    rounding: str = "nearest",
    group: str | None = None,
    split: str | None = None,
) -> Table:
    """Read a table to learn from.

    Columns are numeric or categorical. Those that no model could learn from are dropped, and `notes` says so: all
    values missing, the same value in every row, row numbers, text with more than 256 different values or nearly as
    many as rows.

    Parameters
    ----------
    path : path
        CSV and the like (separated by commas, semicolons, tabs, bars or spaces), Parquet or ARFF; text may be
        compressed as .gz. Empty cells, NA and the like are missing values. The first line of a CSV file holds
        the column names; if all in it are numbers, or it looks like a row, columns are called 0, 1, 2 and so on.
        Numbers may have decimal commas where cells are not separated by commas.
    label : str
        The column to predict; -1 is the last, -2 the one before, unless a column has that name.
    task : {"classification", "regression"}, optional
        By default text and few different whole numbers are classes; other numbers are for regression.
    rounding : {"nearest", "down"}
        How numbers become float32: as a model wants it, see `Forest.rounding`.
    group : str, optional
        A column that is no feature: rows with the same value there are held out together.
    split : str, optional
        ``"time:COLUMN"``: the latest rows by this column, numbers or dates, are held out. It is no feature.
    """
    path = Path(path)
    source = _source(path)
    name = label_name(label, source.names, str(path))
    apart = hold_out(group, split)
    apart.check(source.names, name, str(path))
    raw = source.read(ReadOptions(label=name, rounding=rounding, apart=apart.names))
    assert raw.labels is not None
    _check_rows(path, source, len(raw.labels.cells))
    notes = (*source.notes, *raw.notes, *apart.notes)
    target = target_of(raw.labels, name, str(path), task)
    table = training_table(str(path), raw.columns, target, label=name, notes=notes)
    groups, times = apart.of(raw.apart, str(path))
    return replace(table, groups=groups, times=times)


def read_features(
    path: str | PathLike[str],
    label: str | None = None,
    *,
    categorical: Collection[str] = frozenset(),
    rounding: str = "nearest",
) -> Table:
    """Read a table for prediction: every column, and the labels as they stand in the file (see `labels_like`).

    Parameters
    ----------
    path, label
        As for `read_table`; without a label `y` is empty.
    categorical : column names
        Columns to read as categorical even where they look like numbers: see `Encoding.categorical`.
    rounding : {"nearest", "down"}
        As for `read_table`.
    """
    path = Path(path)
    source = _source(path)
    name = None if label is None else label_name(label, source.names, str(path))
    raw = source.read(ReadOptions(label=name, categorical=frozenset(categorical), rounding=rounding))
    y = np.zeros(0) if raw.labels is None else raw.labels.cells
    if name is not None:
        check_present(y, label_column(name, str(path)), frozenset({""}))
    columns, left_out = parted(raw.columns)
    _check_rows(path, source, max(map(n_rows, columns.values()), default=len(y)))
    return Table(str(path), tuple(columns), tuple(columns.values()), y, None, (*source.notes, *raw.notes), left_out)


class TableBlocks(NamedTuple):
    """A file that is read some rows at a time.

    Attributes
    ----------
    title : str
        What messages call it: its path.
    names : tuple of str
        The names of all its columns but the label's.
    label : str or None
        The name of the label column.
    notes : tuple of str
        What a user should know about how it is read.
    about_n_rows : int or None
        About how many rows it has, if that can be said before they are read.
    tables : iterator of Table
        The rows, in order; each as `read_features` would return it if there were no others. Only what commas in
        numbers mean, the whole file tells.
    """

    title: str
    names: tuple[str, ...]
    label: str | None
    notes: tuple[str, ...]
    about_n_rows: int | None
    tables: Iterator[Table]


def read_blocks(
    path: str | PathLike[str],
    label: str | None = None,
    *,
    names: Collection[str] | None = None,
    categorical: Collection[str] = frozenset(),
    rounding: str = "nearest",
    n_rows: int | None = None,
) -> TableBlocks:
    """Read a table for prediction, however large it is, some rows at a time.

    Parameters
    ----------
    path, label, categorical, rounding
        As for `read_features`.
    names : column names, optional
        The columns to read, where the file has them; by default all.
    n_rows : int, optional
        Rows of a block; by default as many as take some megabytes.
    """
    path = Path(path)
    source = _source(path)
    name = None if label is None else label_name(label, source.names, str(path))
    wanted = None if names is None else frozenset(names) - {name}
    block_rows = n_rows or max(CELLS // len(source.names), LEAST_ROWS)
    asked = ReadOptions(wanted, name, frozenset(categorical), rounding)
    raw = source.read_blocks(asked, block_rows)
    others = tuple(column for column in source.names if column != name)
    notes = (*source.notes, *raw.notes)
    return TableBlocks(str(path), others, name, notes, source.about_n_rows, _tables(path, source, name, raw.blocks))


def _tables(path: Path, source: TableFile, label: str | None, blocks: Iterator[FileColumns]) -> Iterator[Table]:
    n_before = 0
    for raw in blocks:
        y = np.zeros(0) if raw.labels is None else raw.labels.cells
        if label is not None:
            check_present(y, label_column(label, str(path)), frozenset({""}), n_before)
        columns, left_out = parted(raw.columns)
        n_read = max(map(n_rows, columns.values()), default=len(y))
        if n_read == 0:
            continue
        yield Table(str(path), tuple(columns), tuple(columns.values()), y, None, (), left_out, n_before)
        n_before += n_read
    _check_rows(path, source, n_before)


def _source(path: Path) -> TableFile:
    """Return a reader for the file, by its content or its suffix."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; give the name of a file in it", str(path))
    with path.open("rb") as file:
        begin = file.read(4)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    source: TableFile
    if begin == MAGIC or (suffix in (".parquet", ".pq") and begin):
        source = parquet(path)
    else:
        source = arff(path) if suffix == ".arff" or looks_like_arff(path) else delimited(path)
    twice = [name for name, times in Counter(source.names).items() if times > 1]
    if twice:
        hint = "; does its first line hold column names?" if isinstance(source, Delimited) else ""
        raise ValueError(f"{path} has more than one column {twice[0]!r}{hint}")
    return source


def _check_rows(path: Path, source: TableFile, n_read: int) -> None:
    if n_read == 0:
        what = "below its line of column names" if isinstance(source, Delimited) else "in it"
        raise ValueError(f"{path} has no rows {what}")
