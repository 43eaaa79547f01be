"""JSON whose trees are decoded one after the other: all at once, they would take ten times the file."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from billhook._files import ModelFileError
from billhook.kernels import find_elements

# What the libraries call their trees: a list of objects.
TREES = re.compile(rb'(?<!\\)"(?:trees|oblivious_trees|tree_info)"\s*:\s*\[(?=\s*\{)')
STANDS_FOR_TREES = "the trees, which are decoded one by one"


class OneByOne:
    """A list in JSON, of which an element is decoded each time that it is asked for."""

    def __init__(self, data: bytes, start: int, n_elements: int) -> None:
        self._data = data
        self._end = np.empty(n_elements, np.int64)
        find_elements(data, start, self._end)
        self._start = np.append(start, self._end[:-1] + 1)

    def __len__(self) -> int:
        return self._end.size

    def __iter__(self) -> Iterator[Any]:
        for start, end in zip(self._start.tolist(), self._end.tolist(), strict=True):
            yield decode(self._data[start:end])


def decode_trees(data: bytes) -> Any:
    """Return what JSON says; a list of trees in it, if there is one, is `OneByOne`."""
    found = TREES.search(data)
    n_trees = find_elements(data, found.end(), np.empty(0, np.int64)) if found else -1
    if found is None or n_trees < 0:
        return decode(data)
    trees = OneByOne(data, found.end(), n_trees)
    before, behind = data[: found.end() - 1], data[trees._end[-1] + 1 :]

    def with_trees(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: trees if value == STANDS_FOR_TREES else value for name, value in fields.items()}

    return decode(before + json.dumps(STANDS_FOR_TREES).encode() + behind, with_trees)


def decode(data: bytes, object_hook: Any = None) -> Any:
    """Return what JSON says."""
    try:
        return json.loads(data, object_hook=object_hook)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"this is not JSON: {error}") from None
