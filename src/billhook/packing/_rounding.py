"""Leaf values rounded one tree after the other, so that the trees still to come make up for it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.packing._leaves import Rounded, limits, round_values
from billhook.refinement import Descent, Loss, Problem, find_leaves

Vector = NDArray[np.float64]
PASSES = 3
# The scale that suits few bits cuts off the largest values: these shares of what holds all are tried.
FACTORS = (1.0, 0.85, 0.7, 0.55, 0.4)


def round_with_rows(
    coded: Forest, codes: NDArray[np.float32], target: NDArray[Any], weight: Vector, loss: Loss, bits: int
) -> Rounded:
    """Return leaf values as whole numbers, rounded inside a descent on these rows of codes; the best of some scales.

    Values are drawn to what they were, by as much as one row would.
    """
    low, high = limits(bits)
    is_leaf = coded.feature < 0
    whole = round_values(coded.value[is_leaf], bits).scale
    leaf = find_leaves(Problem(coded), [(codes, target.size)], by_row=False, n_jobs=None)
    best, best_objective, best_scale = None, np.inf, whole
    for factor in FACTORS:
        scale = whole * factor
        problem = Problem(replace(coded, base=np.rint(coded.base / scale) * scale))
        descent = Descent(problem, leaf, target, weight, loss, 1.0, 1.0, problem.value.copy())
        value = descent.round_to(scale, low, high, PASSES)
        objective = descent.objective()
        if objective < best_objective:
            best, best_objective, best_scale = value, objective, scale
    assert best is not None
    return Rounded(np.rint(best).astype(np.int64), best_scale)
