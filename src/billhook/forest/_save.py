from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from billhook.forest._check import DTYPES
from billhook.forest._container import Contents, write_container

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

KIND = "forest"
META = ("link", "task", "n_features", "classes", "feature_names", "origin")


def save_forest(forest: "Forest", path: str | PathLike[str]) -> None:
    """Write the forest to one file."""
    meta = {
        "link": forest.link,
        "task": forest.task,
        "n_features": forest.n_features,
        "classes": None if forest.classes is None else _labels_to_json(forest.classes),
        "feature_names": None if forest.feature_names is None else list(forest.feature_names),
        "origin": forest.origin,
    }
    write_container(path, Contents(KIND, meta, {name: getattr(forest, name) for name in DTYPES}))


def _labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    labels = classes.tolist()
    if classes.dtype.kind not in "biufUO" or not all(isinstance(label, bool | int | float | str) for label in labels):
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(f"class labels of type {', '.join(kinds)} cannot be saved; use strings, numbers or booleans")
    return {"dtype": classes.dtype.str, "labels": labels}
