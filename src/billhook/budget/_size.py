"""Sizes as people write them."""

import re
from typing import Any

from billhook.forest import as_int

UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "K": 1024, "MB": 1024**2, "MIB": 1024**2, "M": 1024**2}


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
            raise ValueError(f"{name} must be a number of bytes with or without B, KB or MB, as 64KB, not {given!r}")
        number = int(float(match[1]) * UNITS[match[2].upper()])
    else:
        number = as_int(given, name)
    if number < 1:
        raise ValueError(f"{name} must be at least one byte, not {given!r}")
    return number
