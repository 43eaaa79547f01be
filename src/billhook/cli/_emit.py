import argparse
import sys
from shlex import quote
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Any

from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._model import read_rows
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.codegen import (
    LayoutName,
    Measurement,
    MissingToolError,
    Target,
    as_inputs,
    check_fits,
    emit,
    form_of,
    made_up_rows,
    measure,
    target_named,
)
from billhook.packing import Packed, load, pack, pack_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LAYOUTS: tuple[LayoutName, ...] = ("compact", "fast")
# Compilers take minutes over more comparisons than these.
MOST_SPLITS = 20_000


def run(arguments: argparse.Namespace) -> None:
    """Read, pack, write, and say what it takes."""
    if (arguments.table is None) != (arguments.label is None):
        raise ValueError("--table and --label go together")
    target = target_named(arguments.target)
    inputs = None if arguments.inputs is None else [name.strip() for name in arguments.inputs.split(",")]
    form_of(arguments.layout or "compact", inputs, target)
    model = load(arguments.model)
    rows: dict[str, Any] = {}
    if arguments.table is not None:
        X, y = read_rows(arguments.table, arguments.label, model)
        rows = {"X": X, "y": y}
    packed = packed_as_asked(model, arguments, rows)
    print(f"{arguments.model}: {model!r}", file=sys.stderr)
    check_fits(model, packed, form_of(arguments.layout or "compact", inputs, target), target)
    first = "float" if inputs is None else inputs[0]
    with _interrupt.stoppable(), ProgressDisplay(f"measuring on {target.name}", unit="layouts", patience=0.0) as bar:
        costs = {} if target.name == "generic" else _costs(packed, target, first, rows.get("X"), bar)
    layout, why = _choose(arguments, costs, target)
    if layout in costs:
        check_fits(model, packed, costs[layout].form, target, costs[layout].flash)
    _interrupt.finish()
    files = emit(
        packed,
        arguments.out,
        target=arguments.target,
        name=arguments.name,
        layout=layout,
        inputs=inputs,
        force=arguments.force,
        **rows,
    )
    print(f"{packed.nbytes:,} bytes of data")
    if costs:
        _print_costs(costs, target, layout)
    if why:
        print(f"{why}; wrote the compact one.")
    if rows and not isinstance(model, Packed):
        print(f"On the rows of {arguments.table}: {pack_report(model, packed, **rows)}")
    print(f"Wrote {len(files)} files to {arguments.out}; `make -C {quote(str(arguments.out))} test` tests them.")


def packed_as_asked(model: Any, arguments: argparse.Namespace, rows: dict[str, Any]) -> Packed:
    """Return the model packed as the options say; one that is packed already takes none."""
    asked: dict[str, Any] = {
        "threshold_bits": _threshold_bits(arguments.threshold_bits),
        "leaf_bits": arguments.leaf_bits,
        "codebook": arguments.codebook,
        "scales": arguments.scales,
    }
    options = {name: value for name, value in asked.items() if value is not None}
    if arguments.no_missing_values:
        options["missing_values"] = False
    if not isinstance(model, Packed):
        return pack(model, **options, **rows)
    if options:
        flag = next(iter(options)).replace("_", "-").replace("missing-values", "no-missing-values")
        raise ValueError(f"--{flag} is for a forest; {arguments.model} is packed already")
    return model


def _costs(
    packed: Packed, target: Target, inputs: Any, X: "NDArray[np.float32] | None", bar: ProgressDisplay
) -> dict[str, Measurement]:
    """Return what the model takes in either layout, as far as compilers and emulators are there to say it."""
    costs: dict[str, Measurement] = {}
    rows = as_inputs(made_up_rows(packed) if X is None else X, inputs)
    for number, layout in enumerate(LAYOUTS):
        bar(number, len(LAYOUTS), f"{layout} layout")
        if layout == "fast" and packed.layout.n_inner > MOST_SPLITS:
            continue
        try:
            costs[layout] = measure(packed, rows, target=target.name, max_rows=5, layout=layout, inputs=inputs)
        except MissingToolError as error:
            print(f"What it takes on {target.name} is not known: {as_options(str(error))}", file=sys.stderr)
            return {}
        except (ValueError, RuntimeError, SubprocessError) as error:
            print(
                f"The {layout} layout cannot be measured: {as_options(str(error).splitlines()[0])}", file=sys.stderr
            )
            continue
        if costs[layout].agreement < 1.0:
            raise RuntimeError(
                f"the {layout} layout does not answer as Python does on {target.name}: nothing is written"
            )
    return costs


def _choose(arguments: argparse.Namespace, costs: dict[str, Measurement], target: Target) -> tuple[LayoutName, str]:
    """Return the layout, and why it is not the one that was asked for, if so."""
    if arguments.layout is not None or arguments.optimize != "speed":
        return arguments.layout or "compact", ""
    if not target.flash:
        return "fast", ""
    if "fast" not in costs:
        return "compact", f"Whether the fast layout fits {target.name} is not known"
    return ("fast", "") if costs["fast"].fits else ("compact", f"The fast layout does not fit {target.name}")


def _print_costs(costs: dict[str, Measurement], target: Target, chosen: str) -> None:
    """Print what each layout takes on a target, and which one was written."""
    share = f"of {target.flash:,}"
    headings = ("layout", "bytes of flash", share, "cycles a row", "instructions a row", "")
    rows = []
    for layout, cost in costs.items():
        taken = f"{cost.flash / target.flash:.1%}" if target.flash else ""
        steps = ("" if count is None else f"{count:,}" for count in (cost.cycles, cost.instructions))
        rows.append((layout, f"{cost.flash:,}", taken, *steps, "<- written" if layout == chosen else ""))
    print_table(headings, rows, numbers=headings[1:5])


def _threshold_bits(text: str | None) -> Any:
    return int(text) if text is not None and text.isdigit() else text
