"""Running studies: killed, refused, on a full disk, with any number of workers."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from billhook.study import DataSource, Method, ResultsError, Study
from billhook.study import _job as job
from billhook.study import _local_backend as local
from billhook.study import _plan as planning
from billhook.study import _run as running
from billhook.study import _store as storing
from billhook.study import _unit_process as unit_process
from billhook.study._store import Store

SIGNALLED = Path(__file__).parents[1] / "signalled.py"
OWN = """\
data = ["digits", "iris", "wine"]
folds = 2
seed = 3
trees = 16
max_leaves = [4, 8, 16]
n_trees = [2, 4, 8]

[[methods]]
label = "RE"
prune = "reduced_error"

[[methods]]
label = "CA"
prune = "cluster_accuracy"

[[methods]]
label = "DREP"
prune = "drep"
options = { rho = [0.3, 0.5] }

[[methods]]
label = "LR"
refine = { solver = "bcd", epochs = 3 }

[[methods]]
label = "GB"
base = "gradient_boosting"
options = { engine = "histogram" }
"""
STAND_IN = {"iris": "iris", "wine": "wine", "eeg": "iris"}
N_RUNS = 3 * 2 * 3 * 3 * 6
SMALL = Study(
    "small",
    (DataSource("iris"), DataSource("wine")),
    (Method("RE", prune="reduced_error"), Method("first")),
    folds=2,
    n_base_trees=8,
    max_leaves=(4, 8),
    n_trees=(2, 4),
)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "own.toml"
    path.write_text(OWN)
    return path


@pytest.fixture(scope="module")
def whole(own, tmp_path_factory):
    """Return the table of a run that was not interrupted, by one process."""
    return bh.study.run(bh.study.read(own), tmp_path_factory.mktemp("whole") / "results")


def assert_same(found, expected):
    """Assert that two tables are equal but for times."""
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"), check_exact=True)


def test_a_study_is_complete_and_all_is_done(whole):
    assert len(whole) == N_RUNS
    assert set(whole["status"]) == {"done"}
    assert whole["accuracy"].between(0.2, 1.0).all()
    assert (whole["seconds"] > 0).all()


def test_any_number_of_workers_gives_the_same_numbers(own, whole, tmp_path):
    assert_same(bh.study.run(bh.study.read(own), tmp_path / "two", n_jobs=2), whole)


def started(own, folder, *more):
    command = [sys.executable, "-m", "billhook", "study", "run", str(own), "--out", str(folder), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count(folder):
    path = folder / storing.FILE
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=60) as connection:
        found = connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    connection.close()
    return found


def signalled(number, n_runs, own, folder, *more):
    """Run the study, with a signal after so many runs; return the status, what was said, and its processes."""
    command = [sys.executable, SIGNALLED, str(int(number)), str(n_runs), "study", "run", own, "--out", folder, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, [int(child) for child in done.stdout.split()]


def is_gone(process):
    return not Path(f"/proc/{process}/cmdline").exists()


def wait_until(is_so, seconds=900.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_killed_at_any_moment_it_goes_on_where_it_was(own, whole, tmp_path):
    folder = tmp_path / "killed"
    random = np.random.default_rng(0)
    before = 0
    for jobs in (1, 2, 2):
        n_runs = int(random.integers(1, 70))
        status, _, children = signalled(signal.SIGKILL, n_runs, own, folder, "--jobs", str(jobs))
        assert status == -signal.SIGKILL
        assert len(children) == (jobs if jobs > 1 else 0)
        # Workers that lost their parent stop by themselves.
        wait_until(lambda children=children: all(map(is_gone, children)))
        assert before + n_runs <= count(folder) < N_RUNS
        before = count(folder)
        assert len(bh.study.results(folder)) == before
    process = started(own, folder, "--jobs", "2", "--resume")
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    assert f"{N_RUNS:,} done" in out
    assert_same(bh.study.results(folder), whole)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_it_says_how_to_go_on(jobs, own, whole, tmp_path):
    folder = tmp_path / "interrupted"
    status, said, children = signalled(signal.SIGINT, 5, own, folder, "--jobs", jobs)
    assert status == 130
    assert "interrupted; what was finished is in" in said
    assert "Traceback" not in said
    assert 5 <= count(folder) < N_RUNS
    assert all(map(is_gone, children))
    assert_same(bh.study.run(bh.study.read(own), folder), whole)


def test_the_process_of_units_with_a_time_limit_ends_with_its_parent(own, whole, tmp_path):
    folder = tmp_path / "limited"
    for number in (signal.SIGKILL, signal.SIGINT):
        _, said, children = signalled(number, 5, own, folder, "--jobs", "1", "--time-limit", "600")
        assert len(children) == 1
        assert "Traceback" not in said
        wait_until(lambda children=children: all(map(is_gone, children)))
    assert_same(bh.study.run(bh.study.read(own), folder), whole)


def test_a_worker_that_is_killed_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(unit_process, "COMMAND", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ResultsError, match=r"the process of .*, fold \d, .* was killed, perhaps for want of memory"):
        bh.study.run(SMALL, tmp_path / "results", n_jobs=2)


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    first = bh.study.run(SMALL, tmp_path / "results")
    monkeypatch.setattr(job, "run_unit", lambda *_: pytest.fail("there is nothing to do"))
    again = bh.study.run(SMALL, tmp_path / "results")
    pd.testing.assert_frame_equal(first, again)


def test_a_second_run_in_the_same_folder_is_refused(own, tmp_path):
    folder = tmp_path / "results"
    process = started(own, folder, "--jobs", "1")
    try:
        wait_until(lambda: count(folder) >= 1 or process.poll() is not None)
        with pytest.raises(ResultsError, match="another process is running a study in"):
            bh.study.run(bh.study.read(own), folder)
        assert len(bh.study.results(folder)) >= 1  # reading is allowed
    finally:
        process.kill()
        process.communicate()


def test_results_of_another_study_are_refused_and_stay(tmp_path):
    folder = tmp_path / "results"
    first = bh.study.run(SMALL, folder)
    before = (folder / storing.FILE).read_bytes()
    for other, what in (
        (replace(SMALL, folds=3), "folds: 2 there, 3 here"),
        (replace(SMALL, data=SMALL.data[:1]), "data: .* there, .* here"),
        (replace(SMALL, methods=(Method("RE", prune="drep"), Method("first"))), "methods: the same names with other"),
    ):
        with pytest.raises(ResultsError, match=f"another study .{what}"):
            bh.study.run(other, folder)
    assert (folder / storing.FILE).read_bytes() == before
    pd.testing.assert_frame_equal(bh.study.results(folder), first)


def test_results_of_other_versions_are_refused_unless_allowed(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    bh.study.run(SMALL, folder)
    real = running.versions()
    monkeypatch.setattr(running, "versions", lambda: {**real, "numpy": "99.0"})
    with pytest.raises(ResultsError, match=r"numpy 2\S* there, 99.0 here.*\(any_version=True\)"):
        bh.study.run(SMALL, folder)
    assert len(bh.study.run(SMALL, folder, any_version=True)) == 32


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ResultsError, match=r"holds thesis\.tex and no results"):
        bh.study.run(SMALL, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".running", "thesis.tex"]


@pytest.mark.parametrize("damage", [b"no database at all" * 300, b""])
def test_a_damaged_file_is_said_and_left_alone(tmp_path, damage):
    folder = tmp_path / "results"
    bh.study.run(SMALL, folder)
    (folder / storing.FILE).write_bytes(damage)
    with pytest.raises(ResultsError, match=r"is damaged .*Move it away to begin anew"):
        bh.study.run(SMALL, folder)
    assert (folder / storing.FILE).read_bytes() == damage


def test_a_torn_page_is_said(tmp_path):
    folder = tmp_path / "results"
    bh.study.run(SMALL, folder)
    path = folder / storing.FILE
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="is damaged"):
        bh.study.run(SMALL, folder)
    assert path.read_bytes() == content


def test_another_format_is_refused(tmp_path):
    folder = tmp_path / "results"
    bh.study.run(SMALL, folder)
    with sqlite3.connect(folder / storing.FILE) as connection:
        connection.execute("UPDATE about SET value = '7' WHERE name = 'format'")
    connection.close()
    with pytest.raises(ResultsError, match="is of format 7, and this version of Billhook reads format 1"):
        bh.study.results(folder)


def test_a_full_disk_loses_nothing_that_was_written(own, whole, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    study = bh.study.read(own)
    connect = sqlite3.connect

    def small_disk(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 12")  # SQLite itself then finds no more room
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(storing.sqlite3, "connect", small_disk)
        with pytest.raises(ResultsError, match="What was written before is there: make room, and run it"):
            bh.study.run(study, folder)
    some = bh.study.results(folder)
    assert 10 < len(some) < N_RUNS
    assert_same(bh.study.run(study, folder), whole)


def test_missing_data_sets_are_an_error_before_anything_runs(tmp_path, data_cache, monkeypatch):  # noqa: ARG001
    monkeypatch.setenv("BILLHOOK_MIRROR", "http://127.0.0.1:9")
    study = replace(SMALL, data=(*SMALL.data, DataSource("eeg")))
    with pytest.raises(
        FileNotFoundError, match=r"1 of 3 data sets cannot be found, .*eeg is not here.*\(skip_missing=True\)"
    ):
        bh.study.run(study, tmp_path / "results")
    assert not (tmp_path / "results").exists()
    found = bh.study.run(study, tmp_path / "results", skip_missing=True)
    assert found.groupby("data")["status"].unique().map(list).to_dict() == {
        "eeg": ["skipped"],
        "iris": ["done"],
        "wine": ["done"],
    }
    assert found.loc[found["data"] == "eeg", "reason"].str.contains("eeg is not here").all()
    # When they are there, they are made.
    load = bh.study.load_source
    monkeypatch.setattr(planning, "load_source", lambda source: load(replace(source, name=STAND_IN[source.name])))
    monkeypatch.setattr(local, "load_again", lambda source, _: load(replace(source, name=STAND_IN[source.name])))
    assert set(bh.study.run(study, tmp_path / "results", any_version=True)["status"]) == {"done"}


def test_of_a_given_split_no_fold_stays_skipped(tmp_path, data_cache, monkeypatch):  # noqa: ARG001 - nothing is here
    monkeypatch.setenv("BILLHOOK_MIRROR", "http://127.0.0.1:9")
    study = replace(SMALL, data=(DataSource("iris"), DataSource("mnist")))
    first = bh.study.run(study, tmp_path / "results", skip_missing=True)
    assert set(first.loc[first["data"] == "mnist", "fold"]) == {0, 1}  # it cannot be known that there is one
    load = bh.study.load_source
    rows = np.arange(150)
    split = replace(load(DataSource("iris")), train=rows[::2], test=rows[1::2])
    for module, name in ((planning, "load_source"), (local, "load_again")):
        monkeypatch.setattr(module, name, lambda source, *_: split if source.name == "mnist" else load(source))
    found = bh.study.run(study, tmp_path / "results")
    assert set(found["status"]) == {"done"}
    assert set(found.loc[found["data"] == "mnist", "fold"]) == {0}
    assert len(found) == bh.study.about(tmp_path / "results")["runs"]


def test_an_unknown_data_set_has_a_nearest_name(tmp_path):
    with pytest.raises(ValueError, match="there is no data set 'iriss'; did you mean 'iris'"):
        bh.study.run(replace(SMALL, data=(DataSource("iriss"),)), tmp_path / "results")


def test_tables_of_ones_own(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(120, 3)), columns=["a", "b", "c"])
    table["kind"] = np.where(table["a"] + table["b"] > 0, "up", "down")
    table["colour"] = random.choice(["red", "green"], 120)
    table.to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "study.toml").write_text(
        'data = [{ path = "mine.csv", label = "kind" }]\nfolds = 2\ntrees = 8\nmax_leaves = [8]\nn_trees = [4]\n'
        '[[methods]]\nlabel = "RE"\nprune = "reduced_error"\n'
    )
    found = bh.study.run(bh.study.read(tmp_path / "study.toml"), tmp_path / "results")
    assert list(found["data"]) == ["mine"] * 2
    assert (found["accuracy"] > 0.7).all()


def test_numbers_to_predict_are_refused(tmp_path):
    table = pd.DataFrame({"a": np.arange(50.0), "y": np.arange(50) * 0.37})
    table.to_csv(tmp_path / "numbers.csv", index=False)
    source = DataSource("mine", str(tmp_path / "numbers.csv"), "y")
    with pytest.raises(ValueError, match="has 50 classes in 50 rows; it looks like a number to predict"):
        bh.study.run(replace(SMALL, data=(source,)), tmp_path / "results")


def test_a_memory_limit_lets_fewer_work_at_once():
    jobs = [type("Job", (), {"n_bytes": size, "unit": SMALL})() for size in (900, 400, 200)]
    assert [(len(some), n) for some, n in planning.by_memory(jobs, 4, 1000)] == [(1, 1), (1, 2), (1, 4)]
    assert [(len(some), n) for some, n in planning.by_memory(jobs, 4, None)] == [(3, 4)]


def test_a_memory_limit_that_is_too_low_is_said(tmp_path):
    with pytest.raises(ValueError, match="the memory limit of 1,000 bytes is too low for"):
        bh.study.run(SMALL, tmp_path / "results", memory_limit=1000)


def test_failed_runs_are_made_again_if_asked_for(tmp_path):
    study = replace(SMALL, methods=(Method("wrong", refine=(("solver", "sgd"), ("step_size", 1e9))),))
    folder = tmp_path / "results"
    first = bh.study.run(study, folder)
    assert set(first["status"]) == {"failed"}
    pd.testing.assert_frame_equal(bh.study.run(study, folder), first)
    again = bh.study.run(study, folder, retry=True)
    assert not again["seconds"].equals(first["seconds"])


def test_what_is_known_of_a_study(tmp_path):
    bh.study.run(SMALL, tmp_path / "results")
    about = bh.study.about(tmp_path / "results")
    assert about["study"] == "small"
    assert about["counts"] == {"done": 32}
    assert about["runs"] == 32
    assert set(about["seconds"]) == {"iris", "wine"}
    assert set(about["seconds"]["iris"]) == {"RE", "first", "growing", "finding leaves"}
    assert about["versions"].startswith(f"billhook {bh.__version__}, numpy {np.__version__}, scikit-learn ")


def test_no_results_are_said(tmp_path):
    with pytest.raises(ResultsError, match="holds no results of a study"):
        bh.study.results(tmp_path)


def test_a_store_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(storing, "TABLES", "CREATE TABLE about (x); THIS IS NO SQL")
    with pytest.raises(ResultsError):
        Store.create(tmp_path / "results", SMALL, {})
    assert not (tmp_path / "results" / storing.FILE).exists()


def test_a_second_study_in_one_session_has_a_file_of_its_own(tmp_path, monkeypatch):
    other = replace(SMALL, seed=8)
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "x")
    first = bh.study.run(SMALL, "results", n_jobs=2)
    monkeypatch.chdir(tmp_path / "y")
    second = bh.study.run(other, "results", n_jobs=2)
    assert len(first) == len(second) == 32
    assert_same(bh.study.results(tmp_path / "x" / "results"), first)
    assert_same(second, bh.study.run(other, tmp_path / "alone"))
    shutil.rmtree("results")
    assert_same(bh.study.run(other, "results", n_jobs=2), second)


def made_up_table(path, seed):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(120, 3)), columns=["a", "b", "c"])
    table["kind"] = np.where(table["a"] + table["b"] > 0, "up", "down")
    table.to_csv(path, index=False)


def test_data_that_have_changed_are_noticed(tmp_path):
    path = tmp_path / "mine.csv"
    made_up_table(path, 0)
    study = replace(SMALL, data=(DataSource("mine", str(path), "kind"),))
    first = bh.study.run(study, tmp_path / "results")
    made_up_table(path, 1)
    with pytest.raises(ResultsError, match="mine is not what it was when the results in"):
        bh.study.run(study, tmp_path / "results")
    # Not what was read before, in this session.
    assert not bh.study.run(study, tmp_path / "others")["accuracy"].equals(first["accuracy"])


def test_what_was_left_of_a_file_that_was_moved_away_does_not_come_back(tmp_path):
    folder = tmp_path / "results"
    bh.study.run(SMALL, folder)
    (folder / storing.FILE).rename(tmp_path / "moved.sqlite")
    for rest in ("-journal", "-wal", "-shm"):
        (folder / f"{storing.FILE}{rest}").write_bytes(os.urandom(5000))
    other = replace(SMALL, seed=8)
    assert_same(bh.study.run(other, folder), bh.study.run(other, tmp_path / "new"))
    (tmp_path / "old").mkdir()
    (tmp_path / "moved.sqlite").rename(tmp_path / "old" / storing.FILE)
    assert len(bh.study.results(tmp_path / "old")) == 32  # it is one file


def test_results_can_be_read_where_nothing_can_be_written(tmp_path):
    folder = tmp_path / "results"
    first = bh.study.run(SMALL, folder)
    assert [path.name for path in folder.iterdir() if storing.FILE in path.name] == [storing.FILE]
    (folder / storing.FILE).chmod(0o444)
    folder.chmod(0o555)
    try:
        pd.testing.assert_frame_equal(bh.study.results(folder), first)
    finally:
        folder.chmod(0o755)


def test_a_study_without_runs_yields_to_another(tmp_path):
    wrong = replace(SMALL, data=(DataSource("mine", str(tmp_path / "mine.csv"), "kid"),))
    made_up_table(tmp_path / "mine.csv", 0)
    with pytest.raises(ValueError, match="kid"):
        bh.study.run(wrong, tmp_path / "results")
    right = replace(SMALL, data=(DataSource("mine", str(tmp_path / "mine.csv"), "kind"),))
    assert len(bh.study.run(right, tmp_path / "results")) == 16


def test_what_was_skipped_for_good_is_not_begun_again(tmp_path, monkeypatch):
    study = replace(SMALL, n_trees=(2, 99))
    first = bh.study.run(study, tmp_path / "results")
    assert set(first["status"]) == {"done", "skipped"}
    monkeypatch.setattr(job, "run_unit", lambda *_: pytest.fail("there is nothing to do"))
    pd.testing.assert_frame_equal(bh.study.run(study, tmp_path / "results"), first)


def test_nothing_is_forgotten_before_it_can_be_made_again(tmp_path):
    study = replace(SMALL, methods=(Method("wrong", refine={"solver": "sgd", "step_size": 1e9}),))
    first = bh.study.run(study, tmp_path / "results")
    with pytest.raises(ValueError, match="too low"):
        bh.study.run(study, tmp_path / "results", retry=True, memory_limit=1)
    pd.testing.assert_frame_equal(bh.study.results(tmp_path / "results"), first)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_time_limit_is_some_time(tmp_path, seconds):
    with pytest.raises(ValueError, match="time_limit must be above 0 seconds"):
        bh.study.run(SMALL, tmp_path / "results", time_limit=seconds)
