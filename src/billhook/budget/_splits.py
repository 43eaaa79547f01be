"""The rows a search learns from, and how they are split."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._types import RowNumbers, Vector
from billhook.budget._regression_loss import SQUARES, RegressionLoss
from billhook.budget._units import Stretches, stretches_of, units_of
from billhook.tables import Encoding

HELD_OUT = 0.15
# The number of the first split that finalists are compared on; those of trials are below it.
FIRST_FINAL = 100
# Of so many draws of groups the one is taken that holds out most nearly the share of rows.
DRAWS = 8


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, their class numbers or targets, and their weights.

    `classes` are the labels of the class numbers; None for regression. `recode` learns features that depend on labels
    again for every split, and which columns they are of, so that labels of held-out rows are never in them. `loss` is
    that of regression.

    Rows of one of the `groups`, numbered from 0, are on one side of every split, and so are equal rows. With `times`
    the rows to judge by are later than all that are learned from.
    """

    X: NDArray[np.float32]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    recode: "Recode | None" = None
    loss: RegressionLoss = SQUARES
    groups: RowNumbers | None = None
    times: Vector | None = None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.X)

    @property
    def n_values(self) -> int:
        """How many numbers a leaf has."""
        return 1 if self.classes is None or self.classes.size <= 2 else self.classes.size

    @property
    def of_all_columns(self) -> "TrainingRows":
        """The rows with all columns, where these are chosen ones."""
        whole = None if self.recode is None else self.recode.whole
        return self if whole is None else whole

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        # One feature at a time: of all, it would take a fourth of the memory of the rows.
        return any(bool(np.isnan(self.X[:, k]).any()) for k in range(self.X.shape[1]))

    @cached_property
    def units(self) -> RowNumbers | None:
        """For each row the number of what is never parted; None if every row is alone."""
        whole = self.of_all_columns
        return units_of(self.X, self.y, self.groups) if whole is self else whole.units

    @cached_property
    def stretches(self) -> Stretches | None:
        """The stretches of time that are held out; None without times."""
        return None if self.times is None else stretches_of(self.times, self.y)

    @cached_property
    def n_learned_from(self) -> tuple[float, float]:
        """About how many rows trials learn from, and finalists: with times, those before what they are judged by."""
        stretches = self.stretches
        if stretches is None:
            return (1.0 - HELD_OUT) * self.n_rows, (1.0 - HELD_OUT) * self.n_rows
        begins = [begin for begin, _ in stretches.bounds]
        return float(np.mean(begins[-stretches.n_earlier :])), float(np.mean(begins[: stretches.n_latest]))

    def take(self, some: RowNumbers) -> "TrainingRows":
        """Return the rows with these numbers."""
        return replace(
            self,
            X=self.X[some],
            y=self.y[some],
            weight=self.weight[some],
            recode=None if self.recode is None else self.recode.take(some),
            groups=None if self.groups is None else self.groups[some],
            times=None if self.times is None else self.times[some],
        )

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
    groups: NDArray[Any] | None = None,
    times: Vector | None = None,
) -> TrainingRows:
    """Return rows to learn from, their labels as class numbers; rows of weight 0 are left out."""
    weights = row_weights(y, weight, class_weight, is_classification=is_classification)
    if not weights.all():  # they say nothing, and a class of such rows is none
        kept = weights > 0.0
        X, y, weights = X[kept], y[kept], weights[kept]
        groups = None if groups is None else groups[kept]
        times = None if times is None else times[kept]
    if (weights != np.rint(weights)).any():  # whole ones count rows, as leaves do
        weights = weights / weights.mean()
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        if groups.max() == 0:
            raise ValueError("all rows are of one group: there is no other to hold out")
    apart: dict[str, Any] = {"groups": groups, "times": times}
    if not is_classification:
        loss, target = loss or SQUARES, np.asarray(y, np.float64)
        loss.check_targets(target)
        return TrainingRows(X, target, weights, None, feature_names, loss=loss, **apart)
    if loss is not None:
        raise ValueError(f"loss={loss.name!r} is for regression, and the labels are classes: leave it out")
    classes, numbers = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: there is nothing to tell apart")
    return TrainingRows(X, numbers, weights, classes, feature_names, **apart)


class SplitFeatures(NamedTuple):
    """The features of all rows, as learned from some of them.

    `has_missing` says whether a value is missing: not whether rows have a category that those do not. `encoding` is
    how features come from the columns of a table; None for that of the last model.
    """

    X: NDArray[np.float32]
    names: tuple[str, ...] | None
    has_missing: bool
    encoding: Encoding | None = None


class Recode(Protocol):
    """Makes the features of all rows, as learned from some of them."""

    @property
    def whole(self) -> TrainingRows | None:
        """The rows with all columns, if features of some are made."""

    def __call__(self, train: RowNumbers) -> SplitFeatures:
        """Return the features of all rows, learned from those with these numbers."""

    def take(self, some: RowNumbers) -> "Recode":
        """Return this for some of the rows."""

    def encoded(self, encoding: Encoding) -> NDArray[np.float32]:
        """Return the features of all rows by an encoding that a call has returned."""


