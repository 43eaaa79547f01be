"""Universal Binary JSON (ubjson.org, draft 12), as far as XGBoost writes it: an object, with arrays of one type."""

import struct
from typing import Any

import numpy as np

from billhook._files import ModelFileError

# Numbers are big-endian. No type has values of no bytes, so that no short file can ask for much memory.
DTYPES = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
NUMBERS = {
    type_: struct.Struct(code)
    for type_, code in {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}.items()
}
LENGTHS = (b"i", b"U", b"I", b"l", b"L")
CONSTANTS = {b"Z": None, b"T": True, b"F": False}
# A model is some eight levels deep.
MAX_DEPTH = 32


def decode_ubjson(data: bytes) -> Any:
    """Return the object that these bytes are; arrays of one type become numpy's, which share their memory."""
    reader = UbjsonReader(data)
    value = reader.value(0)
    if reader.place != len(data):
        raise ModelFileError(f"{len(data) - reader.place:,} bytes follow the end of the model")
    return value


class UbjsonReader:
    """Bytes, and the place in them that is read next."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def value(self, depth: int) -> Any:
        """Return the value that begins here; `depth` is how many others it lies in."""
        type_ = self._take(1)
        if type_ in (b"{", b"["):
            if depth >= MAX_DEPTH:
                raise ModelFileError(f"this UBJSON has more than {MAX_DEPTH} levels")
            return self._object(depth + 1) if type_ == b"{" else self._array(depth + 1)
        if type_ in NUMBERS:
            return self._number(type_)
        if type_ in CONSTANTS:
            return CONSTANTS[type_]
        if type_ == b"S":
            return self._text()
        raise ModelFileError(f"this UBJSON has an unknown type {type_!r} at byte {self.place - 1:,}")

    def _object(self, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while self.data[self.place : self.place + 1] != b"}":
            key = self._text()
            if key in fields:
                raise ModelFileError(f"the field {key!r} is there twice")
            fields[key] = self.value(depth)
        self.place += 1
        return fields

    def _array(self, depth: int) -> Any:
        following = self.data[self.place : self.place + 1]
        if following == b"$":
            return self._typed_array()
        if following == b"#":
            self.place += 1
            return [self.value(depth) for _ in range(self._length(bytes_each=1))]
        values = []
        while self.data[self.place : self.place + 1] != b"]":
            values.append(self.value(depth))
        self.place += 1
        return values

    def _typed_array(self) -> Any:
        self.place += 1
        type_ = self._take(1)
        if type_ not in DTYPES or self._take(1) != b"#":
            raise ModelFileError(f"this UBJSON has an array of an unknown type {type_!r} at byte {self.place - 1:,}")
        dtype = np.dtype(DTYPES[type_])
        length = self._length(bytes_each=dtype.itemsize)
        start = self.place
        self.place += length * dtype.itemsize
        return np.frombuffer(self.data, dtype, length, start)

    def _text(self) -> str:
        taken = self._take(self._length(bytes_each=1))
        try:
            return taken.decode()
        except UnicodeDecodeError:
            raise ModelFileError(f"this UBJSON has text that is not UTF-8 before byte {self.place:,}") from None

    def _length(self, *, bytes_each: int) -> int:
        type_ = self._take(1)
        if type_ not in LENGTHS:
            raise ModelFileError(f"this UBJSON has no length at byte {self.place - 1:,}")
        length = int(self._number(type_))
        if not 0 <= length * bytes_each <= len(self.data) - self.place:
            raise ModelFileError(
                f"this UBJSON has a length of {length:,} at byte {self.place:,}: the file is cut off"
            )
        return length

    def _number(self, type_: bytes) -> Any:
        number = NUMBERS[type_]
        return number.unpack(self._take(number.size))[0]

    def _take(self, length: int) -> bytes:
        taken = self.data[self.place : self.place + length]
        if len(taken) < length:
            raise ModelFileError("the file is cut off")
        self.place += length
        return taken
