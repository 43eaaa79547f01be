"""A disk that is full, what a killed process left, and two processes in one folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import billhook as bh
from billhook import _files
from made_up import random_forest

resource = pytest.importorskip("resource", reason="limits of files are those of POSIX")
# Python warns of forks beside threads; the children do no more than write.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def packed():
    return bh.pack(random_forest(np.random.default_rng(0), sizes=(9, 9), n_features=4))


def with_files_of(n_bytes, work):
    """Call a function in a process that can write no longer file; return its status: 0 if it raised OSError."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        try:
            work()
        except OSError:
            os._exit(0)
        except BaseException:
            os._exit(1)
        os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("n_bytes", [0, 100, 1000])
def test_a_full_disk_leaves_what_was_there(n_bytes, packed, tmp_path):
    path, project = tmp_path / "model.bhk", tmp_path / "c"
    packed.save(path)
    bh.emit(packed, project)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    other = bh.pack(random_forest(np.random.default_rng(1), sizes=(60, 60), n_features=4))
    assert with_files_of(n_bytes, lambda: other.save(path)) == 0
    assert with_files_of(n_bytes, lambda: bh.emit(other, project, force=True)) == 0
    assert with_files_of(n_bytes, lambda: other.save(tmp_path / "new.bhk")) == 0
    assert with_files_of(n_bytes, lambda: bh.emit(other, tmp_path / "new")) == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_what_a_killed_process_left_is_in_no_ones_way(packed, tmp_path):
    """A folder that was empty holds a temporary one after kill -9: the next run takes it for empty."""
    kill = (
        "import os, signal; from billhook import _files\n"
        f"with _files.atomic_folder({str(tmp_path)!r}) as folder:\n"
        "    (folder / 'half').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", kill], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name[: len(_files.TEMPORARY)] for path in tmp_path.iterdir()] == [_files.TEMPORARY]
    bh.emit(packed, tmp_path)
    assert (tmp_path / "model.c").exists()


def test_two_processes_that_write_one_file_leave_one_of_the_two(packed, tmp_path):
    other = bh.pack(random_forest(np.random.default_rng(1), sizes=(60, 60), n_features=4))
    path = tmp_path / "model.bhk"
    children = []
    for model in (packed, other) * 2:
        child = os.fork()
        if child == 0:
            for _ in range(40):
                model.save(path)
            os._exit(0)
        children.append(child)
    seen = 0
    while children:
        if path.exists():
            assert bh.load(path) in (packed, other)
            seen += 1
        children = [child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0]
    assert seen
    assert [file.name for file in Path(tmp_path).iterdir()] == ["model.bhk"]
