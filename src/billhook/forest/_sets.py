"""Sets of categories, the bits of all sets of a forest one after the other.

Category c of a set is bit c % 32 of its word c // 32; what is beyond a set's words is not in it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

BITS = 32
# Rows are float32: from here on they could not tell categories apart.
MAX_CATEGORIES = 2**24


class CategorySets(NamedTuple):
    """Sets as a Forest keeps them: where the words of each begin, and the words."""

    set_offset: NDArray[np.int64]
    set_bits: NDArray[np.uint32]


def no_sets() -> CategorySets:
    """Return what a forest has whose splits are all by thresholds."""
    return CategorySets(np.zeros(1, np.int64), np.zeros(0, np.uint32))


def pool_sets(sets: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int32], CategorySets]:
    """Return the number of each set among those that differ, in the order in which they first come, and these.

    Parameters
    ----------
    sets : sequence of arrays
        The categories of each set, whole numbers from 0 to `MAX_CATEGORIES` - 1, rising.
    """
    number = np.empty(len(sets), np.int32)
    known: dict[bytes, int] = {}
    different: list[NDArray[np.int64]] = []
    for k, categories in enumerate(sets):
        as_int = np.ascontiguousarray(categories, np.int64)
        key = as_int.tobytes()
        number[k] = known.setdefault(key, len(known))
        if len(known) > len(different):
            different.append(as_int)
    return number, _bits_of(different)


def categories_of(forest: "Forest", number: int) -> NDArray[np.int64]:
    """Return the categories of one set of a forest, rising."""
    words = forest.set_bits[forest.set_offset[number] : forest.set_offset[number + 1]]
    bits = words[:, None] >> np.arange(BITS, dtype=np.uint32) & np.uint32(1)
    return np.flatnonzero(bits)


def without_unused_sets(forest: "Forest", category_set: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return the fields of sets for nodes that test these of the forest's sets; others are left out."""
    if forest.n_sets == 0:
        return {"category_set": category_set}
    is_used = np.zeros(forest.n_sets, np.bool_)
    is_used[category_set[category_set >= 0]] = True
    if is_used.all():
        return {"category_set": category_set}
    # The entry behind the last set is for -1.
    new_number = np.append(np.cumsum(is_used) - 1, -1)[category_set]
    length = np.diff(forest.set_offset)
    return {
        "category_set": new_number.astype(np.int32),
        "set_offset": np.append(0, np.cumsum(length[is_used])),
        "set_bits": forest.set_bits[np.repeat(is_used, length)],
    }


def check_sets(forest: "Forest") -> None:
    """Raise ValueError unless every split tests a threshold, or one of the sets that are there."""
    offset, n_words, category_set = forest.set_offset, forest.set_bits.size, forest.category_set
    # Compared, not subtracted, as all offsets that may be made up.
    if offset.size < 1 or offset[0] != 0 or offset[-1] != n_words or (offset[1:] < offset[:-1]).any():
        raise ValueError(f"set_offset must rise from 0 to the number of words in set_bits, {n_words}")
    n_sets = offset.size - 1
    if (category_set < -1).any() or (category_set >= n_sets).any():
        raise ValueError(f"category_set must lie between 0 and {n_sets - 1}, or be -1 for a split by threshold")
    if n_sets == 0:
        return
    longest = int(np.diff(offset).max()) * BITS
    if longest > MAX_CATEGORIES:
        raise ValueError(
            f"a set of categories has room for {longest:,}, and float32 rows tell {MAX_CATEGORIES:,} categories apart"
        )
    tests_set = category_set >= 0
    if (forest.feature[tests_set] < 0).any():
        raise ValueError("category_set must be -1 for a leaf")
    if (forest.threshold[tests_set] != 0.0).any():
        raise ValueError("threshold must be 0 where a split tests a set of categories")


def _bits_of(sets: list[NDArray[np.int64]]) -> CategorySets:
    if not sets:
        return no_sets()
    category = np.concatenate(sets)
    outside = category[(category < 0) | (category >= MAX_CATEGORIES)]
    if outside.size:
        raise ValueError(
            f"category {outside[0]} is not between 0 and {MAX_CATEGORIES - 1:,}, and float32 rows cannot tell others "
            "apart; number the categories from 0"
        )
    n_words = [int(one.max(initial=-1)) // BITS + 1 for one in sets]
    offset = np.append(0, np.cumsum(n_words))
    bits = np.zeros(offset[-1], np.uint32)
    first = np.repeat(offset[:-1], [one.size for one in sets])
    np.bitwise_or.at(bits, first + category // BITS, np.uint32(1) << (category % BITS).astype(np.uint32))
    return CategorySets(offset, bits)
