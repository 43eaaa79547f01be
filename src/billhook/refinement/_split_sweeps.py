"""Splits that are chosen again when the whole ensemble is known, of the tests that it has already.

Trees are grown one after the other, each knowing only those before it. Here one tree at a time is taken out of the
scores, and each of its splits, children before parents, takes the test with which the rows that reach it lose least.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._deadline import check_time
from billhook.forest import Forest, as_weights, derive
from billhook.kernels import average_upwards, choose_splits_many, choose_splits_one
from billhook.refinement._data import checked_targets, find_leaves
from billhook.refinement._losses import fits, loss_named, losses_for, width_of
from billhook.refinement._problem import Problem

MOST_CATEGORIES = 1 << 24
# Buckets of a group have numbers of 16 bits.
MOST_BUCKETS = 1 << 16


@dataclass(frozen=True, eq=False)
class KnownTests:
    """The distinct tests of a forest, and which of them each row passes.

    Tests that look at a feature in the same way, by rising thresholds, are a group; so is each set of categories. A
    row is in the first bucket of a group whose test it passes, and in the last one, which is no test, if it passes
    none.
    """

    forest: Forest
    X: NDArray[np.float32]
    first: NDArray[np.uint32] = field(init=False)  # bucket of each group, and the number of all
    group: NDArray[np.uint32] = field(init=False)  # of each bucket
    bucket: NDArray[np.uint16] = field(init=False)  # (rows, groups), counted within the group
    of_node: NDArray[np.int32] = field(init=False)  # the test of each inner node, 0 for leaves
    node_of: NDArray[np.int64] = field(init=False)  # an inner node that has the test of each bucket

    def __post_init__(self) -> None:
        forest = self.forest
        inner = np.flatnonzero(forest.feature >= 0)
        # Where missing values go tells tests apart where there are some.
        missing_left = forest.missing_left & np.any(np.isnan(self.X), axis=0)[forest.feature]
        fields = forest.threshold, forest.category_set, missing_left, forest.feature
        order = inner[np.lexsort([of_nodes[inner] for of_nodes in fields])]
        differs = [of_nodes[order][1:] != of_nodes[order][:-1] for of_nodes in fields]
        begins_test, begins_group = np.ones((2, order.size), np.bool_)
        begins_test[1:], begins_group[1:] = np.any(differs, axis=0), np.any(differs[1:], axis=0)
        group_of = np.cumsum(begins_group) - 1
        n_groups = int(begins_group.sum())
        n_buckets = np.bincount(group_of[begins_test], minlength=n_groups) + 1
        if n_groups and n_buckets.max() > MOST_BUCKETS:
            raise ValueError(
                f"splits cannot be chosen again among {n_buckets.max() - 1:,} thresholds of a feature; at most "
                f"{MOST_BUCKETS - 1:,} are possible"
            )
        # The last bucket of each group before is no test.
        test_of = np.cumsum(begins_test) - 1 + group_of
        of_node = np.zeros(forest.n_nodes, np.int32)
        of_node[order] = test_of
        node_of = np.zeros(int(n_buckets.sum()), np.int64)
        node_of[test_of[::-1]] = order[::-1]  # the first that has it
        made = {
            "first": np.concatenate([[0], np.cumsum(n_buckets)]).astype(np.uint32),
            "group": np.repeat(np.arange(n_groups), n_buckets).astype(np.uint32),
            "of_node": of_node,
            "node_of": node_of,
        }
        for name, array in made.items():
            object.__setattr__(self, name, array)
        bucket = np.empty((len(self.X), n_groups), np.uint16)
        for number in range(n_groups):
            check_time()
            bucket[:, number] = self._buckets(node_of[self.first[number] : self.first[number + 1] - 1])
        object.__setattr__(self, "bucket", bucket)

    def _buckets(self, nodes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the bucket of each row in the group that these nodes have the tests of."""
        forest, node = self.forest, nodes[0]
        x = self.X[:, forest.feature[node]]
        number = int(forest.category_set[node])
        if number >= 0:
            words = forest.set_bits[forest.set_offset[number] : forest.set_offset[number + 1]]
            members = np.append(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"), 0)
            is_known = (x > -1.0) & (x < min(MOST_CATEGORIES, members.size - 1))
            bucket = 1 - members[np.where(is_known, x, members.size - 1).astype(np.int64)].astype(np.int64)
        else:
            bucket = np.searchsorted(forest.threshold[nodes], x)  # NaN comes last
        return np.where(np.isnan(x) & bool(forest.missing_left[node]), 0, bucket)

    def as_fields(self, test: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the fields of a forest whose inner nodes have these tests."""
        is_inner = self.forest.feature >= 0
        changed = {}
        for name in ("feature", "threshold", "missing_left", "category_set"):
            changed[name] = getattr(self.forest, name).copy()
            changed[name][is_inner] = getattr(self.forest, name)[self.node_of[test[is_inner]]]
        return changed


def choose_splits(
    tests: KnownTests, y: ArrayLike, *, loss: str, sample_weight: ArrayLike, n_jobs: int | None = None
) -> Forest | None:
    """Return the forest of these tests with each split chosen again among them, on their rows.

    Leaf values stay as they are; None if no split would change. The numbers and the weight of rows of each node are
    those of these rows.
    """
    forest, known = tests.forest, loss_named(loss)
    if known is None or not fits(known, forest):
        raise ValueError(f"splits are chosen again for one of {', '.join(losses_for(forest))}, not {loss!r}")
    labels = checked_targets(y, forest)
    weight = as_weights(sample_weight, labels.size)
    problem = Problem(forest)
    leaf = find_leaves(problem, [(tests.X, labels.size)], by_row=False, n_jobs=n_jobs)
    target = problem.targets(labels, known)
    table = problem.value * problem.weight_of_leaf
    state = problem.states(leaf, table, is_log=known.is_log)
    width = width_of(known, state[:, 0], target, weight) if known.has_width else 1.0
    test, left, right = tests.of_node.copy(), forest.left.copy(), forest.right.copy()
    number = np.where(problem.is_leaf, problem.leaf_number, -1).astype(np.int32)
    n_rows, row_weight = forest.n_rows.copy(), forest.row_weight.copy()
    choose = choose_splits_many if state.shape[1] > 1 else choose_splits_one
    n_changed = 0
    for tree in range(forest.n_trees):
        check_time()
        nodes = slice(int(forest.offset[tree]), int(forest.offset[tree + 1]))
        leaves = slice(int(problem.first[tree]), int(problem.first[tree + 1]))
        n_changed += choose(
            tests.bucket,
            tests.first,
            tests.group,
            test[nodes],
            left[nodes],
            right[nodes],
            number[nodes],
            table[leaves],
            int(problem.column[tree]),
            state,
            target,
            weight,
            known.code,
            width,
            n_rows[nodes],
            row_weight[nodes],
        )
    if not n_changed:
        return None
    value = forest.value.copy()
    for begin, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        average_upwards(left[begin:end], right[begin:end], row_weight[begin:end], value[begin:end])
    counts = {"left": left, "right": right, "n_rows": n_rows, "row_weight": row_weight, "value": value}
    return derive(forest, refined=True, impurity=np.zeros_like(forest.impurity), **counts, **tests.as_fields(test))
