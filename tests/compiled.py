"""C sources compiled with the host's compiler and called."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from billhook.codegen import header, source

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]


def write_sources(packed, folder):
    (folder / "model.h").write_text(header(packed))
    (folder / "model.c").write_text(source(packed))


def compiled(packed, folder, *more):
    """Return a function from rows to the scores that the C program computes."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    write_sources(packed, folder)
    library = folder / "model.so"
    subprocess.run(["gcc", *FLAGS, *more, "-shared", "-fPIC", "model.c", "-o", str(library)], cwd=folder, check=True)
    run = ctypes.CDLL(str(library)).model_scores
    run.restype = None

    def scores(rows):
        rows = np.ascontiguousarray(rows, np.float32)
        out = np.zeros((len(rows), packed.layout.n_columns), np.int32)
        for row, into in zip(rows, out, strict=True):
            run(row.ctypes.data_as(ctypes.c_void_p), into.ctypes.data_as(ctypes.c_void_p))
        return out

    return scores
