"""Parquet files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._progress import tell_progress
from billhook.tables._collect import (
    MOST_TEXTS,
    FileBlocks,
    FileColumns,
    LabelColumn,
    ReadOptions,
    UnusableColumn,
    categorical_of,
    text_of,
    unusable_texts,
)
from billhook.tables._columns import Categorical, Column
from billhook.tables._labels import label_column
from billhook.tables._rounding import as_float32

MAGIC = b"PAR1"


class Parquet(NamedTuple):
    """A table in a Parquet file."""

    path: Path
    file: Any
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def read(self, asked: ReadOptions) -> FileColumns:
        """Return the columns, read one after the other."""
        wanted = [name for name in self.names if asked.wants(name)]
        place = {name: number for number, name in enumerate(wanted)}

        def cells_of(name: str) -> Any:
            tell_progress(
                f"reading {self.path.name}", place[name], len(wanted), f"{place[name]:,} of {len(wanted):,} columns"
            )
            return self._cells(name)

        return self._columns(cells_of, asked)

    @property
    def about_n_rows(self) -> int | None:
        """Exactly so many."""
        return int(self.file.metadata.num_rows)

    def read_blocks(self, asked: ReadOptions, n_rows: int) -> FileBlocks:
        """Return the columns of some rows at a time."""
        names = [name for name in self.names if asked.wants(name)]
        return FileBlocks(self._columns(part.__getitem__, asked) for part in self._parts(names, n_rows))

    def _columns(self, cells_of: Callable[[str], Any], asked: ReadOptions) -> FileColumns:
        """Return the columns that are asked for, of these cells."""
        columns = {
            name: _column(cells_of(name), is_categorical=name in asked.categorical, rounding=asked.rounding)
            for name in self.names
            if asked.wants(name) and not asked.wants_cells(name)
        }
        apart = {name: _objects(cells_of(name)) for name in asked.apart}
        if asked.label is None:
            return FileColumns(columns, None, apart=apart)
        where = label_column(asked.label, str(self.path))
        return FileColumns(columns, _labels(cells_of(asked.label), where), apart=apart)

    def _parts(self, names: list[str], n_rows: int) -> Iterator[Any]:
        """Return some rows at a time, as tables of pyarrow."""
        from pyarrow import ArrowException, Table

        n_read = 0
        try:
            for batch in self.file.iter_batches(n_rows, columns=names, use_threads=False):
                check_time()
                n_read += len(batch)
                yield Table.from_batches([batch])
        except (ArrowException, OSError) as error:
            raise OSError(f"{self.path} is damaged: rows from {n_read + 1:,} on cannot be read: {error}") from None

    def _cells(self, name: str) -> Any:
        from pyarrow import ArrowException

        check_time()
        try:
            return self.file.read(columns=[name], use_threads=False)[name]
        except (ArrowException, OSError) as error:
            raise OSError(f"{self.path} is damaged: column {name!r} cannot be read: {error}") from None


def parquet(path: Path) -> Parquet:
    """Return the table in a Parquet file."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError("to read Parquet files, pip install 'billhook[parquet]'") from None
    try:
        file = ParquetFile(path, page_checksum_verification=True)
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None
    return Parquet(path, file, tuple(file.schema_arrow.names))


def _is_number(type_: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _is_text(type_.value_type) or _is_number(type_.value_type)
    is_view = getattr(types, "is_string_view", lambda _type: False)  # which old versions do not know
    is_string = types.is_string(type_) or types.is_large_string(type_) or is_view(type_)
    return bool(is_string or types.is_boolean(type_))


def _labels(cells: Any, where: str) -> LabelColumn:
    if not _is_number(cells.type) and not _is_text(cells.type):
        raise ValueError(f"{where} is of the type {cells.type}: only numbers and text can be predicted")
    return LabelColumn(_objects(cells), not _is_number(cells.type))


def _objects(cells: Any) -> NDArray[Any]:
    objects = np.empty(len(cells), object)
    objects[:] = _plain(cells).to_pylist()
    return objects


def _column(cells: Any, *, is_categorical: bool, rounding: str) -> Column | UnusableColumn:
    from pyarrow import types

    if types.is_null(cells.type):
        return np.full(len(cells), np.nan, np.float32)
    if _is_text(cells.type) or (is_categorical and _is_number(cells.type)):
        return _categorical(cells)
    if _is_number(cells.type):
        return _numbers(cells, rounding)
    return UnusableColumn(f"is of the type {cells.type}, which is not read")


def _plain(cells: Any) -> Any:
    """Return cells without a dictionary: each part of a file may number its names differently."""
    from pyarrow import types

    return cells.cast(cells.type.value_type) if types.is_dictionary(cells.type) else cells


def _categorical(cells: Any) -> Categorical | UnusableColumn:
    encoded = _plain(cells).dictionary_encode().combine_chunks()
    texts = [text_of(value) for value in encoded.dictionary.to_pylist()]
    if len(texts) > MOST_TEXTS:
        return unusable_texts(texts)
    return categorical_of(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32), texts)


def _numbers(cells: Any, rounding: str) -> NDArray[np.float32]:
    from pyarrow import float64

    return as_float32(np.asarray(cells.cast(float64(), safe=False).to_numpy(), np.float64), rounding)
