"""C sources compiled with the host's compiler and called."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from billhook.codegen import Form, header, source

COMPACT = Form()
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]


def write_sources(packed, folder, form=COMPACT):
    (folder / "model.h").write_text(header(packed, form=form))
    (folder / "model.c").write_text(source(packed, form=form))


def compiled_values(packed, rows, folder):
    """Return the scores (rows) and the numbers that the C program of a regression computes."""
    scores = compiled(packed, folder, "-lm")(rows)[:, 0]
    run = ctypes.CDLL(str(folder / "model.so")).model_value
    run.restype = ctypes.c_float
    rows = np.ascontiguousarray(rows, np.float32)
    return scores, np.array([run(row.ctypes.data_as(ctypes.c_void_p)) for row in rows])


def compiled(packed, folder, *more, form=COMPACT, kind="float"):
    """Return a function from rows of a kind to the scores that the C program computes."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: make toolchains")
    write_sources(packed, folder, form)
    library = folder / "model.so"
    subprocess.run(["gcc", *FLAGS, *more, "-shared", "-fPIC", "model.c", "-o", str(library)], cwd=folder, check=True)
    run = getattr(ctypes.CDLL(str(library)), "model_scores" if kind == "float" else f"model_scores_{kind}")
    run.restype = None

    def scores(rows):
        rows = np.ascontiguousarray(rows, "float32" if kind == "float" else kind)
        out = np.zeros((len(rows), packed.layout.n_columns), np.int32)
        for row, into in zip(rows, out, strict=True):
            run(row.ctypes.data_as(ctypes.c_void_p), into.ctypes.data_as(ctypes.c_void_p))
        return out

    return scores
