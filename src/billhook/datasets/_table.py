import csv
from collections import Counter
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import look_up

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


class Table(NamedTuple):
    """The rows of a file: the names of the features, their values, and the labels."""

    names: tuple[str, ...]
    X: NDArray[np.float32]
    y: NDArray[Any]


def read_table(path: str | PathLike[str], label: str) -> Table:
    """Read a CSV file (any delimiter, one line of names) or a Parquet file; `label` names the column to predict.

    Features must be numbers; empty cells, NA and the like are missing values. Labels are kept as they stand: see
    `labels_like`.
    """
    path = Path(path)
    columns = _read_columns(path)
    labels = look_up(label, columns, f"{path} has no column", "its columns are")
    names = tuple(name for name in columns if name != label)
    if not names:
        raise ValueError(f"{path} has no column beside {label!r}")
    features = [_as_numbers(columns[name], name, path) for name in names]
    return Table(names, np.stack(features, axis=1), _as_labels(labels, label, path))


def read_features(path: str | PathLike[str]) -> Table:
    """Read the columns of a file that are numbers, and nothing as labels; other columns are left out."""
    path = Path(path)
    features: dict[str, NDArray[np.float32]] = {}
    for name, cells in _read_columns(path).items():
        with suppress(ValueError):
            features[name] = _as_numbers(cells, name, path)
    if not features:
        raise ValueError(f"{path} has no column of numbers")
    return Table(tuple(features), np.stack(list(features.values()), axis=1), np.zeros(0))


def _read_columns(path: Path) -> dict[str, list[Any]]:
    return _read_parquet(path) if path.suffix == ".parquet" else dict(_read_csv(path))


def labels_like(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a file in the form of these classes, or as numbers; those that do not fit stay.

    A text file does not tell 1 from "1" or from 1.0: the classes do.
    """
    if classes is None:
        try:
            return y.astype(np.float64)
        except ValueError as error:
            raise ValueError(f"the labels must be numbers: {error}") from None
    known = {str(label): label for label in classes.tolist()}
    if classes.dtype.kind == "b":
        known |= {"true": True, "false": False, "1": True, "0": False, "TRUE": True, "FALSE": False}
    elif classes.dtype.kind in "iuf":
        known |= {str(float(label)): label for label in classes.tolist()}
    labels = [known.get(str(label), label) for label in y.tolist()]
    return np.array(labels, dtype=object)


def _read_csv(path: Path) -> dict[str, list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            sample = file.read(2**16)
            file.seek(0)
            dialect: Any = csv.Sniffer().sniff(sample, delimiters=",;\t|") if sample.strip() else csv.excel
        except csv.Error:
            dialect = csv.excel
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a text file in UTF-8") from None
        try:
            rows = [row for row in csv.reader(file, dialect) if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read as a table: {error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has no rows below its line of column names")
    names = [name.strip() for name in rows[0]]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{path} has more than one column {twice[0]!r}")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise ValueError(f"row {number} of {path} has {len(row)} cells; there are {len(names)} columns")
    return {name: [row[k].strip() for row in rows[1:]] for k, name in enumerate(names)}


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ImportError("to read Parquet files, pip install 'billhook[study]'") from None
    try:
        table = parquet.read_table(path)
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None
    return {name: table[name].to_pylist() for name in table.column_names}


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.lower() in MISSING) or cell != cell


def _as_numbers(cells: list[Any], name: str, path: Path) -> NDArray[np.float32]:
    numbers = np.empty(len(cells), np.float32)
    for n, cell in enumerate(cells):
        try:
            numbers[n] = np.nan if _is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} of {path} holds {cell!r} in row {n + 1}, which is not a number"
                + ("; write decimals with a point" if "," in str(cell) else "; encode it first")
            ) from None
    return numbers


def _as_labels(cells: list[Any], name: str, path: Path) -> NDArray[Any]:
    missing = sum(cell is None or cell == "" or cell != cell for cell in cells)
    if missing:
        raise ValueError(f"the label column {name!r} of {path} has {missing:,} empty cells")
    return np.array(cells, dtype=object)
