"""Several models on the same rows: how good, how large, how fast, and how often they say the same."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.codegen import measure_each, target_named
from billhook.forest import Forest
from billhook.inspection._data import ModelData, data_for
from billhook.inspection._models import model_of
from billhook.inspection._score_table import scores_of
from billhook.packing import Packed, pack
from billhook.tables import text_of

# Rows that an emulator runs.
MEASURED_ROWS = 20


@dataclass(frozen=True)
class ComparedModel:
    """A model of a comparison.

    Attributes
    ----------
    name : str
    kind : {"Packed", "Forest"}
    n_trees, n_leaves : int
    nbytes : int or None
        Bytes of flash, of a forest those it would take packed with the defaults; None where it cannot be packed.
    measures : dict
        As `TableScores.measures`; empty without labels.
    agreement : float
        The share of rows for which it predicts the same class as the first model; for regression the root mean
        squared difference from what that predicts.
    flash, cycles, instructions : int or None
        On the target, of a row, in the compact layout; instructions where the emulator counts no cycles.
    """

    name: str
    kind: str
    n_trees: int
    n_leaves: int
    nbytes: int | None
    measures: dict[str, float]
    agreement: float
    flash: int | None = None
    cycles: int | None = None
    instructions: int | None = None


@dataclass(frozen=True)
class ModelComparison:
    """What several models do on the same rows.

    Attributes
    ----------
    models : tuple of ComparedModel
        In the order in which they were given.
    task : {"classification", "regression"}
    n_rows : int
    target : str or None
    notes : tuple of str
    """

    models: tuple[ComparedModel, ...]
    task: str
    n_rows: int
    target: str | None
    notes: tuple[str, ...]


def compare(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> ModelComparison:
    """Return how good, how large and how fast several models are on the same rows, and how often they agree.

    Parameters
    ----------
    models : list or dict of models
        Forest, Packed, fitted estimators, or paths of model files or folders of fits; of a dict, by their names.
    X : array, data frame, or path of a table
        Each model takes its own columns of it.
    y : array, or name of a column, optional
        The labels, or the column of X that holds them.
    target : str, optional
        One of `targets`, for which each model is compiled and run.
    progress : function, optional
        Called with the models done, how many there are, and the name of the next.

    Examples
    --------
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rf = RandomForestClassifier(16, random_state=0).fit(X, y)
    >>> small = bh.pack(bh.prune(rf, X, y, n_trees=2))
    >>> large, small = bh.compare({"all": rf, "two": small}, X, y).models
    >>> small.nbytes < large.nbytes, large.agreement
    (True, 1.0)
    """
    named = dict(models) if isinstance(models, Mapping) else dict(_named(models))
    if len(named) < 2:
        raise ValueError(f"compare takes two models or more, not {len(named)}")
    if target is not None:
        target = target_named(target).name
    compared: list[ComparedModel] = []
    notes: dict[str, None] = {}
    first: NDArray[Any] | None = None
    task, n_rows = "", 0
    for number, (name, given) in enumerate(named.items()):
        if progress is not None:
            progress(number, len(named), name)
        model = model_of(given)
        if task and model.task != task:
            raise ValueError(
                f"{name} is for {model.task}, and {next(iter(named))} for {task}: they have no common rows"
            )
        task = model.task
        data = _data_for(name, model, X, y)
        notes |= dict.fromkeys(f"{name}: {note}" for note in data.notes)
        predicted = model.predict(data.X)
        first = predicted if first is None else first
        n_rows = len(predicted)
        packed = _packed(model)
        measured = {} if target is None or packed is None else _measured(packed, data.X, target, name, notes)
        forest = model if isinstance(model, Forest) else model.coded
        compared.append(
            ComparedModel(
                name=name,
                kind=type(model).__name__,
                n_trees=forest.n_trees,
                n_leaves=forest.n_leaves,
                nbytes=None if packed is None else packed.nbytes,
                measures={} if data.y is None else scores_of(model, data.X, data.y).measures,
                agreement=_agreement(first, predicted, task),
                **measured,
            )
        )
    if any(each.kind == "Forest" and each.nbytes is not None for each in compared):
        notes["Bytes of forests are those they would take packed with the defaults of pack."] = None
    return ModelComparison(tuple(compared), task, n_rows, target, tuple(notes))


def _data_for(name: str, model: Forest | Packed, X: Any, y: Any) -> ModelData:
    """Return the rows for a model; an error says for which."""
    try:
        return data_for(model, X, y)
    except ModelFileError:  # the table is none
        raise
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _named(models: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return a name for each model: that of its file, as long as names differ, or what it is."""
    paths = [str(model) for model in models if isinstance(model, str | PathLike)]
    are_different = len({Path(path).name for path in paths}) == len(paths)
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is given twice: compare it with another model")
    names = []
    for number, model in enumerate(models):
        if isinstance(model, str | PathLike):
            names.append(Path(model).name if are_different else str(model))
        else:
            names.append(f"{type(model).__name__} {number}")
    return list(zip(names, models, strict=True))


def _agreement(first: NDArray[Any], predicted: NDArray[Any], task: str) -> float:
    if task == "regression":
        return float(np.sqrt(np.mean(np.square(first - predicted))))
    if first.dtype == predicted.dtype:
        return float(np.mean(first == predicted))
    # One library keeps classes as numbers, another as text.
    return float(np.mean([text_of(a) == text_of(b) for a, b in zip(first.tolist(), predicted.tolist(), strict=True)]))


def _packed(model: Forest | Packed) -> Packed | None:
    if isinstance(model, Packed):
        return model
    try:
        return pack(model)
    except (ValueError, TypeError):
        return None


def _measured(
    packed: Packed, X: NDArray[np.float32], target: str, name: str, notes: dict[str, None]
) -> dict[str, int | None]:
    """Return what a model takes on a target, or note why that is not known."""
    [attempt] = measure_each(packed, X, targets=[target], layouts=["compact"], max_rows=MEASURED_ROWS)
    if attempt.measurement is None:
        first_line = str(attempt.error).partition("\n")[0]
        notes[f"{name}: what it takes on {target} is not known: {first_line}"] = None
        return {}
    found = attempt.measurement
    return {"flash": found.flash, "cycles": found.cycles, "instructions": found.instructions}
