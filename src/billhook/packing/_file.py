"""Packed models in files, and what a file may hold."""

from collections.abc import Collection
from dataclasses import asdict, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._files import Contents, ModelFileError, is_container, read_container, write_container
from billhook.forest import Forest, forest_from, labels_from_json, labels_to_json
from billhook.interop import read_file
from billhook.packing._gaps import MOST_GAP_BITS, MOST_MANY_BITS
from billhook.packing._groups import ALONE, GROUPS, Group
from billhook.packing._layout import ByteLayout
from billhook.packing._with_signs import NAMES_WITH_SIGNS, from_least, is_with_signs, with_base_from_least
from billhook.tables import encoding_from_json, encoding_to_json

if TYPE_CHECKING:
    from billhook.packing._packed import Packed

KIND = "packed"
META = ("scale", "base", "link", "task", "ties", "rounding", "n_features", "feature_names", "origin")
WORDS = {"grid": ("ranks", "steps"), "missing": ("none", "right", "left", "split"), "has_map": (False, True)}
WORDS["is_symmetric"] = WORDS["has_map"]
LOWEST = {"offset": -(2**31), "base": -(2**31)}
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
}
# What layouts had not always, and what it was.
LATER = {"n_categorical": 0, "n_categories": 0, "category_bits": 0, "size_bits": 0, "is_symmetric": False}


def save_packed(packed: "Packed", path: str | PathLike[str]) -> None:
    """Write the model to one file."""
    meta: dict[str, Any] = {name: getattr(packed, name) for name in META}
    meta["classes"] = None if packed.classes is None else labels_to_json(packed.classes)
    layout = asdict(packed.layout)
    meta["layout"] = {name: value for name, value in layout.items() if value != LATER.get(name)}
    if packed.encoding is not None:
        meta["encoding"] = encoding_to_json(packed.encoding)
    write_container(path, Contents(KIND, meta, {"data": packed.data}))


def load(path: str | PathLike[str], *, output: int | None = None) -> "Forest | Packed":
    """Return the forest that `Forest.save`, or the packed model that `Packed.save`, wrote to this file.

    Model files of other libraries are read too, as `as_forest` reads their models: what a file is, is seen from what
    is in it.

    Parameters
    ----------
    path : path of a file, or of a folder that ydf saved a model to
    output : int, optional
        Which output of a model of another library that predicts several at once, from 0.

    Raises
    ------
    ModelFileError
        If the file is damaged, made up, or of another version; it says what is wrong.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"load needs the path of a model file, not a {type(path).__name__}; a fitted model is read with as_forest"
        )
    if not is_container(path):
        return read_file(path, output)
    if output not in (None, 0):
        raise ValueError(f"output={output!r}: a model of Billhook has one output")
    try:
        contents = read_container(path)
        return _packed_from(contents) if contents.kind == KIND else forest_from(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def load_forest(path: str | PathLike[str]) -> Forest:
    """Return the forest in a file, as `load`; a packed model is none."""
    model = load(path)
    if not isinstance(model, Forest):
        raise ModelFileError(
            f"{path}: the file holds a packed model, not a forest: give the file of the forest itself, as "
            "Forest.save writes it"
        )
    return model


def _packed_from(contents: Contents) -> "Packed":
    from billhook.packing._packed import Packed

    meta = dict(contents.meta)
    encoding = meta.pop("encoding", None)
    if set(meta) != {*META, "classes", "layout"} or set(contents.arrays) != {"data"}:
        raise ModelFileError(f"the header of a packed model must describe {', '.join(META)}, classes and layout")
    data = contents.arrays["data"]
    stored = meta.pop("layout")
    if is_with_signs(stored):
        layout = _layout_from(from_least(_checked(stored, NAMES_WITH_SIGNS)))
        data = with_base_from_least(data, layout)
    else:
        layout = _layout_from(stored)
    if data.dtype != np.uint8 or data.ndim != 1 or data.size != layout.sections["end"]:
        raise ModelFileError(f"the layout is one of {layout.sections['end']:,} bytes; the data have {data.size:,}")
    if meta["classes"] is not None:
        meta["classes"] = labels_from_json(meta["classes"])
    names = meta["feature_names"]
    meta["feature_names"] = tuple(names) if isinstance(names, list) else names
    try:
        known = None if encoding is None else encoding_from_json(encoding)
        packed = Packed(data=data, layout=layout, encoding=known, **meta)
        packed.check()
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        raise ModelFileError(f"the file does not hold a valid packed model: {error}") from None
    return packed


def _layout_from(stored: Any) -> ByteLayout:
    names = [field.name for field in fields(ByteLayout)]
    if isinstance(stored, dict):
        stored = LATER | stored
    layout = ByteLayout(**_checked(stored, names))
    if Group(layout.group, layout.radix) not in (ALONE, *GROUPS):
        raise ModelFileError(f"the layout has groups of {layout.group} digits below {layout.radix}")
    return layout


def _checked(stored: Any, names: Collection[str]) -> dict[str, Any]:
    """Return what is stored of a layout, or say what cannot be."""
    if not isinstance(stored, dict) or set(stored) != set(names):
        raise ModelFileError(f"a layout must have {', '.join(names)}")
    for name in names:
        known = WORDS.get(name)
        is_number = type(stored[name]) is int and LOWEST.get(name, 0) <= stored[name] <= LIMITS.get(name, 2**31)
        if not (is_number if known is None else type(stored[name]) is type(known[0]) and stored[name] in known):
            raise ModelFileError(f"the layout has {name} {stored[name]!r}")
    return stored
