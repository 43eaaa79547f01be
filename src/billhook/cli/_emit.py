import argparse
import sys
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Any

from billhook.cli import _interrupt
from billhook.cli._model import read_rows
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


def add_to(commands: Any) -> None:
    """Add `billhook emit`."""
    parser = commands.add_parser(
        "emit",
        allow_abbrev=False,
        help="write a model as C",
        description="Pack a saved forest into few bytes, and write it as a C project that tests itself.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model file: a forest, or a packed one")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--target", default="generic", help="see `billhook targets` (default: %(default)s)")
    parser.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    add_packing(parser)
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--layout", metavar="NAME", help="compact (few bytes, the default) or fast")
    layout.add_argument(
        "--optimize", choices=("size", "speed"), help="size: compact; speed: fast if that fits the target"
    )
    parser.add_argument(
        "--inputs",
        metavar="KINDS",
        help="float, int16, uint8, or several with commas: what features are given as (default: all; float if fast)",
    )
    parser.add_argument("--table", metavar="TABLE", help="rows to round the leaves with and to compare on")
    parser.add_argument("--label", metavar="COLUMN", help="the column of TABLE to predict")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")
    parser.set_defaults(run=run)


def add_packing(parser: argparse.ArgumentParser) -> None:
    """Add the options of packing."""
    parser.add_argument("--threshold-bits", metavar="N", help="2 to 16, or exact (default: 8)")
    parser.add_argument("--leaf-bits", type=int, metavar="N", help="2 to 16 (default: 8)")
    parser.add_argument("--codebook", type=int, metavar="N", help="most different leaves, for more than two classes")
    parser.add_argument("--scales", metavar="S", help="one (default), or class: a scale for each class")
    parser.add_argument("--no-missing-values", action="store_true", help="rows have none: saves a bit a split")


def run(given: argparse.Namespace) -> None:
    """Read, pack, write, and say what it takes."""
    if (given.table is None) != (given.label is None):
        raise ValueError("--table and --label go together")
    target = target_named(given.target)
    inputs = None if given.inputs is None else [name.strip() for name in given.inputs.split(",")]
    form_of(given.layout or "compact", inputs, target)
    model = load(given.model)
    rows: dict[str, Any] = {}
    if given.table is not None:
        X, y = read_rows(given.table, given.label, model)
        rows = {"X": X, "y": y}
    packed = packed_as_asked(model, given, rows)
    print(f"{given.model}: {model!r}", file=sys.stderr)
    check_fits(model, packed, form_of(given.layout or "compact", inputs, target), target)
    first = "float" if inputs is None else inputs[0]
    with _interrupt.stoppable():
        costs = {} if target.name == "generic" else _costs(packed, target, first, rows.get("X"))
    layout, why = _choose(given, costs, target)
    if layout in costs:
        check_fits(model, packed, costs[layout].form, target, costs[layout].flash)
    _interrupt.finish()
    files = emit(
        packed,
        given.out,
        target=given.target,
        name=given.name,
        layout=layout,
        inputs=inputs,
        force=given.force,
        **rows,
    )
    print(f"{'data':18}{packed.nbytes:>10,} bytes")
    for name, cost in costs.items():
        print(_line(name, cost, target, is_chosen=name == layout))
    if why:
        print(f"{why}; wrote the compact one.")
    if rows and not isinstance(model, Packed):
        print(f"On the rows of {given.table}: {pack_report(model, packed, **rows)}")
    print(f"Wrote {len(files)} files to {given.out}; `make -C {given.out} test` tests them.")


def packed_as_asked(model: Any, given: argparse.Namespace, rows: dict[str, Any]) -> Packed:
    """Return the model packed with the options given; those that say how are refused for one that is packed."""
    asked: dict[str, Any] = {
        "threshold_bits": _threshold_bits(given.threshold_bits),
        "leaf_bits": given.leaf_bits,
        "codebook": given.codebook,
        "scales": given.scales,
    }
    options = {name: value for name, value in asked.items() if value is not None}
    if given.no_missing_values:
        options["missing_values"] = False
    if not isinstance(model, Packed):
        return pack(model, **options, **rows)
    if options:
        flag = next(iter(options)).replace("_", "-").replace("missing-values", "no-missing-values")
        raise ValueError(f"--{flag} is for a forest; {given.model} is packed already")
    return model


def _costs(packed: Packed, target: Target, inputs: Any, X: "NDArray[np.float32] | None") -> dict[str, Measurement]:
    """Return what the model takes in either layout, as far as compilers and emulators are there to say it."""
    costs: dict[str, Measurement] = {}
    rows = as_inputs(made_up_rows(packed) if X is None else X, inputs)
    for layout in LAYOUTS:
        if layout == "fast" and packed.layout.n_inner > MOST_SPLITS:
            continue
        try:
            costs[layout] = measure(packed, rows, target=target.name, max_rows=5, layout=layout, inputs=inputs)
        except MissingToolError as error:
            print(f"What it takes on {target.name} is not known: {error}", file=sys.stderr)
            return {}
        except (ValueError, RuntimeError, SubprocessError) as error:
            print(f"The {layout} layout cannot be measured: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if costs[layout].agreement < 1.0:
            raise RuntimeError(
                f"the {layout} layout does not answer as Python does on {target.name}: nothing is written"
            )
    return costs


def _choose(given: argparse.Namespace, costs: dict[str, Measurement], target: Target) -> tuple[LayoutName, str]:
    """Return the layout, and why it is not the one that was asked for, if so."""
    if given.layout is not None or given.optimize != "speed":
        return given.layout or "compact", ""
    if not target.flash:
        return "fast", ""
    if "fast" not in costs:
        return "compact", f"Whether the fast layout fits {target.name} is not known"
    return ("fast", "") if costs["fast"].fits else ("compact", f"The fast layout does not fit {target.name}")


def _line(layout: str, cost: Measurement, target: Target, *, is_chosen: bool) -> str:
    share = f" of {target.flash:,} ({cost.flash / target.flash:.1%})" if target.flash else ""
    steps, unit = (cost.cycles, "cycles") if cost.cycles is not None else (cost.instructions, "instructions")
    speed = f", {steps:,} {unit} a row" if steps is not None else ""
    written = "   <- written" if is_chosen else ""
    return f"{layout + ' layout':18}{cost.flash:>10,} bytes of flash{share}{speed}{written}"


def _threshold_bits(text: str | None) -> Any:
    return int(text) if text is not None and text.isdigit() else text
