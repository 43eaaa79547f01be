"""Whether pruning can help a forest, and which way of making it smaller costs the least accuracy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import RowNumbers
from billhook.budget import equal_rows
from billhook.forest import Forest
from billhook.inspection._data import data_for
from billhook.inspection._models import model_of
from billhook.inspection._removal import RemovableTrees, removable_trees, tree_tests
from billhook.inspection._score_table import regression_measures
from billhook.interop import as_forest
from billhook.pruning import pruning_gain, pruning_order
from billhook.refinement import MergePasses, merge, refine

Way = Literal["whole", "truncated", "pruned", "refined", "merged"]
# Of the size of the forest.
SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
# More rows than these make the chart slower, and hardly other.
MOST_ROWS = 20_000
EPOCHS = 8
LEAST_ROWS = 20
# Reduced-error pruning looks at every tree left for each that it takes.
MOST_PRUNED = 256


class DiagnosedSize(NamedTuple):
    """A smaller forest: how it was made, its bytes as the paper counts, its trees and leaves, and its score."""

    way: Way
    nbytes: int
    n_trees: int
    n_leaves: int
    score: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is said of a forest's trees, and of ways to make it smaller.

    Attributes
    ----------
    n_trees, n_rows : int
    error : float or None
        The mean squared error of the mean of all trees, as section 2 of the paper has it; None, as all that follows
        up to `removable`, for forests whose trees correct one another.
    error_without : array (trees) or None
        The same without each tree.
    no_worse : bool array (trees) or None
        Whether the mean is no worse without a tree: ``error_without <= error``.
    paper_test : bool array (trees) or None
        The test that the paper derives from that, ``-2 * sum of C_ik over i != k <= C_kk``, where C_ij is the mean
        product of the residuals of two trees. It holds for every tree that is `no_worse`, and for others: it is
        necessary, not sufficient. Where it fails the tree is surely needed.
    removable : RemovableTrees or None
        Trees that can go one after the other at no cost.
    scoring : {"accuracy", "R2"}
    standard_error : float
        Of the score of the whole forest on the rows of the chart.
    sizes : tuple of DiagnosedSize
        The whole forest first, then others by size and way: made on one half of the rows, scored on the other. The
        smaller refined ones are truncated first.
    advised : DiagnosedSize
        The smallest one that is within a standard error of the best.
    notes : tuple of str
    """

    n_trees: int
    n_rows: int
    error: float | None
    error_without: NDArray[np.float64] | None
    no_worse: NDArray[np.bool_] | None
    paper_test: NDArray[np.bool_] | None
    removable: RemovableTrees | None
    scoring: str
    standard_error: float
    sizes: tuple[DiagnosedSize, ...]
    advised: DiagnosedSize
    notes: tuple[str, ...]


def diagnose(
    model: Any,
    X: Any,
    y: Any,
    *,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> Diagnosis:
    """Return whether pruning can help a forest, and what truncation, pruning, refinement and merging make of it.

    Section 2 of the paper asks for every tree of a random forest whether the mean of the others is any worse. Where
    it is for all of them, as for well grown forests, pruning can only trade accuracy for size, and other ways may
    trade better: half of the rows are used to prune, refine and merge, and the other half to compare.

    Parameters
    ----------
    model : Forest, fitted estimator, or path of a model file
        Not packed: give the forest that it was packed from.
    X : array, data frame, or path of a table
        Rows that the forest was not trained on.
    y : array, or name of a column
        Their labels, or the column of X that holds them.
    random_state : int
        The seed of the halves.
    progress : function, optional
        Called with the steps done, how many there are, and the name of the next.

    Examples
    --------
    >>> import billhook as bh
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> rf = RandomForestClassifier(16, max_leaf_nodes=32, random_state=0).fit(X[::2], y[::2])
    >>> diagnosis = bh.diagnose(rf, X[1::2], y[1::2])
    >>> bool((diagnosis.paper_test | ~diagnosis.no_worse).all())
    True
    >>> diagnosis.advised.nbytes <= diagnosis.sizes[0].nbytes
    True
    """
    forest = _forest_of(model)
    data = data_for(forest, X, y)
    if data.y is None:
        raise ValueError("y must be the labels of the rows, or the name of the column of X that holds them")
    if len(data.X) < LEAST_ROWS:
        raise ValueError(f"{data.title} has {len(data.X)} rows; a diagnosis needs {LEAST_ROWS} at least")
    steps = _StepCounter(progress, 2 + len(SHARES) * 4)
    learned, held_out = _halves(data.X, data.y, random_state)
    halves = _Halves(data.X[learned], data.y[learned], data.X[held_out], data.y[held_out])
    notes = list(data.notes)
    steps.next("testing each tree")
    error, without, no_worse, paper_test, removable = _tested(forest, data.X, data.y, halves, notes)
    sizes = _sizes(forest, halves, steps, notes)
    spread = _standard_error(forest, halves, sizes[0].score)
    return Diagnosis(
        n_trees=forest.n_trees,
        n_rows=len(data.X),
        error=error,
        error_without=without,
        no_worse=no_worse,
        paper_test=paper_test,
        removable=removable,
        scoring="R2" if forest.classes is None else "accuracy",
        standard_error=spread,
        sizes=tuple(sizes),
        advised=_advised(sizes, spread),
        notes=tuple(notes),
    )


class _Halves(NamedTuple):
    X: NDArray[np.float32]
    y: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]


