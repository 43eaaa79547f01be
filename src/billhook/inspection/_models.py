"""What the functions of this folder call a model, and which columns of a table it takes."""

from os import PathLike
from typing import Any

from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.packing import Packed, load


def model_of(model: Any) -> Forest | Packed:
    """Return a model as it is, the one in a file or the folder of a fit, or a fitted estimator as a forest."""
    if isinstance(model, Forest | Packed):
        return model
    return load(model) if isinstance(model, str | PathLike) else as_forest(model)


def columns_of(model: Forest | Packed) -> tuple[str, ...] | None:
    """Return the names of the columns of a table that a model takes; None if it knows no names."""
    if model.encoding is not None:
        return tuple(column.name for column in model.encoding.columns)
    return model.feature_names


def categorical_of(model: Forest | Packed) -> frozenset[str]:
    """Return the names of the categorical columns of a model, whatever their cells look like."""
    return frozenset() if model.encoding is None else model.encoding.categorical


def column_of_each_feature(model: Forest | Packed) -> list[str]:
    """Return for each feature the name of the column that it comes from, or its own; a number where it has none."""
    if model.encoding is not None:
        return [column.name for column in model.encoding.columns for _ in range(column.n_features)]
    if model.feature_names is not None:
        return list(model.feature_names)
    return [f"feature {number}" for number in range(model.n_features)]


def allows_missing(model: Forest | Packed) -> bool:
    """Return whether a model was made for rows with missing values."""
    return isinstance(model, Forest) or model.layout.missing != "none"
