import argparse
import sys
from shlex import quote
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._emit_outputs import emit_outputs
from billhook.cli._model import read_rows
from billhook.cli._names import check_and_say_name
from billhook.cli._packing import check_blob, check_blob_alone, first_line, packed_as_asked, split_names, write_blob
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.codegen import (
    LayoutChoice,
    LayoutName,
    MissingToolError,
    Target,
    choose_layout,
    data_of,
    emit,
    form_of,
    packages_named,
    runtime_named,
    target_named,
)
from billhook.packing import Packed, load, pack_report


def run(arguments: argparse.Namespace) -> None:
    """Read, pack, write, and say what it takes."""
    if len(arguments.models) > 1 or arguments.outputs is not None:
        emit_outputs(arguments)
        return
    [arguments.model] = arguments.models
    _check(arguments)
    arguments.target = "generic" if arguments.target is None else arguments.target
    arguments.name = "model" if arguments.name is None else arguments.name
    check_and_say_name(arguments.name)
    target = target_named(arguments.target)
    inputs: Any = split_names(arguments.inputs)
    # Before anything that takes time.
    form_of("compact" if arguments.layout is None else arguments.layout, inputs, target)
    packages_named(split_names(arguments.package) or ())
    with ProgressDisplay("reading"):
        model = load(arguments.model)
    rows: dict[str, Any] = {}
    if arguments.table is not None:
        X, y = read_rows(arguments.table, arguments.label, model)
        rows = {"X": X, "y": y}
    packed = packed_as_asked(model, arguments, rows)
    print(f"{arguments.model}: {model!r}", file=sys.stderr)
    if arguments.runtime is not None:
        _emit_runtime(packed, arguments, rows.get("X"))
    elif arguments.out is not None:
        _emit_c(model, packed, target, inputs, arguments, rows)
    if arguments.blob is not None:  # last: if a project cannot be written, neither is this
        write_blob(packed, arguments.blob, arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    if (arguments.table is None) != (arguments.label is None):
        raise ValueError("--table and --label go together")
    if arguments.out is None and arguments.blob is None:
        raise ValueError("--out names the folder for a project, --blob the file for the model alone: give one")
    if arguments.runtime is not None:
        runtime_named(arguments.runtime)
        if arguments.out is None:
            raise ValueError("--runtime needs the folder to write to: --out DIR")
        for option in ("layout", "optimize", "inputs"):
            if getattr(arguments, option) is not None:
                raise ValueError(f"--{option} is for C made of one model; --runtime reads models as they are")
        if arguments.runtime != "c" and arguments.package is not None:
            raise ValueError(f"--package is for C; --runtime {arguments.runtime} writes none")
        if arguments.runtime != "c" and arguments.target is not None:
            raise ValueError(f"--target is for C; --runtime {arguments.runtime} is the same for all targets")
        if arguments.no_names and arguments.blob is None:
            raise ValueError("--no-names is for C made of one model, and for --blob; --runtime has the names")
    if arguments.out is None:
        check_blob_alone(arguments)
    if arguments.blob is not None:
        check_blob(arguments.blob, arguments)


def _emit_runtime(packed: Packed, arguments: argparse.Namespace, X: Any) -> None:
    """Write a project around a program that reads blobs."""
    files = emit(
        packed,
        arguments.out,
        target=arguments.target,
        name=arguments.name,
        runtime=arguments.runtime,
        package=split_names(arguments.package) or (),
        X=X,
        force=arguments.force,
    )
    print(_blob_text(packed))
    print(f"Wrote {len(files)} files to {arguments.out}; its README.md says what to do with them.")


def _emit_c(
    model: Any, packed: Packed, target: Target, inputs: Any, arguments: argparse.Namespace, rows: dict[str, Any]
) -> None:
    """Write a project of C made for this model."""
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
        names=not arguments.no_names,
        package=split_names(arguments.package) or (),
        force=arguments.force,
        **rows,
    )
    print(_data_text(packed, choice.layout))
    if choice.measurements:
        _print_costs(choice, target)
    if choice.reason:
        print(f"{choice.reason[0].upper()}{choice.reason[1:]}; wrote the {choice.layout} one.")
    if rows and not isinstance(model, Packed):
        print(f"On the rows of {arguments.table}: {pack_report(model, packed, **rows)}")
    print(f"Wrote {len(files)} files to {arguments.out}; `make -C {quote(str(arguments.out))} test` tests them.")


def _data_text(packed: Packed, layout: LayoutName) -> str:
    """Return how many bytes of data a layout has."""
    nbytes = data_of(packed, layout)
    return f"{packed.nbytes:,} bytes packed, written as code" if nbytes is None else f"{nbytes:,} bytes of data"


def _blob_text(packed: Packed) -> str:
    """Return how many bytes a model takes as a blob."""
    nbytes, with_names = (len(packed.to_bytes(names=names)) for names in (False, True))
    names = f", {with_names:,} with the names of classes and features" if with_names > nbytes else ""
    return f"a blob of {nbytes:,} bytes{names}"


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
