"""The extension compiled in other ways: no warning, no fault that a sanitizer finds, and the same bits."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import billhook.kernels

HERE = Path(__file__).parents[1]
# Where the sources are, wherever the extension is.
SOURCES = sorted(Path(billhook.kernels.__file__).parent.glob("*.c"))
OPTIONS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-shared"]
# The digests of whole models: see tests/budget/test_locked_models.py.
LOCK = HERE / "budget" / "locked_models.json"
CROSS_COMPILE = HERE.parent / "tools" / "cross-compile-kernels"


def compile_kernels(compiler, folder, *options):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed: make toolchains")
    path = folder / "_native.abi3.so"
    headers = f"-I{sysconfig.get_path('include')}"
    subprocess.run([compiler, *OPTIONS, *options, headers, *SOURCES, "-o", path, "-lm"], check=True)
    return path


def run_all_kernels(*arguments, **environment):
    return run_json("all_kernels.py", *arguments, **environment)


def run_json(script, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, HERE / script, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed():
    return run_all_kernels()


def test_all_kernels_are_among_those_that_are_compared(installed):
    assert installed["never called"] == []


@pytest.mark.parametrize(("compiler", "machine"), [("gcc", "x86-64"), ("gcc", "native"), ("clang", "native")])
def test_every_compiler_and_instruction_set_gives_the_same_bits(compiler, machine, installed, tmp_path):
    if machine == "x86-64" and not sysconfig.get_platform().endswith("x86_64"):
        pytest.skip("this is no x86-64")
    path = compile_kernels(compiler, tmp_path, "-O3", f"-march={machine}")
    assert run_all_kernels(str(path)) == installed
    assert run_json("locked_models.py", "1", str(path)) == json.loads(LOCK.read_text())


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers_find_nothing(compiler, installed, tmp_path):
    path = compile_kernels(
        # What clang gains by optimizing, it loses while compiling.
        compiler, tmp_path, "-O1" if compiler == "gcc" else "-O0",
        # -g1: lines and functions are all that a report names, and the rest takes a third of the time.
        "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
        *(["-shared-libasan"] if compiler == "clang" else []),
    )  # fmt: skip
    name = "libasan.so" if compiler == "gcc" else "libclang_rt.asan-x86_64.so"
    library = subprocess.check_output([compiler, f"-print-file-name={name}"], text=True)
    # Python itself does not free all it allocates.
    with_sanitizers = {"LD_PRELOAD": library.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    assert run_all_kernels(str(path), **with_sanitizers) == installed


@pytest.mark.parametrize("target", ["x86_64-windows-gnu", "aarch64-macos", "aarch64-linux-gnu"])
def test_it_compiles_and_links_for_other_systems(target):
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: pip install 'billhook[dev]'")
    done = subprocess.run([sys.executable, CROSS_COMPILE, target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(target)
