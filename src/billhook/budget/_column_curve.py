"""How much is lost with fewer columns, and what more of them would gain."""

from contextlib import suppress
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from billhook._deadline import OutOfTimeError, within
from billhook._progress import tell_progress
from billhook.budget._clock import Clock
from billhook.budget._columns import ChosenColumns
from billhook.budget._compress import TooSmallError
from billhook.budget._portfolio import first_trials
from billhook.budget._trial_runner import TrialRunner

# Numbers of columns of which a model is made, beside those near to what is asked for, and all.
NUMBERS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
# The share of the time that the models may take.
FOR_CURVE = 0.05


class ColumnPoint(NamedTuple):
    """The score of a model that reads so many columns, and which come in addition to those of the point before.

    `is_chosen` says that it is the number that was asked for.
    """

    n_columns: int
    score: float
    added: tuple[str, ...]
    is_chosen: bool


def column_curve(runner: TrialRunner, budget: int, clock: Clock) -> tuple[ColumnPoint, ...]:
    """Return the scores of models of several numbers of columns, all with the first configuration of a search.

    They are learned from the training rows of one split, columns and all, and scored on its held-out rows. Where
    `clock` has no time for all of them, those most worth knowing are made first.
    """
    chosen = runner.rows.recode
    if not isinstance(chosen, ChosenColumns):
        return ()
    most = len(chosen.encoding.columns)
    asked = chosen.n_columns
    wanted = (asked, asked + 1, asked - 1, most, *(n for n in NUMBERS if n <= most))
    numbers = [n for n in dict.fromkeys(wanted) if 1 <= n <= most]
    split = runner.split(0)
    found: dict[int, float] = {}
    with suppress(OutOfTimeError), within(clock.until(_end(clock))):
        order = chosen.order(split.train)
        for place, n in enumerate(numbers):
            tell_progress("trying fewer and more columns", place, len(numbers), f"{place} of {len(numbers)} models")
            rows = replace(runner.rows, recode=replace(chosen, n_columns=n, order_of=asked))
            with suppress(TooSmallError):
                found[n] = _score(replace(runner, rows=rows), budget)
    found = {n: score for n, score in found.items() if isfinite(score)}  # a scorer may say nan of rows of one class
    names = [chosen.encoding.columns[column].name for column in order] if found else []
    ascending = sorted(found)
    return tuple(
        ColumnPoint(n, found[n], tuple(names[before:n]), n == asked)
        for before, n in zip([0, *ascending], ascending, strict=False)
    )


def _end(clock: Clock) -> float:
    return float(clock.seconds + clock.at(FOR_CURVE))


def _score(runner: TrialRunner, budget: int) -> float:
    rows, split = runner.rows, runner.split(0)
    trial = first_trials(
        [budget],
        runner.features(split).shape[1],
        rows.n_values,
        ("boosted",),
        is_regression=rows.classes is None,
        others="later",
    )[0]
    return runner.judge(runner.build(trial, split, is_quick=True), split)
