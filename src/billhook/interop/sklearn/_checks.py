"""What a fitted estimator says about itself, and whether it is what it seems."""

from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from billhook.interop._outputs import SeveralOutputsError


def n_outputs_of(model: Any) -> int:
    """Return how many outputs a fitted model predicts at once."""
    if isinstance(model, BaggingRegressor):  # which does not say
        model = model.estimators_[0]
    return int(getattr(model, "n_outputs_", 1))


def checked_output(output: int | None, n_outputs: int, name: str) -> int:
    """Return which output of a model to read, or say that it has others."""
    if output is None:
        if n_outputs > 1:
            raise SeveralOutputsError(f"the {name}", n_outputs)
        return 0
    if isinstance(output, bool | np.bool_) or not isinstance(output, int | np.integer):
        raise TypeError(f"output must be a whole number, not {output!r}")
    if not 0 <= output < n_outputs:
        has = f"{n_outputs} outputs, numbered from 0" if n_outputs > 1 else "one output: leave output out, or give 0"
        raise ValueError(f"there is no output {output}; the {name} has {has}")
    return int(output)


def labels_of(model: Any, output: int) -> NDArray[Any] | None:
    """Return the class labels of one output, or None for regression."""
    if not hasattr(model, "classes_"):
        return None
    return np.asarray(model.classes_ if n_outputs_of(model) == 1 else model.classes_[output])


def two_or_more_labels(model: Any) -> NDArray[Any]:
    """Return the class labels, or say that one class is not enough."""
    labels = np.asarray(model.classes_)
    if labels.size < 2:
        raise ValueError(
            f"the {type(model).__name__} was fitted on the one class {labels[0]!r}; it needs two or more"
        )
    return labels


def check_member(model: Any, member: Any) -> None:
    """Refuse a member of an ensemble that is no decision tree of the ensemble's own task."""
    kind = DecisionTreeClassifier if hasattr(model, "classes_") else DecisionTreeRegressor
    if not isinstance(member, kind):
        raise TypeError(
            f"as_forest reads a {type(model).__name__} over decision trees of its own task, "
            f"not over {type(member).__name__}"
        )
    check_predicts_as(member, kind)


def check_predicts_as(model: Any, kind: type) -> None:
    """Refuse a subclass that predicts in a way of its own."""
    for name in ("predict", "predict_proba", "decision_function"):
        if getattr_static(type(model), name, None) is not getattr_static(kind, name, None):
            raise TypeError(
                f"as_forest cannot read a {type(model).__name__}: it is a {kind.__name__} with a {name} of its own"
            )
