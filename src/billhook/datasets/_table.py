import csv
from collections import Counter
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


class Table(NamedTuple):
    """The rows of a file: the names of the features, their values, and the labels."""

    names: tuple[str, ...]
    X: NDArray[np.float32]
    y: NDArray[Any]


def read_table(path: str | PathLike[str], label: str) -> Table:
    """Read a CSV file (any delimiter, one line of names) or a Parquet file; `label` names the column to predict.

    Features must be numbers; empty cells, NA and the like are missing values. Labels become whole numbers or numbers
    where all of them are, and strings otherwise.
    """
    path = Path(path)
    columns = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    if label not in columns:
        near = get_close_matches(label, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {', '.join(columns)}"
        raise ValueError(f"{path} has no column {label!r}; {hint}")
    names = tuple(name for name in columns if name != label)
    if not names:
        raise ValueError(f"{path} has no column beside {label!r}")
    features = [_as_numbers(columns[name], name, path) for name in names]
    return Table(names, np.stack(features, axis=1), _as_labels(columns[label], label, path))


def labels_like(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as strings if the classes are strings: a file does not tell 1 from "1"."""
    return y.astype(np.str_) if classes.dtype.kind in "UO" and y.dtype.kind not in "UO" else y


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
        rows = [row for row in csv.reader(file, dialect) if row]
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
                f"column {name!r} of {path} holds {cell!r} in row {n + 1}, which is not a number; encode it first"
            ) from None
    return numbers


def _as_labels(cells: list[Any], name: str, path: Path) -> NDArray[Any]:
    missing = sum(map(_is_missing, cells))
    if missing:
        raise ValueError(f"the label column {name!r} of {path} has {missing:,} empty cells")
    if any(isinstance(cell, bool) for cell in cells):
        return np.array(cells)
    for kind in (int, float):
        try:
            converted = [kind(cell) for cell in cells]
        except (TypeError, ValueError):
            continue
        if all(isinstance(cell, str) or cell == same for cell, same in zip(cells, converted, strict=True)):
            return np.array(converted)
    return np.array([str(cell) for cell in cells])
