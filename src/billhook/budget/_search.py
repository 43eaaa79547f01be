"""The search: many trials on one split of the rows, the best of them on several others, the winner on all rows."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from typing import Literal

import numpy as np

from billhook._deadline import OutOfTimeError, TimeLimit, within
from billhook._interruption import is_interruption
from billhook._out_of_memory import is_out_of_memory
from billhook.budget._clock import Clock
from billhook.budget._endings import Endings
from billhook.budget._executors import Executor
from billhook.budget._finals import FINALISTS, all_different
from billhook.budget._portfolio import first_trials
from billhook.budget._projecting import can_be_projected, weight_bytes
from billhook.budget._smooth_targets import can_be_smoothed
from billhook.budget._space import AS_XGBOOST, MAX_TESTS, PROJECTIONS, QUICKEST, Trial, is_sensible, neighbours
from billhook.budget._splits import most_splits
from billhook.budget._trial_outcome import TrialBatch, batches_of
from billhook.budget._trial_runner import TrialRunner
from billhook.packing import Packed

# Held-out rows in all that trials are compared by, if that does not take too many splits.
ENOUGH_HELD_OUT, MOST_SPLITS = 2_500, 3
ENOUGH_TRIALS = 50
# Rows that trials and finalists learn from; the last model learns from all.
TRIED_ROWS, COMPARED_ROWS = 36_000, 120_000
# The shares of the time, without that for the last model, at which trying stops, at the earliest and at the latest:
# the rest is for comparing, if there is much to compare. What still runs so much later is broken off.
EXPLORE_UNTIL, EXPLORE_AT_MOST, BREAK_OFF_LATER = 0.65, 0.9, 0.08
# The shares of the time left that the first trial may take, each time on so many times fewer rows.
FOR_FIRST, FEWER = (0.4, 0.5), 8
# What takes next to no time: so many rows, and a budget of at most so many bytes.
FEWEST_ROWS, SMALL_BUDGET = 1_000, 4_096
LEAST_BATCH, START_BATCH = 8, 6
# The share of a budget that the weights of projections may take.
MOST_FOR_WEIGHTS = 0.35
FAMILIES = ("boosted", "random_forest", "extra_trees")


@dataclass
class Search(Endings):
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
        The score of a model without a mistake.
    may_end_early : bool
        Whether the search ends when such a model is found for the last budget, or little more is to be gained for it.
    shares_tests : bool
        Whether trees can be grown that prefer tests which are in use, and learn smoothed targets.
    first : tuple of Trial
        What is tried first, as the best of an earlier search.
    may_draw : bool
        Whether the search may learn last models, several of each.
    max_projections : int, optional
        The most projections that trees may be grown on.
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
    may_draw: bool = True
    max_projections: int | None = None
    may_end_early: bool = True

    def __post_init__(self) -> None:
        self.trying, self.comparing = self.whole.sample(TRIED_ROWS), self.whole.sample(COMPARED_ROWS)
        held_out = max(1, self.trying.n_held_out)
        self.n_splits = most_splits(self.trying.rows, int(min(MOST_SPLITS, max(1, -(-ENOUGH_HELD_OUT // held_out)))))
        self.outcomes, self.drawn = {}, {}
        self.seconds_to_draw = 0.0
        self.random = np.random.default_rng([self.trying.seed, len(self.first)] if self.first else self.trying.seed)
        # The last model learns from all of them.
        self.can_smooth, self.can_project = can_be_smoothed(self.whole.rows), can_be_projected(self.whole.rows)
        self.stage = "evaluating"
        self.n_done = 0
        self.final_splits = []
        self.compared_on = {}
        self.finals_are_quick = False
        self.is_interrupted = self.is_out_of_memory = False
        self.is_built = False
        self.ended_early = ""  # why
        self.best_scores = []

    def run(self) -> None:
        """Try, then compare the best on other splits; stop early at the end of the time, or by an error that may."""
        try:
            self._explore()
            self.stage = "comparing the best"
            self._compare()
            self.stage = "learning from all rows"
            self._draw()
        except (Exception, KeyboardInterrupt) as error:
            self.end(error)
        self.stage = "learning from all rows"

    def end(self, error: BaseException) -> None:
        """End with the best model so far, if the error is an interruption or memory ran out; else raise it."""
        is_for_want_of_memory = is_out_of_memory(error)
        may_end = self.keep_best and (is_for_want_of_memory or is_interruption(error))
        if not may_end or self.best(self.budgets[-1]) is None:
            raise error
        self.is_interrupted = True
        self.is_out_of_memory |= is_for_want_of_memory
        if is_for_want_of_memory:
            for runner in (self.trying, self.comparing, self.whole):
                runner.clear_caches()

    def final(self, budget: int) -> Packed:
        """Return the best model that fits a budget, learned from all rows, or as many as there is memory for."""
        best = self.best(budget)
        assert best is not None
        learned = self.last_model(best, budget)
        if learned is not None:
            return learned
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
        end = max(self.end_at(1.0), 1e-9)
        share = self._seconds_to_compare(finalists) / end
        if share > 1.0 - EXPLORE_UNTIL:
            share = self._seconds_to_compare(finalists, is_quick=True) / end
        return float(np.clip(1.0 - share, EXPLORE_UNTIL, EXPLORE_AT_MOST))

    def _explore_end(self) -> TimeLimit | None:
        return self.clock.until(self.end_at(self._explore_until() + BREAK_OFF_LATER))

    def _try(self, trials: list[Trial], *, is_stopping: bool = False) -> None:
        """Run trials on all splits, but those that do badly on the first not on the others."""
        if self.n_trials is not None:
            trials = trials[: max(0, self.n_trials - self.n_done)]
        is_enough = self._is_time_up if is_stopping else lambda: False
        for number in range(self.n_splits):
            if number:
                trials = self._promising(trials, number)
            self._run(trials, number, is_quick=True, is_enough=is_enough, until=self._explore_end)
        self.reserve_draws()
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
            for batch in batches_of(new, number, is_quick=is_quick, is_in_order=self.finals_are_quick)
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
        beside = self._canonical(self._best_beside(budget))
        trials: dict[Trial, None] = dict.fromkeys(trial for trial in beside if trial not in self.outcomes)
        for candidate in all_different(self.candidates(budget) or self.candidates(self.budgets[-1])):
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

    def _best_beside(self, budget: int) -> list[Trial]:
        """Return the best of the next smaller and the next larger budget, as trials of this one."""
        place = self.budgets.index(budget)
        others = self.budgets[max(0, place - 1) : place] + self.budgets[place + 1 : place + 2]
        best = [self.candidates(other)[:1] for other in others]
        return [replace(one.trial, budget=budget) for found in best for one in found]

    def _canonical(self, trials: Iterable[Trial], most: int | None = None) -> list[Trial]:
        """Return the first different trials that make sense, `most` or all, with the bits and bins they come to."""
        canonical: dict[Trial, None] = {}
        for trial in trials:
            if len(canonical) == most:  # to find the bins takes longer than many a trial
                break
            growth = trial.growth if self.shares_tests else replace(trial.growth, **AS_XGBOOST)
            if growth.smoothing and not self.can_smooth:
                growth = replace(growth, smoothing=0.0)
            growth = replace(growth, projections=self._n_projections(growth.projections, trial.budget))
            came_to = replace(trial, growth=self.trying.canonical(growth))
            if is_sensible(came_to):
                canonical[self._known_by_another_cap(came_to)] = None
        return list(canonical)

    def _n_projections(self, n: int, budget: int) -> int:
        """Return how many projections, of so many at most, leave most of a budget to the trees."""
        n_features = self.trying.rows.X.shape[1]
        if not self.can_project:
            return 0
        n = n if self.max_projections is None else min(n, self.max_projections)
        while n and weight_bytes(n_features, n) > MOST_FOR_WEIGHTS * budget:
            n = max(fewer for fewer in PROJECTIONS if fewer < n)
        return n

    def _known_by_another_cap(self, trial: Trial) -> Trial:
        """Return the trial that ran and had fewer tests than its cap and this one's, if there is one, else this one.

        The same trees were grown, but for splits that gain as much as others.
        """
        cap = trial.growth.max_tests or np.inf
        for most in MAX_TESTS:
            other = replace(trial, growth=replace(trial.growth, max_tests=most))
            n_tests = max((outcome.n_tests for outcome in self.outcomes.get(other, {}).values()), default=0)
            if 0 < n_tests < min(cap, most or np.inf):
                return other
        return trial

    def _starts(self) -> list[Trial]:
        """Return what is tried first."""
        if self.first:
            return [*self.first, *self._not_in_record()]
        return self._portfolio()

    def _not_in_record(self) -> list[Trial]:
        """Return what an earlier search did not know of: its record has no trial with projections."""
        if any(trial.growth.projections for trial in (*self.first, *self.outcomes)):
            return []
        return [trial for trial in self._portfolio() if trial.growth.projections]

    def _portfolio(self) -> list[Trial]:
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
