"""exp and log of functions.h against those of long doubles."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import billhook.kernels

SOURCE = """
#include "functions.h"
void exp_all(size_t n, const double *x, double *out) { for (size_t i = 0; i < n; i++) out[i] = exp_of(x[i]); }
void log_all(size_t n, const double *x, double *out) { for (size_t i = 0; i < n; i++) out[i] = log_of(x[i]); }
"""

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long doubles are no longer than doubles here"
)


@pytest.fixture(scope="module", params=["-O1", "-O3"])
def functions(request, tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: make toolchains")
    folder = tmp_path_factory.mktemp("functions")
    (folder / "functions.c").write_text(SOURCE)
    headers = f"-I{Path(billhook.kernels.__file__).parent}"
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC", request.param]
    subprocess.run(["gcc", *options, headers, "functions.c", "-o", "functions.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "functions.so"))

    def call(name, x):
        x = np.ascontiguousarray(x, np.float64)
        out = np.empty_like(x)
        pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, out))
        getattr(library, name)(ctypes.c_size_t(x.size), *pointers)
        return out

    return call


def units_wrong(got, exact):
    return np.abs((got - exact) / np.spacing(np.abs(exact.astype(np.float64)))).astype(np.float64)


def test_exp_is_wrong_by_less_than_a_unit_in_the_last_place(functions):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 709, 200_000), rng.normal(size=200_000), rng.normal(size=1000) * 1e-12])
    assert units_wrong(functions("exp_all", x), np.exp(x.astype(np.longdouble))).max() < 1.0
    assert functions("exp_all", [0.0, -0.0]).tolist() == [1.0, 1.0]


def test_exp_stays_within_the_normal_numbers(functions):
    ends = functions("exp_all", [-708.0, 709.0])
    assert (functions("exp_all", [-1e300, -709.0, 709.5, np.inf]) == ends[[0, 0, 1, 1]]).all()
    assert ends[0] > np.finfo(np.float64).tiny
    assert np.isfinite(ends[1])


def test_log_is_wrong_by_less_than_a_unit_in_the_last_place(functions):
    rng = np.random.default_rng(1)
    x = np.concatenate([
        np.exp(rng.uniform(-700, 700, 200_000)),
        rng.uniform(1e-9, 3.0, 200_000),
        1.0 + rng.normal(size=100_000) * 1e-3,
        [np.finfo(np.float64).tiny, np.finfo(np.float64).max, 2.0**-0.5, 2.0**0.5, np.nextafter(1.0, 0.0)],
    ])  # fmt: skip
    assert units_wrong(functions("log_all", x), np.log(x.astype(np.longdouble))).max() < 1.0
    assert functions("log_all", [1.0]).tolist() == [0.0]