@dataclass(frozen=True, eq=False)
class Split:
    """The numbers of the rows to learn from and of those to judge by; the latter are none for the last model."""

    number: int
    train: RowNumbers
    held_out: RowNumbers


def split_rows(rows: TrainingRows, number: int, seed: int) -> Split:
    """Return the rows split the `number`-th time: 15 % of each class are held out, and no class whole.

    Numbers are parted by rank, so that both sides have about the same ones. Groups and equal rows are not parted.
    Rows with times are split by them: trials are judged by earlier stretches of time than finalists.
    """
    units = rows.units
    if rows.stretches is not None:
        return _split_by_time(rows, rows.stretches, units, number)
    random = np.random.default_rng([seed, number])
    is_held = _drawn(rows.y, rows.classes, random) if units is None else _drawn_units(rows, units, random)
    return Split(number, np.flatnonzero(~is_held), np.flatnonzero(is_held))


def most_splits(rows: TrainingRows, most: int) -> int:
    """Return how many splits trials may run on: at most so many, and no stretch of time twice."""
    return most if rows.stretches is None else min(most, rows.stretches.n_earlier)


def final_splits(rows: TrainingRows, most: int) -> range:
    """Return the numbers of the splits for finalists: at most so many, and no stretch of time twice."""
    n_finals = most if rows.stretches is None else min(most, rows.stretches.n_latest)
    return range(FIRST_FINAL, FIRST_FINAL + n_finals)


def _split_by_time(rows: TrainingRows, stretches: Stretches, units: RowNumbers | None, number: int) -> Split:
    is_final = number >= FIRST_FINAL
    place = stretches.place(number - FIRST_FINAL if is_final else number, is_final=is_final)
    train, held_out = stretches.before_and_in(place)
    if units is not None:  # what is judged was not learned from before, if it is not nearly all
        is_new = ~np.isin(units[train], units[held_out])
        if 2 * np.count_nonzero(is_new) > train.size and np.unique(rows.y[train[is_new]]).size > 1:
            train = train[is_new]
    return Split(number, train, held_out)


def _drawn(y: NDArray[Any], classes: NDArray[Any] | None, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which of some rows are held out, by chance and with a share of each class."""
    shuffled = random.permutation(len(y))
    ordered = shuffled[np.argsort(y[shuffled], kind="stable")]
    if classes is not None:
        group = np.searchsorted(y[ordered], np.arange(classes.size + 1))
    else:
        n_groups = max(1, min(20, len(y) // 20))
        group = np.linspace(0, len(y), n_groups + 1).astype(np.int64)
        ordered = np.concatenate([random.permutation(part) for part in np.split(ordered, group[1:-1])])
    sizes = np.diff(group)
    if sizes.max() < 2:
        what = "no two of a class" if classes is not None else f"n_samples={len(y)}"
        raise ValueError(f"{len(y)} rows, {what}, are too few: some have to be held out")
    # Shares of a row go to the groups by chance, so that many small classes together have their share.
    held = np.minimum(np.floor(sizes * HELD_OUT + random.random(sizes.size)), sizes - 1).astype(np.int64)
    if not held.any():
        held[sizes.argmax()] = 1
    place = np.arange(len(y)) - np.repeat(group[:-1], sizes)
    is_held = np.zeros(len(y), np.bool_)
    is_held[ordered[place < np.repeat(held, sizes)]] = True
    return is_held


def _drawn_units(rows: TrainingRows, units: RowNumbers, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are held out: whole units, by the label of their first row."""
    _, first = np.unique(units, return_index=True)
    y, classes = rows.y[first], rows.classes
    if classes is not None and np.bincount(y).max() < 2:  # of two groups, say, one is held out whatever its classes
        classes = None
    best, nearest = None, np.inf
    for _ in range(DRAWS):
        is_held = _drawn(y, classes, random)[units]
        _give_back_classes(rows, units, is_held)
        miss = abs(np.count_nonzero(is_held) / rows.n_rows - HELD_OUT)
        if is_held.any() and miss < nearest:
            best, nearest = is_held, miss
    if best is None:
        raise ValueError(
            f"{first.size:,} groups of rows are too few: some have to be held out, and every class be in others"
        )
    return best


def _give_back_classes(rows: TrainingRows, units: RowNumbers, is_held: NDArray[np.bool_]) -> None:
    """Have every class among the rows to learn from."""
    if rows.classes is None:
        return
    for lost in np.flatnonzero(np.bincount(rows.y[~is_held], minlength=rows.classes.size) == 0):
        if not (rows.y[~is_held] == lost).any():
            is_held[units == units[np.argmax(rows.y == lost)]] = False


def sample_rows(rows: TrainingRows, most: int, seed: int) -> TrainingRows:
    """Return some of the rows, at random, and one of every class at least; all if there are not more."""
    if rows.n_rows <= most:
        return rows
    return rows.take(sample_row_numbers(rows.y if rows.classes is not None else None, rows.n_rows, most, seed))


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
