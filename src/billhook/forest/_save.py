from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from billhook._files import Contents, write_container
from billhook.forest._check import DTYPES, OF_SETS
from billhook.tables import encoding_to_json

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

KIND = "forest"
META = ("link", "task", "n_features", "averages", "refined", "ties", "rounding", "origin", "classes", "feature_names")


def save_forest(forest: "Forest", path: str | PathLike[str]) -> None:
    """Write the forest to one file, which older readers can read if it has no categories."""
    meta = {name: getattr(forest, name) for name in META}
    if forest.classes is not None:
        meta["classes"] = labels_to_json(forest.classes)
    if forest.encoding is not None:
        meta["encoding"] = encoding_to_json(forest.encoding)
    version = 2 if forest.n_sets > 0 or forest.encoding is not None else 1
    arrays = {name: getattr(forest, name) for name in arrays_of(version)}
    write_container(path, Contents(KIND, meta, arrays, version))


def arrays_of(version: int) -> tuple[str, ...]:
    """Return the names of the arrays in a file of this version: the first had no categories."""
    return tuple(name for name in DTYPES if version > 1 or name not in OF_SETS)


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Return class labels, and their type, as JSON can hold them."""
    labels = classes.tolist()
    if classes.dtype.kind not in "biufUO" or not all(isinstance(label, bool | int | float | str) for label in labels):
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(f"class labels of type {', '.join(kinds)} cannot be saved; use strings, numbers or booleans")
    return {"dtype": classes.dtype.str, "labels": labels}
