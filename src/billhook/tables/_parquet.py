"""Parquet files."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.tables._collect import (
    MOST_TEXTS,
    FileColumns,
    LabelColumn,
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

    def read(
        self, label: str | None, categorical: frozenset[str], rounding: str, apart: Collection[str] = ()
    ) -> FileColumns:
        """Return the columns, read one after the other."""
        columns = {
            name: _column(self._cells(name), is_categorical=name in categorical, rounding=rounding)
            for name in self.names
            if name != label and name not in apart
        }
        cells = {name: _objects(self._cells(name)) for name in apart}
        if label is None:
            return FileColumns(columns, None)
        where = label_column(label, str(self.path))
        return FileColumns(columns, _labels(self._cells(label), where), apart=cells)

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
