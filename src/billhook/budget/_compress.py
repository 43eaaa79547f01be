"""From a grown ensemble to a packed model that fits the budget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import OutOfTimeError
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


class TooSmallError(ValueError):
    """A budget that not even one split fits."""


class CompressedStages(NamedTuple):
    """What compression made: the trees it started from, the forest that fits, and the packed model."""

    grown: Forest
    fitted: Forest
    packed: Packed


def compress(
    grown: Forest, coding: Coding, compression: CompressionConfig, budget: int, rows: CodedRows
) -> CompressedStages:
    """Return the stages on the way to a packed model of at most `budget` bytes.

    How many bytes rounding and sharing leave is known only afterwards: a model that turns out too large, or much
    smaller than it may be, is made anew with another limit, if there is time.
    """

    def size(forest: Forest) -> int:
        return size_on_codes(forest, coding, missing_values=rows.missing_values, **compression.packing)

    limit = budget
    best: CompressedStages | None = None
    for _ in range(TRIES):
        try:
            first, fitted = _fitted(grown, size, compression, limit, rows)
            packed = _packed(fitted, coding, compression, rows)
        except OutOfTimeError:
            if best is None:
                raise
            break
        if packed.nbytes <= budget and (best is None or packed.nbytes > best.packed.nbytes):
            best = CompressedStages(first, fitted, packed)
        if packed.nbytes > budget:
            limit = int(limit * min(budget / packed.nbytes, 0.995)) - 1
        elif packed.nbytes < NEARLY_FULL * budget and size(grown) > limit and limit < 2 * budget:
            limit = int(limit * min(budget / packed.nbytes, 1.5))
        else:
            break
    if best is None:
        raise TooSmallError(f"no model of this kind takes at most {budget:,} bytes")
    return best


def _fitted(
    grown: Forest, size: Callable[[Forest], int], compression: CompressionConfig, limit: int, rows: CodedRows
) -> tuple[Forest, Forest]:
    """Return the trees to start from, and the forest cut off or merged until it takes at most `limit` bytes."""
    first = first_trees(grown, size, int(limit * compression.overgrow))
    if first is None:
        first = grown.select([0])
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


def first_trees(grown: Forest, size: Callable[[Forest], int], limit: int) -> Forest | None:
    """Return as many of the first trees as take at most `limit` bytes; None if not one does."""
    low, high = 0, grown.n_trees
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(grown.select(range(middle))) <= limit else (low, middle - 1)
    return grown.select(range(low)) if low else None
