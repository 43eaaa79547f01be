"""Which columns of a table a model may read: the best few, by the rows that are learned from alone.

A price for each column that trees begin to test was measured too (benchmarks/max_features.py): trees take what gains
most at first, and lose what would do best together.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._checks import at_least_one
from billhook._deadline import OutOfTimeError, TimeLimit, within
from billhook._progress import tell_progress
from billhook.budget._clock import Clock
from billhook.budget._column_trials import ColumnTrials
from billhook.budget._encoding import EncodedTable
from billhook.budget._splits import SplitFeatures, TrainingRows
from billhook.forest import count_of
from billhook.tables import Encoding

# Columns on the short list at least, and how many times those asked for; of more than so many, single ones matter
# little, and are taken by what they gain.
SHORT_LIST, MANY, MOST_TRIED = 16, 2, 16
# One in so many of the columns is left out at a time.
AT_ONCE = 4
# So many that are best on the rows held out first are compared on others.
NEAR = 4
# How often rows are held out to compare columns: as often as there is time for.
TIMES_HELD_OUT = (3, 1, 0)
# The share of the time that a choice may take: there is one for each split of the rows, and one for the last model.
FOR_CHOICE = 0.03
CHOOSING = "choosing columns"


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """Features of the best columns, as few as asked for, chosen anew by the rows of every split: see `Recode`.

    Attributes
    ----------
    whole : TrainingRows
        With all columns.
    encoding : Encoding
        How these become features.
    n_columns : int
    seed : int
    n_held_out : int
        How often rows are held out to compare columns; 0 ranks them by what each gains.
    order_of : int
        How many were asked for when the order of columns was found, of which others are taken now; 0 for as many.
    """

    whole: TrainingRows
    encoding: Encoding
    n_columns: int
    seed: int
    n_held_out: int = TIMES_HELD_OUT[0]
    order_of: int = 0
    # By the rows that they are chosen by.
    _known: dict[int, list[int]] = field(default_factory=dict)

    def __call__(self, train: NDArray[np.int64]) -> SplitFeatures:
        """Return the features of all rows, of the columns that are best by those with these numbers."""
        X, encoding = self._of_all(train)
        kept = sorted(self._order(X, encoding, train)[: self.n_columns])
        features = features_of_columns(encoding, kept)
        chosen = Encoding(tuple(encoding.columns[number] for number in kept))
        # As far as all rows tell: a category that these rows do not have is not missing in the last model.
        has_missing = any(bool(np.isnan(self.whole.X[:, k]).any()) for k in features.tolist())
        return SplitFeatures(X[:, features], chosen.feature_names, has_missing, chosen)

    def order(self, train: NDArray[np.int64]) -> list[int]:
        """Return the numbers of all columns, the best first by the rows with these numbers."""
        return self._order(*self._of_all(train), train)

    def _order(self, X: NDArray[np.float32], encoding: Encoding, train: NDArray[np.int64]) -> list[int]:
        key = hash(train.tobytes())
        if key not in self._known:
            trials = ColumnTrials(X, self.whole, train, features_by_column(encoding), self.seed)
            self._known[key] = column_order(trials, self.order_of or self.n_columns, self.n_held_out)
        return self._known[key]

    def take(self, some: NDArray[np.int64]) -> "ChosenColumns":
        """Return this for the rows with these numbers."""
        return ChosenColumns(self.whole.take(some), self.encoding, self.n_columns, self.seed, self.n_held_out)

    def encoded(self, encoding: Encoding) -> NDArray[np.float32]:
        """Return the features of all rows by an encoding of chosen columns."""
        recode = self.whole.recode
        if recode is not None:
            return recode.encoded(encoding)
        names = [column.name for column in self.encoding.columns]
        return self.whole.X[:, features_of_columns(self.encoding, [names.index(c.name) for c in encoding.columns])]

    def _of_all(self, train: NDArray[np.int64]) -> tuple[NDArray[np.float32], Encoding]:
        """Return the features of all columns, as learned from some rows."""
        if self.whole.recode is None:
            return self.whole.X, self.encoding
        learned = self.whole.recode(train)
        assert learned.encoding is not None
        return learned.X, learned.encoding


def check_max_features(max_features: int | None, model: Any) -> None:
    """Raise ValueError unless so many columns may be chosen for what is to be learned."""
    if max_features is None:
        return
    at_least_one(max_features, "max_features")
    if model is not None:
        raise ValueError(
            f"max_features={max_features} chooses what trees are grown on, and the trees of a model are there "
            "already: leave one of them out"
        )


def with_chosen_columns(
    encoded: EncodedTable, max_features: int | None, *, seed: int, clock: Clock | None
) -> EncodedTable:
    """Return a table to learn from with at most so many of its columns, those that do best together.

    `clock` has the time of the search; where a choice takes too much of it, columns are compared on rows held out
    once, or at last only ranked by what each gains.
    """
    if max_features is None:
        return encoded
    most, n_columns = at_least_one(max_features, "max_features"), len(encoded.encoding.columns)
    if most >= n_columns:
        note = f"max_features={most} leaves nothing out: there are {count_of(n_columns, 'column')} to learn from."
        return encoded._replace(notes=(*encoded.notes, note))
    every = np.arange(encoded.rows.n_rows)
    for n_held_out in TIMES_HELD_OUT:
        chosen = ChosenColumns(encoded.rows, encoded.encoding, most, seed, n_held_out)
        try:
            with within(_until(clock) if n_held_out else None):
                features = chosen(every)
            break
        except OutOfTimeError:
            continue
    assert features.encoding is not None
    rows = replace(encoded.rows, X=features.X, feature_names=features.names, recode=chosen)
    return EncodedTable(rows, features.encoding, encoded.notes)


def notes_on_columns(rows: TrainingRows, encoding: Encoding | None) -> tuple[str, ...]:
    """Return what is to be said of the columns that a model reads, if they were chosen."""
    chosen = rows.recode
    if not isinstance(chosen, ChosenColumns) or encoding is None:
        return ()
    names = ", ".join(repr(column.name) for column in encoding.columns)
    note = f"The model reads {len(encoding.columns):,} of {len(chosen.encoding.columns):,} columns: {names}."
    if chosen.n_held_out:
        return (note,)
    return (note, "There was no time to try columns together: they were chosen by what each gains.")


def _until(clock: Clock | None) -> TimeLimit | None:
    return None if clock is None else clock.until(clock.seconds + clock.at(FOR_CHOICE))


def column_order(trials: ColumnTrials, most: int, n_held_out: int) -> list[int]:
    """Return the numbers of columns, those first that are to be taken; of any number the first are good ones.

    The columns that gain least are left out, and trees grown anew, until a short list is left. Of that, the column is
    added, one after the other, with which trees do best on rows held out from these trees, `n_held_out` times.
    """
    by_gain = trials.by_gain(list(range(trials.n_columns)))
    if n_held_out == 0:
        return by_gain
    n_short = max(SHORT_LIST, MANY * most) if most <= MOST_TRIED else most
    gone: list[int] = []
    while len(by_gain) > n_short:
        tell_progress(CHOOSING, len(gone), trials.n_columns, f"{len(by_gain):,} left")
        n_kept = max(n_short, len(by_gain) - max(1, len(by_gain) // AT_ONCE))
        gone = by_gain[n_kept:] + gone
        by_gain = trials.by_gain(by_gain[:n_kept])
    taken: list[int] = []
    while most <= MOST_TRIED and len(taken) < most:
        tell_progress(CHOOSING, len(taken), most, f"{len(taken):,} of {most:,} taken")
        tried = [column for column in by_gain if column not in taken]
        first = sorted(tried, key=lambda column: trials.loss([*taken, column], 1))
        taken.append(min(first[:NEAR], key=lambda column: trials.loss([*taken, column], n_held_out)))
    return taken + [column for column in by_gain if column not in taken] + gone


def features_of_columns(encoding: Encoding, columns: Iterable[int]) -> NDArray[np.int64]:
    """Return the numbers of the features that some columns become, column after column."""
    by_column = features_by_column(encoding)
    return np.concatenate([by_column[number] for number in columns])


def features_by_column(encoding: Encoding) -> list[NDArray[np.int64]]:
    """Return the numbers of the features that each column becomes."""
    ends = np.cumsum([column.n_features for column in encoding.columns])
    return np.split(np.arange(ends[-1]), ends[:-1])
