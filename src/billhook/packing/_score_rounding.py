"""Leaf values rounded so that the scores of rows stay what they were: no labels are needed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import Forest, derive
from billhook.packing._leaf_values import Rounded, Units, limits, round_values
from billhook.packing._rounding import PASSES, best_of_scales, whole_base
from billhook.refinement import LOSSES, Descent, Problem, find_leaves

# The share of the scores' variance that rounding each value alone may add: then leaves that were alike stay alike.
LITTLE_NOISE = 1e-4


def round_to_scores(
    coded: Forest,
    codes: Float32Array,
    weight: Vector,
    bits: int,
    units: Units,
    *,
    is_base_whole: bool,
) -> Rounded:
    """Return leaf values as whole numbers, rounded so that later trees make up for what earlier ones lost of scores.

    Rounding with labels goes on where growing stopped, and on noisy rows learns the noise; this learns nothing. (To
    weigh rows by how much their predictions depend on their scores was tried: it gains as often as it loses.)
    """
    low, high = limits(bits)
    problem = Problem(coded)
    leaf = find_leaves(problem, [(codes, len(codes))], by_row=False, n_jobs=None)
    score = problem.scores(leaf, slice(None))
    columns = [_column(coded, leaf, number, score, weight) for number in _columns_with_trees(coded)]
    alone = round_values(coded, bits, units)
    value_alone = alone.value * units.of_leaves(coded)
    error_alone = sum(column.descent(value_alone, coded.base).objective() for column in columns)
    if error_alone <= LITTLE_NOISE * sum(column.variance for column in columns):
        return alone

    def attempt(units: Units) -> tuple[float, Rounded]:
        base = whole_base(coded, units) if is_base_whole else coded.base
        value = problem.value.copy()
        error = 0.0
        for column in columns:
            descent = column.descent(value, base)
            rounded = descent.round_to(units.of_column[[column.number]], low, high, PASSES)
            value[column.is_of_leaf, column.place] = rounded[:, 0]
            error += descent.objective()
        return error, Rounded(np.rint(value / units.of_leaves(coded)).astype(np.int64), units)

    lowest, best = best_of_scales(units, attempt)
    return best if lowest < error_alone else alone


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """One column of the scores, and the trees that add to it."""

    number: int
    forest: Forest
    leaf: NDArray[Any]
    is_of_leaf: NDArray[np.bool_]  # whether a leaf, of all, is one of these trees
    place: int  # among the numbers of a leaf
    score: Vector
    weight: Vector

    @property
    def variance(self) -> float:
        """The variance of the scores."""
        mean = np.average(self.score, weights=self.weight)
        return float(np.average((self.score - mean) ** 2, weights=self.weight))

    def descent(self, value: Vector, base: Vector) -> Descent:
        """Return the descent to the scores from these values of all leaves, with this base."""
        problem = Problem(self.forest, other_base=base[[self.number]])
        anchor = problem.value.copy()
        # Values are drawn to what they were, by as much as one row would.
        descent = Descent(problem, self.leaf, self.score, self.weight, LOSSES["mse"], 1.0, 1.0, anchor)
        descent.start_from(value[self.is_of_leaf, self.place, None])
        return descent


def _columns_with_trees(coded: Forest) -> Int64Array:
    """Return the columns that a tree adds to: those of single leaves were left out."""
    return np.unique(coded.tree_column[:, None] + np.arange(coded.value.shape[1]))


def _column(coded: Forest, leaf: NDArray[Any], number: int, score: Vector, weight: Vector) -> ScoreColumn:
    begins = coded.tree_column
    trees = np.flatnonzero((begins <= number) & (number < begins + coded.value.shape[1]))
    place = int(number - begins[trees[0]])
    own = coded.select(trees)
    forest = derive(
        own,
        value=own.value[:, [place]],
        base=coded.base[[number]],
        tree_column=np.zeros(trees.size, np.int32),
        classes=None,
        task="regression",
        link="identity",
        ties="first",
    )
    n_leaves = (np.diff(coded.offset) + 1) // 2
    is_of_leaf = np.repeat(np.isin(np.arange(coded.n_trees), trees), n_leaves)
    own_leaf = leaf if trees.size == coded.n_trees else leaf[trees]  # not a copy for each number of a leaf
    return ScoreColumn(number, forest, own_leaf, is_of_leaf, place, score[:, number].copy(), weight)
