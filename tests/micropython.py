"""MicroPython itself, as WebAssembly that Node runs: from the npm registry, once, at one version."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

PACKAGE, VERSION = "@micropython/micropython-webassembly-pyscript", "1.27.0"
CACHE = Path(__file__).parents[1] / ".venv" / "npm"
RUN = Path(__file__).parent / "codegen" / "runtimes" / "run_micropython.mjs"


def micropython():
    """Return the file of MicroPython that Node imports; it is installed where it is not there yet."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")
    there = CACHE / f"micropython-{VERSION}"
    if not there.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={folder}"]
            done = subprocess.run([*command, f"{PACKAGE}@{VERSION}"], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"npm could not install {PACKAGE}: {done.stderr[-300:]}")
            try:
                os.replace(Path(folder) / "node_modules" / PACKAGE, there)
            except OSError:  # another process was faster
                assert there.exists()
    return there / "micropython.mjs"


def run_micropython(script, *files, into=None):
    """Return what a script prints in MicroPython with these files in its folder; `into` is a file that it makes."""
    command = ["node", RUN, micropython(), script, into or "-", *files]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
