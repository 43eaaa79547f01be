"""How many bytes of models of 2 KB could be saved at most, at the same scores: bounds, before any code is written.

    BILLHOOK_DATA=folder python benchmarks/bytes_at_most.py --models folder

The models are those of bytes_by_part.py, kept in the same folder. Savings are in percent of all bytes of a model;
where an idea would take more bytes it is not used, and counts as 0. "Adaptive" is the length of a code that learns
how often each symbol comes while it goes on, which an arithmetic coder reaches to within a byte or two: it needs no
table, and its prior is the best of a few for each model, free of charge. So are all headers of a few bytes. What is
marked with a star can be read from the middle, as a walk down a tree does now; the others have to be read from the
beginning of the part, all of it for every row.

Last comes what an adaptive code takes to read on an Arduino Uno (simavr): the cycles of one decision between 0 and 1,
by a range decoder with 32 bits and shares of 11 bits (as in LZMA), and how many of them a row would need.
"""

import argparse
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from math import lgamma, log, log2
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bytes_by_part import NAMES, model_of
from range_decoder import cycles_of_decision

from billhook.packing._bits import bits_for
from billhook.packing._decode import _leaf_values
from billhook.packing._order import level_order

PRIORS = (0.02, 0.1, 0.5, 1.0)
STRENGTHS = (0.5, 2.0, 8.0, 32.0)
NO_PARENT = -1


def log2_factorial(n: int) -> float:
    return lgamma(n + 1) / log(2)


def log2_choose(n: int, k: int) -> float:
    return log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k)


def adaptive(symbols: Sequence[int], n: int, contexts: Sequence[Hashable] | None = None) -> float:
    """Return the bits of symbols below n by an adaptive code; with contexts, what was seen there counts more."""
    return min(
        _adaptive(symbols, n, prior, contexts, strength)
        for prior in PRIORS
        for strength in (STRENGTHS if contexts is not None else (0.0,))
    )


def _adaptive(
    symbols: Sequence[int], n: int, prior: float, contexts: Sequence[Hashable] | None, strength: float
) -> float:
    counts, bits = [0] * n, 0.0
    of_context: dict[Hashable, dict[int, int]] = {}
    for place, symbol in enumerate(symbols):
        share = (counts[symbol] + prior) / (place + prior * n)
        if contexts is not None:
            seen = of_context.setdefault(contexts[place], {})
            share = (seen.get(symbol, 0) + strength * share) / (sum(seen.values()) + strength)
            seen[symbol] = seen.get(symbol, 0) + 1
        bits -= log2(share)
        counts[symbol] += 1
    return bits


class Parts:
    """What a model holds, as symbols."""

    def __init__(self, packed) -> None:
        self.layout, self.coded = packed.layout, packed.coded
        coded, order = self.coded, level_order(self.coded)
        self.order = order
        self.feature = coded.feature[order.inner].astype(int)
        self.code = coded.threshold[order.inner].astype(int)
        key = self.code << 1 | coded.missing_left[order.inner]
        key = key if self.layout.missing == "split" else self.code
        self.different, self.number = np.unique(self.feature << self.layout.key_bits | key, return_inverse=True)
        self.tree_of_split = np.repeat(np.arange(coded.n_trees), order.n_inner)
        self.tree_of_leaf = np.repeat(np.arange(coded.n_trees), order.n_inner + 1)
        # As they are written: from 0, and without the factors of columns.
        self.vectors, entry = np.unique(_leaf_values(self.layout, packed.data), axis=0, return_inverse=True)
        self.entry = entry.ravel()
        root = np.repeat(coded.offset[:-1], np.diff(coded.offset))
        place = np.full(coded.n_nodes, NO_PARENT)
        self.parent_node = np.full(coded.n_nodes, NO_PARENT)
        for node in order.inner.tolist():
            self.parent_node[[coded.left[node] + root[node], coded.right[node] + root[node]]] = node
        place[order.inner] = np.arange(order.inner.size)
        self.place = place
        self.left, self.right = coded.left + root, coded.right + root

    def parents(self, nodes) -> list[int]:
        """Return the places of the splits above nodes."""
        above = self.parent_node[nodes]
        return np.where(above == NO_PARENT, NO_PARENT, self.place[above]).tolist()

    @cached_property
    def is_possible(self) -> np.ndarray:
        """Which of the different tests can go both ways at each split, by what was asked above it."""
        feature, code = self.different >> self.layout.key_bits, self.different & ((1 << self.layout.key_bits) - 1)
        code = code >> 1 if self.layout.missing == "split" else code
        possible = np.ones((self.order.inner.size, self.different.size), bool)
        for place, above in enumerate(self.parents(self.order.inner)):
            if above == NO_PARENT:
                continue
            possible[place] = possible[above]
            same = feature == self.feature[above]
            is_left = self.left[self.order.inner[above]] == self.order.inner[place]
            possible[place] &= ~same | (code < self.code[above] if is_left else code > self.code[above])
        return possible

    def now(self, *names: str) -> int:
        """Return the bits that these parts take."""
        at = list(self.layout.sections.items())
        ends = {name: end - begin for (name, begin), (_, end) in pairwise(at)}
        return 8 * sum(ends[name] for name in names)


