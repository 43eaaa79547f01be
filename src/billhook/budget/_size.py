"""Sizes as people write them."""

import re
from typing import Any

from billhook.codegen import DoesNotFitError, room_for_data, target_named
from billhook.forest import as_int

UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "K": 1024, "MB": 1024**2, "MIB": 1024**2, "M": 1024**2}
UNITS |= {"GB": 1024**3, "GIB": 1024**3, "G": 1024**3}


def as_bytes(given: Any, name: str = "size") -> int:
    """Return the number of bytes that 4096, "4 KB", "64kb" or "1.5MB" mean; KB are 1024 bytes.

    Examples
    --------
    >>> as_bytes("4 KB"), as_bytes("4096"), as_bytes(4096)
    (4096, 4096, 4096)
    """
    if isinstance(given, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)", given.strip())
        if match is None or match[2].upper() not in UNITS:
            raise ValueError(
                f"{name} must be a number of bytes with or without B, KB, MB or GB, as 64KB, not {given!r}"
            )
        number = int(float(match[1]) * UNITS[match[2].upper()])
    else:
        number = as_int(given, name)
    if number < 1:
        raise ValueError(f"{name} must be at least one byte, not {given!r}")
    return number


def room_for(budget: Any, target: str | None, reserve: Any, prefix: str = "") -> int:
    """Return how many bytes of data a model may have: at most a budget, and what a device has left beside a reserve.

    Either may be None, but not both. `prefix` is what the names of the parameters begin with where they are given.
    """
    if budget is None and target is None:
        raise ValueError(
            f"say how large the model may be: {prefix}budget, as 4KB, or {prefix}target, as arduino-uno, or both"
        )
    if reserve and target is None:
        raise ValueError(f"{prefix}reserve keeps room in the flash of a {prefix}target: give one")
    rooms = [] if budget is None else [as_bytes(budget, f"{prefix}budget")]
    if target is not None:
        board = target_named(target)
        reserved = as_bytes(reserve, f"{prefix}reserve") if reserve else 0
        room = room_for_data(board, reserved)
        if room is not None and room < 1:
            raise DoesNotFitError(
                f"{board.name} has {board.flash:,} bytes of flash; with {reserved:,} reserved and the program that "
                "reads the model, nothing is left for its data"
            )
        rooms += [] if room is None else [room]
    if not rooms:
        raise ValueError(f"{target} has no limits that are known: give {prefix}budget too")
    return min(rooms)
