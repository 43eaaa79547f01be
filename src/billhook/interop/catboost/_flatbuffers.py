"""FlatBuffers: tables of fields that stand wherever offsets say.

A table begins with how far before it its directory is; the directory says for each field, by its number, how far
behind the beginning of the table it is. Vectors, texts and tables within a table are offsets from the field on. All
numbers are little-endian. (https://flatbuffers.dev/internals)
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError

DAMAGED = "this CatBoost model is damaged"
# No table has a quarter of it. Many tables may share a directory of fields, which is read for each.
MOST_FIELDS = 100
OFFSET, DISTANCE, SHORT = struct.Struct("<I"), struct.Struct("<i"), struct.Struct("<H")


class Buffer:
    """The bytes of a message; a field is read only where it lies within them."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        # What is written has each part once. Tables that share their parts could be larger than memory.
        self.unread = len(data)

    def number(self, kind: struct.Struct, place: int) -> Any:
        """Return the number at a place."""
        if not 0 <= place <= len(self.data) - kind.size:
            raise ModelFileError(DAMAGED)
        return kind.unpack_from(self.data, place)[0]

    def array(self, place: int, dtype: str) -> NDArray[Any]:
        """Return the vector at a place: a number of elements, and the elements."""
        length, start, size = self.number(OFFSET, place), place + OFFSET.size, np.dtype(dtype).itemsize
        self.unread -= length * size
        if start + length * size > len(self.data) or self.unread < 0:
            raise ModelFileError(DAMAGED)
        return np.frombuffer(self.data, dtype, length, start)


class BinaryTable(NamedTuple):
    """A table: the buffer, its place there, and how far behind that place each field is, 0 if it is not there."""

    buffer: Buffer
    place: int
    fields: Sequence[int]

    def number(self, field: int, kind: str, default: Any) -> Any:
        """Return a number of a kind, as `struct` names it."""
        if not self.fields[field]:
            return default
        return self.buffer.number(struct.Struct(f"<{kind}"), self.place + self.fields[field])

    def array(self, field: int, dtype: str) -> NDArray[Any]:
        """Return a vector of numbers, a view; one that is not there is empty."""
        place = self._target(field)
        return np.zeros(0, dtype) if place is None else self.buffer.array(place, dtype)

    def text(self, field: int) -> str:
        """Return a text; one that is not there is empty."""
        place = self._target(field)
        return "" if place is None else text_at(self.buffer, place)

    def texts(self, field: int) -> list[str]:
        """Return a vector of texts."""
        return [text_at(self.buffer, place) for place in self._places(field)]

    def table(self, field: int, n_fields: int, name: str) -> "BinaryTable":
        """Return a table of so many fields, which messages call by a name."""
        place = self._target(field)
        if place is None:
            raise ModelFileError(f"this CatBoost model has no {name}")
        return table_at(self.buffer, place, n_fields, name)

    def tables(self, field: int, n_fields: int, name: str) -> list["BinaryTable"]:
        """Return a vector of tables."""
        return [table_at(self.buffer, place, n_fields, name) for place in self._places(field)]

    def _target(self, field: int) -> int | None:
        """Return where the offset in a field leads to."""
        if not self.fields[field]:
            return None
        place = self.place + self.fields[field]
        return place + int(self.buffer.number(OFFSET, place))

    def _places(self, field: int) -> list[int]:
        """Return where the offsets in a vector lead to, each from its own place on."""
        start = self._target(field)
        if start is None:
            return []
        offsets = self.buffer.array(start, "<u4").astype(np.int64)
        places: list[int] = (start + OFFSET.size * (1 + np.arange(offsets.size)) + offsets).tolist()
        return places


def root(data: memoryview, n_fields: int, name: str) -> BinaryTable:
    """Return the table that a message is."""
    buffer = Buffer(data)
    return table_at(buffer, buffer.number(OFFSET, 0), n_fields, name)


def table_at(buffer: Buffer, place: int, n_fields: int, name: str) -> BinaryTable:
    """Return the table at a place; one with further fields is refused, as they could change what the model says."""
    directory = place - buffer.number(DISTANCE, place)
    n_bytes = buffer.number(SHORT, directory)
    if n_bytes < 2 * SHORT.size or n_bytes % SHORT.size or n_bytes > MOST_FIELDS * SHORT.size:
        raise ModelFileError(DAMAGED)
    fields = [buffer.number(SHORT, directory + start) for start in range(2 * SHORT.size, n_bytes, SHORT.size)]
    if any(fields[n_fields:]):
        number = next(number for number in range(n_fields, len(fields)) if fields[number])
        raise ModelFileError(f"the {name} of this CatBoost model have a field {number}, which Billhook does not know")
    return BinaryTable(buffer, place, [*fields, *[0] * n_fields][:n_fields])


def text_at(buffer: Buffer, place: int) -> str:
    """Return the text at a place: a vector of bytes."""
    try:
        return buffer.array(place, "u1").tobytes().decode()
    except UnicodeDecodeError:
        raise ModelFileError(DAMAGED) from None
