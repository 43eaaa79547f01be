"""From XGBoost's objective to a link, and to the raw scores before any tree."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError

LOGISTIC = ("binary:logistic", "reg:logistic", "binary:logitraw")
SOFTMAX = ("multi:softprob", "multi:softmax")
LOGARITHM = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
PLAIN = (
    "reg:squarederror",
    "reg:linear",
    "reg:squaredlogerror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:quantileerror",
    "rank:ndcg",
    "rank:map",
    "rank:pairwise",
)
HINGE = "binary:hinge"
# XGBoost keeps probabilities that far from 0 and 1.
MARGIN = np.float32(1e-6)


def link_of(objective: str, *, is_classifier: bool) -> str:
    """Return the link that makes predictions of raw scores.

    Parameters
    ----------
    objective : str
    is_classifier : bool
        Whether it is an estimator's that predicts classes. A Booster never is.
    """
    if objective == "binary:logitraw" and is_classifier:
        raise TypeError(
            "as_forest does not read an XGBClassifier with the objective 'binary:logitraw', whose probabilities are "
            "raw scores: pass its get_booster()"
        )
    for link, objectives in (("logistic", LOGISTIC), ("softmax", SOFTMAX), ("identity", (HINGE,))):
        if objective in objectives:
            return link
    if is_classifier and objective in (*LOGARITHM, *PLAIN):
        raise TypeError(
            f"as_forest does not read a classifier with the objective {objective!r}: what it predicts are no "
            "probabilities; pass its get_booster(), or fit it with 'binary:logistic' or "
            "'multi:softprob'"
        )
    if objective in LOGARITHM:
        return "exp"
    if objective in PLAIN:
        return "identity"
    known = ", ".join([*LOGISTIC, *SOFTMAX, *LOGARITHM, *PLAIN, HINGE])
    raise TypeError(f"as_forest does not know the objective {objective!r}; known are {known}")


def base_of(text: str, objective: str, n_outputs: int) -> NDArray[np.float64]:
    """Return the raw scores that trees are added to; the model has what predictions they are, as text.

    Computed in float32 as XGBoost does.
    """
    scores = _numbers_of(text)
    if scores.size not in (1, n_outputs):
        raise ModelFileError(f"base_score has {scores.size} numbers for {n_outputs} outputs")
    base = np.broadcast_to(scores, n_outputs)
    with np.errstate(divide="ignore", invalid="ignore"):
        if objective in ("binary:logistic", "reg:logistic"):
            one = np.float32(1)
            bounded = np.clip(base, MARGIN, one - MARGIN)
            base = -_log(one / bounded - one)
        elif objective in LOGARITHM:
            base = _log(base)
    if not np.isfinite(base).all():
        raise ModelFileError(f"base_score is {text[:60]}, which is no prediction of {objective}")
    return base.astype(np.float64)


def _log(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    # By way of float64, as numpy's logarithm of float32 is not rounded to the nearest everywhere.
    return np.log(numbers.astype(np.float64)).astype(np.float32)


def _numbers_of(text: str) -> NDArray[np.float32]:
    """Return one number, or a list of some in brackets, since 3.1."""
    try:
        parsed: Any = json.loads(text)
        array = np.atleast_1d(np.asarray(parsed))
    except (ValueError, RecursionError):
        array = np.zeros(0)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iuf":
        raise ModelFileError(f"base_score is {text[:60]!r}, not a number or a list of them")
    with np.errstate(over="ignore"):
        return array.astype(np.float32)
