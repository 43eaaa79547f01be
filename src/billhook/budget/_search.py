"""The search: many trials on one part of the rows, the best of them on several others, the winner on all."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

import numpy as np

from billhook._interruption import is_interruption
from billhook.budget._space import Trial, is_sensible, neighbours
from billhook.budget._starts import first_compression_configs, first_growth_configs
from billhook.budget._trial_runner import ALL, Outcome, TrialBatch, TrialRunner, batches_of
from billhook.packing import Packed

# Rows held out in all that trials are compared by, if so many splits are not too many.
ENOUGH_HELD_OUT, MOST_SPLITS = 2_500, 3
ENOUGH_TRIALS = 50
FIRST_FINAL = 100
# Rows that are tried with, and compared with; the last model learns from all.
TRIED_ROWS, COMPARED_ROWS = 36_000, 120_000
# How many trials are left after each of the last splits.
FINALISTS = (8, 5, 3, 3, 2)
# Of the time: when to stop trying, and when to stop comparing. The rest is for the last model.
EXPLORE_UNTIL, COMPARE_UNTIL = 0.6, 0.92
LEAST_BATCH, START_BATCH = 8, 16
WARM_UP_ROWS, WARM_UP_LEAVES, WARM_UP_BUDGET = 300, 4, 400
MANY_CLASSES = 50
FAMILIES = ("boosted", "random_forest", "extra_trees")


class Executor(Protocol):
    """Where jobs are run: this machine, or a cluster."""

    def map(self, bench: TrialRunner, jobs: Iterable[TrialBatch]) -> Iterator[list[Outcome]]:
        """Yield what comes of each job, as they end."""


@dataclass
class ThreadExecutor:
    """Workers that are threads of this process."""

    n_threads: int

    def map(self, bench: TrialRunner, jobs: Iterable[TrialBatch]) -> Iterator[list[Outcome]]:
        """Yield what comes of each job, as they end; a job that has begun is not stopped."""
        waiting = iter(jobs)
        with ThreadPoolExecutor(self.n_threads) as pool:
            running: set[Future[list[Outcome]]] = set()
            try:
                while True:
                    for job in waiting:
                        running.add(pool.submit(bench.run, job))
                        if len(running) >= self.n_threads:
                            break
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            finally:
                for future in running:
                    future.cancel()


@dataclass
class Clock:
    """How much of the time is gone; without a limit, none ever."""

    limit: float | None
    now: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self.start = self.now()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.now() - self.start

    def is_past(self, share: float) -> bool:
        """Whether this share of the time is gone."""
        return self.limit is not None and self.seconds > share * self.limit


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to a model, and how good its models were on rows they had not seen."""

    trial: Trial
    nbytes: int
    scores: tuple[float, ...]
    packed: Packed
    is_final: bool

    @property
    def score(self) -> float:
        """The mean over the splits."""
        return float(np.mean(self.scores))


