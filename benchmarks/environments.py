"""Environments of other commits, for the benchmarks that compare with them: made once, kept in build/environments."""

import io
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
    """A virtual environment with Billhook, its extra `fit` and nothing else; how long it took to install it."""

    python: Path
    install_seconds: float

    @property
    def megabytes(self) -> float:
        """What all packages take on disk, pip's aside."""
        sizes = (path.lstat().st_size for path in self.packages.rglob("*") if not path.is_dir())
        pip = (path.lstat().st_size for path in self.packages.glob("pip*/**/*") if not path.is_dir())
        return (sum(sizes) - sum(pip)) / MEGABYTE

    @property
    def packages(self) -> Path:
        """The folder of all packages."""
        code = "import sysconfig; print(sysconfig.get_path('platlib'))"
        return Path(subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout[:-1])


def environment_of(commit: str) -> Environment:
    """Return the environment of a commit, made if it is not there: from what git has of it, as in a fresh clone."""
    name = _git("rev-parse", "--short=7", f"{commit}^{{commit}}").decode().strip()
    folder = FOLDER / name
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "install_seconds"
    if not done.exists():
        print(f"making an environment of {name} in {folder} ...", file=sys.stderr, flush=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", name))) as files:
            files.extractall(folder / "source", filter="data")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
        start = time.perf_counter()
        install = [python, "-m", "pip", "install", "--quiet", f"{folder / 'source'}[fit]"]
        subprocess.run(install, check=True, env=environment_variables(), cwd=folder)
        done.write_text(f"{time.perf_counter() - start:.1f}")
    return Environment(python, float(done.read_text()))


def environment_variables(**others: str) -> dict[str, str]:
    """Return the variables for a process of another environment: without a path to the source of this one."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | others


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout
