"""Which values the options of pruning methods may have, so that a study can be checked before any tree is grown."""

import math
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _above(low: float, high: float = math.inf) -> Check:
    return lambda value: _is_number(value) and low < value <= high


def _from(low: float, high: float = math.inf) -> Check:
    return lambda value: _is_number(value) and low <= value <= high


def _between(low: float, high: float) -> Check:
    return lambda value: _is_number(value) and low < value < high


def _whole(least: int) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _one_of(*names: str) -> tuple[Check, str]:
    return (lambda value: value in names), f"one of {', '.join(names)}"


# By name: they mean the same in every method that has them.
VALUES: dict[str, tuple[Check, str]] = {
    "alpha": (_from(0.0, 1.0), "a number from 0 to 1"),
    "batch_size": (_whole(1), "a whole number of at least 1"),
    "epochs": (_whole(1), "a whole number of at least 1"),
    "loss": _one_of("mse", "cross_entropy", "squared_hinge"),
    "node_penalty": (_from(0.0), "a number of at least 0"),
    "optimizer": _one_of("sgd", "adam"),
    "p": (_between(0.0, 1.0), "a number between 0 and 1"),
    "pairing": _one_of("pairs", "min"),
    "penalty": _one_of("L1", "L0", "hard_L0"),
    "restarts": (_whole(0), "a whole number of at least 0"),
    "rho": (_above(0.0, 1.0), "a number above 0 and at most 1"),
    "simplex": (lambda value: isinstance(value, bool), "true or false"),
    "solver": _one_of("swaps", "scip"),
    "step_size": (_above(0.0), "a number above 0"),
    "strength": (_from(0.0), "a number of at least 0"),
    "time_limit": (_above(0.0), "a number of seconds above 0"),
}


def check_pruning_option(name: str, value: Any) -> None:
    """Raise an error if an option of a pruning method cannot have this value."""
    is_right, words = VALUES[name]
    if not is_right(value):
        raise ValueError(f"{name} must be {words}, not {value!r}")
