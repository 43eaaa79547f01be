"""Tests that one threshold cannot make, made by several."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest

# A forest may grow to this many times its nodes, of subtrees that stand at several places.
MOST_GROWTH = 4


class _Range(NamedTuple):
    """What is known of a feature on the way to a node: above `low`, at most `high`, and whether it may be missing."""

    low: float = -np.inf
    high: float = np.inf
    may_be_missing: bool = True


class _Waiting(NamedTuple):
    """A node to be written: which of its thresholds is next, whose child it is, and what is known there."""

    node: int
    step: int
    parent: int
    is_left: bool
    known: dict[int, _Range]


def with_steps(forest: Forest, steps: Mapping[int, NDArray[np.float32]]) -> Forest:
    """Return the forest in which some splits are by several thresholds: left up to the first, right up to the second.

    Each becomes a chain of splits, with copies of what is below, but for splits that the way to them decides.

    Parameters
    ----------
    forest : Forest
    steps : mapping
        From nodes, numbered through all trees, to their thresholds, rising.
    """
    written = _Written(forest, steps)
    for root in forest.offset[:-1]:
        written.add_tree(int(root))
    chosen = np.array(written.source)
    offset = np.array(written.offset)
    return replace(
        forest,
        **{
            name: getattr(forest, name)[chosen]
            for name in ("feature", "value", "n_rows", "row_weight", "impurity", "category_set")
        },
        threshold=np.array(written.threshold, np.float32),
        missing_left=np.array(written.missing_left, np.bool_),
        left=np.array(written.left, np.int32),
        right=np.array(written.right, np.int32),
        offset=offset,
        growth_rank=_rank(forest.growth_rank[chosen], offset),
    )


class _Written:
    """The nodes that are written so far: the node that each is a copy of, and what it tests."""

    def __init__(self, forest: Forest, steps: Mapping[int, NDArray[np.float32]]) -> None:
        self.forest, self.steps = forest, steps
        self.in_steps = {int(forest.feature[node]) for node in steps}
        self.source: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.threshold: list[float] = []
        self.missing_left: list[bool] = []
        self.offset = [0]

    def add_tree(self, root: int) -> None:
        first = len(self.source)
        waiting = [_Waiting(root, 0, -1, False, {})]
        while waiting:
            next_ = self._decided(waiting.pop(), root)
            number = len(self.source) - first
            if next_.parent >= 0:
                (self.left if next_.is_left else self.right)[first + next_.parent] = number
            waiting += self._add(next_, number, root)
        self.offset.append(len(self.source))

    def _test(self, node: int, step: int) -> tuple[float, bool]:
        """Return the threshold, and whether a missing value goes left."""
        limits = self.steps.get(node)
        threshold = float(self.forest.threshold[node] if limits is None else limits[step])
        # A missing value that goes right goes to the left of the second step.
        return threshold, bool(self.forest.missing_left[node]) != (step > 0)

    def _below(self, node: int, step: int, root: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the node and step that follow on the left and on the right."""
        children = root + int(self.forest.left[node]), root + int(self.forest.right[node])
        limits = self.steps.get(node)
        if limits is None:
            return (children[0], 0), (children[1], 0)
        # Up to each threshold on one side, in turns; beyond the last on the other side than before it.
        beyond = (children[(step + 1) % 2], 0) if step + 1 == len(limits) else (node, step + 1)
        return (children[step % 2], 0), beyond

    def _decided(self, waiting: _Waiting, root: int) -> _Waiting:
        """Return the node that stands there after splits whose side is known."""
        node, step = waiting.node, waiting.step
        while (feature := int(self.forest.feature[node])) in self.in_steps and self.forest.category_set[node] < 0:
            threshold, missing_left = self._test(node, step)
            known = waiting.known.get(feature, _Range())
            if known.high <= threshold and (missing_left or not known.may_be_missing):
                node, step = self._below(node, step, root)[0]
            elif known.low >= threshold and not (missing_left and known.may_be_missing):
                node, step = self._below(node, step, root)[1]
            else:
                break
        return waiting._replace(node=node, step=step)

    def _add(self, new: _Waiting, number: int, root: int) -> list[_Waiting]:
        node, known = new.node, new.known
        feature = int(self.forest.feature[node])
        threshold, missing_left = self._test(node, new.step) if feature >= 0 else (0.0, False)
        self.source.append(node)
        self.left.append(-1)
        self.right.append(-1)
        self.threshold.append(threshold)
        self.missing_left.append(missing_left)
        if len(self.source) > MOST_GROWTH * self.forest.n_nodes:
            raise ValueError(
                f"splits by several thresholds would make this forest more than {MOST_GROWTH} times as large; "
                "have the KBinsDiscretizer give the number of the bin (encode='ordinal') and fit again"
            )
        if feature < 0:
            return []
        at_left = at_right = known
        if feature in self.in_steps and self.forest.category_set[node] < 0:
            low, high, may_be_missing = known.get(feature, _Range())
            at_left = known | {feature: _Range(low, min(high, threshold), may_be_missing and missing_left)}
            at_right = known | {feature: _Range(max(low, threshold), high, may_be_missing and not missing_left)}
        left, right = self._below(node, new.step, root)
        return [_Waiting(*right, number, False, at_right), _Waiting(*left, number, True, at_left)]


def _rank(old: NDArray[np.int32], offset: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the order of growth of nodes that are copies of nodes with this rank, parents before their children."""
    rank = np.full(old.size, -1, np.int32)
    for first, after in pairwise(offset):
        order = first + np.argsort(old[first:after], kind="stable")
        order = order[old[order] >= 0]
        rank[order] = np.arange(order.size)
    return rank
