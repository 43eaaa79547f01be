"""What mistakes cost: a table of costs by true and by predicted class, as the score of a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import resolve_name
from billhook.tables import Categorical, read_blocks, read_features, text_of


@dataclass(frozen=True, eq=False)
class CostScorer:
    """Minus the mean cost of a prediction, as scikit-learn's scorers have it: larger is better.

    Attributes
    ----------
    classes : array
        The labels, in the order of the table.
    costs : float64 array (classes, classes)
        What it costs to predict a class, the columns, where another is true, the rows.
    """

    classes: NDArray[Any]
    costs: NDArray[np.float64]
    __name__ = "minus_mean_cost"

    def __call__(self, model: Any, X: ArrayLike, y: ArrayLike) -> float:
        """Return minus the mean cost; rows count the same, however they are weighted to be learned from."""
        number = {label: place for place, label in enumerate(self.classes.tolist())}
        true, predicted = (
            np.array([number[label] for label in labels.tolist()]) for labels in (np.asarray(y), model.predict(X))
        )
        return 0.0 - float(self.costs[true, predicted].mean())  # 0, not -0, without a mistake

    @property
    def highest(self) -> float:
        """The score of predictions that all cost least."""
        return 0.0 - float(self.costs.min())

    def class_weights(self) -> dict[Any, float]:
        """Return how much rows of each class count in learning: the sum of what mistakes on it cost.

        Of two classes that makes the cheapest prediction the likeliest one (Elkan 2001); of more it is what comes
        nearest to it with a weight for each class (Breiman et al. 1984).
        """
        total = self.costs.sum(axis=1)
        return dict(zip(self.classes.tolist(), (total / total.mean()).tolist(), strict=True))


def cost_scorer(costs: Any, y: NDArray[Any]) -> CostScorer:
    """Return the score by a table of costs, for labels that it must have all of.

    Parameters
    ----------
    costs : path, or dict of dicts
        A table whose first column has the true classes and whose other columns, one for each, have the predicted
        classes as names; or ``costs[true][predicted]``, 0 where one is left out.
    y : array
        The labels of all rows.
    """
    classes = np.unique(y)
    place = {text_of(label): number for number, label in enumerate(classes.tolist())}
    if isinstance(costs, str | PathLike):
        table, title = _read(costs), str(costs)
    elif isinstance(costs, Mapping):
        table, title = (
            {text_of(true): {text_of(said): cost for said, cost in row.items()} for true, row in costs.items()},
            "costs",
        )
    else:
        raise TypeError(f"costs must be the path of a table, or a dict of dicts, not {type(costs).__name__}")
    matrix = np.zeros((classes.size, classes.size))
    for true, row in table.items():
        number = resolve_name(true, place, f"{title} has a row of the class", "the classes are")
        for said, cost in row.items():
            matrix[number, resolve_name(said, place, f"{title} has a cost of the class", "the classes are")] = cost
    missing = [name for name in place if name not in table]
    if missing:
        raise ValueError(f"{title} has no row for the class {missing[0]!r}: what does it cost to take it for others?")
    if not isinstance(costs, Mapping):
        # In a file a column is forgotten sooner than left out for its zeros.
        missing = [name for name in place if any(name not in row for row in table.values())]
        if missing:
            raise ValueError(
                f"{title} has no column for the class {missing[0]!r}: what does it cost to take others for it?"
            )
    _check(matrix, list(place), title)
    return CostScorer(classes, matrix)


def _read(path: str | PathLike[str]) -> dict[str, dict[str, float]]:
    """Return the costs in a file, by true and by predicted class."""
    first, *others = read_blocks(path).names
    table = read_features(path, categorical={first})
    columns = dict(zip(table.names, table.columns, strict=True))
    true = columns[first]
    assert isinstance(true, Categorical)
    if (true.codes < 0).any():
        raise ValueError(f"{path} has a row without the name of a class in its first column {first!r}")
    names = [true.categories[code] for code in true.codes.tolist()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has two rows for the class {twice!r}")
    costs: dict[str, dict[str, float]] = {name: {} for name in names}
    for other in others:
        if other in table.left_out or isinstance(columns[other], Categorical):
            raise ValueError(f"{path} holds text among the costs in column {other!r}: write numbers")
        for name, cost in zip(names, columns[other].tolist(), strict=True):  # type: ignore[union-attr]  # of numbers
            costs[name][other] = cost
    return costs


def _check(matrix: NDArray[np.float64], names: list[str], title: str) -> None:
    """Raise ValueError unless these are costs that can be learned with."""
    for true, said in np.argwhere(~(np.isfinite(matrix) & (matrix >= 0.0))).tolist():
        raise ValueError(
            f"{title} has the cost {matrix[true, said]:g} of taking {names[true]!r} for {names[said]!r}: costs are "
            "numbers from 0 on, in every cell"
        )
    for number in np.flatnonzero(np.diagonal(matrix)).tolist():
        raise ValueError(
            f"{title} has the cost {matrix[number, number]:g} of being right on {names[number]!r}: write 0"
        )
    for number in np.flatnonzero(matrix.sum(axis=1) == 0.0).tolist():
        raise ValueError(
            f"{title}: no mistake on {names[number]!r} costs anything: give what it costs, or drop its rows"
        )
