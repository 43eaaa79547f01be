"""The last model, learned from all rows several times: of several draws, the one that fits the rows best.

How good trees turn out that are grown greedily is in part luck (docs/results/search.md, "Lucky draws"). Where a model
is far from fitting the rows it has learned from, how well it fits them tells a lucky draw from another, without any
rows held out: all of them fit the same budget.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from billhook._out_of_memory import is_out_of_memory
from billhook.budget._executors import Executor
from billhook.budget._finals import Finals
from billhook.budget._fit_to_rows import MOST_FITTED
from billhook.budget._results import Candidate
from billhook.budget._rows_as_codes import ALL
from billhook.budget._space import Trial, drawn_as
from billhook.budget._trial_outcome import TrialBatch, TrialOutcome
from billhook.packing import Packed

# So many last models tell whether their fit varies by more than chance: so many times the standard error of the share
# of rows that one gets right. If not, the first of them is as good as any.
FIRST_DRAWS, LEAST_SPREAD = 4, 1.5
# Beyond these, of so many that are grown at once the best becomes a model; so often, and without a limit of time.
GROWN_AT_ONCE, ROUNDS, ROUNDS_WITHOUT_LIMIT = 4, 16, 2
# The first begins only if there is so many times as long as it seems to take.
FIRST_MAY_TAKE = 2.0


class LastDraws(Finals):
    """Learns last models from all rows, several for each budget where there is time.

    Attributes
    ----------
    executor : Executor
    progress : function
        Called after each model with the search.
    """

    executor: Executor
    progress: Callable[[Any], None]

    def last_model(self, best: Candidate, budget: int) -> Packed | None:
        """Return the best of the models that the search has learned from all rows, if it has."""
        drawn = sorted(self.drawn.get(best.trial, []), key=lambda one: one.trial.growth.draw)
        fitting = [one for one in drawn if one.packed is not None and one.packed.nbytes <= budget]
        if not fitting:
            return None
        return (best_fit(fitting) if tells_luck(drawn, self.whole.rows.n_rows) else fitting[0]).packed

    def _draw(self) -> None:
        """Learn draws of the best for each budget from all rows, one for each in turn, while there is time."""
        trials = self.to_draw() if self.final_splits else []
        if trials and self.whole is not self.comparing:
            self.trying.clear_caches()
            self.comparing.clear_caches()
        try:
            self._learn_draws(trials)
        except Exception as error:
            # Without what is more than one last model, the search has what it wanted.
            if not is_out_of_memory(error) or not all(trial in self.drawn for trial in trials):
                raise
            self.whole.clear_caches()

    def _learn_draws(self, trials: list[Trial]) -> None:
        self._learn([self._batch(trial, range(k, k + 1)) for k in range(FIRST_DRAWS) for trial in trials])
        trials = [trial for trial in trials if tells_luck(self.drawn.get(trial, []), self.whole.rows.n_rows)]
        n_rounds = ROUNDS_WITHOUT_LIMIT if self.n_trials is not None or self.clock.limit is None else ROUNDS
        starts = range(FIRST_DRAWS, FIRST_DRAWS + n_rounds * GROWN_AT_ONCE, GROWN_AT_ONCE)
        self._learn([self._batch(trial, range(k, k + GROWN_AT_ONCE)) for k in starts for trial in trials])

    def _learn(self, batches: list[TrialBatch]) -> None:
        for outcomes in self.executor.map(self.whole, self._in_time(batches)):
            for outcome in outcomes:
                self.drawn.setdefault(drawn_as(outcome.trial, 0), []).append(outcome)
            self.progress(self)

    def _batch(self, trial: Trial, numbers: range) -> TrialBatch:
        draws = tuple(drawn_as(trial, draw) for draw in numbers)
        return TrialBatch(trial.growth, ALL, False, draws, None, (self.bytes_saved(trial),), only_best=len(draws) > 1)

    def _in_time(self, batches: list[TrialBatch]) -> Iterator[TrialBatch]:
        for batch in batches:
            trial = drawn_as(batch.trials[0], 0)
            growing = (len(batch.trials) - 1) * self.seconds_to_grow(trial, self.whole.rows.n_rows)
            seconds = growing + self.seconds_of_last(trial)
            if trial not in self.drawn:  # what takes longer than expected is better learned from fewer rows, in time
                seconds *= FIRST_MAY_TAKE
            if self.n_trials is not None or self.clock.seconds + seconds < self.clock.end:
                yield batch._replace(until=self.clock.until(self.clock.end))


def tells_luck(drawn: list[TrialOutcome], n_rows: int) -> bool:
    """Whether the first draws fit the rows that all have learned from so differently that it is more than chance."""
    fits = [one.fit_score for one in drawn if one.fit_score is not None and one.trial.growth.draw < FIRST_DRAWS]
    if len(fits) < FIRST_DRAWS:
        return False
    share = sum(fits) / len(fits)
    error = np.sqrt(share * (1.0 - share) / min(n_rows, MOST_FITTED))
    return bool(np.std(fits, ddof=1) > LEAST_SPREAD * error)


def best_fit(drawn: list[TrialOutcome]) -> TrialOutcome:
    """Return the model that fits the rows that all have learned from best: by the mean rank of score and log loss."""
    # Rounded: weights are summed in the order of the rows, which must not choose among equals.
    fits = np.round([(one.fit_score or 0.0, -(one.fit_loss or 0.0)) for one in drawn], 9)

    def n_better(place: int) -> int:
        return int((fits > fits[place]).sum())

    return drawn[min(range(len(drawn)), key=n_better)]
