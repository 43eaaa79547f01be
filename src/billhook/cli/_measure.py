import argparse
import sys
from typing import Any

from billhook.cli._model import features_of
from billhook.codegen import Measurement, MissingToolError, measure, targets
from billhook.datasets import read_features, read_table
from billhook.packing import Packed, load, pack


def add_to(commands: Any) -> None:
    """Add `billhook measure`."""
    parser = commands.add_parser(
        "measure",
        allow_abbrev=False,
        help="compile a model for a device and run it in its emulator",
        description="Compile a model for a device, run rows of a table in its emulator, and print what that took.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model file: packed, or a forest, which is packed")
    parser.add_argument("table", metavar="TABLE", help="rows to run: CSV or Parquet; other columns do not matter")
    parser.add_argument("--target", required=True, help="see `billhook targets`; or all")
    parser.add_argument("--label", metavar="COLUMN", help="a column of numbers to leave out")
    parser.add_argument("--rows", type=int, default=50, metavar="N", help="most rows in an emulator")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, compile, run, and print a line for each device."""
    model = load(given.model)
    packed = model if isinstance(model, Packed) else pack(model)
    table = read_features(given.table) if given.label is None else read_table(given.table, given.label)
    X = features_of(table, packed)
    names = [target.name for target in targets()] if given.target == "all" else [given.target]
    print(f"{given.model}: {packed!r}", file=sys.stderr)
    found = []
    for name in names:
        try:
            found.append(measure(packed, X, target=name, max_rows=given.rows))
        except MissingToolError as error:
            if len(names) == 1:
                raise
            print(f"{name}: {error}", file=sys.stderr)
    print(
        f"{'target':20}{'flash':>9}{'RAM':>6}{'stack':>7}{'cycles':>10}{'instr.':>9}{'us a row':>10}{'fits':>6}",
        end="",
    )
    print(f"{'rows':>7}{'same':>8}")
    for one in found:
        print(_line(one))


def _line(one: Measurement) -> str:
    def cell(value: Any, width: int, form: str = ",") -> str:
        return f"{'' if value is None else format(value, form):>{width}}"

    fits = {True: "yes", False: "no", None: ""}[one.fits]
    speed = cell(one.cycles, 10) + cell(one.instructions, 9) + cell(one.microseconds, 10, ",.0f")
    return (
        f"{one.target.name:20}{one.flash:>9,}{one.ram:>6,}{cell(one.stack, 7)}{speed}{fits:>6}"
        f"{one.n_rows:>7,}{one.agreement:>8.1%}"
    )
