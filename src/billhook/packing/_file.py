"""Packed models in files, and what a file may hold."""

from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._files import Contents, ModelFileError, is_container, read_container, write_container
from billhook.forest import Forest, forest_from, labels_from_json, labels_to_json
from billhook.interop import check_only_output, read_file, read_outputs
from billhook.packing._blob import from_blob, is_blob
from billhook.packing._stored_layout import LATER, checked, layout_from
from billhook.packing._with_signs import NAMES_WITH_SIGNS, from_least, is_with_signs, with_base_from_least
from billhook.tables import encoding_from_json, encoding_to_json

if TYPE_CHECKING:
    from billhook.packing._packed import Packed

KIND = "packed"
# The model file in the folder of a fit.
OF_FIT = "model.bhk"
META = ("scale", "base", "link", "task", "ties", "rounding", "n_features", "feature_names", "origin")


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

    A file of the bytes that `Packed.to_bytes` returns is read too.

    Model files of other libraries are read too, as `as_forest` reads their models: what a file is, is seen from what
    is in it.

    Parameters
    ----------
    path : path of a file, of a folder that a fit was written to, or of one that ydf saved a model to
    output : int, optional
        Which output of a model of another library that predicts several at once, from 0.

    Raises
    ------
    ModelFileError
        If the file is damaged, made up, or of another version; it says what is wrong.
    """
    path = _place_of(path)
    if not is_container(path):
        if not _is_blob(path):
            return read_file(path, output)
        check_only_output(output, "a model of Billhook")
        return _read_blob(path)
    check_only_output(output, "a model of Billhook")
    try:
        contents = read_container(path)
        return _packed_from(contents) if contents.kind == KIND else forest_from(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def load_outputs(path: str | PathLike[str]) -> "list[Forest | Packed]":
    """Return what `load` returns, for each output of a model file of another library; else a list of one."""
    path = _place_of(path)
    if is_container(path) or _is_blob(path):
        return [load(path)]
    return list(read_outputs(path))


def _place_of(path: str | PathLike[str]) -> str | PathLike[str]:
    """Return the path of a model file, which may be given by the folder of a fit."""
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"load needs the path of a model file, not a {type(path).__name__}; a fitted model is read with as_forest"
        )
    of_fit = Path(path) / OF_FIT
    if not of_fit.is_file() and Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ModelFileError(f"{path}: this is a pipe or a device: write the model to a file first")
    return of_fit if of_fit.is_file() else path


def load_forest(path: str | PathLike[str]) -> Forest:
    """Return the forest in a file, as `load`; a packed model is none."""
    model = load(path)
    if not isinstance(model, Forest) and model.projections is not None:
        raise ModelFileError(
            f"{path}: the file holds a packed model that tests projections, weighted sums of features, which a "
            "forest does not have: fit it with max_projections=0"
        )
    if not isinstance(model, Forest):
        raise ModelFileError(
            f"{path}: the file holds a packed model, not a forest: give the file of the forest itself, as "
            "Forest.save writes it"
        )
    return model


def _is_blob(path: str | PathLike[str]) -> bool:
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return is_blob(file.read(16))


def _read_blob(path: str | PathLike[str]) -> "Packed":
    try:
        return from_blob(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _packed_from(contents: Contents) -> "Packed":
    from billhook.packing._packed import Packed

    meta = dict(contents.meta)
    encoding = meta.pop("encoding", None)
    if set(meta) != {*META, "classes", "layout"} or set(contents.arrays) != {"data"}:
        raise ModelFileError(f"the header of a packed model must describe {', '.join(META)}, classes and layout")
    data = contents.arrays["data"]
    stored = meta.pop("layout")
    if is_with_signs(stored):
        layout = layout_from(from_least(checked(stored, NAMES_WITH_SIGNS)))
        data = with_base_from_least(data, layout)
    else:
        layout = layout_from(stored)
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
