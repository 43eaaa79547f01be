from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

Found = TypeVar("Found")


def look_up(name: object, table: Mapping[str, Found], missing: str, known: str = "known are") -> Found:
    """Return what a name stands for; or say what is missing, and the nearest name or all that are known."""
    if isinstance(name, str) and name in table:
        return table[name]
    near = get_close_matches(str(name), table, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"{known} {', '.join(table)}"
    raise ValueError(f"{missing} {name!r}; {hint}")