class _StepCounter:
    def __init__(self, progress: Callable[[int, int, str], None] | None, n_steps: int) -> None:
        self.progress, self.n_steps, self.done = progress, n_steps, 0

    def next(self, name: str) -> None:
        """Say which step is next."""
        check_time()
        if self.progress is not None:
            self.progress(self.done, self.n_steps, name)
        self.done += 1


def _forest_of(model: Any) -> Forest:
    known = model_of(model)
    if not isinstance(known, Forest) and known.projections is not None:
        raise TypeError(
            "the model is packed, and tests projections, which a forest does not have; a diagnosis is one of a "
            "forest: give one that was fitted with max_projections=0"
        )
    if not isinstance(known, Forest):
        raise TypeError("the model is packed, and a diagnosis is one of a forest: give that which it was packed from")
    return as_forest(known)


def _halves(X: NDArray[np.float32], y: NDArray[Any], random_state: int) -> tuple[RowNumbers, RowNumbers]:
    """Return the numbers of the rows of each half, at random; equal rows are in one of them, if most rows differ."""
    order = np.random.default_rng(random_state).permutation(len(X))[:MOST_ROWS]
    middle = len(order) // 2
    same = equal_rows(X, y)
    if same is not None:
        _, first, number = np.unique(same[order], return_index=True, return_inverse=True)
        by_first = np.argsort(first[number], kind="stable")  # equal rows follow the first of them
        order = order[by_first]
        ends = np.flatnonzero(np.diff(number[by_first])) + 1
        middle = int(ends[np.abs(ends - middle).argmin()]) if ends.size else middle
    return np.sort(order[:middle]), np.sort(order[middle:])


def _tested(
    forest: Forest, X: NDArray[np.float32], y: NDArray[Any], halves: _Halves, notes: list[str]
) -> tuple[
    float | None,
    NDArray[np.float64] | None,
    NDArray[np.bool_] | None,
    NDArray[np.bool_] | None,
    RemovableTrees | None,
]:
    """Return what the tests say of each tree; None where they are not defined, and a note why."""
    try:
        gain = pruning_gain(forest, X, y)
        of_halves = [pruning_gain(forest, *rows).products for rows in (halves[:2], halves[2:])]
    except (TypeError, ValueError) as error:
        notes.append(f"Single trees cannot be tested: {error}.")
        return None, None, None, None, None
    no_worse, paper_test = tree_tests(gain.products)
    trees = removable_trees(*of_halves)
    rest = forest.select(np.setdiff1d(np.arange(forest.n_trees), trees))
    scores = (_scored("whole", each, halves).score for each in (forest, rest))
    removable = RemovableTrees(trees, *scores)
    return gain.error, gain.error_without, no_worse, paper_test, removable


