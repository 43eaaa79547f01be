from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from billhook.forest import as_rows, as_targets
from billhook.interop import as_forest
from billhook.packing._packed import Packed


@dataclass(frozen=True)
class PackReport:
    """What packing changed, on some rows.

    Attributes
    ----------
    n_rows : int
    changed : float or None
        Share of the rows that get another class; None for regression.
    accuracy_before, accuracy_after : float or None
        Share of the rows with the right class; None without labels and for regression.
    error_before, error_after : float or None
        Root of the mean squared error; None without targets and for classes.
    largest_difference : float
        Between raw scores, as `decision_function` returns them; of two classes, the second's minus the first's.
    nbytes : int
    """

    n_rows: int
    changed: float | None
    accuracy_before: float | None
    accuracy_after: float | None
    error_before: float | None
    error_after: float | None
    largest_difference: float
    nbytes: int

    def __str__(self) -> str:
        said = (
            f"{self.nbytes:,} bytes; on {self.n_rows:,} rows scores are off by {self.largest_difference:.3g} at most"
        )
        if self.changed is not None:
            said += f", and {self.changed:.2%} get another class"
        if self.accuracy_before is not None and self.accuracy_after is not None:
            said += f"\naccuracy {self.accuracy_before:.2%} before, {self.accuracy_after:.2%} after"
        if self.error_before is not None and self.error_after is not None:
            said += f"\nroot mean squared error {self.error_before:.4g} before, {self.error_after:.4g} after"
        return said


def pack_report(model: Any, packed: Packed, X: ArrayLike, y: ArrayLike | None = None) -> PackReport:
    """Return what packing changed: how many of these rows get another class, and by how much scores differ.

    Parameters
    ----------
    model : Forest or fitted estimator
        What was packed.
    packed : Packed
    X : rows
        Best those that neither the forest nor the rounding has seen.
    y : labels or targets, optional

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=32, random_state=0).fit(X[:900], y[:900]))
    >>> report = bh.pack_report(forest, bh.pack(forest, leaf_bits=4), X[900:], y[900:])
    >>> report.n_rows, report.changed < 0.1
    (897, True)
    """
    forest = as_forest(model)
    same_classes = np.array_equal(_labels(forest.classes), _labels(packed.classes))
    if forest.n_features != packed.n_features or not same_classes:
        raise ValueError(f"{packed!r} was not packed from {forest!r}: features or classes differ")
    rows = as_rows(X, forest)
    if len(rows) == 0:
        raise ValueError("a report needs rows; X has none")
    raw = forest.decision_function(rows).reshape(len(rows), -1)
    after = packed.decision_function(rows).reshape(len(rows), -1)
    if raw.shape[1] == 2 and after.shape[1] == 1:
        raw = raw[:, 1:] - raw[:, :1]
    said, says = forest.predict(rows), packed.predict(rows)
    changed = None if forest.classes is None else float(np.mean(said != says))
    accuracy: list[float] | list[None] = [None, None]
    error: list[float] | list[None] = [None, None]
    if y is not None:
        target = as_targets(y, forest)
        if target.size != len(rows):
            raise ValueError(f"X has {len(rows):,} rows and y {target.size:,} labels")
        if forest.classes is None:
            error = [float(np.sqrt(np.mean(np.square(predicted - target)))) for predicted in (said, says)]
        else:
            accuracy = [float(np.mean(predicted == forest.classes[target])) for predicted in (said, says)]
    return PackReport(
        n_rows=len(rows),
        changed=changed,
        accuracy_before=accuracy[0],
        accuracy_after=accuracy[1],
        error_before=error[0],
        error_after=error[1],
        largest_difference=float(np.abs(raw - after).max()),
        nbytes=packed.nbytes,
    )


def _labels(classes: Any) -> list[Any]:
    return [] if classes is None else list(classes.tolist())
