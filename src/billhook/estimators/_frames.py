"""Data frames with categorical columns, as scikit-learn's estimators take them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from billhook._types import Vector
from billhook.packing import Packed
from billhook.tables import Categorical, Table, features_of, frame_columns, is_frame, table_of


def has_categories(X: Any) -> bool:
    """Return whether X is a data frame with a column that is not numbers."""
    return is_frame(X) and any(isinstance(column, Categorical) for column in frame_columns(X).values())


def frame_table(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, is_classification: bool
) -> tuple[Table, Vector | None]:
    """Return a data frame and its labels as a table, and the weights; the estimator learns the column names."""
    validate_data(estimator, X, skip_check_array=True)
    labels = column_or_1d(y, warn=True, dtype=None if is_classification else np.float64)
    if is_classification:
        check_classification_targets(labels)
    elif not np.isfinite(labels).all():
        raise ValueError("y holds numbers that are missing or infinite")
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight is not None and weight.shape != labels.shape:
        raise ValueError(f"sample_weight has shape {weight.shape} for {len(labels)} rows")
    task = "classification" if is_classification else "regression"
    return table_of(X, labels, task=task, title="X"), weight


def frame_features(estimator: Any, X: Any, packed: Packed) -> NDArray[np.float32]:
    """Return the features of a data frame with the columns that the estimator was fitted to."""
    if not is_frame(X):
        raise TypeError(
            f"the model was fitted to a data frame with categorical columns and takes one too, not {type(X).__name__}"
        )
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return features_of(X, packed)
