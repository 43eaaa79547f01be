"""From a table to rows to learn from: how categorical columns become features is chosen on held-out rows."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import OutOfTimeError, check_time, within
from billhook._types import Vector
from billhook.budget._clock import Clock, in_time
from billhook.budget._compress import TooSmallError
from billhook.budget._regression_loss import RegressionLoss
from billhook.budget._scoring import score_of
from billhook.budget._space import GrowthConfig, Trial, first_compression_configs
from billhook.budget._splits import (
    Split,
    SplitFeatures,
    TrainingRows,
    row_weights,
    sample_row_numbers,
    split_rows,
    training_rows,
)
from billhook.budget._trial_runner import TrialRunner
from billhook.forest import Forest
from billhook.tables import Categorical, CategoricalEncoding, Encoding, Table, encode, features_of

N_SPLITS = 3
MOST_ROWS = 8_000
# What can be learned with fewer bytes tells nothing, and with more the choice hardly matters.
BUDGETS = (512, 4096)
# The share of the time that the choice may take.
FOR_CHOICE = 0.1


class EncodedTable(NamedTuple):
    """The rows of a table to learn from, how its columns became features, and what to say about that."""

    rows: TrainingRows
    encoding: Encoding
    notes: tuple[str, ...]


def encode_table(
    table: Table,
    budget: int,
    *,
    categorical: CategoricalEncoding | None = None,
    model: Forest | None = None,
    scoring: Any = None,
    weight: Vector | None = None,
    class_weight: Any = None,
    loss: RegressionLoss | None = None,
    seed: int = 0,
    clock: Clock | None = None,
) -> EncodedTable:
    """Return a table as rows to learn from.

    Parameters
    ----------
    table : Table
    budget : int
        Bytes that the model may take.
    categorical : {"one_hot", "ordered"}, optional
        What categorical columns become; by default what does better on held-out rows.
    model : Forest, optional
        If it has an encoding, that is kept.
    scoring : optional
        What is better, as for `fit`.
    weight : array, optional
        Of the rows.
    class_weight : dict or "balanced", optional
    loss : RegressionLoss, optional
        Of regression; squares by default.
    seed : int
    clock : Clock, optional
        A tenth of its time may be taken to choose the encoding; if that is not enough, categories are ordered.
    """
    is_classification = table.task != "regression"
    weights = row_weights(table.y, weight, class_weight, is_classification=is_classification)
    if not weights.all():  # rows that say nothing are left out of the table too, which orders are learned from
        table, weights = table.take(np.flatnonzero(weights)), weights[weights > 0.0]
    notes: tuple[str, ...] = ()
    known = None if model is None else model.encoding
    if categorical is None and known is None:
        limit = None if clock is None else clock.until(clock.seconds + clock.at(FOR_CHOICE))
        try:
            with within(limit):
                categorical = choose_encoding(table, budget, seed, scoring, weights, loss)
        except OutOfTimeError:
            categorical, notes = "ordered", ("There was no time to evaluate one-hot encoding.",)
    with in_time(clock or Clock(None), "encoding", table.title):
        if model is None or known is None:
            X, encoding = encode(table, categorical or "ordered")
        else:
            X, encoding = features_of(table, model), known
    rows = training_rows(
        X,
        table.y,
        is_classification=is_classification,
        weight=weights,
        feature_names=encoding.feature_names,
        loss=loss,
        groups=table.groups,
        times=table.times,
    )
    is_ordered = has_categories_to_order(table) and all(column.kind != "one_hot" for column in encoding.columns)
    recode = OrderedFeatures(_with_columns_of(table, X)) if is_ordered and known is None else None
    if known is None:
        notes = (*_notes_on(encoding), *notes)
    return EncodedTable(replace(rows, recode=recode), encoding, notes)


def _codes_and_numbers(table: Table) -> NDArray[np.float32]:
    """Return a column of numbers for each of the table: equal rows are equal there."""
    columns = (column.codes if isinstance(column, Categorical) else column for column in table.columns)
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _with_columns_of(table: Table, X: NDArray[np.float32]) -> Table:
    """Return a table of one feature a column whose numbers are in the features: they are not in memory twice."""
    columns = [
        column if isinstance(column, Categorical) else X[:, place] for place, column in enumerate(table.columns)
    ]
    return replace(table, columns=tuple(columns))


def choose_encoding(
    table: Table,
    budget: int,
    seed: int,
    scoring: Any = None,
    weight: Vector | None = None,
    loss: RegressionLoss | None = None,
) -> CategoricalEncoding:
    """Return the encoding with which a model of this size does better on held-out rows; of equals the shorter.

    Orders are learned without the rows that judge them. `scoring` says what is better, as for `fit`. Where the time
    is up, what is known by then decides; OutOfTimeError is raised if that is nothing.
    """
    if not has_categories_to_order(table):
        return "ordered"
    if len(table.y) > MOST_ROWS:
        labels = None if table.task == "regression" else table.y
        numbers = sample_row_numbers(labels, len(table.y), MOST_ROWS, seed)
        table, weight = table.take(numbers), None if weight is None else weight[numbers]
    is_classification = table.task != "regression"
    whole = training_rows(
        _codes_and_numbers(table),
        table.y,
        is_classification=is_classification,
        weight=weight,
        loss=loss,
        groups=table.groups,
        times=table.times,
    )
    gaps: list[float] = []
    for number in range(N_SPLITS):
        split = split_rows(whole, number, seed)
        try:
            one_hot, ordered = (
                _score(table, whole, encoding, split, budget, seed, scoring) for encoding in ("one_hot", "ordered")
            )
        except OutOfTimeError:
            if not gaps:
                raise
            break
        # An infinite one, where a model of one of them is too large, decides.
        gaps.append(one_hot - ordered if one_hot != ordered else 0.0)
    return "one_hot" if np.mean(gaps) > 0.0 else "ordered"


def has_categories_to_order(table: Table) -> bool:
    """Whether a categorical column has an order to learn."""
    return any(isinstance(column, Categorical) and len(column.categories) > 2 for column in table.columns)


@dataclass(frozen=True)
class OrderedFeatures:
    """Features of a table whose categories are in an order learned from some rows: see `Recode`."""

    table: Table
    whole: TrainingRows | None = None

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return any(
            bool((column.codes < 0).any() if isinstance(column, Categorical) else np.isnan(column).any())
            for column in self.table.columns
        )

    def __call__(self, train: NDArray[np.int64]) -> SplitFeatures:
        """Return the features of all rows, with orders learned from those with these numbers."""
        _, encoding = encode(self.table.take(train), "ordered")
        return SplitFeatures(self.encoded(encoding), encoding.feature_names, self.has_missing, encoding)

    def encoded(self, encoding: Encoding) -> NDArray[np.float32]:
        """Return the features of all rows by an encoding of these columns."""
        return encoding.apply(dict(zip(self.table.names, self.table.columns, strict=True)))

    def take(self, rows: NDArray[np.int64]) -> "OrderedFeatures":
        """Return this for the rows with these numbers."""
        return OrderedFeatures(self.table.take(rows))


def _score(
    table: Table,
    whole: TrainingRows,
    encoding: CategoricalEncoding,
    split: Split,
    budget: int,
    seed: int,
    scoring: Any,
) -> float:
    """Return the score of a small model on held-out rows, with an encoding learned from the others."""
    check_time()
    _, learned = encode(table.take(split.train), encoding)
    X = learned.apply(dict(zip(table.names, table.columns, strict=True)))
    rows = replace(whole, X=X)
    runner = TrialRunner(rows, score_of(scoring, rows), seed)
    growth = GrowthConfig("boosted", 16, 0.3, 6, 64)
    nbytes = int(np.clip(budget, *BUDGETS))
    trial = Trial(nbytes, growth, first_compression_configs(rows.n_values, nbytes)[0])
    try:
        return runner.judge(runner.build(trial, split, is_quick=True), split)
    except TooSmallError:
        return -np.inf


def _notes_on(encoding: Encoding) -> tuple[str, ...]:
    kinds = {column.kind for column in encoding.columns if len(column.categories or ()) > 2}
    if not kinds:
        return ()
    encoded = (
        "one-hot encoded" if "one_hot" in kinds else "one feature each: categories are ordered by their mean label"
    )
    return (f"Categorical columns are {encoded}; functions in the C header put categories into a row.",)
