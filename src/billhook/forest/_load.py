import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import Contents, ModelFileError
from billhook.forest._check import MAX_LABEL_BYTES
from billhook.forest._forest import Forest
from billhook.forest._save import KIND, META, arrays_of
from billhook.tables import encoding_from_json

# NumPy reads much more as a type, and raises errors of all kinds.
NUMBERS = re.compile(r"[<>|][iuf][1248]")


def forest_from(contents: Contents) -> Forest:
    """Return the forest that the contents of a file describe."""
    kind, meta, arrays, version = contents
    if kind != KIND:
        raise ModelFileError(f"the file holds {kind!r}, not a forest or a packed model")
    encoding = meta.pop("encoding", None) if version > 1 else None
    if set(meta) != set(META):
        raise ModelFileError(f"the header must describe {', '.join(META)}; it has {', '.join(map(str, meta))}")
    if set(arrays) != set(arrays_of(version)):
        odd = set(arrays) ^ set(arrays_of(version))
        raise ModelFileError(f"arrays missing or unknown: {', '.join(sorted(odd))}")
    if meta["classes"] is not None:
        meta["classes"] = labels_from_json(meta["classes"])
    fields: dict[str, Any] = {**arrays, **meta}
    try:
        if encoding is not None:
            fields["encoding"] = encoding_from_json(encoding)
        return Forest(**fields)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"the file does not hold a valid forest: {error}") from None


def labels_from_json(stored: Any) -> NDArray[Any]:
    """Return class labels in the type that they had."""
    if not isinstance(stored, dict) or set(stored) != {"dtype", "labels"} or not isinstance(stored["labels"], list):
        raise ModelFileError("classes must have dtype and labels")
    labels, name = stored["labels"], stored["dtype"]
    if not all(isinstance(label, bool | int | float | str) for label in labels):
        raise ModelFileError("class labels must be strings, numbers or booleans")
    if not isinstance(name, str):
        raise ModelFileError(f"classes have dtype {name!r}")
    if name[1:2] == "U":
        # The width follows from the labels, not from a number in the file; every label takes that of the longest.
        if len(labels) * max((len(str(label)) for label in labels), default=0) * 4 > MAX_LABEL_BYTES:
            raise ModelFileError("the longest class label is too long for so many classes")
        return np.array(labels, dtype=np.str_)
    if name not in ("|O", "|b1") and not NUMBERS.fullmatch(name):
        raise ModelFileError(f"classes have dtype {name!r}")
    try:
        with np.errstate(over="ignore"):
            return np.array(labels, dtype=np.dtype(name))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"class labels do not fit {name!r}: {error}") from None
