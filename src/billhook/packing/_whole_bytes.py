"""Layouts of files of release 0.1, in which features' steps had whole bytes: what they are called today."""

from dataclasses import fields
from typing import Any

from billhook._types import Bytes
from billhook.packing._layout import ByteLayout

BYTE_LIMITS = {"shift_bytes": 1, "offset_bytes": 4, "scale_bytes": 2}
# What layouts had not yet, as it was for all.
NEW = {
    "scale": 0,
    "n_grids": 0,
    "has_map": False,
    "least_inner": 0,
    "ask_bits": 0,
    "gap_bits": 0,
    "many_bits": 0,
    "group": 0,
    "radix": 0,
}
IN_BITS = ("shift_bits", "offset_bits", "scale_bits")
WHOLE_BYTES = (*(f.name for f in fields(ByteLayout) if f.name not in (*NEW, *IN_BITS)), *BYTE_LIMITS)


def is_of_whole_bytes(stored: Any) -> bool:
    """Whether a stored layout is one of whole bytes."""
    return isinstance(stored, dict) and "shift_bytes" in stored


def in_bits(stored: dict[str, Any]) -> dict[str, Any]:
    """Return such a layout with bits; offsets and bases, which had a sign, are counted from the least."""
    layout = {name: value for name, value in stored.items() if name not in BYTE_LIMITS} | NEW
    layout |= {name: 8 * stored[name.replace("bits", "bytes")] for name in IN_BITS}
    if stored["offset_bytes"]:
        layout["offset"] = -(1 << min(8 * stored["offset_bytes"] - 1, 30))
    if stored["base_bytes"]:
        layout["base"] = -(1 << (8 * stored["base_bytes"] - 1))
    return layout


def with_base_in_bits(data: Bytes, layout: ByteLayout) -> Bytes:
    """Return the bytes with bases that are counted from the least, and have no sign."""
    data, begin, width = data.copy(), layout.sections["base"], layout.base_bytes
    if width:
        data[begin + width - 1 : begin + width * layout.n_columns : width] ^= 0x80
    return data