# Ideas: each returns the bits now, and the bits that it would take.
NOTHING = (0.0, 0.0)


def tests_by_frequency(parts: Parts) -> tuple[float, float]:
    """The table as it is."""
    if not parts.layout.n_pairs:
        return NOTHING
    return parts.now("tests"), adaptive(parts.number, parts.different.size)


def universe(parts: Parts) -> int:
    return parts.layout.n_used << parts.layout.key_bits


def table_at_best(parts: Parts) -> float:
    """Return the bits of a set of tests, of all that there could be."""
    return log2_choose(universe(parts), parts.different.size) + 16


def tests_ideal_table(parts: Parts) -> tuple[float, float]:
    fixed = parts.number.size * bits_for(parts.different.size)
    return parts.now("tests", "pairs"), fixed + table_at_best(parts)


def tests_ideal(parts: Parts) -> tuple[float, float]:
    return parts.now("tests", "pairs"), table_at_best(parts) + adaptive(parts.number, parts.different.size)


def tests_in_runs(parts: Parts) -> tuple[float, float]:
    n_used, n = parts.layout.n_used, parts.different.size
    many = np.bincount(parts.different >> parts.layout.key_bits, minlength=n_used)
    table = n * parts.layout.key_bits + n_used * bits_for(int(many.max()) + 1)
    return parts.now("tests", "pairs"), parts.number.size * bits_for(n) + table


def tests_elias_fano(parts: Parts) -> tuple[float, float]:
    n = parts.different.size
    low = max(0, int(log2(universe(parts) / n)))
    table = n * low + n + (universe(parts) >> low) + 8 * 16
    return parts.now("tests", "pairs"), parts.number.size * bits_for(n) + table


def tests_by_first_use(parts: Parts) -> tuple[float, float]:
    """Numbered as they come, a number has the bits that all so far need; trees in the order that suits it."""
    trees = [set(part.tolist()) for part in np.split(parts.number, np.cumsum(parts.order.n_inner)[:-1])]
    seen: set[int] = set()
    bits, left = 0.0, list(range(len(trees)))
    while left:
        best = min(left, key=lambda tree: (len(trees[tree] - seen), -len(trees[tree])))
        left.remove(best)
        seen |= trees[best]
        bits += parts.order.n_inner[best] * bits_for(len(seen))
    table = len(seen) * parts.layout.test_bits + len(trees) * 5
    return parts.now("tests", "pairs"), bits + table


def tests_given_parent(parts: Parts) -> tuple[float, float]:
    above = parts.parents(parts.order.inner)
    context = [NO_PARENT if place == NO_PARENT else parts.feature[place] for place in above]
    numbers = adaptive(parts.number, parts.different.size, context)
    return parts.now("tests", "pairs"), table_at_best(parts) + numbers


def tests_given_tree(parts: Parts) -> tuple[float, float]:
    numbers = adaptive(parts.number, parts.different.size, parts.tree_of_split.tolist())
    return parts.now("tests", "pairs"), table_at_best(parts) + numbers


def tests_that_are_possible(parts: Parts) -> tuple[float, float]:
    """The gain over the present widths if numbers only counted what can go both ways."""
    counts = parts.is_possible.sum(axis=1)
    fixed = parts.number.size * log2(parts.different.size)
    return fixed, float(np.log2(np.maximum(counts, 1)).sum())


def tests_by_feature(parts: Parts) -> tuple[float, float]:
    """No table: the feature by an adaptive code, the code by one for each feature."""
    features = adaptive(parts.feature, parts.layout.n_used)
    codes = sum(
        adaptive(parts.code[parts.feature == k], 1 << parts.layout.code_bits) for k in range(parts.layout.n_used)
    )
    return parts.now("tests", "pairs"), features + codes


def features_by_frequency(parts: Parts) -> tuple[float, float]:
    """No table: the feature by an adaptive code, codes in whole bits."""
    if parts.layout.n_pairs:
        return NOTHING
    code = parts.layout.key_bits * parts.number.size
    return parts.now("tests", "pairs"), adaptive(parts.feature, parts.layout.n_used) + code


