"""How many bytes a model may take."""

from billhook._checks import as_bytes
from billhook.codegen import DoesNotFitError, allows_projections, data_limit, target_named


def limit_for(budget: int | str | None, target: str | None, reserve: int | str, *, may_project: bool = True) -> int:
    """Return how many bytes of data a model may have: at most the budget, and what the target's flash has left.

    Parameters
    ----------
    budget : int or str, optional
        Bytes, as 4096 or "4KB".
    target : str, optional
        The name of a target; the budget or the target must be there, or both.
    reserve : int or str
        Bytes of the target's flash that are kept for other code.
    may_project : bool
        Whether splits may test projections, for which there has to be room for code.
    """
    if budget is None and target is None:
        raise ValueError("say how large the model may be: budget='4KB', or target='arduino-uno', or both")
    reserved = as_bytes(reserve, "reserve", least=0)
    if reserved and target is None:
        raise ValueError("reserve keeps bytes of a target's flash: say which, as target='arduino-uno'")
    limits = [] if budget is None else [as_bytes(budget, "budget")]
    if target is not None:
        chosen = target_named(target)
        left = data_limit(chosen, reserved, may_project=may_project)
        if left is not None and left < 1:
            raise DoesNotFitError(
                f"{chosen.name} has {chosen.flash:,} bytes of flash; with {reserved:,} reserved and the code that "
                "reads the model, nothing is left for its data"
            )
        limits += [] if left is None else [left]
    if not limits:
        raise ValueError(f"target {target} has no known flash size: give a budget too, as budget='4KB'")
    return min(limits)


def projections_for(most: int | None, target: str | None, reserve: int | str) -> int | None:
    """Return how many projections a model may have, of `most`: none where a target has no flash for code for them."""
    if target is None or allows_projections(target_named(target), as_bytes(reserve, "reserve", least=0)):
        return most
    return 0
