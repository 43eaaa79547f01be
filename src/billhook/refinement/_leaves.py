"""From rows, at once or in batches, to the numbers of the leaves they fall into."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.refinement._problem import Problem

# Rows of an array that are looked up at once: one on disk, or of other numbers, is never a whole in memory.
BLOCK = 2**16


def batches_of(X: Any) -> Iterator[Any]:
    """Yield the rows in batches: those of an iterable as they come, an array's in blocks, else all at once."""
    if is_batches(X):
        yield from X
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        for start in range(0, X.shape[0], BLOCK):
            yield X[start : start + BLOCK]
        if X.shape[0] == 0:
            yield X
    else:
        yield X


def is_batches(X: Any) -> bool:
    """Return whether this is an iterable of tables, not a table."""
    if hasattr(X, "__array__") or hasattr(X, "shape") or isinstance(X, str | bytes):
        return False
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 2 if hasattr(X[0], "column_names") else 0) == 2
    return isinstance(X, Iterable)


def find_leaves(
    problem: Problem, sources: list[tuple[Any, int]], *, by_row: bool, n_jobs: int | None
) -> NDArray[Any]:
    """Return the number of the leaf of each row of these (X, expected rows) in each tree.

    Of shape (rows, trees) if `by_row`, else (trees, rows). Nothing else of the rows is kept.
    """
    forest = problem.forest
    dtype = np.uint16 if problem.n_leaves_by_tree.max() <= 2**16 else np.uint32
    n_rows = sum(expected for _, expected in sources)
    leaf = np.empty((n_rows, forest.n_trees) if by_row else (forest.n_trees, n_rows), dtype)
    by_tree = leaf.T if by_row else leaf
    number = problem.leaf_number.astype(dtype)
    end = 0
    for X, expected in sources:
        begin, end = end, end + expected
        for batch in batches_of(X):
            nodes = forest.apply(batch, n_jobs=n_jobs)
            stop = begin + nodes.shape[0]
            if stop <= end:
                for tree in range(forest.n_trees):
                    by_tree[tree, begin:stop] = number[forest.offset[tree] :][nodes[:, tree]]
            begin = stop
        if begin != end:
            raise ValueError(f"X has {begin - end + expected:,} rows and y {expected:,} labels")
    return leaf


def renumbered(
    leaf: NDArray[Any], first: NDArray[np.uint64], number: NDArray[np.int64], stays: NDArray[np.bool_]
) -> NDArray[Any]:
    """Return the rows' leaves (trees, rows) by their new numbers, of the trees that stay; overwrites the old ones."""
    of_trees = np.split(number.astype(leaf.dtype), first[1:-1].astype(np.int64))
    for tree in np.flatnonzero(stays):
        leaf[tree] = of_trees[tree][leaf[tree]]
    return leaf if stays.all() else leaf[stays]
