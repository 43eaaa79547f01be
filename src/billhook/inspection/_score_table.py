"""How well a model does on the rows of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.budget import error_measures
from billhook.forest import Forest
from billhook.inspection._models import model_of
from billhook.inspection._rows import rows_for
from billhook.packing import Packed

# The least probability that is taken for one, as in scikit-learn.
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class TableScores:
    """How well a model does on some rows.

    Attributes
    ----------
    n_rows : int
    measures : dict
        By name: for classes "accuracy", "balanced accuracy" and "log loss", for regression "R2", "mean absolute
        error" and "root mean squared error". What is not defined for these rows is left out.
    classes : tuple
        The classes of the model, and then labels of the table that it does not know; empty for regression.
    confusion : int64 array (classes, classes) or None
        Number of rows by true and by predicted class.
    notes : tuple of str
        What there is to say about the table.
    """

    n_rows: int
    measures: dict[str, float]
    classes: tuple[Any, ...]
    confusion: NDArray[np.int64] | None
    notes: tuple[str, ...]


def score_table(
    model: Any,
    table: Any,
    label: str,
    *,
    fill_missing: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> TableScores:
    """Return how well a model does on the rows of a table, however large it is.

    Parameters
    ----------
    model, table, fill_missing, progress
        As for `predict_table`.
    label : str
        The column that is predicted.

    Examples
    --------
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> frame = load_iris(as_frame=True).frame
    >>> packed = bh.fit_table(frame, "target", budget=300, n_trials=1).packed
    >>> scores = bh.score_table(packed, frame, "target")
    >>> sorted(scores.measures), scores.confusion.sum().item()
    (['accuracy', 'balanced accuracy', 'log loss'], 150)
    """
    known = model_of(model)
    rows = rows_for(known, table, label, fill_missing=fill_missing)
    labels: list[NDArray[Any]] = []
    predicted: list[NDArray[Any]] = []
    own: list[NDArray[np.float64]] = []  # the probability of the true class
    n_rows = 0
    for block in rows:
        labels.append(block.y)
        predicted.append(known.predict(block.X))
        if known.classes is not None:
            own.append(_probability_of(block.y, known.predict_proba(block.X), known.classes))
        n_rows += len(block.y)
        if progress is not None:
            progress(n_rows, rows.about_n_rows)
    y, answers = np.concatenate(labels), np.concatenate(predicted)
    if known.classes is None:
        measures = regression_measures(y, answers)
        return TableScores(n_rows, measures, (), None, tuple(rows.notes))
    return _of_classes(known, y, answers, np.concatenate(own), rows.notes)


def scores_of(model: Forest | Packed, X: NDArray[np.float32], y: NDArray[Any]) -> TableScores:
    """Return how well a model does on rows with labels as it knows them."""
    answers = model.predict(X)
    if model.classes is None:
        return TableScores(len(y), regression_measures(y, answers), (), None, ())
    return _of_classes(model, y, answers, _probability_of(y, model.predict_proba(X), model.classes), [])


def regression_measures(y: ArrayLike, predicted: NDArray[np.float64]) -> dict[str, float]:
    """Return R2, unless all targets are the same, the mean absolute and the root mean squared error."""
    r2, absolute, squared = error_measures(np.stack([np.asarray(y, np.float64), predicted], axis=1))
    measures = {} if np.isnan(r2) else {"R2": r2}
    return measures | {"mean absolute error": absolute, "root mean squared error": squared}


def _of_classes(
    model: Forest | Packed, y: NDArray[Any], answers: NDArray[Any], own: NDArray[np.float64], notes: list[str]
) -> TableScores:
    assert model.classes is not None
    classes = list(model.classes.tolist())
    unknown = [label for label in dict.fromkeys(y.tolist()) if label not in set(classes)]
    number = {label: place for place, label in enumerate([*classes, *unknown])}
    true = np.array([number[label] for label in y.tolist()], np.int64)
    said = np.array([number[label] for label in answers.tolist()], np.int64)
    n_classes = len(number)
    confusion = np.bincount(true * n_classes + said, minlength=n_classes**2).reshape(n_classes, n_classes)
    n_true = confusion.sum(axis=1)
    recall = np.diagonal(confusion)[n_true > 0] / n_true[n_true > 0]
    measures = {"accuracy": float(np.mean(true == said)), "balanced accuracy": float(recall.mean())}
    if not unknown:
        measures["log loss"] = float(-np.log(np.maximum(own, EPSILON)).mean())
        return TableScores(len(y), measures, tuple(classes), confusion, tuple(notes))
    n_unknown = int(np.count_nonzero(true >= len(classes)))
    names = ", ".join(map(repr, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
    what = "row has a label" if n_unknown == 1 else "rows have labels"
    note = f"{n_unknown:,} {what} that the model does not know: {names}. They count as wrong; there is no log loss."
    return TableScores(len(y), measures, (*classes, *unknown), confusion, (*notes, note))


def _probability_of(
    y: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the probability of the true class, of all that are not negative, together 1; 0 for unknown ones."""
    number = {label: place for place, label in enumerate(classes.tolist())}
    place = np.array([number.get(label, -1) for label in y.tolist()], np.int64)
    positive = np.maximum(probabilities, 0.0)
    total = np.maximum(positive.sum(axis=1), EPSILON)
    own = positive[np.arange(len(y)), place] / total
    return np.where(place >= 0, own, 0.0)
