"""Layouts of older files, in which numbers had a sign that are counted from the least today."""

from dataclasses import fields
from typing import Any

from billhook._types import Bytes
from billhook.packing._layout import ByteLayout
from billhook.packing._stored_layout import LATER

# What these layouts had not yet, as it was for all.
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
} | LATER
NAMES_WITH_SIGNS = tuple(field.name for field in fields(ByteLayout) if field.name not in NEW)


def is_with_signs(stored: Any) -> bool:
    """Whether a stored layout is an older one."""
    return isinstance(stored, dict) and set(stored) == set(NAMES_WITH_SIGNS)


def from_least(stored: dict[str, Any]) -> dict[str, Any]:
    """Return such a layout as one of today."""
    layout = stored | NEW
    if stored["offset_bytes"]:
        layout["offset"] = -(1 << min(8 * stored["offset_bytes"] - 1, 30))
    if stored["base_bytes"]:
        layout["base"] = -(1 << (8 * stored["base_bytes"] - 1))
    return layout


def with_base_from_least(data: Bytes, layout: ByteLayout) -> Bytes:
    """Return the bytes of such a layout with bases that are counted from the least."""
    data, begin, width = data.copy(), layout.sections["base"], layout.base_bytes
    if width:
        data[begin + width - 1 : begin + width * layout.n_columns : width] ^= 0x80
    return data
