"""Ctrl-C at any moment: status 130, one line, and nothing half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

PROGRAM = Path(__file__).parents[1] / "interrupted.py"
STUDY = """\
data = ["iris"]
folds = 2
trees = 4
max_leaves = [4]
n_trees = [2]
caps = [1]
[[methods]]
label = "RE"
prune = "reduced_error"
[[methods]]
label = "LR"
refine = { epochs = 2 }
"""
COMMANDS = {
    "fit": "fit {rows} --label y --budget 300 --trials 2 --jobs 1 --out out",
    "prune": "prune {forest} {rows} --label y --trees 2 --out out.bhk",
    "refine": "refine {forest} {rows} --label y --epochs 2 --out out.bhk",
    "predict": "predict {forest} {rows} --out out.csv",
    "study run": "study run {study} --jobs 1 --out out",
    "study run, two processes": "study run {study} --jobs 2 --out out",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    paths = {"rows": folder / "rows.csv", "forest": folder / "forest.bhk", "study": folder / "study.toml"}
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.assign(y=y).to_csv(paths["rows"], index=False)
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(frame, y))
    forest.save(paths["forest"])
    paths["study"].write_text(STUDY)
    return paths


def check_output(name, out):
    """Assert that what is there can be read, and return whether all is there."""
    if name in ("prune", "refine"):
        return (out.with_suffix(".bhk")).exists() and bool(bh.load(out.with_suffix(".bhk")))
    if name == "predict":
        rows = out.with_suffix(".csv")
        assert not rows.exists() or len(rows.read_text().splitlines()) == 151
        return rows.exists()
    if not out.exists():
        return False
    if name == "fit":
        assert bh.load(out / "model.bhk").nbytes <= 300
        assert (out / "report.html").read_text().rstrip().endswith("</html>")
        assert (out / "c" / "selftest.c").exists()
        return True
    assert set(bh.study.results(out)["status"]) <= {"done"}
    return len(bh.study.results(out)) == 4


@pytest.mark.parametrize(
    ("name", "warm", "moments"),
    [
        ("fit", False, 5),
        ("study run", False, 4),
        ("fit", True, 12),
        ("prune", True, 8),
        ("refine", True, 8),
        ("predict", True, 6),
        ("study run", True, 9),
        ("study run, two processes", True, 8),
    ],
)
def test_interrupted_at_any_moment_a_command_leaves_nothing_half_written(name, warm, moments, inputs, tmp_path):
    command = [part.format(**inputs) for part in COMMANDS[name].split()]
    # Worker processes would not be there for a fork.
    before = [part.format(**inputs) for part in COMMANDS[name.partition(",")[0]].split()] if warm else None
    plan = {"folder": str(tmp_path), "command": command, "warm": before, "moments": moments}
    plan["to_group"] = name.endswith("processes")
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS")}  # threads do not survive a fork
    done = subprocess.run(
        [sys.executable, PROGRAM, json.dumps(plan)],
        env=os.environ | one_thread,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == moments
    assert sum(run["status"] == 130 for run in runs) >= moments // 2
    for run in runs:
        folder = Path(run["folder"])
        told = [line for line in run["said"].splitlines() if line.startswith("billhook:")]
        is_whole = check_output(name, folder / "out")
        if run["status"] == 0:  # it came too late
            assert (is_whole, told) == (True, []), run
        else:
            assert run["status"] == 130, run
            assert len(told) == 1, run
            assert "interrupted; " in told[0], run
            assert ("nothing was written" in told[0]) <= (not is_whole), run
        for word in ("Traceback", "Exception ignored", "Warning", "Error"):
            assert word not in run["said"], run
        left = [path.name for path in folder.rglob("*") if path.name.startswith(".") or "journal" in path.name]
        assert set(left) <= {".running"}, run
        assert not any((folder / "tmp").iterdir()), run


def run_python(code, *arguments):
    # Without site: what an editable installation imports to find the package is not the package's.
    found = f"import os, sys; sys.path.insert(0, {str(Path(bh.__file__).parents[1])!r})\n"
    command = [sys.executable, "-S", "-c", found + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_until_the_command_starts_nothing_but_two_empty_packages_is_imported():
    """Until then Ctrl-C is Python's own, with its traceback."""
    code = """
import sys
before = set(sys.modules)
from billhook.cli import start
print(*sorted(set(sys.modules) - before))
"""
    done = run_python(code)
    assert done.stdout.split() == ["billhook", "billhook.cli"], done.stderr


def test_the_handler_is_there_before_anything_large_is_imported():
    code = """
import sys
before = set(sys.modules)
from billhook.cli import _interrupt, start
_interrupt.install = lambda _: sys.exit(" ".join(sorted(set(sys.modules) - before)))
start()
"""
    loaded = set(run_python(code).stderr.split())
    of_signal = "import sys; before = set(sys.modules); import signal; print(*(set(sys.modules) - before))"
    needed = set(run_python(of_signal).stdout.split())
    assert "signal" in needed
    assert loaded - needed == {"billhook", "billhook.cli", "billhook.cli._interrupt"}


def test_interrupted_from_its_first_call_on_the_command_says_so():
    """Ctrl-C at moments spread over the import of what deals with it, up to where it does; counted in calls."""
    code = """
import os, sys
moment, n_calls = int(sys.argv[1]), 0
from billhook.cli import start
def profile(frame, event, argument):
    global n_calls
    if event in ("call", "c_call"):
        n_calls += 1
        if n_calls == moment:
            os.kill(os.getpid(), 2)
        if frame.f_code.co_name == "run_process":
            sys.exit(str(n_calls))
sys.setprofile(profile)
start()
"""
    run_python(code, "0")  # compiles what has changed, which takes calls too
    n_calls = int(run_python(code, "0").stderr)
    assert n_calls > 100
    for moment in range(2, n_calls, n_calls // 16):  # the first is the call of `start`
        done = run_python(code, str(moment))
        assert (done.returncode, done.stderr) == (130, "billhook: interrupted; nothing was written\n"), moment


@pytest.mark.parametrize("system", ["", "del signal.pthread_kill"])
def test_an_interruption_that_cannot_be_raised_comes_again(system):
    """In a callback from compiled code nothing can be raised; Windows has no pthread_kill."""
    code = f"""
import ctypes, signal, time
from billhook.cli import _interrupt
{system}
_interrupt.install()
_interrupt.can_stop()
callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
try:
    callback()
    for _ in range(60_000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900)
    assert done.stdout == "stopped\n"
