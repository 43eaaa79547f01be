"""One message of protocol buffers, of which fields are decoded when they are asked for.

Repeated numbers may be millions, each in a field of its own or packed into one; they become arrays at once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._wire import BYTES, CUT_OFF, EIGHT_BYTES, FOUR_BYTES, LENGTHS, VARINT, varint_at
from billhook.kernels import read_fields

NO_ROOM = np.zeros(0, np.int64)
# So many fields are decoded at once, where what comes of them is smaller than the places of their bytes.
BLOCK = 2**15
# Of two bytes.
MAX_TAG = 2**14 - 1


class Run(NamedTuple):
    """Fields of a number and a type that follow each other: how many, and where they begin and end."""

    type: int
    tag: int
    n_fields: int
    start: int
    stop: int


class Message:
    """A message; what the fields of a number are, whoever asks for them has to know."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self._runs: dict[int, list[Run]] = {}
        for number, run in _runs(data):
            self._runs.setdefault(number, []).append(run)

    def integer(self, number: int, default: int = 0) -> int:
        """Return an integer; of several, the last counts."""
        found = self.integers(number)
        return int(found[-1]) if found.size else default

    def integers(self, number: int) -> NDArray[np.int64]:
        """Return repeated integers."""
        parts = []
        for run in self._of_types(number, VARINT, BYTES):
            if run.type == VARINT:
                parts.append(self._filled(run, 1))
            else:
                parts += [_packed_integers(self.data[start:end]) for start, end in self._ends(run)]
        return _joined(parts, np.int64)

    def numbers(self, number: int, dtype: str) -> NDArray[Any]:
        """Return repeated numbers of 4 or 8 bytes, such as `<f4`."""
        size = np.dtype(dtype).itemsize
        parts: list[NDArray[Any]] = []
        for run in self._of_types(number, FOUR_BYTES if size == 4 else EIGHT_BYTES, BYTES):
            if run.type == BYTES:
                for start, end in self._ends(run):
                    if (end - start) % size:
                        raise ModelFileError(CUT_OFF)
                    parts.append(np.frombuffer(self.data, dtype, (end - start) // size, start))
            else:  # each behind a tag
                width = (run.stop - run.start) // run.n_fields
                fields = np.frombuffer(self.data, np.uint8, run.stop - run.start, run.start).reshape(-1, width)
                parts.append(np.ascontiguousarray(fields[:, -size:]).view(dtype)[:, 0])
        return _joined(parts, np.dtype(dtype))

    def all_bytes(self, number: int) -> list[memoryview]:
        """Return the bytes of repeated fields."""
        return [self.data[start:end] for run in self._of_types(number, BYTES) for start, end in self._ends(run)]

    def bytes_in_blocks(self, number: int) -> Iterator[NDArray[np.int64]]:
        """Yield where the bytes of repeated fields begin and end, of shape (fields, 2), some at a time."""
        for run in self._of_types(number, BYTES):
            start, left = run.start, run.n_fields
            while left:
                ends = np.empty((min(left, BLOCK), 2), np.int64)
                n_read, start = read_fields(self.data[: run.stop], start, run.tag, ends.reshape(-1))
                left -= n_read
                yield ends

    @property
    def fields(self) -> set[int]:
        """The numbers of the fields that are there."""
        return set(self._runs)

    def count(self, number: int) -> int:
        """Return how many such fields there are."""
        return sum(run.n_fields for run in self._runs.get(number, ()))

    def text(self, number: int) -> str:
        """Return a text; of several, the last counts."""
        return (self.texts(number) or [""])[-1]

    def texts(self, number: int) -> list[str]:
        """Return repeated texts."""
        try:
            return [bytes(part).decode() for part in self.all_bytes(number)]
        except UnicodeDecodeError:
            raise ModelFileError(CUT_OFF) from None

    def messages(self, number: int) -> list["Message"]:
        """Return repeated messages."""
        return [Message(part) for part in self.all_bytes(number)]

    def message(self, number: int) -> "Message":
        """Return a message; one that is not there is empty, and the parts of one that comes several times are one."""
        parts = self.all_bytes(number)
        return Message(parts[0] if len(parts) == 1 else memoryview(b"".join(parts)))

    def _of_types(self, number: int, *types: int) -> list[Run]:
        runs = self._runs.get(number, [])
        if any(run.type not in types for run in runs):
            raise ModelFileError(f"a field {number} is not of the type that it should be: {CUT_OFF}")
        return runs

    def _filled(self, run: Run, each: int) -> NDArray[np.int64]:
        numbers = np.empty(run.n_fields * each, np.int64)
        read_fields(self.data[: run.stop], run.start, run.tag, numbers)
        return numbers

    def _ends(self, run: Run) -> list[list[int]]:
        ends: list[list[int]] = self._filled(run, 2).reshape(-1, 2).tolist()
        return ends


def _runs(data: memoryview) -> Iterator[tuple[int, Run]]:
    """Yield the numbers of the fields of a message, and where they are."""
    place = 0
    while place < len(data):
        tag, behind = varint_at(data, place)
        number, type_ = tag >> 3, tag & 7
        if number < 1:
            raise ModelFileError(CUT_OFF)
        if type_ in LENGTHS:
            run = _fixed_run(data, place, behind, tag, LENGTHS[type_])
        elif type_ in (VARINT, BYTES) and tag <= MAX_TAG:
            count, stop = read_fields(data, place, tag, NO_ROOM)
            run = Run(type_, tag, count, place, stop)
        else:
            raise ModelFileError(CUT_OFF)
        if not run.n_fields:
            raise ModelFileError(CUT_OFF)
        yield number, run
        place = run.stop


def _fixed_run(data: memoryview, place: int, behind: int, tag: int, size: int) -> Run:
    """Return the run of fields of so many bytes, of which the first begins at a place and its number behind it."""
    width = behind - place + size
    most = (len(data) - place) // width
    fields = np.frombuffer(data, np.uint8, most * width, place).reshape(-1, width)
    is_same = (fields[:, :-size] == fields[:1, :-size]).all(axis=1)
    count = most if is_same.all() else int(is_same.argmin())
    return Run(FOUR_BYTES if size == LENGTHS[FOUR_BYTES] else EIGHT_BYTES, tag, count, place, place + count * width)


def _packed_integers(data: memoryview) -> NDArray[np.int64]:
    count, stop = read_fields(data, 0, 0, NO_ROOM)
    if stop != len(data):
        raise ModelFileError(CUT_OFF)
    numbers = np.empty(count, np.int64)
    read_fields(data, 0, 0, numbers)
    return numbers


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