def shapes_by_size(parts: Parts) -> tuple[float, float]:
    def catalan(n: int) -> float:
        return log2_choose(2 * n, n) - log2(n + 1)

    return parts.now("shapes"), sum(catalan(int(n)) for n in parts.order.n_inner)


def shapes_by_left_sides(parts: Parts) -> tuple[float, float]:
    """How many splits are on the left of each, of as many as are below it, in truncated binary."""
    n_splits = np.ones(parts.order.inner.size, int)
    n_left = np.zeros(parts.order.inner.size, int)
    above = parts.parents(parts.order.inner)
    for place in reversed(range(len(above))):
        up = above[place]
        if up == NO_PARENT:
            continue
        n_splits[up] += n_splits[place]
        if parts.left[parts.order.inner[up]] == parts.order.inner[place]:
            n_left[up] = n_splits[place]
    bits = 0
    for n, left in zip(n_splits.tolist(), n_left.tolist(), strict=True):
        whole = n.bit_length() - 1
        bits += whole + (left >= (2 << whole) - n)
    return parts.now("shapes"), bits


def shapes_by_depth(parts: Parts) -> tuple[float, float]:
    depth = np.zeros(parts.order.inner.size, int)
    above = parts.parents(parts.order.inner)
    for place, up in enumerate(above):
        depth[place] = 0 if up == NO_PARENT else depth[up] + 1
    goes_on = parts.order.goes_on.astype(int)
    contexts = [(level, side, int(goes_on[k, 0]) if side else 0) for k, level in enumerate(depth) for side in (0, 1)]
    return parts.now("shapes"), adaptive(goes_on.ravel().tolist(), 2, contexts)


def different_leaves(parts: Parts) -> int:
    """Return the bits of a table of the different leaves: theirs, or of numbers one for each that there could be."""
    layout = parts.layout
    if layout.n_values == 1:
        return 1 << layout.leaf_bits
    return parts.now("table") or len(parts.vectors) * layout.n_values * layout.leaf_bits


def leaves_by_frequency(parts: Parts) -> tuple[float, float]:
    whole = adaptive(parts.entry, len(parts.vectors)) + different_leaves(parts)
    numbers = parts.vectors[parts.entry]
    column = np.tile(np.arange(numbers.shape[1]), len(numbers)).tolist()
    return parts.now("leaves", "table"), min(whole, adaptive(numbers.ravel(), 1 << parts.layout.leaf_bits, column))


def leaves_given_sibling(parts: Parts) -> tuple[float, float]:
    """Contexts: the leaf before, if it hangs on the same split."""
    of_parent: dict[int, int] = {}
    contexts = []
    for leaf, up in zip(parts.entry.tolist(), parts.parents(parts.order.leaf), strict=True):
        contexts.append(of_parent.get(up, NO_PARENT))
        of_parent[up] = leaf
    bits = adaptive(parts.entry, len(parts.vectors), contexts)
    return parts.now("leaves", "table"), bits + different_leaves(parts)


def leaves_given_tree(parts: Parts) -> tuple[float, float]:
    bits = adaptive(parts.entry, len(parts.vectors), parts.tree_of_leaf.tolist())
    return parts.now("leaves", "table"), bits + different_leaves(parts)


def leaves_from_least_of_tree(parts: Parts) -> tuple[float, float]:
    """Each tree has the bits of the range of its own leaves: a constant goes from a tree to the base."""
    if parts.layout.n_entries or parts.layout.n_values > 1:
        return NOTHING
    bits = 0.0
    for tree in range(parts.coded.n_trees):
        value = parts.vectors[parts.entry[parts.tree_of_leaf == tree], 0]
        bits += value.size * bits_for(int(value.max() - value.min()) + 1) + 2
    return parts.now("leaves", "table"), bits


def table_of_leaves_by_order(parts: Parts) -> tuple[float, float]:
    """Say nothing by the order of the entries."""
    if not parts.layout.n_entries:
        return NOTHING
    return parts.now("table"), parts.now("table") - log2_factorial(parts.layout.n_entries)


def table_of_leaves_by_frequency(parts: Parts) -> tuple[float, float]:
    if not parts.layout.n_entries:
        return NOTHING
    numbers, n = parts.vectors.ravel(), 1 << parts.layout.leaf_bits
    column = np.tile(np.arange(parts.vectors.shape[1]), len(parts.vectors)).tolist()
    bits = min(adaptive(numbers, n), adaptive(numbers, n, column))
    return parts.now("table"), bits - log2_factorial(len(parts.vectors))


def order_of_trees(parts: Parts) -> tuple[float, float]:
    return log2_factorial(parts.coded.n_trees), 0.0


class Idea(NamedTuple):
    """The part it is about, its bits now and then, and whether it is still read from the middle."""

    part: str
    bits: Callable[[Parts], tuple[float, float]]
    is_from_middle: bool = False


