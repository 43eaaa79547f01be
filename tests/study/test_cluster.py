"""Studies on a real cluster on this machine: two worker processes."""

import os
import signal
import threading
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

import billhook as bh
from billhook._progress import shown_by
from billhook.cli import main
from billhook.cluster import ClusterError, _client, connect, send
from billhook.study import DataSource, Method, Study
from billhook.study import _dask_backend as backends

distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install 'billhook[dask]'")

STUDY = Study(
    "small",
    (DataSource("digits"), DataSource("wine")),
    (
        Method("RE", prune="reduced_error"),
        Method("CA", prune="cluster_accuracy"),
        Method("LR", refine=(("epochs", 3), ("solver", "bcd"))),
    ),
    folds=3,
    n_base_trees=16,
    max_leaves=(8, 16),
    n_trees=(4, 8),
)


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"), check_exact=True)


def test_a_cluster_gives_the_numbers_of_one_process(cluster, tmp_path):
    here = bh.study.run(STUDY, tmp_path / "here")
    told = []
    there = bh.study.run(
        STUDY, tmp_path / "there", scheduler=cluster.scheduler_address, progress=lambda *news: told.append(news)
    )
    assert_same(there, here)
    assert told[-1][:2] == (72, 72)


def test_runs_are_told_of_as_they_finish(cluster, tmp_path):
    # One unit, whose second run takes long.
    slow = Method("slow", refine={"solver": "sgd", "epochs": 100_000, "step_size": 1e-6})
    study = replace(STUDY, data=STUDY.data[1:], methods=(Method("quick"), slow), max_leaves=(8,), n_trees=(4,))
    seen = []
    bh.study.run(
        study,
        tmp_path / "results",
        scheduler=cluster.scheduler_address,
        time_limit=3.0,
        progress=lambda done, _n_runs, note: seen.append((done, note)),
    )
    # Some were there before any unit was finished.
    assert any(done > 0 and not note for done, note in seen)


def test_a_worker_that_is_killed_costs_time_only(cluster, tmp_path):
    here = bh.study.run(STUDY, tmp_path / "here")
    pids = [worker.pid for worker in cluster.workers.values()]
    folder = tmp_path / "there"
    killed = threading.Event()

    def kill(done, _n_runs, _note):
        if done >= 5 and not killed.is_set():
            killed.set()
            os.kill(pids[0], signal.SIGKILL)

    there = bh.study.run(STUDY, folder, scheduler=cluster.scheduler_address, progress=kill)
    assert killed.is_set()
    assert_same(there, here)


@pytest.fixture
def lonely(monkeypatch):
    """Return a cluster without workers, which is said at once."""
    monkeypatch.setattr(_client, "UNTIL_SAID", 0.0)
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


def test_where_there_is_no_worker_a_study_says_so_and_waits(lonely, tmp_path):
    study = replace(STUDY, data=STUDY.data[1:])
    here = bh.study.run(study, tmp_path / "here")
    notes = []

    def let_come(_done, _n_runs, note):
        if "no worker for" in note and not any("no worker for" in note for note in notes):
            lonely.scale(2)
        notes.append(note)

    there = bh.study.run(study, tmp_path / "there", scheduler=lonely.scheduler_address, progress=let_come)
    assert_same(there, here)
    assert f"after 600 s this ends: start some with `dask worker {lonely.scheduler_address}`" in notes[0]
    assert "there are workers again" in notes


def test_without_workers_for_long_a_study_ends_and_goes_on_later(lonely, tmp_path):
    study = replace(STUDY, data=STUDY.data[1:])
    with pytest.raises(ClusterError, match=r"has had no worker for 0.2 seconds; start some with `dask worker tcp://"):
        bh.study.run(study, tmp_path / "there", scheduler=lonely.scheduler_address, worker_timeout=0.2)
    there = bh.study.run(study, tmp_path / "there", n_jobs=2)
    assert_same(there, bh.study.run(study, tmp_path / "here"))


def test_work_on_a_cluster_without_workers_tells_who_shows_progress(lonely):
    told = []

    def show(_done, total, **words):
        told.append((words["doing"], total, words["amount"]))

    with (
        connect(lonely.scheduler_address, worker_timeout=0.2) as client,
        shown_by(show),
        pytest.raises(ClusterError, match="no worker"),
    ):
        send(client, "data")
    assert [(doing, total) for doing, total, _ in told] == [("waiting for workers", 0.2)]
    assert "no worker for 0 s, and after 0.2 s this ends" in told[0][2]


def test_the_command_line_runs_on_a_cluster(cluster, tmp_path, capsys):
    text = 'data = ["iris"]\nfolds = 2\ntrees = 8\nmax_leaves = [4]\nn_trees = [2]\n[[methods]]\nlabel = "RF"\n'
    (tmp_path / "own.toml").write_text(text)
    folder = tmp_path / "results"
    command = ["study", "run", str(tmp_path / "own.toml"), "--out", str(folder), "--backend", "dask"]
    assert main([*command, "--scheduler", cluster.scheduler_address, "--worker-timeout", "60"]) == 0
    assert "2 done" in capsys.readouterr().out


def test_no_scheduler_is_said(tmp_path, capsys, monkeypatch):
    text = 'data = ["iris"]\n[[methods]]\nlabel = "RF"\n'
    (tmp_path / "own.toml").write_text(text)
    command = ["study", "run", str(tmp_path / "own.toml"), "--out", str(tmp_path / "results")]
    monkeypatch.setattr(backends, "connect", partial(backends.connect, timeout=1.0))
    assert main([*command, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
