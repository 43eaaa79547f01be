"""Layouts as files have them: names and values, which are checked before anything is read with them."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from billhook._files import ModelFileError
from billhook.packing._gaps import MOST_GAP_BITS, MOST_MANY_BITS
from billhook.packing._groups import ALONE, GROUPS, Group
from billhook.packing._layout import ByteLayout
from billhook.packing._projections import MOST_LOW_BITS, MOST_WEIGHT_BITS

WORDS = {"grid": ("ranks", "steps"), "missing": ("none", "right", "left", "split"), "has_map": (False, True)}
WORDS["is_symmetric"] = WORDS["has_map"]
LOWEST = {"offset": -(2**31), "base": -(2**31), "least_low": -(2**31)}
LIMITS = {
    "code_bits": 16,
    "count_bits": 17,
    "shift_bytes": 1,
    "offset_bytes": 4,
    "scale_bytes": 2,
    "shift": 255,
    "offset": 2**31 - 1,
    "scale": 2**16 - 1,
    "base_bytes": 4,
    "base": 2**31 - 1,
    "leaf_bits": 16,
    "factor_bits": 8,
    "tree_bits": 25,
    "gap_bits": MOST_GAP_BITS,
    "many_bits": MOST_MANY_BITS,
    "n_categories": 2**24,
    "category_bits": 8,
    "size_bits": 16,
    "n_projections": 2**16,
    "weight_bits": MOST_WEIGHT_BITS,
    "turn_bits": 5,
    "least_turn": 31,
    "low_bits": MOST_LOW_BITS,
    "least_low": 2**31 - 1,
}
# What layouts had not always, and what it was.
LATER = {"n_categorical": 0, "n_categories": 0, "category_bits": 0, "size_bits": 0, "is_symmetric": False}
LATER |= {"n_projections": 0, "weight_bits": 0, "turn_bits": 0, "least_turn": 0, "low_bits": 0, "least_low": 0}


def layout_from(stored: Any) -> ByteLayout:
    """Return the layout that is stored, or say what cannot be."""
    names = [field.name for field in fields(ByteLayout)]
    if isinstance(stored, dict):
        stored = LATER | stored
    layout = ByteLayout(**checked(stored, names))
    if Group(layout.group, layout.radix) not in (ALONE, *GROUPS):
        raise ModelFileError(f"the layout has groups of {layout.group} digits below {layout.radix}")
    return layout


def checked(stored: Any, names: Collection[str]) -> dict[str, Any]:
    """Return what is stored of a layout, or say what cannot be."""
    if not isinstance(stored, dict) or set(stored) != set(names):
        raise ModelFileError(f"a layout must have {', '.join(names)}")
    for name in names:
        known = WORDS.get(name)
        is_number = type(stored[name]) is int and LOWEST.get(name, 0) <= stored[name] <= LIMITS.get(name, 2**31)
        if not (is_number if known is None else type(stored[name]) is type(known[0]) and stored[name] in known):
            raise ModelFileError(f"the layout has {name} {stored[name]!r}")
    return stored
