"""The caller's rows, checked: the leaves they fall into, their labels and weights, and which are held out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._deadline import check_time
from billhook._types import Vector
from billhook.forest import Forest, as_targets, as_weights
from billhook.interop import in_bag_mask
from billhook.kernels import renumber_leaves
from billhook.refinement._problem import SKIP_NONE, Problem
from billhook.refinement._validation import were_trained_on

# Rows of an array that are looked up at once: an array on disk, or of another type, is never whole in memory.
BLOCK = 2**16


@dataclass(frozen=True)
class RefinementData:
    """The rows to learn from, and after them separate validation rows, if the caller has such.

    Attributes
    ----------
    leaf : array
        The leaves of the rows: (rows, trees) if `by_row`, else (trees, rows).
    by_row : bool
    y, weight, held_out : array
        One entry for each row.
    n_own : int
        How many of the rows are to learn from: the first ones. Those after them are separate validation rows.
    in_bag : array
        Which rows each tree was trained on (trees, rows), for out-of-bag validation; else empty.
    is_training_data : bool
        Whether the held-out rows are some of those the forest was trained on. Its splits were chosen by them, so
        that it does better on them than on new rows, whether the refinement saw them or not.
    """

    leaf: NDArray[Any]
    by_row: bool
    y: NDArray[Any]
    weight: Vector
    held_out: NDArray[np.bool_]
    n_own: int
    in_bag: NDArray[np.bool_]
    is_training_data: bool

    @property
    def by_tree(self) -> NDArray[Any]:
        """The leaves of the rows, (trees, rows)."""
        return self.leaf.T if self.by_row else self.leaf

    @property
    def has_validation(self) -> bool:
        """Whether there are held-out rows."""
        return bool(self.held_out.any())

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Which rows are to learn from; the others are separate validation rows."""
        return np.arange(self.y.size) < self.n_own

    @property
    def holds_out_own_rows(self) -> bool:
        """Whether the held-out rows are some of those to learn from."""
        return self.has_validation and self.y.size == self.n_own


def read_rows(
    problem: Problem,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    by_row: bool,
    validation: Any,
    validation_fraction: float | None,
    in_bag: NDArray[np.bool_] | None,
    model: Any,
    n_jobs: int | None,
    random: np.random.RandomState,
) -> RefinementData:
    """Return the caller's rows, checked, with the leaves they fall into and some of them held out."""
    forest = problem.forest
    target = checked_targets(y, forest)
    n_rows = target.size
    weight = np.ones(n_rows) if sample_weight is None else as_weights(sample_weight, n_rows)
    mask = SKIP_NONE
    sources = [(X, n_rows)]
    held_out = np.zeros(n_rows, np.bool_)
    fraction = _fraction(validation_fraction)
    if isinstance(validation, str) and validation == "oob":
        if by_row:
            raise ValueError("validation='oob' is for solver='bcd'; hold rows out with validation_fraction")
        if fraction == 0.0:
            raise ValueError("validation='oob' needs a validation_fraction above 0: the share of rows to validate on")
        mask = in_bag_mask(model, n_rows) if in_bag is None else np.array(in_bag, np.bool_)
        if mask.shape != (forest.n_trees, n_rows):
            raise ValueError(f"in_bag has shape {mask.shape}, not {(forest.n_trees, n_rows)}: trees, rows")
        if mask.all():
            raise ValueError("every tree was trained on every row: there are no out-of-bag rows to validate on")
        validation = None
    if validation is not None:
        X_validation, y_validation, weight_validation = _validation_rows(validation, forest)
        sources.append((X_validation, y_validation.size))
        target, weight = np.concatenate([target, y_validation]), np.concatenate([weight, weight_validation])
        held_out = np.arange(target.size) >= n_rows
    else:
        held_out[random.permutation(n_rows)[: round(fraction * n_rows)]] = True
    if not weight[~held_out].any():
        raise ValueError("no row with a weight above 0 is left to learn from; lower validation_fraction")
    leaf = find_leaves(problem, sources, by_row=by_row, n_jobs=n_jobs)
    is_training_data = (
        validation is None
        and bool(held_out.any())
        and mask.size == 0
        and were_trained_on(problem, leaf.T if by_row else leaf, n_rows)
    )
    return RefinementData(leaf, by_row, target, weight, held_out, n_rows, mask, is_training_data)


def checked_targets(y: ArrayLike, forest: Forest) -> NDArray[Any]:
    """Return the labels or targets, of which there must be some, and none negative where counts are predicted."""
    target = as_targets(y, forest)
    if target.size == 0:
        raise ValueError("refinement needs at least one row")
    if forest.link == "exp" and (target < 0.0).any():
        raise ValueError(f"y holds negative numbers ({target.min():g}), and this forest predicts exp(score): counts")
    return target


def _validation_rows(validation: Any, forest: Forest) -> tuple[Any, NDArray[Any], Vector]:
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise ValueError(
            f"validation must be (X, y), (X, y, sample_weight) or 'oob', not {type(validation).__name__}"
        )
    try:
        y = checked_targets(validation[1], forest)
        weight = np.ones(y.size) if len(validation) == 2 else as_weights(validation[2], y.size)
    except ValueError as error:
        raise ValueError(f"of the validation rows: {error}") from None
    return validation[0], y, weight


def _fraction(fraction: Any) -> float:
    if fraction is None:
        return 0.0
    if not isinstance(fraction, Real) or not 0.0 <= float(fraction) < 1.0:
        raise ValueError(f"validation_fraction must be a number from 0 to below 1, or None, not {fraction!r}")
    return float(fraction)


def row_batches(X: Any) -> Iterator[Any]:
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
        for batch in row_batches(X):
            check_time()
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
    renumber_leaves(leaf, first, number.astype(leaf.dtype))
    return leaf if stays.all() else leaf[stays]
