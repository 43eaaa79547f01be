"""What is known of the trials of a search, and which are the best."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import isfinite

import numpy as np

from billhook.budget._space import Trial
from billhook.budget._splits import FIRST_FINAL
from billhook.budget._trial_outcome import TrialOutcome
from billhook.packing import Packed
from billhook.tables import Encoding

# A finalist as good as the best takes its place if it is no larger than so many times that.
WORTH_LESS = 0.97


@dataclass(frozen=True, eq=False)
class Candidate:
    """A trial, and how good its models were on rows they had not seen, of these `splits`; `packed` is one of them.

    `encoding` is how its features come from columns, where that is not as for the last model.
    """

    trial: Trial
    nbytes: int
    scores: tuple[float, ...]
    packed: Packed
    is_final: bool
    losses: tuple[float, ...] = ()
    encoding: Encoding | None = None
    tried: tuple[float, ...] = ()
    splits: tuple[int, ...] = ()

    @cached_property
    def score(self) -> float:
        """The mean over the splits."""
        return sum(self.scores) / len(self.scores)

    @cached_property
    def score_to_rank(self) -> float:
        """The mean over the splits and those that it was tried on, where models were made in the same way."""
        scores = self.scores + self.tried
        return sum(scores) / len(scores)


class TrialResults:
    """The outcomes of trials by the splits of the rows that they ran on.

    Attributes
    ----------
    budgets : tuple of int
        Ascending.
    outcomes : dict
        Of each trial by the number of the split, in the order in which trials were chosen.
    n_splits : int
        How many splits trials run on.
    final_splits : list of int
        The splits that finalists were compared on.
    compared_on : dict of int to list of int
        Which of these the best for each budget were compared on, whatever size they had aimed at.
    finals_are_quick : bool
        Whether models of finalists were made as those of trials: then what was known of these counts as well.
    drawn : dict of Trial to list of TrialOutcome
        What came of other draws of the best trials, which have learned from all rows.
    """

    budgets: tuple[int, ...]
    outcomes: dict[Trial, dict[int, TrialOutcome]]
    n_splits: int
    final_splits: list[int]
    compared_on: dict[int, list[int]]
    finals_are_quick: bool
    drawn: dict[Trial, list[TrialOutcome]]

    def candidates(self, budget: int | None = None, *, final: bool = False) -> list[Candidate]:
        """Return the trials whose models fit a budget, the best first; with `final`, those compared on final splits.

        Of a trial that ran on some splits only, the score is what may be expected on all. Finalists, if accuracy is
        what counts, are ordered by the mean of their ranks in accuracy and in log loss: a few mistakes more or less
        are often chance. Those that predict numbers are ordered by the mean of their ranks on each split: a single
        row that is far off can weigh more than all others.
        """
        splits = self._finals_of(budget) if final else list(range(self.n_splits))
        if not splits:
            return []
        easier = {number: 0.0 if final else self._easier(number) for number in splits}
        candidates = []
        for trial, by_split in self.outcomes.items():
            known = [by_split[number] for number in splits if number in by_split]
            packed = [outcome.packed for outcome in known if outcome.packed is not None]
            if not packed or len(packed) < len(known) or (final and len(known) < len(splits)):
                continue
            nbytes = max(model.nbytes for model in packed)
            if budget is None or nbytes <= budget:
                scores = tuple(outcome.score - easier[outcome.split] for outcome in known)
                losses = tuple(outcome.loss for outcome in known if outcome.loss is not None) if final else ()
                tried = self._tried_scores(trial) if final and self.finals_are_quick else ()
                on = tuple(outcome.split for outcome in known)
                last = (packed[-1], final, losses, known[-1].encoding, tried, on)
                candidates.append(Candidate(trial, nbytes, scores, *last))
        # Of equals, the one that did better when it was tried; then the smaller.
        candidates.sort(key=lambda c: (-c.score_to_rank, -self._tried_score(c.trial), c.nbytes, name_of(c.trial)))
        if candidates and all(c.losses for c in candidates):
            return _by_mean_rank(candidates)
        is_of_numbers = final and candidates and candidates[0].packed.classes is None
        return _by_rank_on_splits(candidates) if is_of_numbers else candidates

    def _tried_score(self, trial: Trial) -> float:
        tried = [outcome.score for number, outcome in self.outcomes[trial].items() if number < FIRST_FINAL]
        return sum(tried) / len(tried) if tried else -np.inf

    def _tried_scores(self, trial: Trial) -> tuple[float, ...]:
        """Return the scores of a trial on splits that are none of the finals, each as hard as the first."""
        known = {number: one.score for number, one in self.outcomes[trial].items() if number < self.n_splits}
        return tuple(score - self._easier(number) for number, score in known.items())

    def _finals_of(self, budget: int | None) -> list[int]:
        """Return the final splits that the best for a budget, or for the last, were compared on: some or all."""
        return self.compared_on.get(self.budgets[-1] if budget is None else budget, [])

    def _easier(self, number: int) -> float:
        """Return by how much scores on a split are higher than on the first, in the mean over trials of both."""
        both = [by_split for by_split in self.outcomes.values() if 0 in by_split and number in by_split]
        gaps = [by_split[number].score - by_split[0].score for by_split in both] if number else []
        finite = [gap for gap in gaps if isfinite(gap)]
        return sum(finite) / len(finite) if finite else 0.0

    def bytes_saved(self, trial: Trial) -> int:
        """Return what rounding and sharing leaves is expected to save, by earlier models: of this trial, or alike.

        Alike are those that are packed in the same way, for the same budget; the last of them counts.
        """
        own = self.outcomes.get(trial, {})
        alike = (
            [own],
            (by_split for other, by_split in reversed(self.outcomes.items()) if is_packed_alike(other, trial)),
        )
        for by_split in chain(*alike):
            known = [outcome.saved for outcome in by_split.values() if outcome.packed is not None]
            if known:
                return known[-1]
        return 0

    def best(self, budget: int) -> Candidate | None:
        """Return the best of the finalists, or else of all: where the best of all could not be compared in time.

        Of finalists that neither accuracy nor log loss tells apart from the best it is the smallest.
        """
        finalists, tried = self.candidates(budget, final=True), self.candidates(budget)
        if not finalists or not tried:
            return next(iter(finalists or tried), None)
        was_compared = any(number >= FIRST_FINAL for number in self.outcomes[tried[0].trial])
        return _smallest_as_good(finalists) if was_compared else tried[0]


@lru_cache(maxsize=10_000)
def name_of(trial: Trial) -> str:
    """Return what orders trials that are alike in all else; the search asks for it again and again."""
    return repr(trial)


def is_packed_alike(one: Trial, other: Trial) -> bool:
    """Whether models of two trials are packed in the same way, for the same budget."""
    return one.budget == other.budget and one.compression.packing == other.compression.packing


def _smallest_as_good(finalists: list[Candidate]) -> Candidate:
    """Return the smallest of those that neither accuracy nor log loss tells apart from the first.

    Of those that are hardly smaller, without log losses, and on one split, it is the first itself.
    """
    best = finalists[0]

    def is_as_good(one: Candidate) -> bool:
        if one.nbytes > WORTH_LESS * best.nbytes:
            return False
        return not _is_told_apart(best.scores, one.scores) and not _is_told_apart(one.losses, best.losses)

    if len(best.losses) < 2:
        return best
    return min((one for one in finalists if one is best or is_as_good(one)), key=lambda one: one.nbytes)


def _is_told_apart(higher: tuple[float, ...], lower: tuple[float, ...]) -> bool:
    """Whether the differences are, in the mean over the splits, more than the standard error of their mean."""
    if not np.isfinite(higher + lower).all():
        return True
    by = np.subtract(higher, lower)
    return bool(by.mean() > by.std(ddof=1) / np.sqrt(by.size))


def _by_rank_on_splits(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates, the best score first, by the sum of their ranks on each split.

    What they were tried on counts as one split more, where models were made in the same way.
    """
    rank = np.zeros(len(candidates))
    known = [one.scores + ((sum(one.tried) / len(one.tried),) if one.tried else ()) for one in candidates]
    for scores in zip(*known, strict=True):
        rank += [sum(other > score for other in scores) + 0.5 * scores.count(score) for score in scores]
    return [candidates[place] for place in np.argsort(rank, kind="stable")]


def _by_mean_rank(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates, the best score first, by the mean of that rank and the rank of their log loss."""
    losses = [float(np.mean(one.losses)) for one in candidates]
    scores = [one.score_to_rank for one in candidates]
    rank = [
        sum(other > score for other in scores)
        + sum(other < loss for other in losses)
        + 0.5 * (scores.count(score) + losses.count(loss))  # equals share their ranks
        for score, loss in zip(scores, losses, strict=True)
    ]
    return [candidates[place] for place in np.argsort(rank, kind="stable")]
