"""Trees with tests that no threshold expresses, and with shared branches, as trees of thresholds."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import round_down

if TYPE_CHECKING:
    from billhook.interop._nodes import Nodes

# A tree may grow to so many times its nodes, or to this many nodes.
MAX_GROWTH = 4
SMALL = 1000
# For each node of the result, so many may be passed on the way to it whose tests are known to come out one way.
MAX_STEPS = 30
MANTISSA_AND_EXPONENT = 0x7FFFFFFF


class Expanded(NamedTuple):
    """A tree of copies: of which node each is one, and what it tests."""

    source: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]


class Possible(NamedTuple):
    """What a row that comes this far may have for a feature: places from `low` to `high`, and NaN."""

    low: int
    high: int
    nan: bool


class Piece(NamedTuple):
    """An interval of places, and the node that numbers in it go to."""

    low: int
    high: int
    node: int


class ToCopy(NamedTuple):
    """A node to copy, or the rest of the pieces of a split that became several: where to, and what is known there."""

    node: int
    pieces: list[Piece]
    nan_piece: int
    known: dict[int, Possible]
    parent: int
    is_left: bool


def place_of(number: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return where float32 numbers stand in their order, one place apart; zeros are at place 0."""
    bits = number.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & MANTISSA_AND_EXPONENT), bits)


def number_at(place: int) -> float:
    """Return the float32 number at a place in their order."""
    bits = place if place >= 0 else -place | ~MANTISSA_AND_EXPONENT
    return float(np.int32(bits).view(np.float32))


LOWEST, HIGHEST = place_of(np.array([-np.inf, np.inf], np.float32)).tolist()
ANYTHING = Possible(LOWEST, HIGHEST, True)


def expand(nodes: "Nodes", root: int, n_nodes: int) -> Expanded:
    """Return the tree below a node with equality tests as intervals, and with a copy for each way to a shared node.

    Tests that are known to come out one way are left out.

    Parameters
    ----------
    nodes : Nodes
    root : int
    n_nodes : int
        How many nodes the tree has.
    """
    limit = max(MAX_GROWTH * n_nodes, SMALL)
    out = Expanded([], [], [], [], [])
    tasks = [ToCopy(root, [], 0, {}, -1, False)]
    n_steps = 0
    while tasks:
        task = tasks.pop()
        if not task.pieces:
            task, steps = _follow_known(nodes, task)
            n_steps += steps
        if len(out.source) >= limit or n_steps > MAX_STEPS * limit:
            raise ValueError(
                f"a tree of {n_nodes:,} nodes tests for equality, or shares branches, and would grow to more than "
                f"{limit:,} nodes that compare with thresholds; read the model that it was converted from instead"
            )
        new = len(out.source)
        if task.parent >= 0:
            (out.left if task.is_left else out.right)[task.parent] = new
        _add(out, nodes, task, tasks)
    return out


def _add(out: Expanded, nodes: "Nodes", task: ToCopy, tasks: list[ToCopy]) -> None:
    """Copy the node of a task, or make the split in the middle of its pieces; what follows becomes tasks."""
    new = len(out.source)
    node, pieces, nan_piece, known, _, _ = task
    out.source.append(node)
    out.left.append(-1)
    out.right.append(-1)
    if not pieces:
        out.threshold.append(0.0)
        out.missing_left.append(bool(nodes.missing_left[node]))
        if nodes.left[node] >= 0:
            tasks += [
                ToCopy(int(nodes.right[node]), [], 0, known, new, False),
                ToCopy(int(nodes.left[node]), [], 0, known, new, True),
            ]
        return
    middle = (len(pieces) - 1) // 2
    out.threshold.append(number_at(pieces[middle].high))
    out.missing_left.append(0 <= nan_piece <= middle)
    tasks += [
        _task_of(task, nodes, pieces[middle + 1 :], nan_piece - middle - 1, new, is_left=False),
        _task_of(task, nodes, pieces[: middle + 1], nan_piece, new, is_left=True),
    ]


def _task_of(
    task: ToCopy, nodes: "Nodes", pieces: list[Piece], nan_piece: int, parent: int, *, is_left: bool
) -> ToCopy:
    if len(pieces) > 1:
        return ToCopy(task.node, pieces, nan_piece, task.known, parent, is_left)
    low, high, node = pieces[0]
    known = {**task.known, int(nodes.feature[task.node]): Possible(low, high, nan_piece == 0)}
    return ToCopy(node, [], 0, known, parent, is_left)


def _follow_known(nodes: "Nodes", task: ToCopy) -> tuple[ToCopy, int]:
    """Return the task with the first node that there is something to decide at, and how many nodes come before it."""
    node, steps = task.node, 0
    while nodes.left[node] >= 0 and node not in nodes.category_sets:
        possible = task.known.get(int(nodes.feature[node]), ANYTHING)
        pieces = _pieces(nodes, node, possible)
        for_nan = int((nodes.left if nodes.missing_left[node] else nodes.right)[node])
        ways = [piece.node for piece in pieces]
        if possible.nan and for_nan not in ways:
            # All numbers go one way and NaN another: a threshold of infinity tells them apart.
            if ways:
                pieces = [pieces[0]._replace(high=HIGHEST), Piece(1, 0, for_nan)]
                return task._replace(node=node, pieces=pieces, nan_piece=1), steps
            ways = [for_nan]
        if len(set(ways)) > 1:
            nan_piece = ways.index(for_nan) if possible.nan else -1
            return task._replace(node=node, pieces=pieces, nan_piece=nan_piece), steps
        node, steps = ways[0], steps + 1
        if steps > nodes.left.size:
            raise ValueError("the children of a tree's nodes lead back to the node itself")
    return task._replace(node=node), steps


def _pieces(nodes: "Nodes", node: int, possible: Possible) -> list[Piece]:
    """Return what is possible in intervals, rising, that go to different children in turn."""
    left, right = int(nodes.left[node]), int(nodes.right[node])
    if node in nodes.equal_to:
        ends: list[tuple[int, int]] = []
        for place in place_of(nodes.equal_to[node]).tolist():
            ends += [(place - 1, right), (place, left)]
        ends.append((HIGHEST, right))
    else:
        ends = [(int(place_of(round_down(nodes.threshold[node : node + 1]))[0]), left), (HIGHEST, right)]
    pieces: list[Piece] = []
    low = possible.low
    for end, child in ends:
        high = min(end, possible.high)
        if high < low:
            continue
        if pieces and pieces[-1].node == child:
            pieces[-1] = pieces[-1]._replace(high=high)
        else:
            pieces.append(Piece(low, high, child))
        low = high + 1
    return pieces


def equal_numbers(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Return those of the numbers that a float32 number can be equal to, rising, each once."""
    with np.errstate(over="ignore", under="ignore"):
        near = numbers.astype(np.float32)
    return np.unique(near[near == numbers])
