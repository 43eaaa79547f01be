"""What a model takes on several targets and in several layouts, and which layout to write."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from subprocess import TimeoutExpired
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from billhook._checks import as_int, resolve_name
from billhook.codegen._estimate import estimated_cycles, estimated_flash
from billhook.codegen._form import Input, LayoutName, as_inputs, form_of
from billhook.codegen._measure import Measurement, measure
from billhook.codegen._memory import DoesNotFitError, check_fits, most_flash
from billhook.codegen._targets import Target, target_named
from billhook.codegen._test_rows import made_up_rows
from billhook.codegen._toolchains import MissingToolError, TooLargeError
from billhook.forest import as_rows
from billhook.packing import Packed, pack

Goal = Literal["size", "speed"]
# Called with how many programs are done, how many there are, and which is next.
LayoutProgress = Callable[[int, int, str], None]
LAYOUTS: tuple[LayoutName, ...] = get_args(LayoutName)
# Compilers take minutes over more comparisons than these.
MOST_SPLITS = 20_000
N_ROWS = 5
# Families of processors on which time is not counted.
NO_CYCLES = ("any", "x86_64")


@dataclass(frozen=True)
class Attempt:
    """A program that was to be measured: the target, the layout, and what it takes or the error that came instead."""

    target: str
    layout: LayoutName
    measurement: Measurement | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class LayoutCost:
    """What a layout takes on a target.

    Attributes
    ----------
    layout : {"compact", "balanced", "fast"}
    flash, cycles : int
        Bytes, and cycles for a row; instructions where the emulator counts these, which is the least.
    fits : bool
        Whether the target has room for it.
    is_estimated : bool
        Whether the cycles were not measured, since there is nothing to run programs for the target; if there is no
        compiler either, the flash is estimated too.
    """

    layout: LayoutName
    flash: int
    cycles: int
    fits: bool
    is_estimated: bool


@dataclass(frozen=True)
class LayoutChoice:
    """A layout for a target, and what it was chosen by.

    Attributes
    ----------
    layout : {"compact", "balanced", "fast"}
    measurements : dict of str to Measurement
        What each layout takes on the target, as far as it could be measured.
    errors : tuple of Attempt
        The layouts that could not be measured, and why.
    reason : str
        Why it is not the one that was asked for; empty if it is.
    costs : tuple of LayoutCost
        Flash and cycles of each layout, smallest first, where the choice is by these.
    """

    layout: LayoutName
    measurements: dict[LayoutName, Measurement] = field(default_factory=dict)
    errors: tuple[Attempt, ...] = ()
    reason: str = ""
    costs: tuple[LayoutCost, ...] = ()


class TooSlowError(DoesNotFitError):
    """No layout that fits a target takes few enough cycles; `fastest` is the choice of the one that takes the least.

    It is the smallest one if none fits.
    """

    def __init__(self, message: str, fastest: LayoutChoice) -> None:
        super().__init__(message)
        self.fastest = fastest


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

    It is not known where tools are missing (such a target is tried once), where a program is too large, and where a
    compiler takes minutes. All else is raised, as what is wrong with the arguments: a model that does not compile.
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
        except (MissingToolError, DoesNotFitError, TooLargeError, TimeoutExpired) as error:
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
    max_cycles: int | None = None,
    reserve: int = 0,
    inputs: Input | Iterable[Input] | None = None,
    X: ArrayLike | None = None,
    packed_from: Any = None,
    progress: LayoutProgress | None = None,
) -> LayoutChoice:
    """Return the layout to write a model in, and what each layout takes on the target.

    The model is compiled and run in an emulator, as `measure` does it, where the tools for the target are there.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    target : str
        The name of one of `targets`. With ``"generic"`` nothing is measured.
    layout : {"compact", "balanced", "fast"}, optional
        The layout, if it is not to be chosen.
    optimize : {"size", "speed"}
        ``"size"``: the compact layout. ``"speed"``: the fastest one that fits the target.
    max_cycles : int, optional
        The most cycles that a row may take: the smallest layout is chosen that fits the target and takes no more.
        Where there is no emulator, cycles are estimated. Where instructions are counted, each is one cycle.
    reserve : int
        Bytes of the target's flash that a layout must leave free, where it is chosen by cycles.
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
    TooSlowError
        If no layout that fits takes at most `max_cycles`.
    """
    chosen = target_named(target)
    goal: Goal = resolve_name(optimize, {name: name for name in get_args(Goal)}, "optimize cannot be")
    form = form_of("compact" if layout is None else layout, inputs, chosen)
    if max_cycles is not None:
        check_max_cycles(max_cycles, chosen, layout)
    packed = model if isinstance(model, Packed) else pack(model)
    source = model if packed_from is None else packed_from
    check_fits(source, packed, form, chosen)
    attempts = [] if chosen.name == "generic" else _attempts(packed, chosen, form.inputs[0], X, progress)
    measurements = {tried.layout: tried.measurement for tried in attempts if tried.measurement is not None}
    for name, measured in measurements.items():
        if measured.agreement < 1.0:
            raise RuntimeError(f"the {name} layout does not answer as Python does on {chosen.name}")
    errors = tuple(tried for tried in attempts if tried.error is not None)
    choice = LayoutChoice(form.layout, measurements, errors)
    if max_cycles is not None:
        choice = _within(choice, packed, chosen, max_cycles, reserve)
    elif layout is None and goal == "speed":
        choice = _fastest(choice, chosen)
    if choice.layout in measurements:
        taken = measurements[choice.layout]
        check_fits(source, packed, taken.form, chosen, taken.flash)
    return choice


def check_max_cycles(max_cycles: int, target: Target, layout: str | None = None) -> None:
    """Raise an error unless a layout can be chosen by how many cycles a row takes on a target."""
    if as_int(max_cycles, "max_cycles") < 1:
        raise ValueError(f"max_cycles must be 1 or more, not {max_cycles}")
    if layout is not None:
        raise ValueError(f"max_cycles chooses a layout: leave out layout={layout!r}, or max_cycles")
    if target.family in NO_CYCLES:
        raise ValueError(f"no cycles are counted on {target.name}: choose another target, or leave out max_cycles")


def _fastest(choice: LayoutChoice, target: Target) -> LayoutChoice:
    """Return the choice of the fastest layout that fits."""
    if not target.flash:
        return replace(choice, layout="fast")
    for name in reversed(LAYOUTS):
        if name in choice.measurements and choice.measurements[name].fits:
            reason = "" if name == "fast" else f"the fast layout does not fit {target.name}"
            if "fast" not in choice.measurements:
                reason = f"whether the fast layout fits {target.name} is not known"
            return replace(choice, layout=name, reason=reason)
    return replace(choice, reason=f"whether the fast layout fits {target.name} is not known")


def _within(choice: LayoutChoice, packed: Packed, target: Target, max_cycles: int, reserve: int) -> LayoutChoice:
    """Return the choice of the smallest layout that fits and takes no more cycles."""
    costs = tuple(sorted(_costs(choice, packed, target, reserve), key=lambda cost: cost.flash))
    for cost in costs:
        if cost.fits and cost.cycles <= max_cycles:
            return replace(choice, layout=cost.layout, costs=costs)
    about = "about " if any(cost.is_estimated for cost in costs) else ""
    each = "; ".join(
        f"{cost.layout} {about}{cost.cycles:,} in {cost.flash:,} bytes of flash" + ("" if cost.fits else ", too many")
        for cost in costs
    )
    fastest = min((cost for cost in costs if cost.fits), key=lambda cost: cost.cycles, default=None)
    beside = f" beside {reserve:,} bytes" if reserve else ""
    advice = (
        "a smaller model" if fastest is None else f"max_cycles={fastest.cycles} would do, or fewer or smaller trees"
    )
    if packed.projections is not None:
        advice += ", or no projections (max_projections=0)"
    raise TooSlowError(
        f"no layout that fits {target.name}{beside} takes at most {max_cycles:,} cycles a row: "
        f"{each or 'none can be measured'}; {advice}",
        replace(choice, layout="compact" if fastest is None else fastest.layout, costs=costs),
    )


def _costs(choice: LayoutChoice, packed: Packed, target: Target, reserve: int) -> list[LayoutCost]:
    are_missing = any(isinstance(tried.error, MissingToolError) for tried in choice.errors)
    costs = []
    for name in LAYOUTS:
        measured = choice.measurements.get(name)
        if measured is not None:
            cycles = measured.cycles if measured.cycles is not None else measured.instructions
            is_estimated = cycles is None  # nothing runs programs for the target, though they can be compiled
            cycles = estimated_cycles(packed, name, target) if cycles is None else cycles
            fits = measured.fits is not False and _has_room(target, measured.flash + reserve)
            costs.append(LayoutCost(name, measured.flash, cycles, fits, is_estimated))
        elif are_missing:
            flash = estimated_flash(packed, name, target, most_flash(packed, target) - packed.nbytes)
            fits = _has_room(target, flash + reserve)
            costs.append(LayoutCost(name, flash, estimated_cycles(packed, name, target), fits, True))
    return costs


def _has_room(target: Target, flash: int) -> bool:
    return not target.flash or flash <= target.flash


def _attempts(
    packed: Packed, target: Target, inputs: Input, X: ArrayLike | None, progress: LayoutProgress | None
) -> list[Attempt]:
    rows = as_inputs(made_up_rows(packed) if X is None else as_rows(X, packed), inputs)
    layouts = [name for name in LAYOUTS if name != "fast" or packed.layout.n_splits <= MOST_SPLITS]
    return measure_each(
        packed, rows, targets=(target.name,), layouts=layouts, max_rows=N_ROWS, inputs=inputs, progress=progress
    )
