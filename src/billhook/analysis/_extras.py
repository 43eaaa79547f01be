"""What the extra `study` brings, imported when it is first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pandas() -> Any:
    """Return the module pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to analyse results, pip install 'billhook[study]'") from None
    return pandas


def new_figure(width: float, height: float, *, makes_room: bool = True) -> "Figure":
    """Return an empty figure, in inches, that no window and no list of open figures knows of.

    It makes room for what is beside its panels, unless all places are given.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("to draw figures, pip install 'billhook[study]'") from None
    return Figure(figsize=(width, height), layout="constrained" if makes_room else None)
