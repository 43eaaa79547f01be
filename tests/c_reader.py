"""The C reader of blobs: compiled with the host's compilers and called, and as a program for emulators."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from billhook.codegen._resources import runtime_source
from billhook.codegen._runtime_c import blob_header

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
ERRORS = ("ok", "not a blob", "wrong version", "cut off", "damaged", "invalid", "too large", "scratch", "left out")
# More than any bh_model takes.
MODEL_BYTES = 1024
HEADER = """#include <stdint.h>
#define MODEL_N_FEATURES {n_features}
#define MODEL_N_SCORES {n_scores}
void model_scores(const float *x, int32_t *scores);
"""
SOURCE = """#include <string.h>
#include "billhook.h"
#include "the_blob.h"
#include "model.h"
void model_scores(const float *x, int32_t *scores)
{
    static bh_model model;
    static int32_t scratch[THE_SCRATCH];
    static uint8_t is_open;
    if (!is_open && bh_open(&model, the_blob, sizeof the_blob, scratch, THE_SCRATCH))
        return;
    is_open = 1;
    memcpy(scores, bh_scores(&model, x), 4 * MODEL_N_SCORES);
    *scores += 0 * bh_predict(&model, x);
}
"""


def write_reader(folder):
    for name in ("billhook.h", "billhook.c"):
        (folder / name).write_text(runtime_source(f"c/{name}"))


def write_model(packed, folder, source=SOURCE):
    """Write a model as the firmware that runs models in emulators takes it: model.h and model.c, all in one."""
    write_reader(folder)
    (folder / "the_blob.h").write_text(blob_header(packed, "the"))
    (folder / "model.h").write_text(HEADER.format(n_features=packed.n_features, n_scores=packed.layout.n_columns))
    (folder / "model.c").write_text(source + '#include "billhook.c"\n')


class Reader:
    """The reader as a library."""

    def __init__(self, folder, *options, compiler="gcc"):
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed: make toolchains")
        write_reader(folder)
        command = [compiler, *FLAGS, *options, "-shared", "-fPIC", "billhook.c", "-o", "reader.so"]
        subprocess.run(command, cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "reader.so"))
        for name in ("bh_scores", "bh_scores_int16", "bh_scores_uint8"):
            if hasattr(self.library, name):
                getattr(self.library, name).restype = ctypes.POINTER(ctypes.c_int32)
        if hasattr(self.library, "bh_value"):
            self.library.bh_value.restype = ctypes.c_float
        self.library.bh_error_text.restype = ctypes.c_char_p

    def open(self, blob, n_scratch=1 << 16):
        """Return an open model, or the word for the error."""
        model, scratch = ctypes.create_string_buffer(MODEL_BYTES), (ctypes.c_int32 * n_scratch)()
        model.blob = blob if isinstance(blob, ctypes.Array) else ctypes.create_string_buffer(blob, len(blob))
        model.scratch = scratch
        size = ctypes.c_size_t(len(blob))
        error = self.library.bh_open(model, model.blob, size, scratch, ctypes.c_size_t(n_scratch))
        return ERRORS[error] if error else model

    def scores(self, model, rows, n_columns):
        return np.array([self.library.bh_scores(model, _at(row))[:n_columns] for row in _floats(rows)])

    def scores_of_whole(self, model, rows, n_columns):
        """Return the scores of rows of int16, or of uint8."""
        function = getattr(self.library, f"bh_scores_{rows.dtype}")
        return np.array([function(model, _at(row))[:n_columns] for row in rows])

    def classes_of_whole(self, model, rows):
        function = getattr(self.library, f"bh_predict_{rows.dtype}")
        return np.array([function(model, _at(row)) for row in rows])

    def classes(self, model, rows):
        return np.array([self.library.bh_predict(model, _at(row)) for row in _floats(rows)])

    def values(self, model, rows):
        return np.array([self.library.bh_value(model, _at(row)) for row in _floats(rows)])

    def probabilities(self, model, rows, n_classes):
        out = np.full((len(rows), n_classes), np.nan, np.float32)
        for row, into in zip(_floats(rows), out, strict=True):
            self.library.bh_proba(model, _at(row), _at(into))
        return out


def _floats(rows):
    return np.ascontiguousarray(rows, np.float32)


def _at(array):
    return array.ctypes.data_as(ctypes.c_void_p)
