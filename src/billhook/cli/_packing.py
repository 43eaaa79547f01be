"""Options of packing, and files that packed models are written to."""

import argparse
import errno
from pathlib import Path
from typing import Any

from billhook._files import atomic_write, check_file_name
from billhook.cli._messages import as_options
from billhook.cli._progress import ProgressDisplay
from billhook.packing import Packed, pack


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
        with ProgressDisplay("packing"):
            return pack(model, **options, **rows)
    if options:
        flag = next(iter(options)).replace("_", "-").replace("missing-values", "no-missing-values")
        raise ValueError(f"--{flag} is for a forest; {arguments.model} is packed already")
    return model


def split_names(names: str | None) -> Any:
    """Return comma-separated names as a list; None where there are none."""
    return None if names is None else [name.strip() for name in names.split(",")]


def _threshold_bits(text: str | None) -> Any:
    return int(text) if text is not None and text.isdigit() else text


def check_blob(path: str, arguments: argparse.Namespace) -> None:
    """Refuse to write a blob over what is there, over what it is made from in any case, and where it cannot be."""
    check_file_name(path)
    blob = Path(path).resolve()
    if blob.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; give the name of a file in it", path)
    is_in_project = arguments.out is not None and Path(arguments.out).resolve() in blob.parents
    if not blob.parent.is_dir() and not is_in_project:
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(blob.parent))
    for source in (*arguments.models, arguments.table):
        if source is not None and blob == Path(source).resolve():
            raise ValueError(f"--blob {path} is the file that is read: name another one")
    if blob.exists() and not arguments.force:
        raise FileExistsError(f"{path} is there already; --force replaces it")


def check_blob_alone(arguments: argparse.Namespace) -> None:
    """Refuse options of projects where none is written."""
    for option in ("target", "name", "layout", "optimize", "inputs", "package"):
        if getattr(arguments, option) is not None:
            raise ValueError(
                f"--{option} is for a project, in the folder of --out; a blob is the same for all programs"
            )


def write_blob(packed: Packed, path: str, arguments: argparse.Namespace) -> None:
    """Write a model as a blob, and say so."""
    blob = packed.to_bytes(names=not arguments.no_names)
    with atomic_write(path) as file:
        file.write(blob)
    print(f"Wrote {path}: {len(blob):,} bytes")


def first_line(error: Exception | None) -> str:
    """Return what an error says first, in the words of the command line."""
    return as_options(str(error).partition("\n")[0])
