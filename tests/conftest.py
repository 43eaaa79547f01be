import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

# One thread for OpenMP and BLAS, here and in the processes that tests start: the workers of a test run have the cores
# already, and threads that wait for each other in a loop take a third of the time. NumPy reads it when imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Without it, scikit-learn skips its checks that estimators take the arrays of other libraries.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from hypothesis import settings

# Hundreds of processes are started: without __pycache__, each would compile all modules that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# One fixed sequence of examples: a red run is red again. More of them: --hypothesis-profile=thorough
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("quick")

# When `make fuzz` begins no further test, in seconds since 1970.
FUZZ_UNTIL = os.environ.get("BILLHOOK_FUZZ_UNTIL")

# Written by `make test` where it could not install Debian packages: why not.
TRIED = Path(__file__).parents[1] / ".venv" / ".tried-packages"


# The files that take longest go first: a worker that gets one last works alone at the end.
LONGEST = (
    "codegen/test_source.py",
    "kernels/test_build.py",
    "docs/test_site.py",
    "cluster/test_cluster.py",
    "study/test_run.py",
    "codegen/test_measure.py",
    "cli/test_interrupt.py",
    "study/test_work.py",
    "codegen/test_answers.py",
    "study/test_cluster.py",
    "test_docs.py",
    "pruning/test_methods.py",
    "estimators/test_compact.py",
    "budget/test_search.py",
    "test_ids.py",
    "codegen/runtimes/test_rust.py",
    "budget/test_time.py",
    "test_release.py",
    "interop/test_sklearn.py",
)


def pytest_collection_modifyitems(items):
    """Put the tests of the files that take longest first."""
    place = {str(Path(__file__).parent / name): number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(str(item.path), len(place)))
    if FUZZ_UNTIL:  # other tests are the first each time, the same for the same seed and in all processes
        random.Random(os.environ.get("BILLHOOK_FUZZ_SEED", "0")).shuffle(items)


def pytest_runtest_setup():
    """Begin no test of `make fuzz` after its time."""
    if FUZZ_UNTIL and time.time() > float(FUZZ_UNTIL):
        pytest.skip("the time of the fuzzing was over")


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested, why, and what to do about it."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    if not reasons:
        return
    n_tests = reasons.total()
    terminalreporter.section(f"{n_tests:,} test{'s were' if n_tests > 1 else ' was'} not run", sep="-")
    for reason, n_alike in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        terminalreporter.line(f"{n_alike:5,}  {reason}")
    if any("make toolchains" in reason for reason in reasons) and TRIED.exists():
        terminalreporter.line(TRIED.read_text().strip())


@pytest.fixture(scope="session")
def load_table():
    """Return a function from the name of one of the paper's data sets to (X, y); skips where they are absent."""
    folder = os.environ.get("BILLHOOK_DATA")
    if not folder:
        pytest.skip("BILLHOOK_DATA is not set: the paper's data sets are not here")
    pandas = pytest.importorskip("pandas")

    def load(name):
        path = Path(folder) / f"{name}.parquet"
        if not path.exists():
            pytest.skip(f"no {path.name} in BILLHOOK_DATA")
        table = pandas.read_parquet(path)
        label = table.pop("label").to_numpy()
        return pandas.get_dummies(table).to_numpy(np.float32), label

    return load


@pytest.fixture
def data_cache(tmp_path, monkeypatch):
    """Return the folder of an empty user's cache of data sets; there are no others."""
    from billhook.datasets import _download, cache_folder

    for variable in ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.delenv("BILLHOOK_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(_download, "PAUSE", 0.0)
    folder = cache_folder()
    assert tmp_path in folder.parents
    return folder


@pytest.fixture
def data_server(data_cache, monkeypatch):  # noqa: ARG001 - what comes from it must not go to the real cache
    """Return a server on this machine in the place of OpenML and UCI."""
    from data_server import DataServer

    server = DataServer()
    monkeypatch.setenv("BILLHOOK_MIRROR", server.url)
    yield server
    server.close()
