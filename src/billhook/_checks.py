"""Checks of arguments that all folders share: an error says the value and what to do."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from operator import index
from typing import Any, TypeVar

Value = TypeVar("Value")
# What a list of names in a message holds at most.
MOST_NAMES, MOST_LETTERS = 60, 60
UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "K": 1024, "MB": 1024**2, "MIB": 1024**2, "M": 1024**2}
UNITS |= {"GB": 1024**3, "GIB": 1024**3, "G": 1024**3}


def resolve_name(name: object, table: Mapping[str, Value], missing: str, known: str = "known are") -> Value:
    """Return what a name stands for; or say what is missing, and the nearest name or all that are known."""
    if isinstance(name, str) and name in table:
        return table[name]
    plain = str(name).strip().lower()
    near = [known for known in table if known.lower() == plain] or get_close_matches(str(name), table, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"{known} {_listed(list(table))}"
    raise ValueError(f"{missing} {name!r}; {hint}")


def _listed(names: list[str]) -> str:
    """Return names in a line, not all if they are many or long."""
    shown = [name if len(name) <= MOST_LETTERS else f"{name[:MOST_LETTERS]}..." for name in names[:MOST_NAMES]]
    return ", ".join(shown) + (f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else "")


def as_int(value: Any, name: str) -> int:
    """Return a whole number given in any integer type; refuse all else, True and False too."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None


def at_least_one(value: Any, name: str) -> int:
    """Return a whole number above 0, or say that it is none."""
    number = as_int(value, name)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def as_bytes(value: Any, name: str = "size", *, least: int = 1) -> int:
    """Return the number of bytes that 4096, "4 KB", "64kb" or "1.5MB" mean; KB are 1024 bytes.

    Examples
    --------
    >>> as_bytes("4 KB"), as_bytes("4096"), as_bytes(4096)
    (4096, 4096, 4096)
    """
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)", value.strip())
        if match is None or match[2].upper() not in UNITS:
            raise ValueError(
                f"{name} must be a number of bytes with or without B, KB, MB or GB, as 64KB, not {value!r}"
            )
        number = int(float(match[1]) * UNITS[match[2].upper()])
    else:
        number = as_int(value, name)
    if number < least:
        raise ValueError(f"{name} must be at least {'one byte' if least == 1 else f'{least} bytes'}, not {value!r}")
    return number


def n_threads_of(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for; one in a worker of joblib, which has its share of the processors."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return 1 if backend.nesting_level else int(effective_n_jobs(n_jobs))
