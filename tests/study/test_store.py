"""Results of a study that was killed in mid-transaction: half of it is in the file, and a journal beside it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import billhook as bh
from billhook.cli import main
from billhook.study import FILE, DataSource, Method, ResultsError, Study

if os.name == "nt":
    pytest.skip("kill -9 and permissions are those of POSIX", allow_module_level=True)

JOURNAL = f"{FILE}-journal"
NOBODY = 65534
STUDY = Study(
    "small",
    (DataSource("iris"),),
    (Method("RE", prune="reduced_error"), Method("first")),
    folds=2,
    n_base_trees=8,
    max_leaves=(4, 8),
    n_trees=(2, 4),
)
# Writes more than it keeps in memory, so that some of it is in the file before all of it is.
KILLED_WHILE_WRITING = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 2")
connection.execute("BEGIN")
connection.execute("UPDATE runs SET status = 'failed', reason = hex(zeroblob(500))")
connection.execute("DELETE FROM runs WHERE fold = 1")
connection.executemany("INSERT INTO work VALUES ('', 0, '', hex(zeroblob(500)), ?)", [(n,) for n in range(500)])
connection.execute("UPDATE about SET value = hex(zeroblob(500))")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return a folder of results in which a transaction is half-written, and the results as they were before."""
    folder = tmp_path_factory.mktemp("killed") / "results"
    first = bh.study.run(STUDY, folder)
    before = (folder / FILE).read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(folder / FILE)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (folder / FILE).read_bytes() != before
    assert (folder / JOURNAL).stat().st_size > 0
    return folder, first


@pytest.fixture
def copied(killed, tmp_path):
    return shutil.copytree(killed[0], tmp_path / "results")


def assert_undone(folder, first):
    pd.testing.assert_frame_equal(bh.study.results(folder), first)
    assert not (folder / JOURNAL).exists()


def test_results_are_read(killed, copied):
    pd.testing.assert_frame_equal(bh.study.results(copied), killed[1])
    assert_undone(copied, killed[1])


def test_what_is_known_of_the_study_is_read(killed, copied):
    about = bh.study.about(copied)
    assert (about["study"], about["runs"], about["counts"]) == ("small", 16, {"done": 16})
    assert_undone(copied, killed[1])


def test_commands_read_it(killed, copied, tmp_path, capsys):
    assert main(["study", "status", str(copied)]) == 0
    assert "16 of 16 runs" in capsys.readouterr().out
    assert_undone(copied, killed[1])
    shutil.rmtree(copied)
    shutil.copytree(killed[0], copied)
    assert main(["study", "report", str(copied), "--out", str(tmp_path / "report.html")]) == 0
    assert_undone(copied, killed[1])


def test_the_study_goes_on(killed, copied):
    pd.testing.assert_frame_equal(bh.study.run(STUDY, copied), killed[1])
    assert_undone(copied, killed[1])


def test_who_reads_results_cannot_change_them(copied):
    bh.study.results(copied)
    before = (copied / FILE).read_bytes()
    store = bh.study._store.Store(copied, is_read=True)
    with pytest.raises(ResultsError, match="cannot be read or written: attempt to write a readonly database"):
        store.set_meta("study", "another")
    store.close()
    assert (copied / FILE).read_bytes() == before


@contextmanager
def without_privileges(folder):
    """Give a folder to somebody who may not do everything, and do what is done here as they do."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder.parent, folder, *folder.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("of_folder", "of_file", "of_journal"),
    [(0o555, 0o444, 0o444), (0o555, 0o644, 0o644), (0o555, 0o644, 0o444), (0o755, 0o444, 0o644)],
)
def test_where_nothing_can_be_written_it_is_said(of_folder, of_file, of_journal, killed):
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(killed[0], Path(place) / "results")
        (folder / FILE).chmod(of_file)
        (folder / JOURNAL).chmod(of_journal)
        folder.chmod(of_folder)
        with without_privileges(folder):
            with pytest.raises(ResultsError, match=r"killed while it wrote .*undone, .*Make it and its folder wri"):
                bh.study.results(folder)
            for path in (folder, *folder.iterdir()):
                path.chmod(0o755)
            assert_undone(folder, killed[1])
