"""Where in the text of a TOML file a key is."""

import tomllib
from typing import Any

# From the outermost table inwards: names of keys, and places in lists.
KeyPath = tuple[str | int, ...]


def lines_of(text: str, path: KeyPath) -> tuple[int, int] | None:
    r"""Return the first and the last line of the statement that gives a key its value, or opens its table.

    TOML's own parser finds it: the statement is the one without which the text has no such key. Of a key that is not
    there, the statement is that of the nearest table or list around it that is.

    Examples
    --------
    >>> lines_of("a = 1\nb = [\n  2,\n]\n", ("b",))
    (2, 4)
    """
    lines = text.split("\n")
    found: dict[int, tuple[int, int]] = {}  # by the length of the path that is there
    last_whole = 0
    for n_lines in range(1, len(lines) + 1):
        try:
            table = tomllib.loads("\n".join(lines[:n_lines]) + "\n")
        except tomllib.TOMLDecodeError:  # in the midst of a statement
            continue
        found.setdefault(_n_there(table, path), (last_whole + 1, n_lines))
        last_whole = n_lines
    longest = max(found, default=0)
    return found[longest] if longest else None


def path_text(path: KeyPath) -> str:
    """Return a path as it is written: ``methods[2].n_trees``.

    Examples
    --------
    >>> path_text(("methods", 2, "n_trees"))
    'methods[2].n_trees'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _n_there(table: Any, path: KeyPath) -> int:
    """Return how many steps of a path can be gone."""
    for n_gone, step in enumerate(path):
        is_there = step in table if isinstance(table, dict) else isinstance(table, list) and _is_place(step, table)
        if not is_there:
            return n_gone
        table = table[step]
    return len(path)


def _is_place(step: str | int, values: list[Any]) -> bool:
    return isinstance(step, int) and step < len(values)
