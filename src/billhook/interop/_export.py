"""Forests as models of other libraries."""

from importlib import import_module
from os import PathLike
from typing import Any

from billhook._files import atomic_write
from billhook.forest import Forest
from billhook.interop._dispatch import as_forest


def to_onnx(model: Any) -> Any:
    """Return a model as an onnx.ModelProto, which ONNX Runtime and others run.

    The graph takes float32 rows of features as `X`. It answers with `scores`, the raw scores, and with
    `prediction` for regression, or `label` and `probabilities` for classes: what `decision_function`, `predict` and
    `predict_proba` return, but summed in float32. Leaves are written as they are, refined ones too. A missing
    value is NaN.

    Parameters
    ----------
    model : Forest, Packed, or what `as_forest` takes
        One with an encoding of a table's columns takes the features that the columns become; the graph does not
        encode.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> rf = RandomForestClassifier(n_estimators=8, max_leaf_nodes=16, random_state=0).fit(X, y)
    >>> model = bh.to_onnx(rf)  # doctest: +SKIP
    >>> open("forest.onnx", "wb").write(model.SerializeToString())  # doctest: +SKIP
    """
    return import_module("billhook.interop.onnx").write(_forest_of(model))


def to_treelite(model: Any) -> Any:
    """Return a model as a treelite.Model, with thresholds and leaves in float64.

    Its raw scores and probabilities are those of `decision_function` and `predict_proba`, or `predict` for
    regression; pass it float32 rows. It counts classes from 0: the labels, and the names of features, are in its
    attributes, where `as_forest` finds them. In a categorical feature, treelite takes numbers between -1 and 0 for
    unknown; a Forest, as LightGBM, for category 0.

    Parameters
    ----------
    model : Forest, Packed, or what `as_forest` takes
        One with an encoding of a table's columns takes the features that the columns become.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> rf = RandomForestClassifier(n_estimators=8, max_leaf_nodes=16, random_state=0).fit(X, y)
    >>> bh.to_treelite(rf).serialize("forest.treelite")  # doctest: +SKIP
    """
    return import_module("billhook.interop.treelite").write(_forest_of(model))


def save_onnx(model: Any, path: str | PathLike[str]) -> None:
    """Write a model as a file of ONNX; an existing file is replaced only when all is written."""
    data: bytes = to_onnx(model).SerializeToString()
    with atomic_write(path) as file:
        file.write(data)


def save_treelite(model: Any, path: str | PathLike[str]) -> None:
    """Write a model as a checkpoint of treelite; an existing file is replaced only when all is written."""
    data: bytes = to_treelite(model).serialize_bytes()
    with atomic_write(path) as file:
        file.write(data)


def _forest_of(model: Any) -> Forest:
    """Return a packed model, or any ensemble, as a forest."""
    unpack = getattr(model, "to_forest", None)
    return unpack() if callable(unpack) and not isinstance(model, type) else as_forest(model)
