"""How many bytes a model may take."""

from typing import Any

from billhook._checks import as_bytes
from billhook.codegen import DoesNotFitError, data_limit, target_named


def limit_for(budget: Any, target: str | None, reserve: Any, prefix: str = "") -> int:
    """Return how many bytes of data a model may have: at most a budget, and what a device has left beside a reserve.

    Either may be None, but not both. `prefix` is what the names of the parameters begin with where they are given.
    """
    if budget is None and target is None:
        raise ValueError(
            f"say how large the model may be: {prefix}budget, as 4KB, or {prefix}target, as arduino-uno, or both"
        )
    if reserve and target is None:
        raise ValueError(f"{prefix}reserve keeps room in the flash of a {prefix}target: give one")
    rooms = [] if budget is None else [as_bytes(budget, f"{prefix}budget")]
    if target is not None:
        board = target_named(target)
        reserved = as_bytes(reserve, f"{prefix}reserve") if reserve else 0
        room = data_limit(board, reserved)
        if room is not None and room < 1:
            raise DoesNotFitError(
                f"{board.name} has {board.flash:,} bytes of flash; with {reserved:,} reserved and the program that "
                "reads the model, nothing is left for its data"
            )
        rooms += [] if room is None else [room]
    if not rooms:
        raise ValueError(f"{target} has no limits that are known: give {prefix}budget too")
    return min(rooms)
