"""Forests that are made of a checked one, many times a second, and need no check of their own."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from billhook.forest._check import DTYPES, FINITE, check_finite

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

AnyForest = TypeVar("AnyForest", bound="Forest")


def derive(forest: AnyForest, **changes: Any) -> AnyForest:
    """Return the forest with other fields, as `dataclasses.replace`, but hardly checked.

    The caller vouches for it that they make a forest; only numbers that are not finite, as sums and products may be,
    are found. New arrays are not copied: nobody may write to them afterwards.
    """
    new = object.__new__(type(forest))
    for field in fields(forest):
        name = field.name
        if name not in changes:
            value = getattr(forest, name)
        elif name in DTYPES:
            value = np.ascontiguousarray(changes.pop(name), DTYPES[name]).view()
            value.flags.writeable = False
            if name in FINITE:
                check_finite(name, value)
        else:
            value = changes.pop(name)
        object.__setattr__(new, name, value)
    if changes:
        raise TypeError(f"a forest has no {', '.join(changes)}")
    return new
