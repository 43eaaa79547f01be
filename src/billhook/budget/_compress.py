"""From a grown ensemble to a packed model that fits the budget."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import OutOfTimeError
from billhook.budget._space import CompressionConfig
from billhook.forest import Forest
from billhook.packing import Coding, Packed, pack_on_codes, size_on_codes
from billhook.refinement import QUICK, KnownTests, choose_splits, merge, refine

PASSES = 5
TRIES = 3
# A model smaller than this share of what it may be is made anew, a bit larger: so much is aimed at.
NEARLY_FULL, AIM = 0.97, 0.985
# By no more numbers, rows times features, are splits chosen again.
MOST_CHOSEN_BY = 2_000_000
# By no more is the limit raised at once.
MOST_RAISED = 1.5


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows as codes, to learn from."""

    codes: NDArray[np.float32]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    missing_values: bool
    loss: str
    is_quick: bool = False

    def merge(self, forest: Forest, size: Callable[[Forest], int], limit: int, l2: float) -> Forest:
        """Return the forest merged until it takes at most `limit` bytes."""
        passes = QUICK if self.is_quick else None
        try:
            return merge(
                forest,
                self.codes,
                self.y,
                size=limit,
                accounting=size,
                loss=self.loss,
                l2=l2,
                sample_weight=self.weight,
                passes=passes,
            )
        except ValueError as error:  # not even a single leaf fits, as of many classes
            raise TooSmallError(str(error)) from None

    def refine(self, forest: Forest, l2: float) -> Forest:
        """Return the forest with better leaf values."""
        return refine(
            forest,
            self.codes,
            self.y,
            loss=self.loss,
            epochs=PASSES,
            l2=l2,
            shrink_to="mean" if forest.classes is None else "zero",
            sample_weight=self.weight,
            validation_fraction=None,
            random_state=0,
        )

    def sweep(self, forest: Forest, l2: float, n_sweeps: int) -> Forest:
        """Return the forest with splits chosen again, at most so many times, and leaf values refined after each.

        Of many rows and features some rows choose, evenly spaced. When the time is up the forest is what it came to.
        """
        n_used = np.unique(forest.feature[forest.feature >= 0]).size
        some = slice(None, None, max(1, len(self.y) * n_used // MOST_CHOSEN_BY))
        with suppress(OutOfTimeError):
            for _ in range(n_sweeps):
                tests = KnownTests(forest, self.codes[some])
                chosen = choose_splits(tests, self.y[some], loss=self.loss, sample_weight=self.weight[some])
                del tests  # it is large
                if chosen is None:
                    break
                forest = self.refine(chosen, l2)
        return forest


class TooSmallError(ValueError):
    """A budget that not even one split fits."""


class CompressedStages(NamedTuple):
    """What compression made: the trees it started from, the forest that fits, and the packed model.

    `saved` is how many bytes rounding, sharing and other splits took from what was counted for the forest.
    """

    grown: Forest
    fitted: Forest
    packed: Packed
    saved: int = 0

    @property
    def n_tests(self) -> int:
        """How many different tests the trees that it started from ask."""
        forest = self.grown
        splits = forest.feature >= 0
        tests = (forest.feature[splits], forest.threshold[splits], forest.missing_left[splits])
        return int(np.unique(np.stack(tests), axis=1).shape[1])


def compress(
    grown: Forest, coding: Coding, compression: CompressionConfig, budget: int, rows: CodedRows, *, saved: int = 0
) -> CompressedStages:
    """Return the stages on the way to a packed model of at most `budget` bytes.

    How many bytes rounding and sharing leave is known only afterwards: a model that turns out too large, or much
    smaller than it may be, is made anew with another limit, if there is time. `saved` is what they are expected to
    save: with a good guess the first model is the last.
    """

    def size(forest: Forest) -> int:
        return size_on_codes(forest, coding, missing_values=rows.missing_values, **compression.packing)

    sizes = SizesByTrees(grown, size)
    limits = LimitSearch(sizes, budget)
    limit = limits.first(saved)
    best: CompressedStages | None = None
    for n_left in reversed(range(TRIES)):
        try:
            first, small = _small_enough(sizes, compression, limit, rows)
            fitted = small if compression.l2 is None else rows.sweep(small, compression.l2, compression.sweeps)
            packed = _packed(fitted, coding, compression, rows)
        except OutOfTimeError:
            if best is None:
                raise
            break
        saved = size(small) - packed.nbytes
        if packed.nbytes <= budget and (best is None or packed.nbytes > best.packed.nbytes):
            best = CompressedStages(first, fitted, packed, saved)
        next_limit = limits.next(limit, first.n_trees, packed.nbytes, saved)
        if next_limit is None:
            break
        # What takes no more before leaves are rounded hardly ever takes more afterwards.
        limit = min(next_limit, budget) if best is None and n_left == 1 else next_limit
    if best is None:
        raise TooSmallError(f"no model of this kind takes at most {budget:,} bytes")
    return best


def _small_enough(
    sizes: "SizesByTrees", compression: CompressionConfig, limit: int, rows: CodedRows
) -> tuple[Forest, Forest]:
    """Return the trees to start from, and the forest cut off or merged until it takes at most `limit` bytes."""
    size = sizes.size
    n_trees = sizes.most_trees(int(limit * compression.overgrow))
    first = sizes.grown.select(range(max(n_trees, 1)))
    if not n_trees:
        while size(first) > limit and first.n_leaves > 2:
            first = first.truncate(max_leaves=max(2, first.n_leaves // 2))
        if size(first) > limit:
            raise TooSmallError(f"no model of this kind takes at most {limit:,} bytes")
    if compression.l2 is None:
        return first, first
    if size(first) > limit:
        return first, rows.merge(first, size, limit, compression.l2)
    return first, rows.refine(first, compression.l2)


def _packed(fitted: Forest, coding: Coding, compression: CompressionConfig, rows: CodedRows) -> Packed:
    rounded_with: dict[str, Any] = {}
    if compression.rounding != "alone":
        rounded_with = {"codes": rows.codes, "sample_weight": rows.weight}
    if compression.rounding == "labels":
        rounded_with |= {"y": rows.y, "loss": rows.loss}
        if fitted.classes is None:  # what refining was kept from, rounding would do otherwise
            rounded_with["l2"] = compression.l2 or 1.0
    options = {"missing_values": rows.missing_values, "is_quick": rows.is_quick, **compression.packing}
    return pack_on_codes(fitted, coding, **options, **rounded_with)


class SizesByTrees:
    """How many bytes the first trees of an ensemble take, each number of them counted once."""

    def __init__(self, grown: Forest, size: Callable[[Forest], int]) -> None:
        self.grown, self.size = grown, size
        self._known = {0: 0}

    def of(self, n_trees: int) -> int:
        """Return how many bytes so many trees take."""
        if n_trees not in self._known:
            self._known[n_trees] = self.size(self.grown.select(range(n_trees)))
        return self._known[n_trees]

    def most_trees(self, limit: int) -> int:
        """Return how many of the first trees take at most `limit` bytes."""
        n_grown = self.grown.n_trees
        if self.of(n_grown) <= limit:
            return n_grown
        low, high = 0, n_grown
        for n_trees in sorted(self._known):
            low, high = (n_trees, high) if self._known[n_trees] <= limit else (low, min(high, n_trees))
        n_counted = 0
        while high - low > 1:
            # Trees take about as many bytes each: the number is near to where a line leads. If not, it is halved.
            n_counted += 1
            share = 0.5 if n_counted % 3 == 0 else (limit - self.of(low)) / (self.of(high) - self.of(low))
            middle = min(max(low + int(share * (high - low)), low + 1), high - 1)
            low, high = (middle, high) if self.of(middle) <= limit else (low, middle)
        return low


class LimitSearch:
    """The limits for what is counted of a forest, one after the other, until its packed model fills the budget."""

    def __init__(self, sizes: SizesByTrees, budget: int) -> None:
        self.sizes, self.budget = sizes, budget
        self._fits = 0
        self._is_too_large: int | None = None
        self._cut_off: set[int] = set()  # numbers of trees that models were made of without merging leaves

    def first(self, saved: int) -> int:
        """Return the first limit, where so many bytes are expected to be saved."""
        if 0 <= saved <= (1.0 - NEARLY_FULL) * self.budget:
            return self.budget
        return int(np.clip(AIM * self.budget + saved, 0.5 * self.budget, MOST_RAISED * self.budget))

    def next(self, limit: int, n_trees: int, nbytes: int, saved: int) -> int | None:
        """Return the limit for the next model, where this one is too large or much too small; None where it is not.

        `n_trees` trees were merged, or cut off, to this limit, and packing the model to `nbytes` saved so many.
        """
        budget, sizes = self.budget, self.sizes
        if nbytes > budget:
            self._is_too_large = min(self._is_too_large or limit, limit)
        elif nbytes < NEARLY_FULL * budget:
            self._fits = max(self._fits, limit)
        else:
            return None
        is_cut_off = sizes.of(n_trees) <= limit
        # Whole trees are counted nearly to the byte; what is left of merged ones may turn out some more.
        wanted = min((budget if is_cut_off else int(AIM * budget)) + saved, int(MOST_RAISED * limit))
        if is_cut_off:
            self._cut_off.add(n_trees)
            return wanted if sizes.most_trees(wanted) not in self._cut_off else None
        if nbytes <= budget and limit >= sizes.of(sizes.grown.n_trees):
            return None
        if self._is_too_large is None:
            return wanted if wanted > limit else None
        # A table of tests or leaves that is worth its bytes or not makes the size leap: then from both sides.
        return wanted if self._fits < wanted < self._is_too_large else (self._fits + self._is_too_large) // 2
