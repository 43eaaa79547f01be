"""The folder of a fit: the model file, the report and the C project, written all together or not at all."""

import errno
import os
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from billhook._files import atomic_folder, holds_anything
from billhook.budget.report import FitReport
from billhook.codegen import emit
from billhook.packing import Packed

MODEL, REPORT, SEARCH, C_PROJECT = "model.bhk", "report.html", "search.json", "c"


def write_fit(
    folder: str | PathLike[str],
    packed: Packed,
    report: FitReport,
    examples: NDArray[np.float32],
    *,
    name: str = "model",
    force: bool = False,
    record: str | None = None,
) -> None:
    """Write all files to a folder, or none if one of them cannot be written; other files in it stay."""
    check_output(folder, force=force)
    with atomic_folder(folder, replace=force, whole=(C_PROJECT,)) as temporary:
        packed.save(temporary / MODEL)
        report.save(temporary / REPORT)
        if record is not None:
            (temporary / SEARCH).write_text(record, encoding="utf-8")
        target = report.target or "generic"
        emit(packed, temporary / C_PROJECT, target=target, name=name, layout=report.layout, X=examples)


def check_output(folder: str | PathLike[str], *, force: bool) -> None:
    """Raise OSError or ValueError, with the reason, if a fit cannot be written to this folder."""
    if not os.fspath(folder):
        raise ValueError("out must be the name of a folder, not ''")
    out = Path(folder)
    path, parent = out.resolve(), out.resolve().parent
    if path == parent:
        raise ValueError(f"out must be a folder of its own, not {os.fspath(folder)!r}")
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; give the name of a folder", str(out))
    if holds_anything(out) and not force:
        raise FileExistsError(errno.EEXIST, "the folder is not empty; force=True replaces files in it", str(out))
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(parent))
    for file in (MODEL, REPORT, SEARCH):
        if (out / file).is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder, and a file is to be written", str(out / file))
    if (out / C_PROJECT).exists() and not (out / C_PROJECT / "selftest.c").is_file():
        raise FileExistsError(errno.EEXIST, "this was not written by billhook: move it away", str(out / C_PROJECT))
    if not os.access(out if out.is_dir() else parent, os.W_OK):
        raise PermissionError(errno.EACCES, "nothing can be written there", str(out))
