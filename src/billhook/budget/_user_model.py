"""The model that a user brings, as an ensemble to compress with the rows of a table."""

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from billhook._checks import resolve_name
from billhook.budget._splits import TrainingRows
from billhook.budget._user_ensemble import UserEnsemble
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.packing import load_forest


def forest_of_model(model: Any) -> Forest:
    """Return the forest of a fitted model, or of a file."""
    return load_forest(model) if isinstance(model, str | PathLike) else as_forest(model)


def source_of(model: Any) -> str:
    """Return what messages call a model."""
    return str(model) if isinstance(model, str | PathLike) else "the model"


def user_ensemble_of(forest: Forest, source: str, rows: TrainingRows) -> UserEnsemble:
    """Return the forest that is to be made to fit, its features in the order of the rows', if it goes with them."""
    if (forest.classes is None) != (rows.classes is None):
        task = "regression" if rows.classes is None else "classification"
        raise ValueError(
            f"{source} is for {forest.task}, and the labels are for {task}: say which, as task={forest.task!r}"
        )
    if forest.n_features != rows.X.shape[1]:
        raise ValueError(f"{source} takes {forest.n_features} features, and the table has {rows.X.shape[1]}")
    if forest.feature_names is None or rows.feature_names is None or forest.feature_names == rows.feature_names:
        return UserEnsemble.fitted(forest)
    place = {name: number for number, name in enumerate(rows.feature_names)}
    for name in forest.feature_names:
        resolve_name(name, place, f"the table lacks a feature that {source} was trained on,", "it has")
    # The last entry is for -1: leaves.
    new_number = np.array([*(place[name] for name in forest.feature_names), -1], np.int32)
    return UserEnsemble.fitted(replace(forest, feature=new_number[forest.feature], feature_names=rows.feature_names))


def notes_on(model: Any) -> tuple[str, ...]:
    """Return what is to be said of a model, if there is one."""
    if model is None:
        return ()
    return (f"If {source_of(model)} was trained on these rows, it looks better on them than on others.",)
