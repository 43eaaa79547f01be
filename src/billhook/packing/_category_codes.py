"""Sets of categories as codes, so that a categorical split compares as one by a threshold does.

The sets of a feature are put into chains, in which each set holds the one before. A chain becomes a feature of its
own with a table: the code of a category is the place in the chain of the first set that has it, and a row is in a set
if its code is at most the set's place. A chain of one set is a table of bits. Longer chains take more bits for a
category, and fewer tables: of several greatest lengths the one is taken with which all tables take the fewest bits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from billhook._types import Int64Array
from billhook.forest import Forest, categories_of
from billhook.packing._bits import bits_for
from billhook.packing._quantizers import CategoryQuantizer

# Bits of a category at most: so many codes are those of the sets of a chain, and of what is in none of them.
CATEGORY_BITS = 8
# A reader counts them in 16 bits.
MOST_CATEGORIES = 2**16 - 1


class CategoryCoding(NamedTuple):
    """The features that chains of sets become.

    Attributes
    ----------
    used : int64 array
        The feature of the forest that each is of, ascending.
    quantizers : list of CategoryQuantizer
    place : dict
        For a feature of the forest and the number of a set, the number of the chain and the set's place in it.
    """

    used: Int64Array
    quantizers: list[CategoryQuantizer]
    place: dict[tuple[int, int], tuple[int, int]]


def code_categories(forest: Forest, most_bits: int) -> CategoryCoding:
    """Return the features, and codes of categories, with which a forest's categorical splits take the fewest bytes.

    The place of a set in its chain takes `most_bits` bits at most.
    """
    nodes = np.flatnonzero(forest.category_set >= 0)
    if nodes.size == 0:
        return CategoryCoding(np.zeros(0, np.int64), [], {})
    tested = np.unique(np.stack([forest.feature[nodes], forest.category_set[nodes]], axis=1), axis=0)
    sets = {(int(f), int(s)): frozenset(categories_of(forest, int(s)).tolist()) for f, s in tested}
    most = max((max(categories, default=0) for categories in sets.values()), default=0)
    if most >= MOST_CATEGORIES:
        raise ValueError(
            f"a split tests category {most:,}, and packed models have categories up to {MOST_CATEGORIES - 1:,}; "
            "number the categories from 0"
        )
    lengths = [(1 << bits) - 1 for bits in range(1, max(1, min(most_bits, CATEGORY_BITS)) + 1)]
    return min((_coded(_chains(sets, length), sets) for length in lengths), key=_bits)


def _bits(coding: CategoryCoding) -> int:
    """Return about how many bits the tables take, and the features that they are."""
    n_categories = sum(quantizer.of_category.size for quantizer in coding.quantizers)
    return n_categories * bits_for(coding.quantizers[0].n_codes) + 16 * len(coding.quantizers)


def _chains(sets: dict[tuple[int, int], frozenset[int]], longest: int) -> list[list[tuple[int, int]]]:
    """Return chains of the sets of each feature, by feature; each set goes to the largest one that it can follow."""
    chains: list[list[tuple[int, int]]] = []
    for key in sorted(sets, key=lambda key: (key[0], len(sets[key]), key[1])):
        fitting = [
            chain
            for chain in chains
            if chain[-1][0] == key[0] and len(chain) < longest and sets[chain[-1]] <= sets[key]
        ]
        if fitting:
            max(fitting, key=lambda chain: len(sets[chain[-1]])).append(key)
        else:
            chains.append([key])
    return chains


def _coded(
    chains: Sequence[Sequence[tuple[int, int]]], sets: dict[tuple[int, int], frozenset[int]]
) -> CategoryCoding:
    n_codes = 1 << bits_for(max(map(len, chains)) + 1)
    quantizers, place = [], {}
    for number, chain in enumerate(chains):
        of_category = np.full(max(sets[chain[-1]], default=-1) + 1, n_codes - 1, np.int64)
        for at in reversed(range(len(chain))):
            of_category[sorted(sets[chain[at]])] = at
            place[chain[at]] = (number, at)
        quantizers.append(CategoryQuantizer(of_category, n_codes))
    return CategoryCoding(np.array([chain[0][0] for chain in chains], np.int64), quantizers, place)
