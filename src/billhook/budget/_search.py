"""The search: many trials on one split of the rows, the best of them on several others, the winner on all rows."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat, zip_longest
from typing import Literal

import numpy as np

from billhook._deadline import OutOfTimeError, TimeLimit, within
from billhook._interruption import is_interruption
from billhook.budget._clock import Clock
from billhook.budget._executors import Executor
from billhook.budget._portfolio import first_trials
from billhook.budget._results import Candidate
from billhook.budget._space import AS_XGBOOST, QUICKEST, Trial, is_sensible, neighbours
from billhook.budget._splits import FIRST_FINAL, final_splits, most_splits
from billhook.budget._timing import TimedResults
from billhook.budget._trial_runner import TrialBatch, TrialRunner, batches_of
from billhook.packing import Packed

# Held-out rows in all that trials are compared by, if that does not take too many splits.
ENOUGH_HELD_OUT, MOST_SPLITS = 2_500, 3
ENOUGH_TRIALS = 50
# Rows that trials and finalists learn from; the last model learns from all.
TRIED_ROWS, COMPARED_ROWS = 36_000, 120_000
# How many trials are left after each split of the finals.
FINALISTS = (8, 5, 3, 3, 2)
# The shares of the time, without that for the last model, at which trying stops, at the earliest and at the latest:
# the rest is for comparing, if there is much to compare. What still runs so much later is broken off.
EXPLORE_UNTIL, EXPLORE_AT_MOST, BREAK_OFF_LATER = 0.65, 0.9, 0.08
# Comparing takes so many times what the first split of it does.
ALL_SPLITS_TAKE = 2.0
# Trials whose scores lie further below the best, in what may be chance, are not compared.
FAR_BELOW = 3.0
# The shares of the time left that the first trial may take, each time on so many times fewer rows.
FOR_FIRST, FEWER = (0.4, 0.5), 8
# What takes next to no time: so many rows, and a budget of at most so many bytes.
FEWEST_ROWS, SMALL_BUDGET = 1_000, 4_096
LEAST_BATCH, START_BATCH = 8, 6
FAMILIES = ("boosted", "random_forest", "extra_trees")


@dataclass
class Search(TimedResults):
    """A search for the best models of at most some numbers of bytes, ascending; the last counts most.

    Attributes
    ----------
    whole : TrialRunner
        Of all rows.
    budgets : tuple of int
    executor : Executor
    clock : Clock
    n_trials : int, optional
        How many trials; then the clock does not count.
    share_of_last : float
        The share of the trials that the last budget gets.
    keep_best : bool
        Whether an interruption ends the search and keeps the best so far.
    progress : function, optional
        Called after each batch with the search.
    perfect : float, optional
        The score of a model without a mistake, if the search may end before its time.
    shares_tests : bool
        Whether trees can be grown that prefer tests which are in use, and learn smoothed targets.
    first : tuple of Trial
        What is tried first, as the best of an earlier search.
    """

    whole: TrialRunner
    budgets: tuple[int, ...]
    executor: Executor
    clock: Clock
    n_trials: int | None = None
    share_of_last: float = 0.7
    keep_best: bool = False
    progress: Callable[["Search"], None] = lambda _search: None
    families: tuple[str, ...] = FAMILIES
    perfect: float | None = None
    shares_tests: bool = True
    first: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        self.trying, self.comparing = self.whole.sample(TRIED_ROWS), self.whole.sample(COMPARED_ROWS)
        held_out = max(1, self.trying.n_held_out)
        self.n_splits = most_splits(self.trying.rows, int(min(MOST_SPLITS, max(1, -(-ENOUGH_HELD_OUT // held_out)))))
        self.outcomes = {}
        self.random = np.random.default_rng([self.trying.seed, len(self.first)] if self.first else self.trying.seed)
        self.stage = "evaluating"
        self.n_done = 0
        self.final_splits = []
        self.is_interrupted = False
        self.is_built = False
        self.ended_early = ""  # why
        self.best_scores: list[float] = []  # after so many trials

    def run(self) -> None:
        """Try, then compare the best on other splits; stop early at the end of the time, or if interrupted."""
        try:
            self._explore()
            self.stage = "comparing the best"
            self._compare()
        except (Exception, KeyboardInterrupt) as error:
            self.is_interrupted = is_interruption(error)
            if not self.is_interrupted or not self.keep_best or self.best(self.budgets[-1]) is None:
                raise
        self.stage = "learning from all rows"

    def final(self, budget: int) -> Packed:
        """Return the best model that fits a budget, learned from all rows, or as many as there is memory for."""
        best = self.best(budget)
        assert best is not None
        if self.whole is not self.comparing:  # many rows take much memory
            self.trying.clear_caches()
            self.comparing.clear_caches()
        saved = self.bytes_saved(best.trial)
        return self.whole.build(best.trial, self.whole.split_of_last(best.trial), saved=saved)

    def _explore(self) -> None:
        starts, began = self._starts(), self.clock.seconds
        if self.clock.limit is not None:
            self._find_first_model(starts[0])
        # Trials have a limit of their own: this one is for finding bins.
        with suppress(OutOfTimeError), within(self.clock.until(self.clock.at(EXPLORE_AT_MOST))):
            self._explore_from(starts, began)

    def _find_first_model(self, trial: Trial) -> None:
        """Run the first trial; where the time is too short, on fewer rows, and at last a small one to its end."""
        for share in FOR_FIRST:
            end = self.clock.seconds + share * (self.clock.at(1.0) - self.clock.seconds)
            first: list[Trial] = []
            with suppress(OutOfTimeError), within(self.clock.until(end)):
                first = self._canonical([trial])
                self._run(first, 0, is_quick=True, until=partial(self.clock.until, end))
            if any(0 in self.outcomes[one] for one in first):
                return
            self._take_fewer_rows(self.trying.rows.n_rows // FEWER)
        self._take_fewer_rows(FEWEST_ROWS)
        for budget in (min(trial.budget, SMALL_BUDGET), trial.budget):
            self._run(self._canonical([replace(trial, budget=budget, compression=QUICKEST)]), 0, is_quick=True)
            if self.best(self.budgets[-1]) is not None:
                return

    def _take_fewer_rows(self, n_rows: int) -> None:
        self.trying = self.whole.sample(max(FEWEST_ROWS, n_rows))

    def _explore_from(self, starts: list[Trial], began: float) -> None:
        first_of_all = self._canonical(starts[:1])
        if self.clock.limit is not None:
            self._run(first_of_all, 0, is_quick=True, until=self._explore_end)
            # Where trials are slow, many on one split tell more than few on several.
            affordable = EXPLORE_UNTIL * self.clock.limit / (ENOUGH_TRIALS * max(self.clock.seconds - began, 1e-3))
            self.n_splits = int(np.clip(affordable, 1, self.n_splits))
        self._try(first_of_all)
        for trials in self._waves(starts):
            n_left = None if self.n_trials is None else max(0, self.n_trials - self.n_done)
            self._try(self._canonical(trials, n_left), is_stopping=True)
            if self._is_time_up() or self._is_perfect():
                return
        least = max(2 * ENOUGH_TRIALS, 2 * len(starts))
        turn = 0
        while not self._is_enough():
            last_counts = self.random.random() < self.share_of_last or len(self.budgets) == 1
            budget = self.budgets[-1] if last_counts else self.budgets[turn % (len(self.budgets) - 1)]
            turn += not last_counts
            # Of a small budget few models fit, and all that is near them may be known: then of another.
            trials = next(filter(None, map(self._next, (budget, *reversed(self.budgets)))), [])
            if not trials:
                return
            self._try(trials, is_stopping=True)
            if self._is_perfect() or self._is_settled(least):
                return

    def _is_enough(self) -> bool:
        if self.n_trials is not None:
            return self.n_done >= self.n_trials
        return self.is_late(self._explore_until())

    def _is_time_up(self) -> bool:
        return self.n_trials is None and self.is_late(self._explore_until())

    def _explore_until(self) -> float:
        """Return the share of the time, without what the last model will take, that trying has."""
        finalists = self._finalists(self.budgets[-1], FINALISTS[0])
        if len(finalists) < 2:
            return EXPLORE_AT_MOST
        n_rows = self.n_learned_from_in(is_final=False)
        seconds = ALL_SPLITS_TAKE * sum(self.seconds_of(one.trial, n_rows) for one in finalists)
        return float(np.clip(1.0 - seconds / max(self.end_at(1.0), 1e-9), EXPLORE_UNTIL, EXPLORE_AT_MOST))

    def _explore_end(self) -> TimeLimit | None:
        return self.clock.until(self.end_at(self._explore_until() + BREAK_OFF_LATER))

    def _compare_end(self) -> TimeLimit | None:
        return self.clock.until(self.end_at(1.0))

    # Whether more can be expected

    def _is_perfect(self) -> bool:
        """Whether a model makes no mistake on the rows of all splits, those of finalists too: then it is the best."""
        if self.n_trials is not None or self.perfect is None:
            return False
        perfect = [one.trial for one in self.candidates(self.budgets[-1]) if one.score >= self.perfect]
        # Those that were not confirmed before are no longer among them.
        tried = [all(outcome.score >= self.perfect for outcome in self.outcomes[trial].values()) for trial in perfect]
        if not any(tried):
            return False
        trial = perfect[tried.index(True)]
        for number in final_splits(self.comparing.rows, len(FINALISTS)):
            self._run([trial], number, is_quick=False, until=self._compare_end)
            if number not in self.outcomes[trial] or self.outcomes[trial][number].score < self.perfect:
                return False
        self.ended_early = "a model without a mistake on the rows held out was found"
        return True

    def _is_settled(self, least: int) -> bool:
        """Whether the last half of the trials, `least` or more in all, gained less than a standard error."""
        best = self.best(self.budgets[-1])
        if self.n_trials is not None or self.perfect != 1.0 or best is None:
            return False
        error = self._spread(best.score) / np.sqrt(self.n_splits)
        if self.n_done < least or best.score - self.best_scores[self.n_done // 2 - 1] >= error:
            return False
        self.ended_early = "the last half of its configurations gained less than a standard error"
        return True

    def _try(self, trials: list[Trial], *, is_stopping: bool = False) -> None:
        """Run trials on all splits, but those that do badly on the first not on the others."""
        if self.n_trials is not None:
            trials = trials[: max(0, self.n_trials - self.n_done)]
        is_enough = self._is_time_up if is_stopping else lambda: False
        for number in range(self.n_splits):
            if number:
                trials = self._promising(trials, number)
            self._run(trials, number, is_quick=True, is_enough=is_enough, until=self._explore_end)
        best = self.best(self.budgets[-1])
        self.best_scores += [-np.inf if best is None else best.score] * (self.n_done - len(self.best_scores))

    def _promising(self, trials: list[Trial], n_tried: int) -> list[Trial]:
        """Return the trials, of those that ran on all splits so far, that may still come to be among the best."""
        kept = []
        for budget in self.budgets:
            known = {candidate.trial: candidate.score for candidate in self.candidates(budget)}
            best = max(known.values(), default=0.0)
            least = best - self._spread(best)
            kept += [
                trial
                for trial in trials
                if trial.budget == budget
                and known.get(trial, -np.inf) >= least
                and all(number in self.outcomes[trial] for number in range(n_tried))
            ]
        return kept

    def _spread(self, score: float) -> float:
        """Return by how much scores may differ by chance between two good models."""
        # Errors of numbers are of any unit, and those of two good models much alike.
        is_of_numbers = self.trying.rows.classes is None
        chance = 0.5 * max(1.0 - score, 1e-6) if is_of_numbers else np.sqrt(max(1.0 - score, 0.002))
        return float(chance / np.sqrt(self.trying.n_held_out))

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
        new = [trial for trial in trials if number not in self.outcomes.get(trial, {})]
        for trial in new:  # in this order, whichever is done first
            self.outcomes.setdefault(trial, {})
        batches = [
            batch._replace(saved=tuple(map(self.bytes_saved, batch.trials)))
            for batch in batches_of(new, number, is_quick=is_quick)
        ]

        def until_enough() -> Iterator[TrialBatch]:
            for batch in batches:
                if is_enough():
                    return
                yield batch._replace(until=until())

        for outcomes in self.executor.map(self.trying if is_quick else self.comparing, until_enough()):
            for outcome in outcomes:
                self.outcomes[outcome.trial][number] = outcome
                self.n_done += number == 0
            self.progress(self)

    def _next(self, budget: int) -> list[Trial]:
        """Return trials that differ little from the best ones; where there are none, from the best of the last."""
        wanted = chain((LEAST_BATCH // 2, LEAST_BATCH // 4, LEAST_BATCH // 4), repeat(LEAST_BATCH))
        trials: dict[Trial, None] = {}
        for candidate in self.candidates(budget) or self.candidates(self.budgets[-1]):
            if len(trials) >= LEAST_BATCH:
                break
            here = replace(candidate.trial, budget=budget)
            near = [here, *neighbours(here)]
            most = len(trials) + next(wanted)
            for place in self.random.permutation(len(near)):
                if len(trials) == most:  # to find the bins takes longer than many a trial
                    break
                trials |= dict.fromkeys(set(self._canonical([near[place]])) - self.outcomes.keys())
        return list(trials)

    def _canonical(self, trials: Iterable[Trial], most: int | None = None) -> list[Trial]:
        """Return the first different trials that make sense, `most` or all, with the bits and bins they come to."""
        canonical: dict[Trial, None] = {}
        for trial in trials:
            if len(canonical) == most:  # to find the bins takes longer than many a trial
                break
            growth = trial.growth if self.shares_tests else replace(trial.growth, **AS_XGBOOST)
            came_to = replace(trial, growth=self.trying.canonical(growth))
            if is_sensible(came_to):
                canonical[came_to] = None
        return list(canonical)

    def _compare(self) -> None:
        def is_enough() -> bool:
            return self.n_trials is None and self.is_late(1.0)

        self._choose_compared_rows()
        for number, n_left in zip(final_splits(self.comparing.rows, len(FINALISTS)), FINALISTS, strict=False):
            if is_enough():
                return
            by_budget = []
            for budget in self._in_order():
                n_kept = n_left if budget == self.budgets[-1] or not self._counts_last_most else -(-n_left // 4)
                finalists = self._finalists(budget, n_kept, final=number > FIRST_FINAL)
                by_budget.append([candidate.trial for candidate in finalists])
            if number > FIRST_FINAL and max(map(len, by_budget)) < 2:
                return
            # The best for each budget, then the second, so that all have been compared when the time is up.
            ranked = (trial for rank in zip_longest(*by_budget) for trial in rank if trial is not None)
            left = list(dict.fromkeys(ranked))
            self._run(left, number, is_quick=False, is_enough=is_enough, until=self._compare_end)
            if not any(number in self.outcomes[trial] for trial in left):
                return
            self.final_splits.append(number)

    def _finalists(self, budget: int, most: int, *, final: bool = False) -> list[Candidate]:
        """Return the best for a budget, without those that are far below: at most so many."""
        best = self.candidates(budget, final=final)[:most]
        # By how much scores differ by chance is known of shares of one only; of numbers, a single row can be far off.
        if not best or self.perfect != 1.0 or self.trying.rows.classes is None:
            return best
        highest = max(one.score for one in best)
        return [one for one in best if one.score >= highest - FAR_BELOW * self._spread(highest)]

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
        for trial, by_split in self.outcomes.items():  # those on other rows tell nothing here
            self.outcomes[trial] = {number: by_split[number] for number in by_split if number < FIRST_FINAL}

    @property
    def _counts_last_most(self) -> bool:
        return self.share_of_last > 1.0 / len(self.budgets)

    def _in_order(self) -> list[int]:
        """Return the budgets, the last first if it counts most; else the smaller ones, which are quicker, first."""
        return sorted(self.budgets, reverse=self._counts_last_most)

    def _starts(self) -> list[Trial]:
        """Return what is tried first."""
        if self.first:
            return list(self.first)
        rows = self.trying.rows
        others: Literal["as_many", "soon", "later"] = "as_many"
        if self._counts_last_most:
            others = "later" if self.n_trials is None else "soon"
        return first_trials(
            self._in_order(),
            rows.X.shape[1],
            self.trying.n_values,
            self.families,
            is_regression=rows.classes is None,
            others=others,
        )

    def _waves(self, starts: list[Trial]) -> Iterator[list[Trial]]:
        """Yield what is tried together: the first of all, and what is near the best between the others."""
        for first in range(1, len(starts), START_BATCH):
            yield starts[first : first + START_BATCH]
            if first > 1:
                yield self._next(self.budgets[-1])[:START_BATCH]
