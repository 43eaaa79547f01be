"""The search: many trials on one split of the rows, the best of them on several others, the winner on all rows."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from billhook._interruption import is_interruption
from billhook.budget._executors import Executor
from billhook.budget._space import Trial, first_compression_configs, first_growth_configs, is_sensible, neighbours
from billhook.budget._trial_runner import ALL, TrialBatch, TrialOutcome, TrialRunner, batches_of
from billhook.packing import Packed

# Held-out rows in all that trials are compared by, if that does not take too many splits.
ENOUGH_HELD_OUT, MOST_SPLITS = 2_500, 3
ENOUGH_TRIALS = 50
# The number of the first split that finalists are compared on; those of trials are below it.
FIRST_FINAL = 100
# Rows that trials and finalists learn from; the last model learns from all.
TRIED_ROWS, COMPARED_ROWS = 36_000, 120_000
# How many trials are left after each split of the finals.
FINALISTS = (8, 5, 3, 3, 2)
# The shares of the time at which trying and comparing stop. The rest is for the last model.
EXPLORE_UNTIL, COMPARE_UNTIL = 0.6, 0.92
LEAST_BATCH, START_BATCH = 8, 16
FAMILIES = ("boosted", "random_forest", "extra_trees")


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
    """A trial, and how good its models were on rows they had not seen."""

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

    def __post_init__(self) -> None:
        self.trying, self.comparing = self.whole.sample(TRIED_ROWS), self.whole.sample(COMPARED_ROWS)
        held_out = max(1, self.trying.split(0).held_out.size)
        self.n_splits = int(min(MOST_SPLITS, max(1, -(-ENOUGH_HELD_OUT // held_out))))
        self.outcomes: dict[Trial, dict[int, TrialOutcome]] = {}
        self.random = np.random.default_rng(self.trying.seed)
        self.stage = "evaluating"
        self.n_done = 0
        self.final_splits: list[int] = []
        self.is_interrupted = False
        self.is_built = False

    # What is known

    def candidates(self, budget: int | None = None, *, final: bool = False) -> list[Candidate]:
        """Return the trials whose models fit a budget, the best first; with `final`, those compared on final splits.

        Of a trial that ran on some splits only, the score is what may be expected on all.
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
                candidates.append(Candidate(trial, nbytes, scores, packed[-1], final))
        # Of equals, the one that did better when it was tried; then the smaller.
        return sorted(candidates, key=lambda c: (-c.score, -self._tried_score(c.trial), c.nbytes, repr(c.trial)))

    def _tried_score(self, trial: Trial) -> float:
        tried = [outcome.score for number, outcome in self.outcomes[trial].items() if number < FIRST_FINAL]
        return float(np.mean(tried)) if tried else -np.inf

    def _finals_of(self, budget: int | None) -> list[int]:
        """Return the final splits that models for a budget, or for the last, were compared on: some or all."""
        budget = self.budgets[-1] if budget is None else budget
        known = {number for trial, by_split in self.outcomes.items() if trial.budget == budget for number in by_split}
        return [number for number in self.final_splits if number in known]

    def _easier(self, number: int) -> float:
        """Return by how much scores on a split are higher than on the first, in the mean over trials of both."""
        both = [by_split for by_split in self.outcomes.values() if 0 in by_split and number in by_split]
        gaps = [by_split[number].score - by_split[0].score for by_split in both]
        finite = [gap for gap in gaps if np.isfinite(gap)]
        return float(np.mean(finite)) if finite else 0.0

    def best(self, budget: int) -> Candidate | None:
        """Return the best of the finalists, or else of all."""
        candidates = self.candidates(budget, final=True) or self.candidates(budget)
        return candidates[0] if candidates else None

    # What is done

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
        """Return the best model that fits a budget, learned from all rows."""
        best = self.best(budget)
        assert best is not None
        if self.whole is not self.comparing:  # many rows take much memory
            self.trying.clear_caches()
            self.comparing.clear_caches()
        return self.whole.build(best.trial, self.whole.split(ALL))

    def _explore(self) -> None:
        starts = self._starts()
        quickest = self._canonical(starts[: len(self.budgets)])
        if self.clock.limit is not None:
            self._run(quickest, 0, is_quick=True, is_enough=lambda: False)
            # Where trials are slow, many on one split tell more than few on several.
            seconds = np.mean([self.outcomes[trial][0].seconds for trial in quickest])
            affordable = EXPLORE_UNTIL * self.clock.limit / (ENOUGH_TRIALS * max(float(seconds), 1e-3))
            self.n_splits = int(np.clip(affordable, 1, self.n_splits))
        self._try(quickest)
        for first in range(len(self.budgets), len(starts), START_BATCH):
            n_left = None if self.n_trials is None else max(0, self.n_trials - self.n_done)
            self._try(self._canonical(starts[first : first + START_BATCH], n_left), is_stopping=True)
        turn = 0
        while not self._is_enough():
            last_counts = self.random.random() < self.share_of_last or len(self.budgets) == 1
            budget = self.budgets[-1] if last_counts else self.budgets[turn % (len(self.budgets) - 1)]
            turn += not last_counts
            trials = self._next(budget)
            if not trials:
                return
            self._try(trials, is_stopping=True)

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
            [
                outcome.seconds
                for number, outcome in self.outcomes[best.trial].items()
                if (number >= FIRST_FINAL) == is_slow
            ]
            for is_slow in (False, True)
        )
        times = self.whole.rows.n_rows / (self.comparing if slow else self.trying).rows.n_rows
        # A trial that is not quick takes about twice as long where leaves are merged or shared.
        factor = 2.0 if best.trial.compression.l2 is not None else 1.0
        seconds = max(slow) if slow else factor * max(quick)
        left = 1.2 * times * seconds + seconds  # the last model, and the stages of one more for the report
        return self.clock.is_past(share) or self.clock.seconds + left > self.clock.limit

    def _try(self, trials: list[Trial], *, is_stopping: bool = False) -> None:
        """Run trials on all splits, but those that do badly on the first not on the others."""
        if self.n_trials is not None:
            trials = trials[: max(0, self.n_trials - self.n_done)]
        for number in range(self.n_splits):
            if number:
                trials = self._promising(trials, number)
            self._run(trials, number, is_quick=True, is_enough=self._is_time_up if is_stopping else lambda: False)

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
        return float(np.sqrt(max(1.0 - score, 0.002) / self.trying.split(0).held_out.size))

    def _run(self, trials: list[Trial], number: int, *, is_quick: bool, is_enough: Callable[[], bool]) -> None:
        new = [trial for trial in trials if number not in self.outcomes.get(trial, {})]
        for trial in new:  # in this order, whichever is done first
            self.outcomes.setdefault(trial, {})
        batches = batches_of(new, number, is_quick=is_quick)

        def until_enough() -> Iterator[TrialBatch]:
            for batch in batches:
                if is_enough():
                    return
                yield batch

        for outcomes in self.executor.map(self.trying if is_quick else self.comparing, until_enough()):
            for outcome in outcomes:
                self.outcomes[outcome.trial][number] = outcome
                self.n_done += number == 0
            self.progress(self)

    def _next(self, budget: int) -> list[Trial]:
        """Return trials that differ little from the best ones."""
        wanted = [LEAST_BATCH // 2, LEAST_BATCH // 4, LEAST_BATCH // 4, LEAST_BATCH]
        trials: list[Trial] = []
        for candidate in self.candidates(budget):
            if len(trials) >= LEAST_BATCH or not wanted:
                break
            here = replace(candidate.trial, budget=budget)
            near = [trial for trial in self._canonical(neighbours(here)) if self._is_new(trial, trials)]
            if here not in self.outcomes and here not in trials:
                near.insert(0, here)
            order = self.random.permutation(len(near))[: wanted.pop(0)]
            trials += [near[k] for k in order]
        return trials

    def _is_new(self, trial: Trial, trials: list[Trial]) -> bool:
        return trial not in self.outcomes and trial not in trials

    def _canonical(self, trials: Iterable[Trial], most: int | None = None) -> list[Trial]:
        """Return the first different trials that make sense, `most` or all, with the bits and bins they come to."""
        canonical: dict[Trial, None] = {}
        for trial in trials:
            if len(canonical) == most:  # to find the bins takes longer than many a trial
                break
            came_to = replace(trial, growth=self.trying.canonical(trial.growth))
            if is_sensible(came_to):
                canonical[came_to] = None
        return list(canonical)

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
                finalists = self.candidates(budget, final=place > 0)[:n_kept]
                by_budget.append([candidate.trial for candidate in finalists])
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
        """Return what is tried first: for each budget the quickest, then growth after growth."""
        rows = self.trying.rows
        growths = first_growth_configs(rows.X.shape[1], rows.n_values, self.families)
        compressions = {budget: first_compression_configs(self.trying.n_values, budget) for budget in self.budgets}
        # Of several numbers a leaf, the quickest compression is hardly the best.
        likely = {
            budget: configs[1:3] if configs[1].codebook else configs[:2] for budget, configs in compressions.items()
        }
        starts = [Trial(budget, growths[0], compressions[budget][0]) for budget in self._in_order()]
        for place, growth in enumerate(growths):
            for budget in self._in_order():
                configs = compressions[budget] if place == 0 else likely[budget]
                starts += [Trial(budget, growth, compression) for compression in configs]
        return starts
