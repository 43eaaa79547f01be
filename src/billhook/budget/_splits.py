"""The rows a search learns from, and how they are split."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._types import RowNumbers, Vector
from billhook.budget._regression_loss import SQUARES, RegressionLoss

HELD_OUT = 0.15


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, their class numbers or targets, and their weights.

    `classes` are the labels of the class numbers; None for regression. `recode` learns features that depend on labels
    again for every split, so that labels of held-out rows are never in them. `loss` is that of regression.
    """

    X: NDArray[np.float32]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    recode: "Recode | None" = None
    loss: RegressionLoss = SQUARES

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.X)

    @property
    def n_values(self) -> int:
        """How many numbers a leaf has."""
        return 1 if self.classes is None or self.classes.size <= 2 else self.classes.size

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        # One feature at a time: of all, it would take a fourth of the memory of the rows.
        return any(bool(np.isnan(self.X[:, k]).any()) for k in range(self.X.shape[1]))

    @property
    def labels(self) -> NDArray[Any]:
        """The labels or targets of the rows."""
        return self.y if self.classes is None else self.classes[self.y]


def row_weights(y: NDArray[Any], weight: Vector | None, class_weight: Any, *, is_classification: bool) -> Vector:
    """Return the weights of rows times those of their classes, or raise ValueError if they cannot be learned from."""
    weights = np.ones(len(y)) if weight is None else weight
    if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
        raise ValueError("sample_weight holds a weight that is negative, infinite or not a number")
    if class_weight is not None:
        if not is_classification:
            raise ValueError(f"class_weight must be None for regression, not {class_weight!r}: there are no classes")
        from sklearn.utils import compute_sample_weight

        of_classes = compute_sample_weight(class_weight, y)
        if not (np.isfinite(of_classes).all() and (of_classes >= 0.0).all()):
            raise ValueError(f"class_weight holds a weight that is negative or infinite: {class_weight!r}")
        weights = weights * of_classes
    if not weights.any():
        raise ValueError("all weights are zero: sample_weight must be above 0 for some rows")
    return weights


def training_rows(
    X: NDArray[np.float32],
    y: NDArray[Any],
    *,
    is_classification: bool,
    weight: Vector | None = None,
    class_weight: Any = None,
    feature_names: tuple[str, ...] | None = None,
    loss: RegressionLoss | None = None,
) -> TrainingRows:
    """Return rows to learn from, their labels as class numbers; rows of weight 0 are left out."""
    weights = row_weights(y, weight, class_weight, is_classification=is_classification)
    if not weights.all():  # they say nothing, and a class of such rows is none
        X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
    if (weights != np.rint(weights)).any():  # whole ones count rows, as leaves do
        weights = weights / weights.mean()
    if not is_classification:
        loss, target = loss or SQUARES, np.asarray(y, np.float64)
        loss.check_targets(target)
        return TrainingRows(X, target, weights, None, feature_names, loss=loss)
    if loss is not None:
        raise ValueError(f"loss={loss.name!r} is for regression, and the labels are classes: leave it out")
    classes, numbers = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: there is nothing to tell apart")
    return TrainingRows(X, numbers, weights, classes, feature_names)


class Recode(Protocol):
    """Makes the features of all rows, as learned from some of them."""

    def __call__(self, train: RowNumbers) -> NDArray[np.float32]:
        """Return the features of all rows, learned from those with these numbers."""

    def take(self, some: RowNumbers) -> "Recode":
        """Return this for some of the rows."""


@dataclass(frozen=True, eq=False)
class Split:
    """The numbers of the rows to learn from and of those to judge by; the latter are none for the last model."""

    number: int
    train: RowNumbers
    held_out: RowNumbers


def split_rows(rows: TrainingRows, number: int, seed: int) -> Split:
    """Return the rows split the `number`-th time: 15 % of each class are held out, and no class whole.

    Numbers are parted by rank, so that both sides have about the same ones.
    """
    random = np.random.default_rng([seed, number])
    shuffled = random.permutation(rows.n_rows)
    ordered = shuffled[np.argsort(rows.y[shuffled], kind="stable")]
    if rows.classes is not None:
        group = np.searchsorted(rows.y[ordered], np.arange(rows.classes.size + 1))
    else:
        n_groups = max(1, min(20, rows.n_rows // 20))
        group = np.linspace(0, rows.n_rows, n_groups + 1).astype(np.int64)
        ordered = np.concatenate([random.permutation(part) for part in np.split(ordered, group[1:-1])])
    sizes = np.diff(group)
    if sizes.max() < 2:
        what = "no two of a class" if rows.classes is not None else f"n_samples={rows.n_rows}"
        raise ValueError(f"{rows.n_rows} rows, {what}, are too few: some have to be held out")
    # Shares of a row go to the groups by chance, so that many small classes together have their share.
    held = np.minimum(np.floor(sizes * HELD_OUT + random.random(sizes.size)), sizes - 1).astype(np.int64)
    if not held.any():
        held[sizes.argmax()] = 1
    place = np.arange(rows.n_rows) - np.repeat(group[:-1], sizes)
    is_held = place < np.repeat(held, sizes)
    return Split(number, np.sort(ordered[~is_held]), np.sort(ordered[is_held]))


def sample_rows(rows: TrainingRows, most: int, seed: int) -> TrainingRows:
    """Return some of the rows, at random, and one of every class at least; all if there are not more."""
    if rows.n_rows <= most:
        return rows
    some = sample_row_numbers(rows.y if rows.classes is not None else None, rows.n_rows, most, seed)
    recode = None if rows.recode is None else rows.recode.take(some)
    return replace(rows, X=rows.X[some], y=rows.y[some], weight=rows.weight[some], recode=recode)


def sample_row_numbers(labels: NDArray[Any] | None, n_rows: int, most: int, seed: int) -> RowNumbers:
    """Return the numbers of some rows, at random, and of one of every label at least."""
    some = np.random.default_rng([seed, most]).permutation(n_rows)[:most]
    if labels is not None:
        some = np.union1d(some, np.unique(labels, return_index=True)[1])
    return np.sort(some)


def all_rows(rows: TrainingRows) -> Split:
    """Return all rows to learn from."""
    return Split(-1, np.arange(rows.n_rows), np.zeros(0, np.int64))


def some_rows(rows: TrainingRows, most: int, seed: int) -> Split:
    """Return some of the rows to learn from, as `sample_rows` takes them; nothing is copied."""
    labels = None if rows.classes is None else rows.y
    return Split(-1, sample_row_numbers(labels, rows.n_rows, most, seed), np.zeros(0, np.int64))
