"""What a model takes on several targets and in several layouts, and which layout to write."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from subprocess import SubprocessError
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from billhook._checks import resolve_name
from billhook.codegen._form import Input, LayoutName, as_inputs, form_of
from billhook.codegen._measure import Measurement, measure
from billhook.codegen._memory import DoesNotFitError, check_fits
from billhook.codegen._targets import Target, target_named
from billhook.codegen._test_rows import made_up_rows
from billhook.codegen._toolchains import MissingToolError
from billhook.forest import as_rows
from billhook.packing import Packed, pack

Goal = Literal["size", "speed"]
# Called with how many programs are done, how many there are, and which is next.
LayoutProgress = Callable[[int, int, str], None]
LAYOUTS: tuple[LayoutName, ...] = get_args(LayoutName)
# Compilers take minutes over more comparisons than these.
MOST_SPLITS = 20_000
N_ROWS = 5


@dataclass(frozen=True)
class Attempt:
    """A program that was to be measured: the target, the layout, and what it takes or the error that came instead."""

    target: str
    layout: LayoutName
    measurement: Measurement | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class LayoutChoice:
    """A layout for a target, and what it was chosen by.

    Attributes
    ----------
    layout : {"compact", "fast"}
    measurements : dict of str to Measurement
        What each layout takes on the target, as far as it could be measured.
    errors : tuple of Attempt
        The layouts that could not be measured, and why.
    reason : str
        Why it is not the one that was asked for; empty if it is.
    """

    layout: LayoutName
    measurements: dict[LayoutName, Measurement] = field(default_factory=dict)
    errors: tuple[Attempt, ...] = ()
    reason: str = ""


def measure_each(
    packed: Packed,
    X: ArrayLike,
    *,
    targets: Sequence[str],
    layouts: Sequence[LayoutName] = LAYOUTS,
    max_rows: int = 50,
    inputs: Input = "float",
    progress: LayoutProgress | None = None,
) -> list[Attempt]:
    """Return what a model takes on each target in each layout, or why that is not known; as `measure` otherwise.

    A target whose tools are missing is tried once, and what is wrong with the arguments is raised.
    """
    programs = [(target, layout) for target in targets for layout in layouts]
    attempts: list[Attempt] = []
    for number, (target, layout) in enumerate(programs):
        if any(done.target == target and isinstance(done.error, MissingToolError) for done in attempts):
            continue
        if progress is not None:
            progress(number, len(programs), f"{layout} layout" if len(targets) == 1 else f"{target}, {layout} layout")
        try:
            measured = measure(packed, X, target=target, max_rows=max_rows, layout=layout, inputs=inputs)
        except (DoesNotFitError, RuntimeError, SubprocessError) as error:
            attempts.append(Attempt(target, layout, error=error))
        else:
            attempts.append(Attempt(target, layout, measured))
    return attempts


def choose_layout(
    model: Any,
    *,
    target: str,
    layout: str | None = None,
    optimize: Goal = "size",
    inputs: Input | Iterable[Input] | None = None,
    X: ArrayLike | None = None,
    packed_from: Any = None,
    progress: LayoutProgress | None = None,
) -> LayoutChoice:
    """Return the layout to write a model in, and what either layout takes on the target.

    The model is compiled and run in an emulator, as `measure` does it, where the tools for the target are there.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    target : str
        The name of one of `targets`. With ``"generic"`` nothing is measured.
    layout : {"compact", "fast"}, optional
        The layout, if it is not to be chosen.
    optimize : {"size", "speed"}
        ``"size"``: the compact layout. ``"speed"``: the fast one if it fits the target.
    inputs : {"float", "int16", "uint8"} or several of these, optional
        As for `emit`; the first is measured.
    X : rows, optional
        To run; made up by default.
    packed_from : Forest or fitted estimator, optional
        What a Packed model was made from: an error then says how to pack it smaller.
    progress : function, optional
        Called with the number of programs that are done, of all, and which is next.

    Raises
    ------
    DoesNotFitError
        If the layout, chosen or given, does not fit the target.
    """
    chosen = target_named(target)
    goal: Goal = resolve_name(optimize, {name: name for name in get_args(Goal)}, "optimize cannot be")
    form = form_of(layout or "compact", inputs, chosen)
    packed = model if isinstance(model, Packed) else pack(model)
    source = model if packed_from is None else packed_from
    check_fits(source, packed, form, chosen)
    attempts = [] if chosen.name == "generic" else _attempts(packed, chosen, form.inputs[0], X, progress)
    measurements = {tried.layout: tried.measurement for tried in attempts if tried.measurement is not None}
    for name, measured in measurements.items():
        if measured.agreement < 1.0:
            raise RuntimeError(f"the {name} layout does not answer as Python does on {chosen.name}")
    errors = tuple(tried for tried in attempts if tried.error is not None)
    if layout is not None or goal == "size":
        choice = LayoutChoice(form.layout, measurements, errors)
    elif not chosen.flash or ("fast" in measurements and measurements["fast"].fits):
        choice = LayoutChoice("fast", measurements, errors)
    elif "fast" in measurements:
        choice = LayoutChoice("compact", measurements, errors, f"the fast layout does not fit {chosen.name}")
    else:
        reason = f"whether the fast layout fits {chosen.name} is not known"
        choice = LayoutChoice("compact", measurements, errors, reason)
    if choice.layout in measurements:
        taken = measurements[choice.layout]
        check_fits(source, packed, taken.form, chosen, taken.flash)
    return choice


def _attempts(
    packed: Packed, target: Target, inputs: Input, X: ArrayLike | None, progress: LayoutProgress | None
) -> list[Attempt]:
    rows = as_inputs(made_up_rows(packed) if X is None else as_rows(X, packed), inputs)
    layouts = [name for name in LAYOUTS if name == "compact" or packed.layout.n_splits <= MOST_SPLITS]
    return measure_each(
        packed, rows, targets=(target.name,), layouts=layouts, max_rows=N_ROWS, inputs=inputs, progress=progress
    )
