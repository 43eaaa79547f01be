"""What a model of XGBoost consists of: its parts by name, checked before they are used.

A model comes from JSON, as lists, or from UBJSON, as numpy arrays. A part that is not known could change what the
model predicts, so it is refused.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._json_parts import OneByOne

# The first version of the layout, and the last whose models have been seen.
OLDEST, NEWEST = (1, 6), 3
INT32_MAX = 2**31 - 1


def check_version(model: dict[str, Any]) -> None:
    """Refuse models of versions that have another layout, or may have."""
    version = model.get("version")
    if not isinstance(version, list | np.ndarray) or len(version) != 3:
        raise ModelFileError("the model lacks its version, three numbers")
    number = ".".join(map(str, version))
    if tuple(version[:2]) < OLDEST:
        raise ModelFileError(f"the model was written by XGBoost {number}: load it with XGBoost 3 and save it again")
    if version[0] > NEWEST:
        raise ModelFileError(f"the model was written by XGBoost {number}, and Billhook knows models up to {NEWEST}.x")


def check_fields(fields: dict[str, Any], known: Collection[str], where: str) -> None:
    """Refuse what a later version may have added."""
    for name in fields:
        if name not in known:
            raise ModelFileError(
                f"{where} has a part {name!r}, which Billhook does not know: save it with XGBoost 3.2"
            )


def object_at(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the part that is an object with this name."""
    part = fields.get(name)
    if not isinstance(part, dict):
        raise ModelFileError(f"the model lacks the part {name!r}")
    return part


def list_at(fields: dict[str, Any], name: str) -> list[Any]:
    """Return the part that is a list with this name."""
    part = fields.get(name)
    if isinstance(part, np.ndarray):
        return list(part.tolist())
    if not isinstance(part, list):
        raise ModelFileError(f"the model lacks the list {name!r}")
    return part


def trees_at(fields: dict[str, Any], name: str) -> list[Any] | OneByOne:
    """Return the part that is a list of objects with this name, which may be too long to be decoded at once."""
    part = fields.get(name)
    return part if isinstance(part, OneByOne) else list_at(fields, name)


def text_at(fields: dict[str, Any], name: str) -> str:
    """Return the part that is text with this name."""
    part = fields.get(name)
    if not isinstance(part, str):
        raise ModelFileError(f"the model lacks the text {name!r}")
    return part


def count_at(fields: dict[str, Any], name: str, default: int | None = None) -> int:
    """Return the number, not below 0, that stands as text under this name."""
    if default is not None and name not in fields:
        return default
    text = text_at(fields, name)
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= INT32_MAX):
        raise ModelFileError(f"{name} is {text[:20]!r}, not a number from 0 to {INT32_MAX:,}")
    return int(text)


def floats_at(fields: dict[str, Any], name: str, size: int | None = None) -> NDArray[np.float32]:
    """Return the array of numbers with this name, of `size` entries if that is given."""
    array = _array_at(fields, name, "biuf", size)
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def integers_at(fields: dict[str, Any], name: str, size: int | None = None) -> NDArray[np.int32]:
    """Return the array of whole numbers with this name, of `size` entries if that is given."""
    array = _array_at(fields, name, "biu", size)
    if array.itemsize > 4 and array.size and (array.min() < -INT32_MAX or array.max() > INT32_MAX):
        raise ModelFileError(f"{name} holds numbers beyond {INT32_MAX:,}")
    return array.astype(np.int32)


def _array_at(fields: dict[str, Any], name: str, kinds: str, size: int | None) -> NDArray[Any]:
    part = fields.get(name)
    if not isinstance(part, list | np.ndarray):
        raise ModelFileError(f"the model lacks the array {name!r}")
    try:
        array = np.asarray(part)
    except ValueError:  # lists of different lengths
        raise ModelFileError(f"{name} does not hold numbers") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise ModelFileError(f"{name} does not hold {'numbers' if 'f' in kinds else 'whole numbers'}")
    if size is not None and array.size != size:
        raise ModelFileError(f"{name} has {array.size:,} entries, not {size:,}")
    return array
