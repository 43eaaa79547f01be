"""Numbers of a few bits each, one after the other in bytes, lowest bit first."""

import numpy as np

from billhook._types import Bytes, Int64Array


def bits_for(n_values: int) -> int:
    """Return how many bits tell so many values apart; 0 for one value."""
    return max(n_values - 1, 0).bit_length()


def pack_bits(numbers: Int64Array, width: int) -> Bytes:
    """Return whole numbers from 0 to 2^width - 1 as bytes; the last byte is filled up with zeros."""
    if width == 0 or numbers.size == 0:
        return np.zeros(0, np.uint8)
    if numbers.min() < 0 or int(numbers.max()) >> width:
        raise ValueError(f"a number from {numbers.min()} to {numbers.max()} does not fit {width} bits")
    bits = (numbers.astype(np.uint64)[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    return np.packbits(bits.astype(np.uint8).ravel(), bitorder="little")


def unpack_bits(data: Bytes, width: int, count: int) -> Int64Array:
    """Return the numbers that `pack_bits` packed."""
    if width == 0:
        return np.zeros(count, np.int64)
    bits = np.unpackbits(data, count=count * width, bitorder="little").reshape(count, width)
    return np.asarray(bits.astype(np.int64) @ (np.int64(1) << np.arange(width, dtype=np.int64)))
