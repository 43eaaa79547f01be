"""The finals: the best trials are compared on other splits of the rows, fewer of them after each."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest

import numpy as np

from billhook._deadline import TimeLimit
from billhook.budget._results import Candidate
from billhook.budget._space import Trial
from billhook.budget._splits import FIRST_FINAL, final_splits
from billhook.budget._timing import TimedResults

# How many trials are left after each split of the finals.
FINALISTS = (8, 5, 3, 3, 2)
# Comparing takes so many times what the first split of it does.
ALL_SPLITS_TAKE = 2.0
# Comparing that seems to take so many times as long as there is time for is made quicker.
TOO_LONG = 1.3
# Trials whose scores lie further below the best, in what may be chance, are not compared.
FAR_BELOW = 3.0
# Where one model only is left, it goes on until it was scored on so many rows.
ENOUGH_SCORED = 1_000


class Finals(TimedResults):
    """Compares the best trials of each budget on splits of the rows of their own.

    Attributes
    ----------
    n_trials : int, optional
        If it is given, the clock does not count.
    perfect : float, optional
        The score of a model without a mistake.
    """

    n_trials: int | None
    perfect: float | None

    @abstractmethod
    def _run(
        self,
        trials: list[Trial],
        number: int,
        *,
        is_quick: bool,
        is_enough: Callable[[], bool] = lambda: False,
        until: Callable[[], TimeLimit | None] = lambda: None,
    ) -> None:
        """Run the trials that did not run on a split, until it is enough; what goes on then is broken off."""

    def _compare_end(self) -> TimeLimit | None:
        return self.clock.until(self.end_at(1.0))

    def _compare(self) -> None:
        def is_enough() -> bool:
            return self.n_trials is None and self.is_late(1.0)

        self.reserve_draws()
        self._choose_how_to_compare()
        for number, n_left in zip(final_splits(self.comparing.rows, len(FINALISTS)), FINALISTS, strict=False):
            if is_enough():
                return
            by_budget = []
            for budget in self._in_order():
                n_kept = n_left if budget == self.budgets[-1] or not self._counts_last_most else -(-n_left // 4)
                finalists = self._finalists(budget, n_kept, final=number > FIRST_FINAL)
                by_budget.append([candidate.trial for candidate in finalists])
            n_scored = len(self.final_splits) * self.comparing.n_held_out
            if n_scored >= ENOUGH_SCORED and max(map(len, by_budget)) < 2:
                return
            # The best for each budget, then the second, so that all have been compared when the time is up.
            ranked = (trial for rank in zip_longest(*by_budget) for trial in rank if trial is not None)
            left = list(dict.fromkeys(ranked))
            self._run(left, number, is_quick=self.finals_are_quick, is_enough=is_enough, until=self._compare_end)
            if not any(number in self.outcomes[trial] for trial in left):
                return
            self.final_splits.append(number)
            for budget, compared in zip(self._in_order(), by_budget, strict=True):
                if any(number in self.outcomes[trial] for trial in compared):
                    self.compared_on.setdefault(budget, []).append(number)

    def _finalists(self, budget: int, most: int, *, final: bool = False) -> list[Candidate]:
        """Return the best for a budget, without those that are far below: at most so many, all different models."""
        best = list(islice(all_different(self.candidates(budget, final=final)), most))
        # By how much scores differ by chance is known of shares of one only; of numbers, a single row can be far off.
        if not best or self.perfect != 1.0 or self.trying.rows.classes is None:
            return best
        highest = max(one.score for one in best)
        return [one for one in best if one.score >= highest - FAR_BELOW * self._spread(highest)]

    def _choose_how_to_compare(self) -> None:
        """Compare models that are made as quickly as those of trials where the time is too short for better ones.

        To tell more of them apart, and on more splits, is worth more than to know how good the last model will be.
        """
        finalists = self._finalists(self.budgets[-1], FINALISTS[0])
        left = self.end_at(1.0) - self.clock.seconds
        self.finals_are_quick = len(finalists) > 1 and self._seconds_to_compare(finalists) > TOO_LONG * left
        if self.finals_are_quick:
            self.comparing = self.trying
            self._forget_finals()  # those of a trial that seemed perfect were made better, on other rows maybe
        else:
            self._choose_compared_rows()

    def _seconds_to_compare(self, finalists: list[Candidate], *, is_quick: bool = False) -> float:
        """Return about how long it takes to compare these on all splits, on as many rows as trials have."""
        n_rows = self.n_learned_from_in(is_final=False)
        return ALL_SPLITS_TAKE * sum(self.seconds_of(one.trial, n_rows, is_quick=is_quick) for one in finalists)

    def _choose_compared_rows(self) -> None:
        """Compare on fewer rows, as many as trials have, where the time is too short for the finalists otherwise."""
        finalists = self._finalists(self.budgets[-1], FINALISTS[0])
        if self.clock.limit is None or self.comparing is self.trying or not finalists:
            return
        n_rows = self.comparing.rows.n_rows
        seconds = sum(self.seconds_of(candidate.trial, n_rows) for candidate in finalists)
        share = (self.end_at(1.0) - self.clock.seconds) / max(seconds, 1e-9)
        if share >= 1.0:
            return
        is_more = share * n_rows > self.trying.rows.n_rows
        self.comparing = self.whole.sample(int(share * n_rows)) if is_more else self.trying
        self._forget_finals()  # those on other rows tell nothing here

    def _forget_finals(self) -> None:
        for trial, by_split in self.outcomes.items():
            self.outcomes[trial] = {number: by_split[number] for number in by_split if number < FIRST_FINAL}

    def _in_order(self) -> list[int]:
        """Return the budgets, the last first if it counts most; else the smaller ones, which are quicker, first."""
        return sorted(self.budgets, reverse=self._counts_last_most)

    def _spread(self, score: float) -> float:
        """Return by how much scores may differ by chance between two good models."""
        # Errors of numbers are of any unit, and those of two good models much alike.
        is_of_numbers = self.trying.rows.classes is None
        chance = 0.5 * max(1.0 - score, 1e-6) if is_of_numbers else np.sqrt(max(1.0 - score, 0.002))
        return float(chance / np.sqrt(self.trying.n_held_out))


def all_different(candidates: list[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates whose models are not those of one before.

    Trials that aim at different sizes come to the same model where all that is grown fits the smaller one.
    """
    seen: list[Candidate] = []
    for one in candidates:
        if not any(one.packed == other.packed and one.encoding == other.encoding for other in seen):
            seen.append(one)
            yield one
