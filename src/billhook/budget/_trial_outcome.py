"""What trials are run with, and what came of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from billhook._deadline import TimeLimit
from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._stages import Stage
from billhook.packing import Packed
from billhook.tables import Encoding


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """The score and the model of a trial on one split of the rows; no model if nothing fits the budget.

    `seconds` is what it takes alone, with all that it shares with other trials: `shared_seconds`, to bin and to grow.
    `stages` are those of trials on the first final split. `loss` is the log loss, of finalists that are chosen by
    accuracy. `saved` are the bytes that rounding and sharing leaves saved, of a model; `is_quick` whether it was made
    with fewer passes than the last one is. `encoding` is how its features come from columns, where that is learned
    from the rows of each split. `n_tests` are the different tests of the trees that it was made of. `misfit` are the
    mistakes on rows that it has learned from, as a share of those on others; of last models of classes, `fit_score`
    and `fit_loss` are accuracy and log loss on rows that they have learned from.
    """

    trial: Trial
    split: int
    score: float
    packed: Packed | None
    seconds: float
    shared_seconds: float = 0.0
    stages: tuple[Stage, ...] = ()
    loss: float | None = None
    saved: int = 0
    is_quick: bool = False
    encoding: Encoding | None = None
    n_tests: int = 0
    misfit: float | None = None
    fit_score: float | None = None
    fit_loss: float | None = None


class SharedSeconds(NamedTuple):
    """How long it took so far to make what trials share, and how long what one of them needs of it."""

    spent: float
    needed: float


class TrialBatch(NamedTuple):
    """Trials with the same growth and budget on one split: what is grown once serves all of them.

    After `until`, if that is a moment, they are broken off. `saved` is what rounding and sharing leaves is expected
    to save of each, in bytes; nothing where it is not known. With `only_best`, trials of several growths are all
    grown, and only the one whose trees fit the rows best is made to fit the budget.
    """

    growth: GrowthConfig
    split: int
    is_quick: bool
    trials: tuple[Trial, ...]
    until: TimeLimit | None = None
    saved: tuple[int, ...] = ()
    only_best: bool = False


def batches_of(trials: Sequence[Trial], split: int, *, is_quick: bool, is_in_order: bool = False) -> list[TrialBatch]:
    """Return the batches of trials on a split: one for each growth and budget; in order, one for each trial."""
    if is_in_order:  # where there may be no time for the last, which could share with the first
        return [TrialBatch(trial.growth, split, is_quick, (trial,)) for trial in trials]
    alike: dict[tuple[GrowthConfig, int], list[Trial]] = {}
    for trial in trials:
        alike.setdefault((trial.growth, trial.budget), []).append(trial)
    return [TrialBatch(growth, split, is_quick, tuple(batch)) for (growth, _), batch in alike.items()]
