"""Projections: sums of the codes of features times small weights, which splits test as they test a feature.

A split on one is oblique: it tells rows apart that lie on either side of a slanted plane, for which splits on single
features take many steps. All of it is whole numbers, so that every target computes the same: the sum is shifted down
by some bits, counted from the lowest that rows have, and cut off at both ends of the codes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from billhook._types import Bytes, Float32Array, Int64Array
from billhook.packing._bits import bits_for, pack_bits, unpack_bits
from billhook.packing._layout import ByteLayout

# By how many bits sums are shifted; readers have sums of 32 bits.
MOST_TURN = 31
# What readers take of a weight, and of how far a lowest is above the least.
MOST_WEIGHT_BITS, MOST_LOW_BITS = 8, 25
LARGEST_SUM = 2**31 - 1
# Rows whose sums are computed at once.
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Projections:
    """Weighted sums of codes: the code of each is (sum >> `turn`) - `low`, cut off at 0 and at the highest code.

    Attributes
    ----------
    weights : int64 array (projections, features)
        Of the codes of the features in use.
    turn, low : int64 array (projections)
    code_bits : int
        As those of the features.
    """

    weights: Int64Array
    turn: Int64Array
    low: Int64Array
    code_bits: int

    @property
    def n_projections(self) -> int:
        """How many there are."""
        return len(self.weights)

    @property
    def n_codes(self) -> int:
        """How many codes a row can have; as those of features, the highest 16-bit number is none."""
        return min(1 << self.code_bits, (1 << 16) - 1)

    @property
    def inputs(self) -> Int64Array:
        """The places of the features that have a weight in any of them."""
        return np.flatnonzero(self.weights.any(axis=0)).astype(np.int64)

    def sums(self, codes: Float32Array) -> Int64Array:
        """Return the sums of rows, by the codes of the features, all of which are there."""
        sums = np.zeros((len(codes), self.n_projections), np.int64)
        for k in self.inputs.tolist():  # not as a product of matrices, whose threads wait for each other
            sums += codes[:, k, None].astype(np.int64) * self.weights[:, k]
        return sums

    def codes(self, codes: Float32Array) -> Float32Array:
        """Return the codes of the projections of rows, by those of the features, all of which are there."""
        found = np.empty((len(codes), self.n_projections), np.float32)
        for begin in range(0, len(codes), BLOCK):
            rows = slice(begin, begin + BLOCK)
            found[rows] = np.clip((self.sums(codes[rows]) >> self.turn) - self.low, 0, self.n_codes - 1)
        return found

    def check(self) -> None:
        """Raise ValueError for sums that a target could not compute with."""
        if not self.weights.any(axis=1).all():
            raise ValueError("a projection has no weight other than 0")
        if int(self.turn.max()) > MOST_TURN:
            raise ValueError(f"the sum of a projection is shifted by {self.turn.max()} bits, of at most {MOST_TURN}")
        if weight_bits_of(self.weights) > MOST_WEIGHT_BITS:
            raise ValueError(f"a weight of a projection takes more than {MOST_WEIGHT_BITS} bits")
        if int(np.ptp(self.low)) >= 1 << MOST_LOW_BITS:
            raise ValueError(f"the lowest sums of projections differ by more than {MOST_LOW_BITS} bits hold")
        largest = int(np.abs(self.weights).sum(axis=1).max()) * (self.n_codes - 1) + int(np.abs(self.low).max())
        if largest > LARGEST_SUM:
            raise ValueError("the sum of a projection takes more than 32 bits")

    def take(self, some: Int64Array) -> "Projections":
        """Return some of them."""
        return Projections(self.weights[some], self.turn[some], self.low[some], self.code_bits)

    def of_inputs(self, places: Int64Array) -> "Projections":
        """Return them as sums of the features at these places only."""
        return Projections(self.weights[:, places], self.turn, self.low, self.code_bits)


def projection_shape(projections: Projections | None) -> dict[str, Any]:
    """Return what a layout says of projections: widths in bits, and what numbers are counted from."""
    if projections is None:
        return {}
    turn, low = projections.turn, projections.low
    return {
        "n_projections": projections.n_projections,
        "weight_bits": weight_bits_of(projections.weights),
        "turn_bits": bits_for(int(np.ptp(turn)) + 1),
        "least_turn": int(turn.min()),
        "low_bits": bits_for(int(np.ptp(low)) + 1),
        "least_low": int(low.min()),
    }


def weight_bits_of(weights: Int64Array) -> int:
    """Return the bits of a weight, of which the highest says its sign."""
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)) - 1, 1)
    return bits_for(largest + 1) + 1


def pack_projections(projections: Projections | None, layout: ByteLayout) -> Bytes:
    """Return projections as bytes: the weights of all, then of each its lowest and its turn, from the least up."""
    if projections is None:
        return np.zeros(0, np.uint8)
    weights = _bits_of(projections.weights.ravel() + (1 << (layout.weight_bits - 1)), layout.weight_bits)
    low = _bits_of(projections.low - layout.least_low, layout.low_bits)
    turn = _bits_of(projections.turn - layout.least_turn, layout.turn_bits)
    return pack_bits(np.concatenate([weights.ravel(), np.append(low, turn, axis=1).ravel()]), 1)


def unpack_projections(data: Bytes, layout: ByteLayout) -> Projections | None:
    """Return the projections that bytes are; None if there are none."""
    if not layout.n_projections:
        return None
    n_weights = layout.n_projections * layout.n_used
    bits = unpack_bits(data, 1, layout.n_projections * layout.projection_bits)
    weights, heads = np.split(bits, [n_weights * layout.weight_bits])
    low, turn = np.split(heads.reshape(layout.n_projections, -1), [layout.low_bits], axis=1)
    weights = _number_of(weights.reshape(n_weights, layout.weight_bits)) - (1 << (layout.weight_bits - 1))
    return Projections(
        weights.reshape(layout.n_projections, layout.n_used),
        layout.least_turn + _number_of(turn),
        layout.least_low + _number_of(low),
        layout.code_bits,
    )


def _number_of(bits: Int64Array) -> Int64Array:
    """Return the numbers of bits, (numbers, bits), the lowest first."""
    return np.asarray(bits @ (np.int64(1) << np.arange(bits.shape[1])))


def _bits_of(numbers: Int64Array, width: int) -> Int64Array:
    """Return the bits of numbers, (numbers, bits), the lowest first."""
    return np.asarray(numbers[:, None] >> np.arange(width) & 1)
