"""`billhook emit` for several outputs."""

import argparse
import sys
from pathlib import Path
from shlex import quote
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._names import check_and_say_name
from billhook.cli._packing import check_blob, check_blob_alone, packed_as_asked, split_names, write_blob
from billhook.cli._tables import print_table
from billhook.codegen import LayoutName, data_of, emit, form_of, packages_named, target_named
from billhook.packing import Packed, load, load_outputs

# What is for one model, and what to do for several.
ONE = {
    "runtime": "writes a project around one model, whose reader opens any number of them; --blob writes one for each",
    "optimize": "chooses the layout of one model: give --layout",
    "table": "is for one model: pack each with its column, and emit the packed models",
    "label": "is for one model: pack each with its column, and emit the packed models",
}


def emit_outputs(arguments: argparse.Namespace) -> None:
    """Read, pack, write one project or a blob for each, and say what they take."""
    for option, why in ONE.items():
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} {why}")
    if arguments.out is None and arguments.blob is None:
        raise ValueError("--out names the folder for a project, --blob the files for the models alone: give one")
    if arguments.out is None:
        check_blob_alone(arguments)
    name = "model" if arguments.name is None else arguments.name
    check_and_say_name(name)
    target = target_named("generic" if arguments.target is None else arguments.target)
    layout: Any = "compact" if arguments.layout is None else arguments.layout
    inputs = split_names(arguments.inputs)
    form_of(layout, inputs, target)
    packages = packages_named(split_names(arguments.package) or ())
    outputs = _read(arguments)
    blobs = {} if arguments.blob is None else {key: _blob_path(arguments.blob, key) for key in outputs}
    for path in blobs.values():
        check_blob(path, arguments)
    if arguments.out is not None:
        _interrupt.finish()
        files = emit(
            outputs,
            arguments.out,
            target=target.name,
            name=name,
            layout=layout,
            inputs=inputs,
            names=not arguments.no_names,
            package=packages,
            force=arguments.force,
        )
        _print_outputs(outputs, layout)
        print(f"Wrote {len(files)} files to {arguments.out}; `make -C {quote(str(arguments.out))} test` tests them.")
    for key, path in blobs.items():
        write_blob(outputs[key], path, arguments)


def _read(arguments: argparse.Namespace) -> dict[str, Packed]:
    """Return all outputs, packed, by the names of their files; where a file has several, by their numbers too."""
    outputs: dict[str, Packed] = {}
    for path in arguments.models:
        arguments.model = path
        models = load_outputs(path) if arguments.outputs == "all" else [load(path)]
        stem = Path(path).stem
        for number, model in enumerate(models):
            print(f"{path}: {model!r}", file=sys.stderr)
            own = [stem] if len(arguments.models) > 1 else []
            key = "_".join([*own, *([str(number)] if len(models) > 1 or not own else [])])
            if key in outputs:
                raise ValueError(f"{path}: there is an output {key!r} already; give the file another name")
            outputs[key] = packed_as_asked(model, arguments, {})
    return outputs


def _blob_path(path: str, key: str) -> str:
    """Return where the blob of an output goes: model.bhm becomes model_0.bhm."""
    return str(Path(path).with_stem(f"{Path(path).stem}_{key}"))


def _print_outputs(outputs: dict[str, Packed], layout: LayoutName) -> None:
    """Print a line for each output."""
    rows = []
    for key, packed in outputs.items():
        nbytes = data_of(packed, layout)
        size = f"{packed.nbytes:,} packed, written as code" if nbytes is None else f"{nbytes:,}"
        rows.append((key, f"{packed.layout.n_trees:,}", f"{packed.layout.n_leaves:,}", size))
    print_table(("output", "trees", "leaves", "bytes of data"), rows, numbers=("trees", "leaves", "bytes of data"))
