"""JSON whose trees are decoded one after the other: all at once, they would take ten times the file."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook._progress import is_shown, tell_progress
from billhook.kernels import find_elements

# What the libraries call their trees: a list of objects.
TREES = re.compile(rb'(?<!\\)"(?:trees|oblivious_trees|tree_info)"\s*:\s*\[(?=\s*\{)')
STANDS_FOR_TREES = "the trees, which are decoded one by one"
# So many bytes are looked at at once, and elements of so many bytes are no trees.
WINDOW, SHORT = 2**22, 16


class NotClosedError(Exception):
    """A list has no end."""


class FileBytes:
    """The bytes of a file, of which parts are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - closed by `__exit__`
        self._length = self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._length)
        self._file.seek(start)
        return self._file.read(max(stop - start, 0))


class OneByOne:
    """A list in JSON, of which an element is decoded each time that it is asked for.

    Parameters
    ----------
    data : bytes or FileBytes
    start : int
        Where its first element begins.
    """

    def __init__(self, data: bytes | FileBytes, start: int) -> None:
        self._data = data
        self._end = np.concatenate(list(_ends(data, start)))
        self._start = np.append(start, self._end[:-1] + 1)

    @property
    def end(self) -> int:
        """Where the list is closed."""
        return int(self._end[-1])

    def __len__(self) -> int:
        return self._end.size

    def __iter__(self) -> Iterator[Any]:
        for number, (start, end) in enumerate(zip(self._start.tolist(), self._end.tolist(), strict=True)):
            if is_shown():
                tell_progress("reading the model", number, len(self), f"{number:,} of {len(self):,} trees")
            yield decode(self._data[start:end])


def _ends(data: bytes | FileBytes, start: int) -> Iterator[NDArray[np.int64]]:
    """Yield where the elements of an open list end, some at a time; raise NotClosedError if it is not closed."""
    length, window = len(data), WINDOW
    while True:
        part = data[start : start + window]
        ends = np.full(window // SHORT, -1)
        n_found = find_elements(part, 0, ends)
        found = ends[ends >= 0]
        if found.size:
            yield found + start
        if 0 <= n_found <= ends.size:
            return
        if not found.size and start + window >= length:
            raise NotClosedError
        # An element that is longer than what was read is read again, with more behind it.
        start, window = (start + int(found[-1]) + 1, WINDOW) if found.size else (start, 2 * window)


def decode_trees(data: bytes | FileBytes) -> Any:
    """Return what JSON says; a list of trees in it, if there is one, is `OneByOne`."""
    start = _start_of_trees(data)
    if start < 0:
        return decode(data[:])
    try:
        trees = OneByOne(data, start)
    except NotClosedError:  # and so either the whole is no JSON, or this is no list of it
        return decode(data[:])

    def with_trees(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: trees if value == STANDS_FOR_TREES else value for name, value in fields.items()}

    around = data[: start - 1] + json.dumps(STANDS_FOR_TREES).encode() + data[trees.end + 1 :]
    return decode(around, with_trees)


def _start_of_trees(data: bytes | FileBytes) -> int:
    """Return where the first tree begins, -1 if there is none; it stands near the beginning, if there is."""
    length, window = len(data), WINDOW
    while True:
        found = TREES.search(data[:window])
        if found is not None or window >= length:
            return -1 if found is None else found.end()
        window *= 4


def decode(data: bytes, object_hook: Any = None) -> Any:
    """Return what JSON says."""
    try:
        return json.loads(data, object_hook=object_hook)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"this is not JSON: {error}") from None
