"""The last model, learned from all rows several times: of several draws, the one that fits the rows best.

How good trees turn out that are grown greedily is in part luck: on chess, models of the same configuration differ by
three points of accuracy. Where a model is far from fitting the rows it has learned from, how well it fits them tells
a lucky draw from another, without any rows held out: all of them have seen the same rows, and have as many bytes.
"""

from collections.abc import Callable, Iterator
from typing import Any

from billhook.budget._executors import Executor
from billhook.budget._finals import Finals
from billhook.budget._space import Trial, drawn_as
from billhook.budget._trial_outcome import TrialBatch
from billhook.budget._trial_runner import ALL

# Of so many draws that are grown at once the best is made to fit; so often, and without a limit of time.
GROWN_AT_ONCE, ROUNDS, ROUNDS_WITHOUT_LIMIT = 4, 16, 2


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

    def _draw(self) -> None:
        """Learn draws of the best for each budget from all rows, one for each in turn, while there is time."""
        trials = self.to_draw() if self.final_splits else []
        n_rounds = ROUNDS_WITHOUT_LIMIT if self.n_trials is not None or self.clock.limit is None else ROUNDS
        for number in range(n_rounds):
            batches = [self._batch(trial, 1 + number * GROWN_AT_ONCE) for trial in trials]
            n_learned = 0
            for outcomes in self.executor.map(self.whole, self._in_time(batches)):
                for outcome in outcomes:
                    self.drawn.setdefault(drawn_as(outcome.trial, 0), []).append(outcome)
                    n_learned += 1
                self.progress(self)
            if not n_learned:
                return

    def _batch(self, trial: Trial, first: int) -> TrialBatch:
        draws = tuple(drawn_as(trial, draw) for draw in range(first, first + GROWN_AT_ONCE))
        return TrialBatch(trial.growth, ALL, False, draws, None, (self.bytes_saved(trial),), only_best=True)

    def _in_time(self, batches: list[TrialBatch]) -> Iterator[TrialBatch]:
        for batch in batches:
            trial = drawn_as(batch.trials[0], 0)
            growing = GROWN_AT_ONCE * max(one.shared_seconds for one in self.outcomes[trial].values())
            seconds = growing + self.seconds_of_last(trial)
            if self.n_trials is not None or self.clock.seconds + seconds < self.clock.end:
                yield batch._replace(until=self.clock.until(self.clock.end))
