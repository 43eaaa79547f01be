"""Parquet files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.tables._collect import (
    MOST_TEXTS,
    BlockOptions,
    FileColumns,
    LabelColumn,
    UnusableColumn,
    categorical_of,
    text_of,
    unusable_texts,
)
from billhook.tables._columns import Categorical, Column
from billhook.tables._rounding import as_float32

MAGIC = b"PAR1"


class Parquet(NamedTuple):
    """A table in a Parquet file."""

    file: Any
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def read(self, label: str | None, categorical: frozenset[str], rounding: str) -> FileColumns:
        """Return the columns, read one after the other."""
        columns = {
            name: _column(self._cells(name), is_categorical=name in categorical, rounding=rounding)
            for name in self.names
            if name != label
        }
        return FileColumns(columns, None if label is None else _labels(self._cells(label), label))

    @property
    def about_n_rows(self) -> int | None:
        """Exactly so many."""
        return int(self.file.metadata.num_rows)

    def read_blocks(self, block: BlockOptions) -> Iterator[FileColumns]:
        """Return the columns of some rows at a time."""
        import pyarrow

        names = [name for name in self.names if block.wants(name)]
        for batch in self.file.iter_batches(block.n_rows, columns=names, use_threads=False):
            check_time()
            part = pyarrow.Table.from_batches([batch])
            columns = {
                name: _column(part[name], is_categorical=name in block.categorical, rounding=block.rounding)
                for name in names
                if name != block.label
            }
            yield FileColumns(columns, None if block.label is None else _labels(part[block.label], block.label))

    def _cells(self, name: str) -> Any:
        check_time()
        return self.file.read(columns=[name], use_threads=False)[name]


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
    return Parquet(file, tuple(file.schema_arrow.names))


def _is_number(type_: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    is_string = types.is_string(type_) or types.is_large_string(type_)
    return bool(is_string or types.is_boolean(type_) or types.is_dictionary(type_))


def _labels(cells: Any, name: str) -> LabelColumn:
    if not _is_number(cells.type) and not _is_text(cells.type):
        raise ValueError(
            f"the label column {name!r} is of the type {cells.type}: only numbers and text can be predicted"
        )
    labels = np.empty(len(cells), object)
    labels[:] = _plain(cells).to_pylist()
    return LabelColumn(labels, not _is_number(cells.type))


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
