"""Memory that runs out, as `ulimit -v` has it: nothing is lost, and what is said helps."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from billhook.study import DataSource, Method, ResultsError, Study
from billhook.study import _unit_process as unit_process

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
    assert "Error" in said
    assert not (folder / "not kept").exists()


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