IDEAS = {
    "numbers of tests, adaptive": Idea("tests", tests_by_frequency),
    "table of tests as a set, their numbers in whole bits": Idea("tests", tests_ideal_table),
    "table of tests in runs of a feature": Idea("tests", tests_in_runs, is_from_middle=True),
    "table of tests by Elias and Fano": Idea("tests", tests_elias_fano, is_from_middle=True),
    "tests numbered as they come, trees in the best order": Idea("tests", tests_by_first_use, is_from_middle=True),
    "table of tests as a set, their numbers adaptive": Idea("tests", tests_ideal),
    "the same, given the feature of the split above": Idea("tests", tests_given_parent),
    "the same, given the tree": Idea("tests", tests_given_tree),
    "numbers only of tests that can still go both ways": Idea("tests", tests_that_are_possible),
    "no table: features adaptive, codes in whole bits": Idea("tests", features_by_frequency),
    "no table: features, and codes of each, adaptive": Idea("tests", tests_by_feature),
    "shapes as numbers among all of a size": Idea("shapes", shapes_by_size),
    "shapes as how many splits are on the left": Idea("shapes", shapes_by_left_sides),
    "shapes adaptive, given the depth": Idea("shapes", shapes_by_depth),
    "leaves adaptive": Idea("leaves", leaves_by_frequency),
    "leaves adaptive, given the other leaf of a split": Idea("leaves", leaves_given_sibling),
    "leaves adaptive, given the tree": Idea("leaves", leaves_given_tree),
    "leaves in the bits that their tree needs": Idea("leaves", leaves_from_least_of_tree, is_from_middle=True),
    "what the order of the table of leaves could say": Idea("table", table_of_leaves_by_order, is_from_middle=True),
    "table of leaves adaptive, and a set": Idea("table", table_of_leaves_by_frequency),
    "what the order of the trees could say": Idea("trees", order_of_trees, is_from_middle=True),
}


def line(words: str, saved: np.ndarray) -> str:
    return f"| {words} | {np.median(saved):.1f} | {saved.min():.1f} to {saved.max():.1f} |"


def best_pair(saved: dict[str, np.ndarray], ideas: list[str]) -> str:
    """Return the line of the two ideas about different parts that save most together, in the median."""
    pairs = [(a, b) for a, b in combinations(ideas, 2) if IDEAS[a].part != IDEAS[b].part]
    a, b = max(pairs, key=lambda pair: float(np.median(saved[pair[0]] + saved[pair[1]])))
    return line(f"{a}; {b}", saved[a] + saved[b])


def n_decisions(parts: Parts) -> int:
    """Return how many decisions tell the numbers of all tests and leaves, bit by bit."""
    tests = parts.number.size * bits_for(parts.different.size)
    return tests + parts.entry.size * bits_for(len(parts.vectors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder that models are kept in")
    parser.add_argument("--each", action="store_true", help="print the savings of each model too")
    given = parser.parse_args()
    found: dict[str, list[float]] = {idea: [] for idea in IDEAS}
    n_idle, decisions = 0, []
    for name in NAMES:
        _, packed = model_of(name, given.models)
        parts = Parts(packed)
        n_idle += int((~parts.is_possible[np.arange(parts.number.size), parts.number]).sum())
        decisions.append(n_decisions(parts))
        for words, idea in IDEAS.items():
            now, then = idea.bits(parts)
            found[words].append(100.0 * max(0.0, now - then) / 8.0 / packed.nbytes)
    saved = {words: np.array(some) for words, some in found.items()}
    print("| | median, % | range |\n|---|---:|---:|")
    for words, some in saved.items():
        print(line(words + (" *" if IDEAS[words].is_from_middle else ""), some))
        if given.each:
            print("   ", " ".join(f"{name} {value:.1f}" for name, value in zip(NAMES, some, strict=True)))
    parts_of_all = {idea.part for idea in IDEAS.values()}
    best = [np.max([saved[words] for words in IDEAS if IDEAS[words].part == part], axis=0) for part in parts_of_all]
    print(line("the best of each part for each model, together", np.sum(best, axis=0)))
    print(f"\nThe best two:\n{best_pair(saved, list(IDEAS))}")
    print(best_pair(saved, [words for words in IDEAS if IDEAS[words].is_from_middle]))
    print(f"Splits that no row can pass both ways: {n_idle}.")
    cycles = cycles_of_decision()
    print(
        f"A decision takes {cycles:.0f} cycles; {np.median(decisions):,.0f} of them, in the median, "
        f"{cycles * np.median(decisions):,.0f}."
    )


if __name__ == "__main__":
    main()
