"""Parts of a JSON model, taken out only if they are what they should be."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._json_parts import OneByOne


def record_of(value: Any, known: Collection[str], what: str) -> dict[str, Any]:
    """Return a JSON object that has no entry but the known ones: another could change what the model predicts."""
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} is not a JSON object")
    for name in value:
        if name not in known:
            raise ModelFileError(f"{what} has {name!r}, which Billhook does not know")
    return value


def list_of(value: Any, what: str) -> list[Any]:
    """Return a JSON array; null, as CatBoost writes an empty one, is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ModelFileError(f"{what} is not a list")
    return value


def trees_in(value: Any) -> list[Any] | OneByOne:
    """Return the trees of a model, which may be too many to be decoded at once."""
    return value if isinstance(value, OneByOne) else list_of(value, "trees")


def whole_number(value: Any, least: int, most: int, what: str) -> int:
    """Return a whole number between two others."""
    if type(value) is not int or not least <= value <= most:
        raise ModelFileError(f"{what} is not a whole number between {least} and {most}")
    return value


def text_in(value: Any, what: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise ModelFileError(f"{what} is not text")
    return value


def numbers_of(value: Any, what: str) -> NDArray[np.float64]:
    """Return a list of finite numbers."""
    try:
        # Without a type: NumPy would make numbers of text and NaN of null.
        numbers = np.array(list_of(value, what))
    except (ValueError, OverflowError):
        raise ModelFileError(f"{what} is not a list of numbers") from None
    if numbers.size and (numbers.ndim != 1 or numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all()):
        raise ModelFileError(f"{what} is not a list of finite numbers")
    return numbers.reshape(-1).astype(np.float64)
