"""Rows and labels however a caller gives them: arrays, a data frame, or the path of a table."""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, as_rows, as_targets
from billhook.inspection._rows import rows_for
from billhook.packing import Packed


class ModelData(NamedTuple):
    """Rows as a model takes them, their labels as it knows them, and what there is to say about the table."""

    title: str
    X: NDArray[np.float32]
    y: NDArray[Any] | None
    notes: tuple[str, ...]


def data_for(model: Forest | Packed, X: Any, y: Any = None) -> ModelData:
    """Return rows and labels for a model.

    Parameters
    ----------
    model : Forest or Packed
    X : array, data frame, or path of a table
    y : array, or name of a column, optional
        The labels, or the column of X that holds them.
    """
    is_column = isinstance(y, str)
    if isinstance(X, str | PathLike) or is_column:
        if y is not None and not is_column:
            raise TypeError(f"y must be the name of the label column of {X}, not {type(y).__name__}")
        rows = rows_for(model, X, y, fill_missing=None)
        parts = list(rows)
        labels = np.concatenate([part.y for part in parts]) if is_column else None
        title, features, notes = rows.title, np.concatenate([part.X for part in parts]), tuple(rows.notes)
    else:
        title, features, notes = "the rows", as_rows(X, model), ()
        labels = None if y is None else np.asarray(y)
    if labels is not None:
        if labels.shape != (len(features),):
            raise ValueError(f"X has {len(features):,} rows, and y is of shape {labels.shape}: give each row a label")
        numbers = as_targets(labels, model)  # type: ignore[arg-type]  # of both it needs the classes only
        labels = numbers if model.classes is None else model.classes[numbers]
    return ModelData(title, features, labels, notes)
