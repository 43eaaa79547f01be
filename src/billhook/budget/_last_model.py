"""The last model of a search: learned from all rows, or from as many as the time allows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from billhook._deadline import OutOfTimeError, within
from billhook.budget._results import Candidate
from billhook.budget._search import Search
from billhook.budget._space import Trial
from billhook.budget._timing import WORTH_IT
from billhook.cluster import ClusterError
from billhook.packing import Packed
from billhook.tables import Encoding

# It may take so many times less than it seems to: what its first trees take tells more.
MAY_DO = 3.0
# What is begun fills this share of the time left, by what its first trees took; it is begun so often.
FILLED, MOST_TIMES = 0.9, 3
# So many times as long as there is time for may turn out not to be.
HOPE = 1.5
# Trees that are grown all at once are begun if the time is this share or more of what they seem to take.
ALL_AT_ONCE = 0.5
# So many times more rows are worth beginning again.
MORE = 1.3
TOO_MANY = "all of them would take several times the memory of the table"


class LastModel(NamedTuple):
    """A model, and how many rows it has learned from and why, where these are fewer than there are.

    `encoding` is how its features come from columns, where that was learned from these rows.
    """

    packed: Packed
    n_rows: int | None = None
    why: str = ""
    encoding: Encoding | None = None


def learn_last(search: Search, best: Candidate, final: Callable[[Trial], Packed] | None = None) -> LastModel:
    """Return the model of the best trial, learned from all rows if there is time; else from some, or the one at hand.

    `final` makes the model of a trial, by default from the rows of the search.
    """
    clock, whole, trial = search.clock, search.whole, best.trial
    learned = search.last_model(best, search.budgets[-1])
    if learned is not None:
        return LastModel(learned)
    n_rows = most = whole.n_rows_of_last(trial)
    too_short = f"time_limit={clock.limit or 0:g} was too short to learn from all"
    at_hand = LastModel(best.packed, round(search.n_learned_from(best)), too_short, best.encoding)
    if whole is not search.comparing:  # many rows take much memory
        search.trying.clear_caches()
        search.comparing.clear_caches()
    try:
        with within(clock.until(clock.end)):
            if final is not None:
                return LastModel(final(trial))
            if clock.limit is not None:
                n_rows = _n_rows_in_time(search, best)
                if n_rows == 0:
                    return at_hand
            split = whole.split_of_last(trial, n_rows)
            packed = whole.build(trial, split, saved=search.bytes_saved(trial))
    except OutOfTimeError:
        return at_hand
    except ClusterError as error:
        return at_hand._replace(why=str(error))
    if n_rows < most:
        return LastModel(packed, split.train.size, too_short)
    return LastModel(packed, *((None, "") if most == whole.rows.n_rows else (split.train.size, TOO_MANY)))


def _n_rows_in_time(search: Search, best: Candidate) -> int:
    """Return how many rows the last model can learn from in the time left; 0 if hardly more than it has learned from.

    The first trees are grown on as many as seem to do; they tell whether these are too many, or more will do. What
    was grown last is kept.
    """
    clock, whole, trial = search.clock, search.whole, best.trial
    most = whole.n_rows_of_last(trial)
    least = min(most, int(WORTH_IT * search.n_learned_from(best)))
    share = (clock.end - clock.seconds) / max(search.seconds_of_last(trial), 1e-9)
    if share * MAY_DO * most < least:
        return 0
    n_rows = int(np.clip(share * most, least, most))
    if trial.growth.family != "boosted":  # all trees are grown at once
        return n_rows if share >= ALL_AT_ONCE * n_rows / most else 0
    for _ in range(MOST_TIMES):
        whole.clear_caches()
        seconds = whole.seconds_to_grow(trial, whole.split_of_last(trial, n_rows))
        seconds += search.seconds_to_compress(trial, n_rows)
        left = clock.end - clock.seconds
        filled = int(FILLED * n_rows * left / max(seconds, 1e-9))
        if seconds <= left and (n_rows == most or filled < MORE * n_rows):
            return n_rows
        if seconds * least / n_rows > HOPE * left:
            return 0
        if n_rows == least and filled < least:  # there is no other use of the time left
            return n_rows
        n_rows = int(np.clip(filled, least, most))
    whole.clear_caches()
    return n_rows
