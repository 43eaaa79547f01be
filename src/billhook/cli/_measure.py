import argparse
import sys

from billhook.cli import _interrupt
from billhook.cli._model import categorical_of
from billhook.cli._packing import first_line, packed_as_asked
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.codegen import LAYOUTS, LayoutName, Measurement, MissingToolError, measure_each, target_named, targets
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
    with ProgressDisplay("reading"):
        model = load(arguments.model)
    packed = packed_as_asked(model, arguments, {})
    with ProgressDisplay("reading"):
        table = read_features(
            arguments.table, arguments.label, categorical=categorical_of(packed), rounding=packed.rounding
        )
        X = features_of(table, packed)
    names = (
        [target.name for target in targets()] if arguments.target == "all" else [target_named(arguments.target).name]
    )
    print(f"{arguments.model}: {packed!r}", file=sys.stderr)
    layouts: tuple[LayoutName, ...] = LAYOUTS if arguments.layout == "all" else (arguments.layout,)
    with _interrupt.stoppable(), ProgressDisplay("measuring", unit="programs", patience=0.0) as bar:
        attempts = measure_each(
            packed,
            X,
            targets=names,
            layouts=layouts,
            max_rows=arguments.rows,
            inputs=arguments.inputs,
            progress=bar,
        )
    for attempt in attempts:
        if isinstance(attempt.error, MissingToolError) and len(names) == 1:
            raise attempt.error
        if attempt.error is not None:
            is_missing = isinstance(attempt.error, MissingToolError)
            what = attempt.target if is_missing else f"{attempt.target}, {attempt.layout} layout"
            print(f"{what}: {first_line(attempt.error)}", file=sys.stderr)
    measured = [attempt.measurement for attempt in attempts if attempt.measurement is not None]
    if not measured:
        raise ValueError("nothing could be measured")
    print_table(HEADINGS, [_cells(measurement) for measurement in measured], numbers=HEADINGS[2:])
    for note in dict.fromkeys((measurement.target.name, measurement.note) for measurement in measured):
        if note[1]:
            print(f"{note[0]}: {note[1]}", file=sys.stderr)
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
        cell(measurement.n_rows or None),
        cell(measurement.agreement if measurement.n_rows else None, ".1%"),
    )
