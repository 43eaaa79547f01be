"""A grown ensemble made to fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.budget._space import CompressionConfig
from billhook.forest import Forest
from billhook.packing import Coding, Packed, pack_on_codes, size_on_codes
from billhook.refinement import QUICK, merge, refine

PASSES = 5
TRIES = 3
# A model this much smaller than it may be is made anew, a bit larger.
NEARLY_FULL = 0.97


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows as codes, to learn from."""

    codes: NDArray[np.float32]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    missing_values: bool
    loss: str
    is_quick: bool = False

    def merge(self, forest: Forest, size: Callable[[Forest], int], aim: int, l2: float) -> Forest:
        """Return the forest merged until it takes at most so many bytes."""
        passes = QUICK if self.is_quick else None
        try:
            return merge(
                forest,
                self.codes,
                self.y,
                size=aim,
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
            sample_weight=self.weight,
            validation_fraction=None,
        )


class TooSmallError(ValueError):
    """A budget that not even one split fits."""


def compress(
    grown: Forest,
    coding: Coding,
    how: CompressionConfig,
    budget: int,
    rows: CodedRows,
    told: Callable[[str, Any], None] | None = None,
) -> Packed:
    """Return the ensemble packed into at most `budget` bytes; `told` hears of every step."""
    told = told or (lambda _name, _model: None)

    def size(forest: Forest) -> int:
        return size_on_codes(forest, coding, missing_values=rows.missing_values, **how.packing)

    aim = budget
    best: Packed | None = None
    for _ in range(TRIES):
        steps: dict[str, Any] = {}
        small = _fitting(grown, size, how, aim, rows, steps)
        packed = _packed(small, coding, how, rows)
        if packed.nbytes <= budget and (best is None or packed.nbytes > best.nbytes):
            best = packed
            for name, forest in {**steps, "made to fit": small, "packed": packed}.items():
                told(name, forest)
        if packed.nbytes > budget:
            aim = int(aim * min(budget / packed.nbytes, 0.995)) - 1
        elif packed.nbytes < NEARLY_FULL * budget and size(grown) > aim and aim < 2 * budget:
            aim = int(aim * min(budget / packed.nbytes, 1.5))
        else:
            break
    if best is None:
        raise TooSmallError(f"no model of this kind takes at most {budget:,} bytes")
    return best


def _fitting(
    grown: Forest,
    size: Callable[[Forest], int],
    how: CompressionConfig,
    aim: int,
    rows: CodedRows,
    steps: dict[str, Any],
) -> Forest:
    """Return the ensemble cut off or merged to a size."""
    first = first_trees(grown, size, int(aim * how.over))
    if first is None:
        first = grown.select([0])
        while size(first) > aim and first.n_leaves > 2:
            first = first.truncate(max_leaves=max(2, first.n_leaves // 2))
        if size(first) > aim:
            raise TooSmallError(f"no model of this kind takes at most {aim:,} bytes")
    steps["grown"] = first
    if how.l2 is None:
        return first
    if size(first) > aim:
        return rows.merge(first, size, aim, how.l2)
    return rows.refine(first, how.l2)


def _packed(small: Forest, coding: Coding, how: CompressionConfig, rows: CodedRows) -> Packed:
    learned: dict[str, Any] = {}
    if how.rounding != "alone":
        learned = {"codes": rows.codes, "sample_weight": rows.weight}
    if how.rounding == "labels":
        learned |= {"y": rows.y, "loss": rows.loss}
    options = {"missing_values": rows.missing_values, "is_quick": rows.is_quick, **how.packing}
    return pack_on_codes(small, coding, **options, **learned)


def first_trees(grown: Forest, size: Callable[[Forest], int], most: int) -> Forest | None:
    """Return as many of the first trees as take at most so many bytes; None if not one does."""
    low, high = 0, grown.n_trees
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(grown.select(range(middle))) <= most else (low, middle - 1)
    return grown.select(range(low)) if low else None
