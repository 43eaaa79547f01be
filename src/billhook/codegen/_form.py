"""How a model is written as C."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook.codegen._targets import Target

LayoutName = Literal["compact", "balanced", "fast"]
Input = Literal["float", "int16", "uint8"]


@dataclass(frozen=True)
class Form:
    """What program is written for a model.

    Attributes
    ----------
    layout : {"compact", "balanced", "fast"}
    inputs : tuple of {"float", "int16", "uint8"}
        What kinds of features the program takes.
    is_small : bool
        Whether the program is for a processor of 8 bits, where a comparison of floats takes much code.
    has_names : bool
        Whether the program knows the names of the classes.
    flash : int
        Bytes of flash of such a processor, if they are known: with them goes less code that takes more time.
    """

    layout: LayoutName = "compact"
    inputs: tuple[Input, ...] = get_args(Input)
    is_small: bool = False
    has_names: bool = True
    flash: int = 2**18


class Program(NamedTuple):
    """Functions that compute scores, in C.

    Attributes
    ----------
    text : str
    sums_of : dict of str to str
        For each kind of inputs for which there is a function `add_up`, what that fills: `sum_t` numbers of this type,
        or a struct with such `sums`. They are the scores, or all the same number less.
    """

    text: str
    sums_of: Mapping[str, str] = {}


def form_of(layout: str, inputs: str | Iterable[str] | None, target: Target) -> Form:
    """Return the checked form; without `inputs` all kinds, or floats alone where each kind takes trees of its own."""
    chosen: LayoutName = resolve_name(layout, {name: name for name in get_args(LayoutName)}, "there is no layout")
    if inputs is None:
        inputs = ("float",) if chosen == "fast" else get_args(Input)
    if not isinstance(inputs, str | Iterable):
        raise TypeError(f'inputs must be "float", "int16", "uint8" or several of these, not {inputs!r}')
    names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    known: dict[str, Input] = {name: name for name in get_args(Input)}
    kinds = tuple(dict.fromkeys(resolve_name(name, known, "there is no kind of input") for name in names))
    if not kinds:
        raise ValueError(f"inputs must name one of {', '.join(known)} at least")
    is_small = target.family == "avr"
    return Form(chosen, kinds, is_small, flash=target.flash if is_small and target.flash else Form.flash)


def as_inputs(rows: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
    """Return rows as features of a kind can have them: rounded and cut off, with 0 for what is missing."""
    if kind == "float":
        return rows
    return np.clip(np.rint(np.nan_to_num(rows, nan=0.0)), *LIMITS[kind]).astype(np.float32)


def suffix(kind: Input) -> str:
    """Return what the names of functions for such features end in."""
    return "" if kind == "float" else f"_{kind}"


def c_type(kind: Input) -> str:
    """Return the type of a feature in C."""
    return "float" if kind == "float" else f"{kind}_t"


LIMITS = {"int16": (-(2**15), 2**15 - 1), "uint8": (0, 2**8 - 1)}


def check_whole_rows(rows: NDArray[np.float32], kind: Input) -> None:
    """Raise ValueError unless the rows are whole numbers of this kind."""
    low, high = LIMITS[kind]
    fits = (rows == np.rint(rows)) & (rows >= low) & (rows <= high)
    if not fits.all():
        row, feature = np.argwhere(~fits)[0]
        raise ValueError(
            f"{kind} features are whole numbers from {low:,} to {high:,}; X[{row}, {feature}] is {rows[row, feature]}"
        )
