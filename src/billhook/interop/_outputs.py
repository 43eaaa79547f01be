"""Models that predict several outputs at once, each of which is a forest of its own."""

from collections.abc import Callable
from inspect import signature
from typing import Any


class SeveralOutputsError(ValueError):
    """A model has several outputs, and none was chosen.

    Attributes
    ----------
    n_outputs : int
    """

    def __init__(self, what: str, n_outputs: int) -> None:
        super().__init__(
            f"{what} has {n_outputs} outputs, and a forest has one: choose it with output=0 to {n_outputs - 1} "
            "(of a file, `billhook convert --output 0`), or read all of a fitted model with billhook.as_forests, "
            "which billhook.emit writes as one project (of a file, `billhook emit --outputs all`)"
        )
        self.n_outputs = n_outputs


def check_output(output: Any) -> None:
    """Raise an error unless this is the number of an output, or None."""
    if output is not None and (isinstance(output, bool) or not isinstance(output, int)):
        raise TypeError(f"output must be a whole number, not {output!r}")


def check_only_output(output: int | None, what: str) -> None:
    """Raise ValueError if an output is asked for that a model of one output does not have."""
    check_output(output)
    if output not in (None, 0):
        raise ValueError(f"there is no output {output}; {what} has one output: leave output out, or give 0")


def read_output(read: Callable[..., Any], model: Any, output: int | None, what: str) -> Any:
    """Return what a reader makes of a model; readers of libraries whose models have one output take no `output`."""
    if output is None:
        return read(model)
    if "output" in signature(read).parameters:
        return read(model, output=output)
    check_only_output(output, what)
    return read(model)
