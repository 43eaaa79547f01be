"""From a file as it was downloaded to a table as the catalogue describes it, and to Parquet."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from billhook._files import atomic_write
from billhook.datasets._catalogue import Entry, Uci
from billhook.datasets._download import DownloadedFile
from billhook.datasets._prepare import labels_of
from billhook.tables import Categorical, Column, Table, is_number, read_features

METADATA = b"billhook"


def table_of_openml(entry: Entry, path: Path, label: str, dropped: Sequence[str] = ()) -> Table:
    """Return the table in an ARFF file of OpenML.

    Parameters
    ----------
    entry : Entry
    path : Path
        Its suffix is .arff.
    label : str
        The column to predict.
    dropped : names of columns
        That OpenML says are no features.
    """
    return _as_described(entry, read_features(path, label), dropped)


def table_of_uci(entry: Entry, path: Path, origin: Uci) -> Table:
    """Return the table in a zip file of UCI. A text file is written beside it."""
    text = path.with_suffix(".csv")
    try:
        with ZipFile(path) as archive, text.open("w", encoding="utf-8", newline="") as file:
            file.writelines(_lines(archive, origin))
    except BadZipFile as error:
        raise ValueError(f"{path.name} is not a zip file, or damaged: {error}") from None
    return _as_described(entry, read_features(text, origin.label))


def write_parquet(table: Table, path: Path, downloaded: DownloadedFile) -> None:
    """Write a table with its column `label`, and where it came from; all of it or nothing."""
    import pyarrow
    from pyarrow.parquet import write_table

    arrays = [_array(column) for column in table.columns]
    columns = dict(zip(table.names, arrays, strict=True)) | {"label": pyarrow.array(labels_of(table.y))}
    source = {METADATA: json.dumps(downloaded._asdict())}
    whole = pyarrow.table(columns).replace_schema_metadata(source)
    with atomic_write(path) as file:
        # The checksums of its pages tell later if the file is damaged.
        write_table(whole, file, compression="zstd", write_page_checksum=True)


def _lines(archive: ZipFile, origin: Uci) -> Iterator[str]:
    """Return a line of names and the rows of all files, without what stands before them."""
    header = ",".join(origin.header)
    if header:
        yield f"{header}\n"
    for number, member in enumerate(origin.members):
        matching = [name for name in archive.namelist() if name.rpartition("/")[2] == member]
        if len(matching) != 1:
            raise ValueError(f"the zip file has {len(matching)} files called {member}; one is expected")
        with archive.open(matching[0]) as file:
            lines = (line.decode("utf-8").strip("\r\n") for line in file)
            if not origin.header:
                names = next((line for line in lines if origin.label in _cells(line)), None)
                if names is None:
                    raise ValueError(f"{member} has no line of names with {origin.label!r}")
                if number == 0:
                    header = names
                    yield f"{header}\n"
                elif names != header:
                    raise ValueError(f"{member} has other columns than {origin.members[0]}")
            rows = islice(lines, 0 if number else origin.dummy_rows, None)
            yield from (f"{line}\n" for line in rows if line.strip())


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


def _as_described(entry: Entry, table: Table, dropped: Sequence[str] = ()) -> Table:
    not_features = {*entry.dropped, *dropped}
    kept = [k for k, name in enumerate(table.names) if name not in not_features]
    names = tuple(table.names[k] for k in kept)
    if entry.columns:
        if len(names) != len(entry.columns):
            raise ValueError(
                f"the file of {entry.name} has {len(names)} columns beside the label, {', '.join(names[:20])}; "
                f"{len(entry.columns)} are expected"
            )
        names = entry.columns
    columns = tuple(
        _numbers(table.columns[k]) if name in entry.numeric else table.columns[k]
        for k, name in zip(kept, names, strict=True)
    )
    described = replace(table, names=names, columns=columns, y=_renamed(entry, table.y))
    if not entry.last_rows:
        return described
    return described.take(np.arange(max(0, len(table.y) - entry.last_rows), len(table.y)))


def _numbers(column: Column) -> Column:
    """Return categories as numbers: those that they are, or their places in the sorted order."""
    if not isinstance(column, Categorical):
        return column
    if all(map(is_number, column.categories)):
        numbers = [float(category) for category in column.categories]
    else:
        numbers = [float(place) for place in range(len(column.categories))]
    return np.array([*numbers, np.nan], np.float32)[column.codes]  # the last entry is for -1


def _renamed(entry: Entry, y: NDArray[Any]) -> NDArray[Any]:
    if not {str(label) for label in y.tolist()} <= set(entry.labels):
        return y
    labels = np.empty(len(y), object)
    labels[:] = [entry.labels[str(label)] for label in y.tolist()]
    return labels


def _array(column: Column) -> Any:
    import pyarrow

    if isinstance(column, Categorical):
        codes = pyarrow.array(column.codes, mask=column.codes < 0)
        return pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(column.categories, pyarrow.string()))
    with np.errstate(invalid="ignore"):
        small = column.astype(np.uint8)
    return pyarrow.array(small if np.array_equal(small, column) else column)
