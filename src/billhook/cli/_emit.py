import argparse
import sys
from shlex import quote
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._model import read_rows
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.codegen import LayoutChoice, MissingToolError, Target, choose_layout, emit, form_of, target_named
from billhook.packing import Packed, load, pack, pack_report


def run(arguments: argparse.Namespace) -> None:
    """Read, pack, write, and say what it takes."""
    if (arguments.table is None) != (arguments.label is None):
        raise ValueError("--table and --label go together")
    target = target_named(arguments.target)
    inputs: Any = None if arguments.inputs is None else [name.strip() for name in arguments.inputs.split(",")]
    form_of(arguments.layout or "compact", inputs, target)  # before anything that takes time
    model = load(arguments.model)
    rows: dict[str, Any] = {}
    if arguments.table is not None:
        X, y = read_rows(arguments.table, arguments.label, model)
        rows = {"X": X, "y": y}
    packed = packed_as_asked(model, arguments, rows)
    print(f"{arguments.model}: {model!r}", file=sys.stderr)
    with _interrupt.stoppable(), ProgressDisplay(f"measuring on {target.name}", unit="layouts", patience=0.0) as bar:
        choice = choose_layout(
            packed,
            target=arguments.target,
            layout=arguments.layout,
            optimize=arguments.optimize or "size",
            inputs=inputs,
            X=rows.get("X"),
            packed_from=model,
            progress=bar,
        )
    for attempt in choice.errors:
        which = "it" if isinstance(attempt.error, MissingToolError) else f"the {attempt.layout} layout"
        print(f"What {which} takes on {target.name} is not known: {first_line(attempt.error)}", file=sys.stderr)
    _interrupt.finish()
    files = emit(
        packed,
        arguments.out,
        target=arguments.target,
        name=arguments.name,
        layout=choice.layout,
        inputs=inputs,
        force=arguments.force,
        **rows,
    )
    print(f"{packed.nbytes:,} bytes of data")
    if choice.measurements:
        _print_costs(choice, target)
    if choice.reason:
        print(f"{choice.reason[0].upper()}{choice.reason[1:]}; wrote the {choice.layout} one.")
    if rows and not isinstance(model, Packed):
        print(f"On the rows of {arguments.table}: {pack_report(model, packed, **rows)}")
    print(f"Wrote {len(files)} files to {arguments.out}; `make -C {quote(str(arguments.out))} test` tests them.")


def first_line(error: Exception | None) -> str:
    """Return what an error says first, in the words of the command line."""
    return as_options(str(error).partition("\n")[0])


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


def _print_costs(choice: LayoutChoice, target: Target) -> None:
    """Print what each layout takes on a target, and which one was written."""
    share = f"of {target.flash:,}"
    headings = ("layout", "bytes of flash", share, "cycles a row", "instructions a row", "")
    rows = []
    for layout, cost in choice.measurements.items():
        taken = f"{cost.flash / target.flash:.1%}" if target.flash else ""
        steps = ("" if count is None else f"{count:,}" for count in (cost.cycles, cost.instructions))
        rows.append((layout, f"{cost.flash:,}", taken, *steps, "<- written" if layout == choice.layout else ""))
    print_table(headings, rows, numbers=headings[1:5])


def _threshold_bits(text: str | None) -> Any:
    return int(text) if text is not None and text.isdigit() else text
