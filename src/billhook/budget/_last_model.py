"""The last model of a search: learned from all rows, or from as many as the time allows."""

from collections.abc import Callable
from typing import NamedTuple

from billhook._deadline import OutOfTimeError, within
from billhook.budget._results import Candidate
from billhook.budget._search import WORTH_IT, Search
from billhook.budget._space import Trial
from billhook.budget._splits import some_rows
from billhook.budget._trial_runner import ALL
from billhook.packing import Packed

# All rows are tried if the time left is this share or more of what they seem to take: it may be less.
MAY_DO = 0.5
# So large a share of the rows is not worth drawing.
NEARLY_ALL = 0.9


class LastModel(NamedTuple):
    """A model, and how many rows it has learned from, where these are fewer than there are."""

    packed: Packed
    n_rows: int | None = None


def learn_last(search: Search, best: Candidate, final: Callable[[Trial], Packed] | None = None) -> LastModel:
    """Return the model of the best trial, learned from all rows if there is time; else from some, or the one at hand.

    `final` makes the model of a trial, by default from the rows of the search.
    """
    n_at_hand = round(search.n_learned_from(best))
    clock, whole, learned_from = search.clock, search.whole, None
    split = whole.split(ALL)
    if clock.limit is not None and final is None:
        share = (clock.end - clock.seconds) / max(search.seconds_of_last(best.trial), 1e-9)
        n_rows = int(max(0.0, share) * whole.rows.n_rows)
        if share < NEARLY_ALL and n_rows >= WORTH_IT * n_at_hand:
            split, learned_from = some_rows(whole.rows, n_rows, whole.seed), n_rows
        elif share < MAY_DO:
            return LastModel(best.packed, n_at_hand)
    if whole is not search.comparing:  # many rows take much memory
        search.trying.clear_caches()
        search.comparing.clear_caches()
    try:
        with within(clock.until(clock.end)):
            packed = whole.build(best.trial, split) if final is None else final(best.trial)
    except OutOfTimeError:
        return LastModel(best.packed, n_at_hand)
    return LastModel(packed, learned_from)
