"""Environments of other commits, for the benchmarks that compare with them: made once, kept in build/environments."""

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "environments"
RELEASE = "b4ae2d1"  # 0.1.0
MEGABYTE = 1_000_000


class Environment(NamedTuple):
    """A virtual environment with what fits models and nothing else; what it took to install."""

    python: Path
    install_seconds: float
    megabytes: float


def environment_of(commit: str) -> Environment:
    """Return the environment of a commit, made if it is not there: from what git has of it, as in a fresh clone."""
    name = _git("rev-parse", "--short=7", f"{commit}^{{commit}}").decode().strip()
    folder = FOLDER / name
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed.json"
    if not done.exists():
        print(f"making an environment of {name} in {folder} ...", file=sys.stderr, flush=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", name))) as files:
            files.extractall(folder / "source", filter="data")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
        start = time.perf_counter()
        extra = "[fit]" if name == _git("rev-parse", "--short=7", RELEASE).decode().strip() else ""
        install = [python, "-m", "pip", "install", "--quiet", f"{folder / 'source'}{extra}"]
        subprocess.run(install, check=True, env=environment_variables(), cwd=folder)
        seconds = time.perf_counter() - start
        done.write_text(json.dumps([round(seconds, 1), round(_megabytes(python), 1)]))
    return Environment(python, *json.loads(done.read_text()))


def install_too(environment: Environment, *packages: str) -> None:
    """Install what a benchmark needs beside the release; nothing if it is there."""
    subprocess.run([environment.python, "-m", "pip", "install", "--quiet", *packages], check=True)


def _megabytes(python: Path) -> float:
    """Return what all packages take on disk, pip's aside."""
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    packages = Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    files = (path for path in packages.rglob("*") if not path.is_dir())
    own = (path for path in files if not path.relative_to(packages).parts[0].startswith("pip"))
    return sum(path.lstat().st_size for path in own) / MEGABYTE


def environment_variables(**others: str) -> dict[str, str]:
    """Return the variables for a process of another environment: without a path to the source of this one."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | others


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout
