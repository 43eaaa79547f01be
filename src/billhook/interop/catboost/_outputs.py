"""What a CatBoost model was trained for: from its leaf values to scores, classes and numbers."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook._types import Task
from billhook.interop._outputs import SeveralOutputsError, check_only_output
from billhook.interop.catboost._json import list_of, numbers_of

LOGISTIC = ("Logloss", "CrossEntropy", "Focal")
LOGARITHM = ("Poisson", "Tweedie")
# Numbers, and scores to rank by: the model's own predict returns the sums as they are.
PLAIN = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "Expectile", "Lq", "MAPE", "Huber", "LogCosh", "RMSPE"),
    *("Cox", "SurvivalAft", "PairLogit", "PairLogitPairwise", "YetiRank", "YetiRankPairwise", "QueryRMSE"),
    *("QuerySoftMax", "QueryCrossEntropy", "GroupQuantile", "LambdaMart", "StochasticRank", "StochasticFilter"),
    "PythonUserDefinedPerObject",
)
# Several outputs, each a model of its own: whether a label is there, or a number.
LABELS = ("MultiLogloss", "MultiCrossEntropy", "MultiClassOneVsAll")
TARGETS = ("MultiRMSE", "MultiRMSEWithMissingValues", "MultiQuantile")
THRESHOLD = "binclass_probability_threshold"


class Output(NamedTuple):
    """The fields of Forest that say what scores mean, and the columns of the leaf values that are summed."""

    columns: slice
    scale: float
    base: NDArray[np.float64]
    link: str
    task: Task
    classes: NDArray[Any] | None


def output_of(model: dict[str, Any], n_values: int, output: int | None) -> Output:
    """Return what the scores of a model mean, or those of one of its outputs."""
    info = model.get("model_info") or {}
    if not isinstance(info, dict):
        raise ModelFileError("model_info is not a JSON object")
    loss = _loss(info)
    scale, base = _scale_and_bias(model.get("scale_and_bias"), n_values)
    if loss in LABELS or loss in TARGETS:
        column = _column(loss, n_values, output)
        of_labels = loss in LABELS
        if of_labels:
            _check_threshold(info)
        return Output(
            slice(column, column + 1),
            scale,
            base[column : column + 1],
            "logistic" if of_labels else "identity",
            "classification" if of_labels else "regression",
            np.arange(2) if of_labels else None,
        )
    check_only_output(output, f"a model for {loss}")
    link = _link(loss, info)
    is_classifier = link in ("logistic", "softmax")
    if n_values > 1 and link != "softmax":
        raise ModelFileError(f"a model for {loss} has {n_values} values a leaf")
    if link == "logistic":
        _check_threshold(info)
    return Output(
        slice(0, n_values),
        scale,
        base,
        link,
        "classification" if is_classifier else "regression",
        _classes(info, n_values) if is_classifier else None,
    )


def _loss(info: dict[str, Any]) -> str:
    """Return the name of the loss; a sum of models has it in another place."""
    params = info.get("params")
    described = params.get("loss_function") if isinstance(params, dict) else None
    if described is None and isinstance(info.get("loss_function"), str):
        try:
            described = json.loads(info["loss_function"])
        except (ValueError, RecursionError):
            raise ModelFileError("model_info.loss_function is not JSON") from None
    loss = described.get("type") if isinstance(described, dict) else None
    if not isinstance(loss, str):
        raise ModelFileError("the model does not say for which loss_function it was trained, and so what it predicts")
    return loss


def _link(loss: str, info: dict[str, Any]) -> str:
    if loss in LOGISTIC:
        return "logistic"
    if loss == "MultiClass":
        return "softmax"
    if loss in LOGARITHM:
        return "exp"
    if loss == "PythonUserDefinedPerObject" and "class_params" in info:
        raise TypeError("as_forest reads classifiers trained for Logloss or MultiClass, not for a loss of your own")
    if loss in PLAIN:
        return "identity"
    if loss == "RMSEWithUncertainty":
        raise TypeError("as_forest reads models of one number a row; RMSEWithUncertainty has two: train for RMSE")
    known = ", ".join([*LOGISTIC, "MultiClass", *LOGARITHM, *PLAIN[:-1], *LABELS, *TARGETS])
    raise TypeError(f"as_forest does not know the loss function {loss!r}; known are {known}")


def _column(loss: str, n_values: int, output: int | None) -> int:
    if output is None:
        raise SeveralOutputsError(f"a model for {loss}", n_values)
    if isinstance(output, bool) or not isinstance(output, int) or not 0 <= output < n_values:
        raise ValueError(f"output must be a number from 0 to {n_values - 1}, not {output!r}")
    return output


def _check_threshold(info: dict[str, Any]) -> None:
    """Raise TypeError if a class is predicted from another probability on than one half."""
    text = info.get(THRESHOLD, "0.5")
    try:
        threshold = float(text)
    except (TypeError, ValueError):
        raise ModelFileError(f"{THRESHOLD} is not a number") from None
    if threshold != 0.5:
        raise TypeError(
            f"as_forest reads classifiers that choose the likelier class; this one has the probability threshold "
            f"{threshold:g}: take it away with set_probability_threshold(None), and compare predict_proba with it"
        )


def _scale_and_bias(value: Any, n_values: int) -> tuple[float, NDArray[np.float64]]:
    """Return the factor of all leaf values, and what is added to their sums."""
    if value is None:
        return 1.0, np.zeros(n_values)
    pair = list_of(value, "scale_and_bias")
    if len(pair) != 2:
        raise ModelFileError("scale_and_bias is not a pair")
    scale = numbers_of(pair[:1], "the scale")
    # Old models have one number for all outputs, or none.
    bias = numbers_of(pair[1] if isinstance(pair[1], list | None) else [pair[1]], "the bias")
    if bias.size < n_values and not bias.any():
        bias = np.zeros(n_values)
    if bias.size != n_values:
        raise ModelFileError(f"there are {bias.size} biases for {n_values} values a leaf")
    return float(scale[0]), bias


def _classes(info: dict[str, Any], n_values: int) -> NDArray[Any]:
    """Return the labels of the classes in the order of the scores."""
    n_classes = max(n_values, 2)
    params = info.get("class_params", info.get("multiclass_params"))
    if params is None:
        return np.arange(n_classes)
    if not isinstance(params, dict):
        raise ModelFileError("class_params is not a JSON object")
    names, n_named = list_of(params.get("class_names"), "class_names"), params.get("classes_count", 0)
    seen = numbers_of(params.get("class_to_label"), "class_to_label")
    if not names and not n_named:
        names = [int(label) if label == int(label) else label for label in seen.tolist()]
    elif not names:
        names = list(range(n_named)) if type(n_named) is int and 0 < n_named <= 2**16 else []
        _check_seen(names, seen)
    else:
        _check_seen(names, seen)
    if len(names) != n_classes:
        raise ModelFileError(f"there are {len(names)} labels for {n_classes} classes")
    return _as_labels(names, params.get("class_label_type"))


def _check_seen(names: list[Any], seen: NDArray[np.float64]) -> None:
    """Raise TypeError for classes that were named, but did not occur in training: they have no scores."""
    unseen = sorted(set(range(len(names))) - set(seen.tolist()))
    if seen.size and unseen:
        raise TypeError(
            f"as_forest reads classes that occurred in training; {names[unseen[0]]!r} did not: leave it out of "
            "class_names, or train without classes_count"
        )


def _as_labels(names: list[Any], kind: Any) -> NDArray[Any]:
    types = {"Integer": int, "Float": float, "String": str, "Boolean": bool}
    if kind is None:
        kind = next((word for word, type_ in types.items() if type(names[0]) is type_), None)
    if kind not in types:
        raise ModelFileError(f"class_label_type {kind!r} is not known")
    allowed = (int, float) if kind == "Float" else (types[kind],)
    if any(type(name) not in allowed for name in names):
        raise ModelFileError(f"class_names are not of the type {kind}")
    try:
        return np.array(names, np.str_ if kind == "String" else np.int64 if kind == "Integer" else types[kind])
    except OverflowError:
        raise ModelFileError("a class label is too large") from None
