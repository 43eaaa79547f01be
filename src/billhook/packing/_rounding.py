"""Leaf values rounded one tree after the other, so that the trees still to come make up for it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.packing._leaves import Rounded, Units, limits
from billhook.refinement import Descent, Loss, Problem, find_leaves

Vector = NDArray[np.float64]
PASSES = 3
# The scale that suits few bits cuts off the largest values: these shares of what holds all are tried.
SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.22, 0.16)


def round_with_rows(
    coded: Forest,
    codes: NDArray[np.float32],
    target: NDArray[Any],
    weight: Vector,
    loss: Loss,
    bits: int,
    units: Units,
) -> Rounded:
    """Return leaf values as whole numbers, rounded inside a descent on these rows of codes; the best of some scales.

    Values are drawn to what they were, by as much as one row would.
    """
    low, high = limits(bits)
    leaf = find_leaves(Problem(coded), [(codes, target.size)], by_row=False, n_jobs=None)
    best, lowest = None, np.inf
    for share in SHARES:
        tried = units._replace(scale=units.scale * share)
        problem = Problem(with_whole_base(coded, tried))
        descent = Descent(problem, leaf, target, weight, loss, 1.0, 1.0, problem.value.copy())
        value = descent.round_to(tried.of_column, low, high, PASSES) / tried.of_leaves(coded)
        objective = descent.objective()
        if objective < lowest:
            best, lowest = Rounded(np.rint(value).astype(np.int64), tried), objective
    assert best is not None
    return best


def with_whole_base(coded: Forest, units: Units) -> Forest:
    """Return the forest with its base rounded as it will be stored."""
    return replace(coded, base=np.rint(coded.base / units.scale) * units.scale)
