"""The tests of a forest's splits, each once; and what they are to become."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import BITS, MAX_CATEGORIES, Forest, pool_sets, round_down
from billhook.interop.sklearn._several_thresholds import with_steps


@dataclass(frozen=True)
class SplitTests:
    """The different tests of a forest's splits.

    Attributes
    ----------
    forest : Forest
    feature, threshold, category_set, missing_left : array (tests)
        As in the forest; thresholds as exactly as the model has them.
    nodes : int64 array (splits)
        The nodes that are splits.
    of_node : int64 array (splits)
        The number of each one's test.
    """

    forest: Forest
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    category_set: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    nodes: NDArray[np.int64]
    of_node: NDArray[np.int64]

    def go_left(self, tests: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each of these values goes left in each of these tests: (tests, values)."""
        left = self.compare(values[None, :], self.threshold[tests][:, None])
        by_set = self.category_set[tests] >= 0
        left[by_set] = self._are_in_sets(self.category_set[tests][by_set], values)
        return np.where(np.isnan(values)[None, :], self.missing_left[tests][:, None], left)

    def _are_in_sets(self, number: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each value, cut off, is in each of the sets with these numbers: (sets, values)."""
        offset, bits = self.forest.set_offset, np.append(self.forest.set_bits, np.uint32(0))
        is_category = (values > -1.0) & (values < MAX_CATEGORIES)
        category = np.where(is_category, values, 0.0).astype(np.int64)
        word = offset[number][:, None] + category // BITS
        word = np.where(is_category & (word < offset[number + 1][:, None]), word, -1)  # the last, which is empty
        return np.asarray(bits[word] >> (category % BITS).astype(np.uint32) & np.uint32(1), np.bool_)

    def compare(self, values: NDArray[np.float64], threshold: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether values of the model's features are at most the thresholds, as the model compares them."""
        if self.forest.rounding == "nearest":
            with np.errstate(over="ignore", under="ignore"):
                return np.asarray(values.astype(np.float32) <= threshold)
        return np.asarray(values <= threshold)


@dataclass
class NewTests:
    """What the tests become.

    Attributes
    ----------
    column, threshold, missing_left : array (tests)
    is_swapped : bool array (tests)
        Whether left and right are to be swapped.
    sets : dict
        The categories that go left, for tests of sets.
    steps : dict
        For tests that one threshold cannot make: thresholds, rising; up to the first a number goes left, up to the
        second right, and so on.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.bool_]
    is_swapped: NDArray[np.bool_]
    sets: dict[int, NDArray[np.int64]]
    steps: dict[int, NDArray[np.float32]]


def split_tests(forest: Forest, exact: NDArray[np.float64] | None) -> SplitTests:
    """Return the tests of a forest; `exact` are the thresholds before they were rounded, where that is known."""
    nodes = np.flatnonzero(forest.feature >= 0)
    threshold = (forest.threshold if exact is None else exact)[nodes].astype(np.float64) + 0.0  # and not -0.0
    keys: list[NDArray[Any]] = [
        forest.missing_left[nodes],
        forest.category_set[nodes],
        threshold,
        forest.feature[nodes],
    ]
    order = np.lexsort(keys)
    is_new = np.ones(nodes.size, np.bool_)
    is_new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    of_node = np.empty(nodes.size, np.int64)
    of_node[order] = np.cumsum(is_new) - 1
    missing_left, category_set, threshold, feature = (key[order][is_new] for key in keys)
    return SplitTests(
        forest, feature.astype(np.int64), threshold, category_set.astype(np.int64), missing_left, nodes, of_node
    )


def nothing_new(tests: SplitTests) -> NewTests:
    """Return the tests as they are, to be changed; those of sets are to be set."""
    return NewTests(
        column=tests.feature.astype(np.int32),
        threshold=round_down(np.where(tests.category_set < 0, tests.threshold, 0.0)),
        missing_left=tests.missing_left.copy(),
        is_swapped=np.zeros(tests.feature.size, np.bool_),
        sets={},
        steps={},
    )


def with_new_tests(tests: SplitTests, new: NewTests, **about: Any) -> Forest:
    """Return the forest whose splits make the new tests; `about` are other fields that change."""
    forest, nodes, of_node = tests.forest, tests.nodes, tests.of_node
    number, sets = pool_sets(list(new.sets.values()))
    set_of_test = np.full(new.column.size, -1, np.int32)
    set_of_test[list(new.sets)] = number
    changed = {
        name: getattr(forest, name).copy()
        for name in ("feature", "threshold", "missing_left", "left", "right", "category_set")
    }
    swapped = nodes[new.is_swapped[of_node]]
    changed["left"][swapped], changed["right"][swapped] = forest.right[swapped], forest.left[swapped]
    changed["feature"][nodes] = new.column[of_node]
    changed["threshold"][nodes] = new.threshold[of_node]
    changed["missing_left"][nodes] = new.missing_left[of_node]
    changed["category_set"][nodes] = set_of_test[of_node]
    made = replace(forest, **changed, **sets._asdict(), **about)
    if not new.steps:
        return made
    in_steps = np.isin(of_node, list(new.steps))
    return with_steps(
        made,
        {int(node): new.steps[int(test)] for node, test in zip(nodes[in_steps], of_node[in_steps], strict=True)},
    )
