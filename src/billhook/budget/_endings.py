"""Whether more can be expected of a search that has time left."""

import numpy as np

from billhook.budget._finals import FINALISTS
from billhook.budget._last_draws import LastDraws
from billhook.budget._splits import final_splits


class Endings(LastDraws):
    """Tells when a search may end before its time.

    Attributes
    ----------
    may_end_early : bool
        Whether it may.
    n_done : int
        How many trials were made.
    best_scores : list of float
        The best score after so many trials.
    ended_early : str
        Why it did, if so.
    """

    may_end_early: bool
    n_done: int
    best_scores: list[float]
    ended_early: str

    def _is_perfect(self) -> bool:
        """Whether a model makes no mistake on the rows of all splits, those of finalists too: then it is the best."""
        if self.n_trials is not None or self.perfect is None or not self.may_end_early:
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
        if self.n_trials is not None or self.perfect != 1.0 or best is None or not self.may_end_early:
            return False
        error = self._spread(best.score) / np.sqrt(self.n_splits)
        if self.n_done < least or best.score - self.best_scores[self.n_done // 2 - 1] >= error:
            return False
        self.ended_early = "the last half of its configurations gained less than a standard error"
        return True
