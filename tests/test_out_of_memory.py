"""Memory that runs out, as `ulimit -v` has it: nothing is lost, and what is said helps."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from billhook._out_of_memory import is_out_of_memory
from billhook.study import DataSource, Method, ResultsError, Study
from billhook.study import _unit_process as unit_process

XGBoostError = pytest.importorskip("xgboost").core.XGBoostError
pytest.importorskip("resource", reason="limits of memory are those of POSIX")
if not os.path.exists("/proc/self/statm"):
    pytest.skip("how much memory a process has is read from /proc", allow_module_level=True)

# From now on a process may take so many megabytes more.
LIMIT = """
import os, resource
def limit(megabytes):
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = now + megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""
FIT = """
import billhook as bh
limits = []
def progress(search):
    if not limits and search.best(search.budgets[-1]) is not None:
        limits.append(limit(MEGABYTES))
found = bh.fit_table("rows.csv", "y", budget=500, n_trials=8, n_jobs=1, keep_best=KEEP, progress=progress, out=OUT)
print(found.ran_out_of_memory, *found.report.notes, sep="\\n")
"""
FITTING = """
import sys
import pandas, scipy.special
from billhook.cli import _fit, main
limits = []
def show(display, search):
    if not limits and search.best(search.budgets[-1]) is not None:
        limits.append(limit(MEGABYTES))
_fit._show = show
sys.exit(main(ARGUMENTS))
"""
COMMAND = """
import sys
import pandas, scipy.special, billhook.cli._fit
from billhook.cli import main
limit(MEGABYTES)
sys.exit(main(ARGUMENTS))
"""
# Does units of a study, with so little memory for each.
LIMITED_UNITS = """
from billhook.study import _unit_process
run_unit = _unit_process.run_unit
def run_with_little(*arguments):
    limit(MEGABYTES)
    run_unit(*arguments)
_unit_process.run_unit = run_with_little
_unit_process.serve()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table that takes 3 MB, as numbers."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 25)).round(3)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(25)])
    y = np.where(X[:, :4].sum(axis=1) + rng.normal(size=len(X)) > 0, "yes", "no")
    frame.assign(y=y).to_csv(folder / "rows.csv", index=False)
    return folder


def ran(text, folder, **names):
    """Run a program in a folder, with values for names; return its exit status, and what it printed and said."""
    for name, value in names.items():
        text = text.replace(name, repr(value))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMIT + text], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("megabytes", [0, 10])
def test_the_best_model_until_then_is_kept(megabytes, folder):
    status, printed, said = ran(FIT, folder, MEGABYTES=megabytes, KEEP=True, OUT=f"kept{megabytes}")
    assert status == 0, said
    assert printed.startswith("True\n")
    assert "Memory ran out: this is the best model found until then. Fewer jobs (n_jobs=1), rows or colu" in printed
    assert bh.load(folder / f"kept{megabytes}" / "model.bhk").nbytes <= 500
    assert (folder / f"kept{megabytes}" / "report.html").exists()


def test_unless_it_is_to_be_kept_that_is_an_error(folder):
    status, _, said = ran(FIT, folder, MEGABYTES=0, KEEP=False, OUT="not kept")
    assert status == 1
    assert re.search(r"MemoryError|bad_alloc|can't start new thread|Cannot allocate memory", said.splitlines()[-1]), (
        said
    )
    assert not (folder / "not kept").exists()


def test_a_command_that_has_a_model_by_then_writes_it_and_ends_with_a_status_of_its_own(folder):
    arguments = [
        "fit",
        "rows.csv",
        "--label",
        "y",
        "--budget",
        "500",
        "--trials",
        "8",
        "--jobs",
        "1",
        "--out",
        "best",
    ]
    status, printed, said = ran(FITTING, folder, MEGABYTES=0, ARGUMENTS=arguments)
    assert status == 5, said
    assert "Wrote best/model.bhk" in printed
    assert "billhook: memory ran out; the best model found until then is in best" in said
    assert bh.load(folder / "best" / "model.bhk").nbytes <= 500


def test_an_error_that_quotes_a_name_is_not_for_want_of_memory(folder):
    for arguments in (
        ["emit", "bad_alloc.bhk", "--out", "x"],
        ["fit", "bad_alloc.csv", "--label", "y", "--out", "x"],
    ):
        status, _, said = ran(COMMAND, folder, MEGABYTES=4_000, ARGUMENTS=arguments)
        assert status == 2
        assert "o such file" in said
        assert "memory" not in said


def raised_while_handling(first, last):
    last.__context__ = first  # as Python does
    return last


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOENT, "No such file", "bad_alloc"), False),
        (OSError("x.so: failed to map segment from shared object"), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (XGBoostError("std::bad_alloc"), True),
        (ValueError("there is no column bad_alloc"), False),
        (bh.ModelFileError("bad_alloc.bhk is no model"), False),
        (raised_while_handling(MemoryError(), ValueError("it failed")), True),
    ],
)
def test_what_is_for_want_of_memory(error, is_so):
    assert is_out_of_memory(error) == is_so


def test_an_error_that_stands_in_place_of_another_counts_alone():
    error = raised_while_handling(MemoryError(), ValueError("label is missing"))
    error.__suppress_context__ = True  # as `from None` does
    assert not is_out_of_memory(error)


@pytest.mark.parametrize("megabytes", [1, 8])
def test_a_command_says_what_helps_and_leaves_nothing(megabytes, folder):
    arguments = ["fit", "rows.csv", "--label", "y", "--budget", "500", "--trials", "2", "--out", "made"]
    status, _, said = ran(COMMAND, folder, MEGABYTES=megabytes, ARGUMENTS=arguments)
    assert status == 2, said
    assert "memory ran out: fewer jobs, rows or columns need less, and `ulimit -v` says whether there is a" in said
    assert "Traceback" not in said
    assert not (folder / "made").exists()


@pytest.mark.parametrize("megabytes", [1, 12])
def test_a_study_whose_processes_have_too_little_loses_nothing(megabytes, folder, tmp_path, monkeypatch):
    study = Study(
        "mine",
        (DataSource("mine", str(folder / "rows.csv"), "y"), DataSource("iris")),
        (Method("RE", prune="reduced_error"), Method("first")),
        folds=2,
        n_base_trees=8,
        max_leaves=(8, 16),
        n_trees=(2, 4),
    )
    whole = bh.study.run(study, tmp_path / "whole", n_jobs=2)
    there = tmp_path / "there"
    with monkeypatch.context() as patched:
        patched.setattr(unit_process, "COMMAND", LIMIT + LIMITED_UNITS.replace("MEGABYTES", str(megabytes)))
        said = ""
        try:
            bh.study.run(study, there, n_jobs=2)
        except ResultsError as error:
            said = str(error)
    if said:
        assert "perhaps for want of memory" in said or "memory ran out in the process of" in said
        assert "run it again, with fewer jobs or a memory limit" in said
    found = bh.study.results(there)
    failed = found[found["status"] != "done"]
    assert len(failed) or said
    for reason in failed["reason"]:
        assert reason.startswith("memory ran out (")
        assert reason.endswith("): run it again with retry, and fewer jobs or a memory limit")
    key = ["data", "fold", "base", "method", "n_leaves", "n_trees"]
    done = found[found["status"] == "done"].merge(whole[key], on=key).drop(columns="seconds")
    kept = whole.merge(done[key], on=key).drop(columns="seconds")
    assert done.to_json(orient="records") == kept.to_json(orient="records")
    again = bh.study.run(study, there, n_jobs=2, retry=True)
    pd.testing.assert_frame_equal(again.drop(columns="seconds"), whole.drop(columns="seconds"), check_exact=True)
