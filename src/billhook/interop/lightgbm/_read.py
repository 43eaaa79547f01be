"""LightGBM's fitted boosters as forests."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._stack import Tree, join
from billhook.interop._thresholds import check_thresholds
from billhook.interop.lightgbm import _json, _text
from billhook.interop.lightgbm._columns import encoding_of
from billhook.interop.lightgbm._model import Written

# What LightGBM 2 and 3 called some.
OTHER_NAMES = {"xentropy": "cross_entropy", "xentlambda": "cross_entropy_lambda"}
LOGISTIC = ("binary", "cross_entropy")
LOGARITHM = ("poisson", "gamma", "tweedie")
PLAIN = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")


class Objective(NamedTuple):
    """What becomes of raw scores.

    Attributes
    ----------
    link : str
    scale : float
        What they are multiplied by before.
    """

    link: str
    scale: float = 1.0


def read(model: Any) -> Forest:
    """Return a fitted LGBMClassifier, LGBMRegressor, LGBMRanker or Booster as a forest.

    Of a model with early stopping, the rounds up to the best one are read, as LightGBM predicts with them. Scores
    that training started from (init_score) are no part of a model, and of LightGBM's predictions neither.
    """
    booster, labels = _booster_of(model)
    written = _text.parse(_lines(booster.model_to_string()))
    if "train_set" in vars(booster) and "sigmoid" in booster.params and written.objective is not None:
        # A booster that is still in training has all digits of it, its text six.
        name = written.objective.partition(" ")[0]
        written = written._replace(objective=f"{name} sigmoid:{booster.params['sigmoid']}")
    return _forest_of(written, labels, f"lightgbm.{type(model).__name__}")


def read_file(path: Path) -> Forest:
    """Return the forest of a text that save_model wrote."""
    try:
        with open(path, "rb") as file:
            written = _text.parse(line.rstrip(b"\r\n") for line in file)
        return _forest_of(written, None, "lightgbm.Booster")
    except (TypeError, ValueError) as error:
        raise ModelFileError(_as_said(error)) from None


def read_json(model: dict[str, Any]) -> Forest:
    """Return the forest of a JSON object that dump_model made."""
    try:
        return _forest_of(_json.parse(model), None, "lightgbm.Booster")
    except (TypeError, ValueError) as error:
        raise ModelFileError(_as_said(error)) from None


def _as_said(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "this is not text in UTF-8: it is damaged"
    return str(error)


def _lines(text: str) -> Iterator[bytes]:
    """Yield the lines one by one: all at once would be the text again."""
    first = 0
    while first < len(text):
        end = text.find("\n", first)
        end = len(text) if end < 0 else end
        yield text[first:end].encode()
        first = end + 1


def _booster_of(model: Any) -> tuple[Any, NDArray[Any] | None]:
    """Return the booster, and the labels if it is a classifier's."""
    import lightgbm

    if isinstance(model, lightgbm.Booster):
        return model, None
    if not isinstance(model, lightgbm.LGBMModel):
        name = type(model).__name__
        raise TypeError(f"as_forest cannot read lightgbm's {name}; pass a fitted estimator or a Booster")
    booster = model.booster_  # says itself if it is not fitted
    if model.get_params().get("pred_early_stop"):
        raise TypeError(
            "as_forest cannot read a model with pred_early_stop=True, which leaves out trees for some rows; call "
            "model.set_params(pred_early_stop=False)"
        )
    if not isinstance(model, lightgbm.LGBMClassifier):
        return booster, None
    labels = np.asarray(model.classes_)
    if labels.size < 2:
        raise ValueError(
            f"the {type(model).__name__} was fitted on the one class {labels[0]!r}; it needs two or more"
        )
    return booster, labels


def _forest_of(model: Written, labels: NDArray[Any] | None, origin: str) -> Forest:
    columns, n_nodes, category_sets = model.trees
    n_trees, n_columns = n_nodes.size, model.n_columns
    if n_columns < 1 or n_trees % n_columns:
        raise ValueError(f"there are {n_trees} trees, and {n_columns} to a round")
    link, scale = _objective(model, is_classifier=labels is not None)
    n_rounds = n_trees // n_columns
    if labels is None and link in ("logistic", "softmax"):
        labels = np.arange(max(n_columns, 2))
    columns["value"] *= scale
    encoding = encoding_of(model)
    check_thresholds([Tree(category_sets=category_sets, **columns)], origin.partition(".")[2])
    # Names that LightGBM gave itself are none.
    is_named = model.feature_names != tuple(f"Column_{k}" for k in range(model.n_features))
    names = model.feature_names if encoding is None else encoding.feature_names
    return join(
        columns,
        n_nodes,
        category_sets,
        tree_weight=np.full(n_trees, 1.0 / n_rounds if model.averages else 1.0),
        tree_column=np.tile(np.arange(n_columns, dtype=np.int32), n_rounds),
        averages=model.averages,
        base=np.zeros(n_columns),
        link=link,
        task="regression" if labels is None else "classification",
        n_features=model.n_features,
        classes=labels,
        feature_names=names if is_named else None,
        encoding=encoding,
        origin=origin,
        rounding="down",  # it compares float64 rows
    )


def _objective(model: Written, *, is_classifier: bool) -> Objective:
    """Return the objective, or refuse it by its name."""
    if model.objective is None:
        if is_classifier or model.n_columns > 1:
            raise TypeError(
                "as_forest cannot know what the raw scores of an objective of your own stand for; fit with "
                "objective='binary' or 'multiclass'"
            )
        return Objective("identity")
    name, *parameters = model.objective.split(" ")
    name = OTHER_NAMES.get(name, name)
    if name == "multiclass":
        return Objective("softmax")
    if model.n_columns == 1 and name in LOGISTIC:
        return Objective("logistic", _sigmoid(parameters))
    if model.n_columns == 1 and not is_classifier and "sqrt" not in parameters:
        if name in LOGARITHM:
            return Objective("exp")
        if name in PLAIN:
            return Objective("identity")
    raise TypeError(_refusal(name, parameters, is_classifier=is_classifier))


def _sigmoid(parameters: list[str]) -> float:
    scale = 1.0
    for parameter in parameters:
        name, _, text = parameter.partition(":")
        if name != "sigmoid":
            raise TypeError(f"as_forest does not know the parameter {parameter[:40]!r} of an objective")
        with suppress(ValueError):
            scale = float(text)
            if 0.0 < scale < np.inf:
                continue
        raise ValueError(f"the objective's sigmoid is {text[:40]!r}, not a positive number")
    return scale


def _refusal(name: str, parameters: list[str], *, is_classifier: bool) -> str:
    if name == "multiclassova":
        return (
            "as_forest cannot read the objective 'multiclassova', whose probabilities of the classes do not depend "
            "on one another; fit with objective='multiclass'"
        )
    if name == "cross_entropy_lambda":
        return "as_forest cannot read the objective 'cross_entropy_lambda'; fit with objective='cross_entropy'"
    if "sqrt" in parameters:
        return "as_forest cannot read a model with reg_sqrt=True; fit to the square roots of the labels yourself"
    if is_classifier and name in (*LOGARITHM, *PLAIN):
        return f"as_forest cannot read a classifier with the objective {name!r}; fit with 'binary' or 'multiclass'"
    known = ", ".join([*LOGISTIC, "multiclass", *LOGARITHM, *PLAIN])
    return f"as_forest does not know the objective {name[:40]!r}; known are {known}"
