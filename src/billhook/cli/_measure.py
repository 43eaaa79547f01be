import argparse
import sys
from subprocess import SubprocessError
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._emit import LAYOUTS, packed_as_asked
from billhook.cli._messages import as_options
from billhook.cli._model import categorical_of
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.codegen import DoesNotFitError, LayoutName, Measurement, MissingToolError, measure, targets
from billhook.packing import load
from billhook.tables import features_of, read_features

HEADINGS = (
    "target",
    "layout",
    "flash",
    "RAM",
    "stack",
    "cycles",
    "instr.",
    "us a row",
    "fits",
    "left",
    "rows",
    "agree",
)


def run(arguments: argparse.Namespace) -> None:
    """Read, compile, run, and print a line for each target."""
    model = load(arguments.model)
    packed = packed_as_asked(model, arguments, {})
    X = features_of(read_features(arguments.table, arguments.label, categorical=categorical_of(packed)), packed)
    names = [target.name for target in targets()] if arguments.target == "all" else [arguments.target]
    print(f"{arguments.model}: {packed!r}", file=sys.stderr)
    measured: list[Measurement] = []
    layouts: tuple[LayoutName, ...] = LAYOUTS if arguments.layout == "both" else (arguments.layout,)
    tasks = [(name, layout) for name in names for layout in layouts]
    without_tools: set[str] = set()
    with ProgressDisplay("measuring", unit="programs", patience=0.0) as bar:
        for number, (name, layout) in enumerate(tasks):
            if name in without_tools:
                continue
            bar(number, len(tasks), f"{name}, {layout} layout")
            try:
                options: dict[str, Any] = {"target": name, "max_rows": arguments.rows, "inputs": arguments.inputs}
                with _interrupt.stoppable():
                    measured.append(measure(packed, X, layout=layout, **options))
            except MissingToolError as error:
                if len(names) == 1:
                    raise
                print(f"{name}: {error}", file=sys.stderr)
                without_tools.add(name)
            except (DoesNotFitError, RuntimeError, SubprocessError) as error:
                print(f"{name}, {layout} layout: {as_options(str(error).splitlines()[0])}", file=sys.stderr)
    if not measured:
        raise ValueError("nothing could be measured")
    print_table(HEADINGS, [_cells(measurement) for measurement in measured], numbers=HEADINGS[2:])
    if any(measurement.agreement < 1.0 for measurement in measured):
        raise RuntimeError("a target does not answer as Python does")


def _cells(measurement: Measurement) -> tuple[str, ...]:
    """Return the line of the table for a measurement."""

    def cell(value: float | None, form: str = ",") -> str:
        return "" if value is None else format(value, form)

    return (
        measurement.target.name,
        measurement.form.layout,
        cell(measurement.flash),
        cell(measurement.ram),
        cell(measurement.stack),
        cell(measurement.cycles),
        cell(measurement.instructions),
        cell(measurement.microseconds, ",.0f"),
        {True: "yes", False: "no", None: ""}[measurement.fits],
        cell(measurement.flash_left),
        cell(measurement.n_rows),
        cell(measurement.agreement, ".1%"),
    )
