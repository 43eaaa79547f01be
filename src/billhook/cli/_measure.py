import argparse
import sys
from subprocess import SubprocessError
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._emit import LAYOUTS, add_packing, packed_as_asked
from billhook.cli._model import categorical_of
from billhook.codegen import DoesNotFitError, LayoutName, Measurement, MissingToolError, measure, targets
from billhook.packing import load
from billhook.tables import features_of, read_features


def add_to(commands: Any) -> None:
    """Add `billhook measure`."""
    parser = commands.add_parser(
        "measure",
        allow_abbrev=False,
        help="compile a model for a target and run it in its emulator",
        description="Compile a model for a target, run rows of a table in its emulator, and print what that took.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model file: packed, or a forest, which is packed")
    parser.add_argument(
        "table", metavar="TABLE", help="rows to run: CSV, Parquet or ARFF; other columns do not matter"
    )
    parser.add_argument("--target", required=True, help="see `billhook targets`; or all")
    parser.add_argument("--label", metavar="COLUMN", help="a column to leave out")
    parser.add_argument("--layout", default="both", metavar="NAME", help="compact, fast or both (default)")
    parser.add_argument("--inputs", default="float", metavar="KIND", help="float (default), int16 or uint8")
    add_packing(parser)
    parser.add_argument("--rows", type=int, default=50, metavar="N", help="most rows in an emulator")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, compile, run, and print a line for each target."""
    model = load(given.model)
    packed = packed_as_asked(model, given, {})
    X = features_of(read_features(given.table, given.label, categorical=categorical_of(packed)), packed)
    names = [target.name for target in targets()] if given.target == "all" else [given.target]
    print(f"{given.model}: {packed!r}", file=sys.stderr)
    measured: list[Measurement] = []
    layouts: tuple[LayoutName, ...] = LAYOUTS if given.layout == "both" else (given.layout,)
    for name in names:
        for layout in layouts:
            try:
                options: dict[str, Any] = {"target": name, "max_rows": given.rows, "inputs": given.inputs}
                with _interrupt.stoppable():
                    measured.append(measure(packed, X, layout=layout, **options))
            except MissingToolError as error:
                if len(names) == 1:
                    raise
                print(f"{name}: {error}", file=sys.stderr)
                break
            except (DoesNotFitError, RuntimeError, SubprocessError) as error:
                print(f"{name}, {layout} layout: {str(error).splitlines()[0]}", file=sys.stderr)
    if not measured:
        raise ValueError("nothing could be measured")
    print(f"{'target':20}{'layout':8}{'flash':>9}{'RAM':>6}{'stack':>7}{'cycles':>10}{'instr.':>9}", end="")
    print(f"{'us a row':>10}{'fits':>6}{'left':>11}{'rows':>7}{'same':>8}")
    for measurement in measured:
        print(_line(measurement))
    if any(measurement.agreement < 1.0 for measurement in measured):
        raise RuntimeError("a target does not answer as Python does")


def _line(took: Measurement) -> str:
    def cell(value: Any, width: int, form: str = ",") -> str:
        return f"{'' if value is None else format(value, form):>{width}}"

    fits = {True: "yes", False: "no", None: ""}[took.fits]
    speed = cell(took.cycles, 10) + cell(took.instructions, 9) + cell(took.microseconds, 10, ",.0f")
    sizes = f"{took.flash:>9,}{took.ram:>6,}{cell(took.stack, 7)}"
    limits = f"{fits:>6}{cell(took.flash_left, 11)}"
    return f"{took.target.name:20}{took.form.layout:8}{sizes}{speed}{limits}{took.n_rows:>7,}{took.agreement:>8.1%}"
