"""Leaf values rounded one tree after the other, so that the trees still to come make up for it."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._progress import tell_progress
from billhook._types import Float32Array, Vector
from billhook.forest import Forest, derive
from billhook.packing._leaf_values import Rounded, Units, exact_scale, limits, round_values
from billhook.refinement import Descent, Loss, Problem, find_leaves, width_of

Result = TypeVar("Result")
PASSES = 3
# By how much rounding alone may raise the loss: then leaves that were alike stay alike, which takes fewer bytes.
GOOD_ENOUGH = 1.002
# The scale that suits few bits cuts off the largest values: these shares of what holds all are tried.
SHARES = (0.85, 0.7, 0.55, 0.4, 0.3, 0.22, 0.16)


def round_with_rows(
    coded: Forest,
    codes: Float32Array,
    target: NDArray[Any],
    weight: Vector,
    loss: Loss,
    bits: int,
    units: Units,
    *,
    is_base_whole: bool,
    l2: float = 1.0,
) -> Rounded:
    """Return leaf values as whole numbers, rounded inside a descent on these rows of codes; the best of some scales.

    Values are drawn to what they were, by as much as `l2` rows would. Where rounding alone loses next to nothing, it
    is rounding alone.
    """
    low, high = limits(bits)
    leaf = find_leaves(Problem(coded), [(codes, target.size)], by_row=False, n_jobs=None)
    alone = round_values(coded, bits, units)
    whole = Problem(coded)
    width = width_of(loss, whole.scores(leaf, slice(None))[:, 0], target, weight) if loss.has_width else 1.0
    start = Descent(whole, leaf, target, weight, loss, width, l2, whole.value.copy())
    unrounded = start.objective()
    start.start_from(alone.value * units.of_leaves(coded))
    objective_alone = start.objective()
    if objective_alone <= GOOD_ENOUGH * unrounded:
        return alone

    def attempt(units: Units) -> tuple[float, Rounded]:
        problem = Problem(with_whole_base(coded, units) if is_base_whole else coded)
        descent = Descent(problem, leaf, target, weight, loss, width, l2, problem.value.copy())
        value = descent.round_to(units.of_column, low, high, PASSES) / units.of_leaves(coded)
        return descent.objective(), Rounded(np.rint(value).astype(np.int64), units)

    lowest, best = best_of_scales(units, attempt)
    return best if lowest < objective_alone else alone


def best_of_scales(
    units: Units, attempt: Callable[[Units], tuple[float, Result]], shares: tuple[float, ...] = SHARES
) -> tuple[float, Result]:
    """Return the lowest objective, of all shares of the scale, and the result with it."""
    # All of them: where most values are rounded to nothing, the objective rises before it falls.
    lowest, best = attempt(units)
    for number, share in enumerate(shares, start=1):
        check_time()
        tell_progress("rounding leaves", number, len(shares) + 1, f"{number} of {len(shares) + 1} scales")
        objective, result = attempt(units._replace(scale=exact_scale(units.scale * share)))
        if objective < lowest:
            lowest, best = objective, result
    return lowest, best


def whole_base(coded: Forest, units: Units) -> Vector:
    """Return the base of the forest, rounded as it will be stored."""
    return np.asarray(np.rint(coded.base / units.scale) * units.scale)


def with_whole_base(coded: Forest, units: Units) -> Forest:
    """Return the forest with its base rounded as it will be stored."""
    return derive(coded, base=whole_base(coded, units))