def _sizes(forest: Forest, halves: _Halves, steps: _StepCounter, notes: list[str]) -> list[DiagnosedSize]:
    """Return the whole forest and smaller ones."""
    sizes = [_scored("whole", forest, halves)]
    budgets = [int(forest.size() * share) for share in SHARES]
    can_truncate = not forest.refined
    if not can_truncate:
        notes.append("The forest is refined: its trees cannot be truncated any more.")
    nodes = np.diff(forest.offset) * (forest.size() // max(forest.n_nodes, 1))
    order = _order(forest, halves, notes)
    steps.next("refining")
    sizes.append(_scored("refined", _refined(forest, halves), halves))
    for budget in budgets:
        steps.next("truncating")
        cut = _truncated(forest, budget) if can_truncate else None
        if cut is not None:
            sizes.append(_scored("truncated", cut, halves))
        steps.next("pruning")
        n_kept = 0 if order is None else int(np.searchsorted(np.cumsum(nodes[order]), budget, side="right"))
        if order is not None and n_kept:
            sizes.append(_scored("pruned", forest.select(order[:n_kept]), halves))
        steps.next("refining")
        if cut is not None:
            sizes.append(_scored("refined", _refined(cut, halves), halves))
        steps.next("merging")
        merged = _merged(forest, budget, halves)
        if merged is not None:
            sizes.append(_scored("merged", merged, halves))
    return sizes


def _order(forest: Forest, halves: _Halves, notes: list[str]) -> NDArray[np.int64] | None:
    """Return the trees in the order of reduced-error pruning, as many as are looked at; None if they have none."""
    try:
        return pruning_order(forest, halves.X, halves.y, n_trees=min(max(forest.n_trees // 2, 1), MOST_PRUNED))
    except (TypeError, ValueError) as error:
        notes.append(f"It cannot be pruned: {error}.")
        return None


def _refined(forest: Forest, halves: _Halves) -> Forest:
    return refine(forest, halves.X, halves.y, epochs=EPOCHS, validation_fraction=0.2, random_state=0)


def _truncated(forest: Forest, budget: int) -> Forest | None:
    """Return the forest with as many leaves a tree as a number of bytes allows; None if not even two."""
    least, most = 2, int(np.diff(forest.offset).max() // 2 + 1)
    best = None
    while least <= most:
        middle = (least + most) // 2
        cut = forest.truncate(max_leaves=middle)
        if cut.size() <= budget:
            best, least = cut, middle + 1
        else:
            most = middle - 1
    return best


def _merged(forest: Forest, budget: int, halves: _Halves) -> Forest | None:
    try:
        return merge(forest, halves.X, halves.y, size=budget, passes=MergePasses(5, 2, 1, 3))
    except ValueError:  # not even a leaf a tree fits
        return None


def _scored(way: Way, forest: Forest, halves: _Halves) -> DiagnosedSize:
    predicted = forest.predict(halves.X_test)
    if forest.classes is None:
        score = regression_measures(halves.y_test, predicted).get("R2", 0.0)
    else:
        score = float(np.mean(predicted == halves.y_test))
    return DiagnosedSize(way, forest.size(), forest.n_trees, forest.n_leaves, score)


def _standard_error(forest: Forest, halves: _Halves, score: float) -> float:
    """Return the standard error of the score of the whole forest."""
    n_rows = len(halves.y_test)
    if forest.classes is not None:
        # Of no mistake in so many rows nothing else would be known but that they are few.
        share = min(max(score, 1.0 / n_rows), 1.0 - 1.0 / n_rows)
        return float(np.sqrt(share * (1.0 - share) / n_rows))
    squares = np.square(halves.y_test - forest.predict(halves.X_test))
    variance = float(np.var(halves.y_test))
    return float(squares.std() / np.sqrt(n_rows) / variance) if variance > 0.0 else 0.0


def _advised(sizes: list[DiagnosedSize], spread: float) -> DiagnosedSize:
    """Return the smallest forest that is within a standard error of the best."""
    best = max(size.score for size in sizes)
    return min((size for size in sizes if size.score >= best - spread), key=lambda size: (size.nbytes, -size.score))
