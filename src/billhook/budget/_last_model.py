"""The last model of a search: learned from all rows, or from as many as the time allows."""

from collections.abc import Callable
from typing import NamedTuple

from billhook._deadline import OutOfTimeError, within
from billhook.budget._results import Candidate
from billhook.budget._search import WORTH_IT, Search
from billhook.budget._space import Trial
from billhook.packing import Packed

# All rows are tried if the time left is this share or more of what they seem to take: it may be less.
MAY_DO = 0.5
# So large a share of the rows is not worth drawing.
NEARLY_ALL = 0.9
TOO_MANY = "all of them would take several times the memory of the table"


class LastModel(NamedTuple):
    """A model, and how many rows it has learned from and why, where these are fewer than there are."""

    packed: Packed
    n_rows: int | None = None
    why: str = ""


def learn_last(search: Search, best: Candidate, final: Callable[[Trial], Packed] | None = None) -> LastModel:
    """Return the model of the best trial, learned from all rows if there is time; else from some, or the one at hand.

    `final` makes the model of a trial, by default from the rows of the search.
    """
    clock, whole = search.clock, search.whole
    n_at_hand, most = round(search.n_learned_from(best)), whole.n_rows_of_last(best.trial)
    too_short = f"time_limit={clock.limit or 0:g} was too short to learn from all"
    at_hand = LastModel(best.packed, n_at_hand, too_short)
    learned_from, why = (None, "") if most == whole.rows.n_rows else (most, TOO_MANY)
    if clock.limit is not None and final is None:
        share = (clock.end - clock.seconds) / max(search.seconds_of_last(best.trial), 1e-9)
        n_rows = int(max(0.0, share) * most)
        if share < NEARLY_ALL and n_rows >= WORTH_IT * n_at_hand:
            most, learned_from, why = n_rows, n_rows, too_short
        elif share < MAY_DO:
            return at_hand
    if whole is not search.comparing:  # many rows take much memory
        search.trying.clear_caches()
        search.comparing.clear_caches()
    try:
        with within(clock.until(clock.end)):
            packed = (
                whole.build(best.trial, whole.split_of_last(best.trial, most)) if final is None else final(best.trial)
            )
    except OutOfTimeError:
        return at_hand
    return LastModel(packed, learned_from, why)