@dataclass
class Search:
    """A search for the best models of at most some numbers of bytes, ascending; the last counts most.

    Attributes
    ----------
    whole : TrialRunner
        Of all rows.
    budgets : tuple of int
    workers : Executor
    clock : Clock
    n_trials : int, optional
        How many trials; then the clock does not count.
    keeps_best : bool
        Whether an interruption ends the search and keeps the best so far.
    progress : function, optional
        Called after each job with the search.
    """

    whole: TrialRunner
    budgets: tuple[int, ...]
    workers: Executor
    clock: Clock
    n_trials: int | None = None
    share_of_last: float = 0.7
    keeps_best: bool = False
    progress: Callable[["Search"], None] = lambda _search: None
    families: tuple[str, ...] = FAMILIES

    def __post_init__(self) -> None:
        self.bench, self.other = self.whole.sample(TRIED_ROWS), self.whole.sample(COMPARED_ROWS)
        held_out = max(1, self.bench.split(0).held_out.size)
        self.n_splits = int(min(MOST_SPLITS, max(1, -(-ENOUGH_HELD_OUT // held_out))))
        self.outcomes: dict[Trial, dict[int, Outcome]] = {}
        self.random = np.random.default_rng(self.bench.seed)
        self.stage = "trying"
        self.n_done = 0
        self.final_splits: list[int] = []
        self.is_stopped = False
        self.is_built = False

    # What is known

    def candidates(self, budget: int | None = None, *, final: bool = False) -> list[Candidate]:
        """Return what was tried and fits a budget, the best first; with `final`, what was compared on last splits.

        Of what was tried on some splits only, the score is what it may be expected to be on all.
        """
        splits = self._finals_of(budget) if final else list(range(self.n_splits))
        if not splits:
            return []
        easier = {number: 0.0 if final else self._easier(number) for number in splits}
        found = []
        for trial, by_split in self.outcomes.items():
            known = [by_split[number] for number in splits if number in by_split]
            packed = [one.packed for one in known if one.packed is not None]
            if not packed or len(packed) < len(known) or (final and len(known) < len(splits)):
                continue
            nbytes = max(one.nbytes for one in packed)
            if budget is None or nbytes <= budget:
                scores = tuple(one.score - easier[one.split] for one in known)
                found.append(Candidate(trial, nbytes, scores, packed[-1], final))
        # Of equals, the one that did better when it was tried; then the smaller.
        return sorted(found, key=lambda one: (-one.score, -self._tried_score(one.trial), one.nbytes, repr(one.trial)))

    def _tried_score(self, trial: Trial) -> float:
        tried = [one.score for number, one in self.outcomes[trial].items() if number < FIRST_FINAL]
        return float(np.mean(tried)) if tried else -np.inf

    def _finals_of(self, budget: int | None) -> list[int]:
        """Return the last splits that models for a budget, or for the last, were compared on: some or all."""
        budget = self.budgets[-1] if budget is None else budget
        known = {number for trial, by_split in self.outcomes.items() if trial.budget == budget for number in by_split}
        return [number for number in self.final_splits if number in known]

    def _easier(self, number: int) -> float:
        """Return by how much scores on a split are higher than on the first, in the mean over trials of both."""
        both = [by_split for by_split in self.outcomes.values() if 0 in by_split and number in by_split]
        gaps = [one[number].score - one[0].score for one in both if np.isfinite(one[number].score - one[0].score)]
        return float(np.mean(gaps)) if gaps else 0.0

    def best(self, budget: int) -> Candidate | None:
        """Return the best of those that were compared last, or else of all."""
        found = self.candidates(budget, final=True) or self.candidates(budget)
        return found[0] if found else None

    # What is done

    def run(self) -> None:
        """Try, then compare the best on other rows; stop early at the end of the time, or if interrupted."""
        try:
            self._explore()
            self.stage = "comparing"
            self._compare()
        except (Exception, KeyboardInterrupt) as error:
            self.is_stopped = is_interruption(error)
            if not self.is_stopped or not self.keeps_best or self.best(self.budgets[-1]) is None:
                raise
        self.stage = "learning from all rows"

    def final(self, budget: int) -> Packed:
        """Return the best model that fits a budget, learned from all rows."""
        best = self.best(budget)
        assert best is not None
        if self.whole is not self.other:  # many rows take much memory
            self.bench.forget()
            self.other.forget()
        return self.whole.build(best.trial, self.whole.split(ALL))

    def _explore(self) -> None:
        starts = self._starts()
        quickest = self._canonical(starts[: len(self.budgets)])
        if self.clock.limit is not None:
            self._warm_up(starts)
            self._run(quickest, 0, is_quick=True, is_enough=lambda: False)
            # Where trials are slow, many on one split tell more than few on several.
            seconds = np.mean([self.outcomes[trial][0].seconds for trial in quickest])
            affordable = EXPLORE_UNTIL * self.clock.limit / (ENOUGH_TRIALS * max(float(seconds), 1e-3))
            self.n_splits = int(np.clip(affordable, 1, self.n_splits))
        self._try(quickest)
        for first in range(len(self.budgets), len(starts), START_BATCH):
            self._try(self._canonical(starts[first : first + START_BATCH]), is_stopping=True)
        turn = 0
        while not self._is_enough():
            last_counts = self.random.random() < self.share_of_last or len(self.budgets) == 1
            budget = self.budgets[-1] if last_counts else self.budgets[turn % (len(self.budgets) - 1)]
            turn += not last_counts
            batch = self._next(budget)
            if not batch:
                return
            self._try(batch, is_stopping=True)

    def _warm_up(self, starts: list[Trial]) -> None:
        """Have kernels compiled, as they are when they first run: else the first trials would seem slow."""
        rows = self.whole.rows
        n_classes = 0 if rows.classes is None else rows.classes.size
        if self.whole.given is None and n_classes <= MANY_CLASSES:
            few = self.whole.sample(max(WARM_UP_ROWS, 5 * n_classes))
            first = starts[0].recipe
            ways = dict.fromkeys(trial.shrinking for trial in starts if trial.recipe == first)
            recipe = self.bench.canonical(replace(first, leaves=WARM_UP_LEAVES))
            few.run(TrialBatch(recipe, 0, True, tuple(Trial(WARM_UP_BUDGET, recipe, way) for way in ways)))

    def _is_enough(self) -> bool:
        if self.n_trials is not None:
            return self.n_done >= self.n_trials
        return self._is_late(EXPLORE_UNTIL)

    def _is_time_up(self) -> bool:
        return self.n_trials is None and self._is_late(EXPLORE_UNTIL)

    def _is_late(self, share: float) -> bool:
        """Whether this share of the time is gone, or only what the last model will take is left."""
        best = self.best(self.budgets[-1])
        if self.clock.limit is None or best is None:
            return self.clock.is_past(share)
        quick, slow = (
            [one.seconds for number, one in self.outcomes[best.trial].items() if (number >= FIRST_FINAL) == is_slow]
            for is_slow in (False, True)
        )
        times = self.whole.rows.n_rows / (self.other if slow else self.bench).rows.n_rows
        # A trial that is not quick takes about twice as long where leaves are merged or shared.
        how = best.trial.shrinking
        left = 1.2 * times * (max(slow) if slow else (2.0 if how.l2 is not None else 1.0) * max(quick))
        return self.clock.is_past(share) or self.clock.seconds + left > self.clock.limit

    def _try(self, trials: list[Trial], *, is_stopping: bool = False) -> None:
        """Try on all splits, what does badly on the first not on the others."""
        if self.n_trials is not None:
            trials = trials[: max(0, self.n_trials - self.n_done)]
        for number in range(self.n_splits):
            if number:
                trials = self._promising(trials, number)
            self._run(trials, number, is_quick=True, is_enough=self._is_time_up if is_stopping else lambda: False)

    def _promising(self, trials: list[Trial], n_tried: int) -> list[Trial]:
        """Return the trials, of those tried on all splits so far, that may still come to be among the best."""
        kept = []
        for budget in self.budgets:
            known = {one.trial: one.score for one in self.candidates(budget)}
            least = max(known.values(), default=0.0) - self._spread(max(known.values(), default=0.0))
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
        return float(np.sqrt(max(1.0 - score, 0.002) / self.bench.split(0).held_out.size))

    def _run(self, trials: list[Trial], number: int, *, is_quick: bool, is_enough: Callable[[], bool]) -> None:
        new = [trial for trial in trials if number not in self.outcomes.get(trial, {})]
        for trial in new:  # in this order, whichever is done first
            self.outcomes.setdefault(trial, {})
        jobs = batches_of(new, number, is_quick=is_quick)

        def until_enough() -> Iterator[TrialBatch]:
            for job in jobs:
                if is_enough():
                    return
                yield job

        for outcomes in self.workers.map(self.bench if is_quick else self.other, until_enough()):
            for outcome in outcomes:
                self.outcomes[outcome.trial][number] = outcome
                self.n_done += number == 0
            self.progress(self)

    def _next(self, budget: int) -> list[Trial]:
        """Return trials that differ little from the best ones."""
        best = self.candidates(budget)
        wanted = [LEAST_BATCH // 2, LEAST_BATCH // 4, LEAST_BATCH // 4, LEAST_BATCH]
        found: list[Trial] = []
        for candidate in best:
            if len(found) >= LEAST_BATCH or not wanted:
                break
            here = replace(candidate.trial, budget=budget)
            near = [trial for trial in self._canonical(neighbours(here)) if self._is_new(trial, found)]
            if here not in self.outcomes and here not in found:
                near.insert(0, here)
            order = self.random.permutation(len(near))[: wanted.pop(0)]
            found += [near[k] for k in order]
        return found

    def _is_new(self, trial: Trial, found: list[Trial]) -> bool:
        return trial not in self.outcomes and trial not in found

    def _canonical(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return different trials that make sense, with the bits and bins that they come to."""
        known = {replace(trial, recipe=self.bench.canonical(trial.recipe)): None for trial in trials}
        return [trial for trial in known if is_sensible(trial)]

    def _compare(self) -> None:
        def is_enough() -> bool:
            return self.n_trials is None and self._is_late(COMPARE_UNTIL)

        for place, n_left in enumerate(FINALISTS):
            if is_enough():
                return
            number = FIRST_FINAL + place
            by_budget = []
            for budget in self._in_order():
                n_kept = n_left if budget == self.budgets[-1] or not self._counts_last_most else -(-n_left // 2)
                by_budget.append([one.trial for one in self.candidates(budget, final=place > 0)[:n_kept]])
            # The best for each budget, then the second, so that all have been compared when the time is up.
            ranked = (trial for rank in zip_longest(*by_budget) for trial in rank if trial is not None)
            left = list(dict.fromkeys(ranked))
            self._run(left, number, is_quick=False, is_enough=is_enough)
            if not any(number in self.outcomes[trial] for trial in left):
                return
            self.final_splits.append(number)

    @property
    def _counts_last_most(self) -> bool:
        return self.share_of_last > 1.0 / len(self.budgets)

    def _in_order(self) -> list[int]:
        """Return the budgets, the last first if it counts most; else the smaller ones, which are quicker, first."""
        return sorted(self.budgets, reverse=self._counts_last_most)

    def _starts(self) -> list[Trial]:
        """Return what is tried first: for each budget the quickest, then recipe after recipe."""
        recipes = first_growth_configs(self.bench, self.families)
        ways = {budget: first_compression_configs(self.bench, budget) for budget in self.budgets}
        # Of several numbers a leaf, the quickest way is hardly the best.
        likely = {budget: some[1:3] if some[1].codebook else some[:2] for budget, some in ways.items()}
        found = [Trial(budget, recipes[0], ways[budget][0]) for budget in self._in_order()]
        for place, recipe in enumerate(recipes):
            for budget in self._in_order():
                some = ways[budget] if place == 0 else likely[budget]
                found += [Trial(budget, recipe, way) for way in some]
        return found
