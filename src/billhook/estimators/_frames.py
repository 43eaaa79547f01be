"""Data frames with categorical columns, as scikit-learn's estimators take them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from billhook._types import Vector
from billhook.estimators._forest_estimator import as_weights_of
from billhook.packing import Packed
from billhook.tables import Categorical, Table, features_of, frame_columns, is_frame, table_of


def has_categories(X: Any) -> bool:
    """Return whether X is a data frame with a column that is not numbers."""
    return is_frame(X) and any(isinstance(column, Categorical) for column in frame_columns(X).values())


def frame_table(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    is_classification: bool,
    reset: bool = True,
) -> tuple[Table, Vector | None]:
    """Return a data frame and its labels as a table, and the weights.

    With `reset` the estimator learns what the columns are; else they must be those that it knows.
    """
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    labels = column_or_1d(y, warn=True)
    n_missing = sum(label is None or label != label for label in labels.tolist())
    if n_missing:
        raise ValueError(f"y holds {n_missing:,} missing labels")
    if is_classification:
        check_classification_targets(labels)
    else:
        labels = labels.astype(np.float64)
        if not np.isfinite(labels).all():
            raise ValueError("y holds a number that is infinite")
    table = table_of(X, labels, task="classification" if is_classification else "regression", title="X")
    for name, column in zip(table.names, table.columns, strict=True):
        if not isinstance(column, Categorical) and np.isinf(column).any():
            raise ValueError(f"column {name!r} of X holds infinity, or a number too large for float32")
    return table, as_weights_of(labels, sample_weight)


def frame_features(estimator: Any, X: Any, packed: Packed) -> NDArray[np.float32]:
    """Return the features of a data frame with the columns that the estimator was fitted to."""
    if not is_frame(X):
        raise TypeError(
            f"the model was fitted to a data frame with categorical columns and takes one too, not {type(X).__name__}"
        )
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return features_of(X, packed)
