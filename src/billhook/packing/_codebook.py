"""A codebook: leaves share a few vectors of whole numbers, and a leaf takes the index of one of them.

Without rows, k-means. With rows, that is the start; then, in turn, each leaf takes the entry that its rows do best
with, all else being as it is, and each entry takes a Newton step for all leaves that chose it. Neither raises the
loss. Entries are any numbers at first, and whole ones at last.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._progress import tell_progress
from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import Forest
from billhook.kernels import choose_entries, find_nearest, move_entries
from billhook.kernels import k_means as find_means
from billhook.packing._leaf_values import Rounded, Units, exact_scale, find_units, limits
from billhook.packing._rounding import SHARES, with_whole_base
from billhook.refinement import Descent, Loss, Problem, find_leaves, trees_at_once

# Leaves of rows, their targets, their weights, and the loss.
RowsWithLeaves = tuple[NDArray[Any], NDArray[Any], Vector, Loss]
FREE_ROUNDS, WHOLE_ROUNDS = 6, 3
QUICK_FREE_ROUNDS, QUICK_WHOLE_ROUNDS = 2, 1
ENTRY_PASSES = 2
# With the one a leaf has these are eight: as many numbers as fit a wide register or two.
TRIED = 7
SEED = 0
# K-means ends where it changes nothing, but not later; and sooner where that would be more numbers compared.
MOST_PASSES, FEWEST_PASSES, MOST_COMPARED = 300, 5, 2_000_000_000
QUICK_SHARES = (0.7, 0.4)
# So many scales of those that seem best are tried out.
BEST_SCALES, QUICK_SCALES = 2, 1
L2 = 1.0
ANYWHERE = np.zeros((0, 3))


def round_to_codebook(coded: Forest, bits: int, n_entries: int, *, by_class: bool) -> Rounded:
    """Return leaf values of few different vectors of whole numbers, near to what they were."""
    is_leaf = coded.feature < 0
    value, weight = coded.value[is_leaf], coded.row_weight[is_leaf]
    entries = k_means(value, weight if (weight > 0.0).all() else np.ones(weight.size), n_entries)
    units = units_for(entries, coded, bits, by_class=by_class)
    whole = whole_entries(entries, units, bits)
    return in_units(whole[nearest(value, whole)], units)


def round_to_codebook_with_rows(
    coded: Forest,
    codes: Float32Array,
    target: NDArray[Any],
    weight: Vector,
    loss: Loss,
    bits: int,
    n_entries: int,
    *,
    by_class: bool,
    is_quick: bool = False,
) -> Rounded:
    """Return leaf values of few different vectors of whole numbers, chosen for these rows of codes.

    Values are drawn to what they were, by as much as one row would.
    """
    problem = Problem(coded)
    leaf = find_leaves(problem, [(codes, target.size)], by_row=False, n_jobs=None)
    rows = (leaf, target, weight, loss)
    by_tree = zip(leaf, problem.n_leaves_by_tree, strict=True)
    of_leaf: Vector = np.concatenate([np.bincount(ids, weight, n) for ids, n in by_tree]) + np.float64(L2)
    start = k_means(problem.value, of_leaf, n_entries)
    free = CodebookDescent.of(coded, rows, start.copy())
    n_rounds = QUICK_FREE_ROUNDS if is_quick else FREE_ROUNDS
    for number in range(n_rounds):
        tell_progress("finding a codebook", number, n_rounds, f"{number} of {n_rounds} rounds")
        free.choose()
        free.move(ANYWHERE)

    learned, units = whole_descent(free, coded, bits, by_class=by_class, is_quick=is_quick)
    # What k-means alone comes to: nothing worse is returned.
    plain_units = units_for(start, coded, bits, by_class=by_class)
    whole = whole_entries(start, plain_units, bits)
    plain = free.settled(with_whole_base(coded, plain_units), whole, nearest(problem.value, whole))
    if plain.objective() < learned.objective():
        learned, units = plain, plain_units
    for _ in range(QUICK_WHOLE_ROUNDS if is_quick else WHOLE_ROUNDS):
        learned.choose()
        learned.move(step_and_limits(units, bits))
    return in_units(learned.entries[learned.chosen], units)


def whole_descent(
    free: "CodebookDescent", coded: Forest, bits: int, *, by_class: bool, is_quick: bool
) -> tuple["CodebookDescent", Units]:
    """Return a descent with whole entries near to these, and their units: the best of some scales.

    By what the entries come to when they are only rounded, which nearly always tells the best scale, some scales are
    chosen; with these they take steps.
    """
    largest = units_for(free.entries, coded, bits, by_class=by_class)
    scales = [
        largest.scale,
        *(exact_scale(largest.scale * share) for share in (QUICK_SHARES if is_quick else SHARES)),
    ]
    rounded = []
    for number, scale in enumerate(scales):
        check_time()
        units = largest._replace(scale=scale)
        entries = whole_entries(free.entries, units, bits)
        rounded.append((free.settled(with_whole_base(coded, units), entries, free.chosen).objective(), number, units))
    descents = []
    for _, number, units in sorted(rounded)[: QUICK_SCALES if is_quick else BEST_SCALES]:
        whole = free.settled(with_whole_base(coded, units), free.entries.copy(), free.chosen.copy())
        whole.move(step_and_limits(units, bits))
        descents.append((whole.objective(), number, whole, units))
    return min(descents)[2:]


def k_means(value: Vector, weight: Vector, n_entries: int) -> Vector:
    """Return at most so many vectors with one near to each of these: the same for every call."""
    # Vectors that differ by rounding only are no different ones.
    _, first = np.unique(value.astype(np.float32), axis=0, return_index=True)
    if first.size <= n_entries:
        return value[first]
    entries = np.empty((n_entries, value.shape[1]))
    n_passes = int(np.clip(MOST_COMPARED // (value.size * n_entries), FEWEST_PASSES, MOST_PASSES))
    check_time()
    find_means(value, weight, SEED, n_passes, entries, np.empty(len(value), np.int64))
    return entries


def nearest(value: Vector, entries: Vector) -> Int64Array:
    """Return the number of the entry nearest to each vector, the first of equals."""
    number = np.empty(len(value), np.int64)
    find_nearest(value, entries, number)
    return number


def units_for(entries: Vector, coded: Forest, bits: int, *, by_class: bool) -> Units:
    """Return units in which the entries fit so many bits."""
    return find_units(np.abs(entries).max(axis=0), bits, coded.n_trees, by_class=by_class)


def whole_entries(entries: Vector, units: Units, bits: int) -> Vector:
    """Return the entries rounded to whole units, as large as so many bits allow."""
    return np.asarray(np.clip(np.rint(entries / units.of_column), *limits(bits)) * units.of_column)


def in_units(value: Vector, units: Units) -> Rounded:
    """Return values that are whole units as whole numbers."""
    return Rounded(np.rint(value / units.of_column).astype(np.int64), units)


def step_and_limits(units: Units, bits: int) -> Vector:
    """Return the unit of each column, and the lowest and highest number of it."""
    low, high = limits(bits)
    return np.stack(np.broadcast_arrays(units.of_column, float(low), float(high)), axis=1)


@dataclass
class CodebookDescent:
    """A descent in which leaves take entries for values: `chosen`, -1 where a leaf still has a value of its own."""

    descent: Descent
    entries: Vector
    chosen: Int64Array

    @classmethod
    def of(cls, forest: Forest, rows: RowsWithLeaves, entries: Vector) -> "CodebookDescent":
        """Begin with the values of the forest; `rows` are leaves, targets, weights and the loss."""
        problem = Problem(forest)
        descent = Descent(problem, *rows, 1.0, L2, problem.value.copy())
        sharing = cls(descent, entries, np.full(len(problem.value), -1, np.int64))
        sharing._as_probabilities()
        return sharing

    def settled(self, forest: Forest, entries: Vector, chosen: Int64Array) -> "CodebookDescent":
        """Return a descent on the same rows where all leaves take these entries; the forest may have another base."""
        descent = copy(self.descent)
        descent.problem = Problem(forest)
        sharing = CodebookDescent(descent, entries, chosen)
        sharing.settle(chosen)
        return sharing

    def settle(self, chosen: Int64Array) -> None:
        """Let all leaves take these entries."""
        self.chosen = chosen
        self.descent.start_from(self.entries[chosen])
        self._as_probabilities()

    def objective(self) -> float:
        """Return the weighted loss per row, and the L2 penalty on the distance from the original values."""
        return self.descent.objective()

    def choose(self) -> None:
        """Let each leaf in its turn take the best of the entries nearest to it."""
        d, n_tried = self.descent, min(TRIED, len(self.entries))
        for trees, leaves, first in trees_at_once(d.problem.first, d.state.size):
            check_time()
            of_rows = (d.leaf[trees], first, d.state, d.target, d.weight)
            of_leaves = (d.used[leaves], d.anchor[leaves], self.chosen[leaves], self.entries, d.table[leaves])
            choose_entries(*of_rows, *of_leaves, d.loss.code, d.l2, d.loss.largest, n_tried)

    def move(self, allowed: Vector) -> None:
        """Let each entry in its turn take a step for all leaves that chose it, to `allowed` values only."""
        check_time()
        d = self.descent
        common = (d.leaf, d.problem.first, d.state, d.target, d.weight, d.used, d.anchor, self.chosen, self.entries)
        move_entries(*common, allowed, d.loss.code, d.l2, d.loss.largest, ENTRY_PASSES)
        d.table = self.entries[self.chosen]

    def _as_probabilities(self) -> None:
        if self.descent.loss.is_log:
            self.descent.state /= self.descent.state.sum(axis=1, keepdims=True)
