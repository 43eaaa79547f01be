"""The rows a search learns from, and how they are parted."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
HELD_OUT = 0.15


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, their class numbers or targets, and their weights.

    `classes` are the labels of the class numbers; None for regression. `recode` makes the features anew where they
    depend on labels: those of the rows that judge must not be in them.
    """

    X: NDArray[np.float32]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    recode: "Recode | None" = None

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
        return bool(np.isnan(self.X).any())

    @property
    def labels(self) -> NDArray[Any]:
        """The labels or targets of the rows."""
        return self.y if self.classes is None else self.classes[self.y]


class Recode(Protocol):
    """Makes the features of all rows, as learned from some of them."""

    def __call__(self, train: Numbers) -> NDArray[np.float32]:
        """Return the features of all rows, learned from those with these numbers."""

    def take(self, some: Numbers) -> "Recode":
        """Return this for some of the rows."""


@dataclass(frozen=True, eq=False)
class Split:
    """The numbers of the rows to learn from and of those to judge by; the latter are none for the last model."""

    number: int
    train: Numbers
    held_out: Numbers


def split(rows: TrainingRows, number: int, seed: int) -> Split:
    """Return the rows parted for the `number`-th time: 15 % of each class are held out, and no class whole.

    Numbers are parted by rank, so that both sides have about the same ones.
    """
    random = np.random.default_rng([seed, number])
    shuffled = random.permutation(rows.n_rows)
    if rows.classes is not None:
        ordered = shuffled[np.argsort(rows.y[shuffled], kind="stable")]
        group = np.searchsorted(rows.y[ordered], np.arange(rows.classes.size + 1))
    else:
        ordered = shuffled[np.argsort(rows.y[shuffled], kind="stable")]
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


def sample(rows: TrainingRows, most: int, seed: int) -> TrainingRows:
    """Return some of the rows, at random, and one of every class at least; all if there are not more."""
    if rows.n_rows <= most:
        return rows
    some = sampled(rows.y if rows.classes is not None else None, rows.n_rows, most, seed)
    recode = None if rows.recode is None else rows.recode.take(some)
    return replace(rows, X=rows.X[some], y=rows.y[some], weight=rows.weight[some], recode=recode)


def sampled(labels: NDArray[Any] | None, n_rows: int, most: int, seed: int) -> Numbers:
    """Return the numbers of some rows, at random, and of one of every label at least."""
    some = np.random.default_rng([seed, most]).permutation(n_rows)[:most]
    if labels is not None:
        some = np.union1d(some, np.unique(labels, return_index=True)[1])
    return np.sort(some)


def all_rows(rows: TrainingRows) -> Split:
    """Return all rows to learn from."""
    return Split(-1, np.arange(rows.n_rows), np.zeros(0, np.int64))
