"""How long trials and last models take, by what is known of trials, and when to end what."""

from billhook.budget._clock import Clock
from billhook.budget._results import Candidate, TrialResults
from billhook.budget._scoring import accuracy
from billhook.budget._space import Trial
from billhook.budget._splits import FIRST_FINAL
from billhook.budget._trial_runner import TrialRunner

# The last model takes about as long as trials say, times this. No more than this share of the time is kept for it.
LAST_TAKES, MOST_FOR_LAST = 1.2, 0.5
# A trial that is not quick takes so many times as long, where leaves are merged or shared: 1.9 to 2.8 times.
TIMES_AS_LONG = 2.3
# So much of the time, or what so many last models take, is for learning it several times.
FOR_DRAWS, DRAWN_MODELS = 0.15, 16
# Of more rows it is learned once only.
MOST_REGROWN = 120_000
# A model that makes fewer mistakes on the rows it has learned from, as a share of those on others, fits them too well
# to tell a lucky one from another.
LEAST_MISFIT = 0.5
# With fewer times the rows that the best model at hand has learned from, a last one is hardly better.
WORTH_IT = 1.3


class TimedResults(TrialResults):
    """The outcomes of trials, and how long it takes to learn from other numbers of rows.

    Attributes
    ----------
    clock : Clock
    share_of_last : float
        The share of the trials that the last budget gets.
    whole, trying, comparing : TrialRunner
        Of all rows, of those that trials are made of, and of those that finalists are compared with.
    may_draw : bool
        Whether the search may learn last models, several of each.
    seconds_to_draw : float
        How much of the time is kept for several last models.
    """

    clock: Clock
    share_of_last: float
    whole: TrialRunner
    trying: TrialRunner
    comparing: TrialRunner
    may_draw: bool
    seconds_to_draw: float

    def is_late(self, share: float) -> bool:
        """Whether this share of the time, without what the last model will take, is gone."""
        return self.clock.limit is not None and self.clock.seconds > self.end_at(share)

    def end_at(self, share: float) -> float:
        """Return when this share of the time, without what the last model will take, is gone."""
        best = self.best(self.budgets[-1])
        if self.clock.limit is None or best is None:
            return share * self.clock.end
        seconds, most = self.seconds_of_last(best.trial), self.clock.at(MOST_FOR_LAST)
        if seconds > most:  # it can learn from some rows only
            n_rows = most / seconds * self.whole.n_rows_of_last(best.trial)
            seconds = most if n_rows >= WORTH_IT * self.n_learned_from(best) else 0.0
        seconds = max(seconds, self.seconds_to_draw)
        return share * (self.clock.end - seconds)

    @property
    def _counts_last_most(self) -> bool:
        return self.share_of_last > 1.0 / len(self.budgets)

    def to_draw(self) -> list[Trial]:
        """Return the best trials of the budgets that count, if several last models of these may be learned."""
        counting = self.budgets[-1:] if self._counts_last_most else self.budgets
        found = [self.best(budget) for budget in counting]
        return list(dict.fromkeys(one.trial for one in found if one is not None and self.can_draw(one)))

    def reserve_draws(self) -> None:
        """Keep time for several last models, of what is best so far."""
        if self.may_draw and self.clock.limit is not None:
            seconds = DRAWN_MODELS * sum(map(self.seconds_of_last, self.to_draw()))
            self.seconds_to_draw = min(self.clock.at(FOR_DRAWS), seconds)

    def can_draw(self, best: Candidate) -> bool:
        """Whether several last models may be learned from all rows, and their fit to these may tell which is good.

        It may where they are far from fitting the rows.
        """
        trial, rows = best.trial, self.whole.rows
        is_few = rows.n_rows <= MOST_REGROWN and self.whole.n_rows_of_last(trial) == rows.n_rows
        if not (self.may_draw and is_few and self.whole.score is accuracy and trial.growth.family == "boosted"):
            return False
        shares = [one.misfit for one in self.outcomes[trial].values() if one.misfit is not None]
        return bool(shares) and min(shares) >= LEAST_MISFIT

    def n_learned_from(self, candidate: Candidate) -> float:
        """Return about how many rows the model of a candidate has learned from."""
        return self.n_learned_from_in(is_final=candidate.is_final)

    def n_learned_from_in(self, *, is_final: bool) -> float:
        """Return about how many rows a trial, or a finalist, learns from."""
        of_trials, of_finalists = (self.comparing if is_final else self.trying).rows.n_learned_from
        return of_finalists if is_final else of_trials

    def seconds_of_last(self, trial: Trial) -> float:
        """Return about how long, rather longer, it takes to learn the model of a trial from all rows."""
        return LAST_TAKES * self.seconds_of(trial, self.whole.n_rows_of_last(trial))

    def seconds_of(self, trial: Trial, n_rows: float, *, is_quick: bool = False) -> float:
        """Return about how long a trial, one that is not quick by default, takes to learn from so many rows."""
        return self.seconds_to_grow(trial, n_rows) + self.seconds_to_compress(trial, n_rows, is_quick=is_quick)

    def seconds_to_grow(self, trial: Trial, n_rows: float) -> float:
        """Return about how long it takes to bin so many rows and to grow the ensemble of a trial."""
        return n_rows * max(
            outcome.shared_seconds / self.n_learned_from_in(is_final=outcome.split >= FIRST_FINAL)
            for outcome in self.outcomes[trial].values()
        )

    def seconds_to_compress(self, trial: Trial, n_rows: float, *, is_quick: bool = False) -> float:
        """Return about how long it takes to make the grown ensemble of a trial fit, with so many rows."""
        outcomes = self.outcomes[trial].values()
        alike = [one for one in outcomes if one.is_quick == is_quick]
        known = alike or list(outcomes)
        own = max(
            (one.seconds - one.shared_seconds) / self.n_learned_from_in(is_final=one.split >= FIRST_FINAL)
            for one in known
        )
        factor = 1.0 if alike or is_quick or trial.compression.l2 is None else TIMES_AS_LONG
        return factor * own * n_rows
