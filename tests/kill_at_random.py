"""Kills commands at random moments, as kill -9 does, and goes on: nothing is lost, doubled or half-written.

    python tests/kill_at_random.py [--moments 50] [--seed N] [fit] [emit] [study] [dask] [fetch] [memory]

Each command is run once undisturbed, then killed at moments spread over the time that it took: with its processes,
or alone, and then these must end by themselves. After each kill what is there must be whole; the command is then run
again, in the same place, and must give what it gives undisturbed. A study that is gone on with is killed again and
again, a fourth of the times at any moment and else after a random number of rows; every row that was there stays, and
is as it is undisturbed. On a cluster, a worker is killed half of the times, and the study goes on.
For `memory`, a study is not killed but has as much memory as it needs, or less: where that is not enough it must say
so, and go on with more.
"""

import argparse
import hashlib
import os
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from data_server import DataServer, arff_of

STUDY = """\
data = ["iris", "digits"]
folds = 3
trees = 16
max_leaves = [4, 16]
n_trees = [2, 4, 8]
caps = [1]
[[methods]]
label = "RE"
prune = "reduced_error"
[[methods]]
label = "LR"
refine = { solver = "bcd", epochs = 10 }
"""
COMMANDS = {
    "fit": "fit rows.csv --label y --budget 300 --trials 2 --jobs 1 --out out",
    "emit": "emit packed.bhk --out out",
    "study": "study run study.toml --jobs 2 --out out --resume",
    "dask": "study run study.toml --backend dask --out out --resume",
    "memory": "study run study.toml --jobs 2 --out out --retry --resume",
    "fetch": "data fetch eeg",
}
STUDIES = ("study", "dask", "memory")
N_RUNS = 72
# How much address space a study has that may have too little: so many megabytes.
LEAST_MEMORY, MOST_MEMORY = 300, 3_000


def prepared(folder):
    """Write what the commands read."""
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.assign(y=y).to_csv(folder / "rows.csv", index=False)
    bh.pack(RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(frame, y)).save(folder / "packed.bhk")
    (folder / "study.toml").write_text(STUDY)


def slow_server():
    """Return a server of a data set that sends it in parts, so that a download takes some time."""
    server = DataServer(is_daemon=True)
    values = np.random.default_rng(0).normal(size=(14980, 14)).astype(np.float32)
    columns = {f"V{k + 1}": values[:, k].tolist() for k in range(14)}
    body = arff_of(columns, "Class", np.repeat([1, 2], [8257, 6723]).tolist())  # as the paper's
    path = server.add_openml(1471, body, "Class")

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        part = -(-len(body) // 20)
        with suppress(OSError):  # of a reader that was killed
            for first in range(0, len(body), part):
                handler.wfile.write(body[first : first + part])
                time.sleep(0.05)

    server.routes[path] = answer
    return server


class Cluster:
    """A Dask cluster of two workers on this machine, which outlives the commands that use it."""

    def __init__(self):
        import dask
        from distributed import LocalCluster

        # By default a worker that takes longer to start again is given up for ever.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
        self.cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )

    def kill_worker(self):
        """Kill a worker as kill -9 does; another one comes in its place."""
        os.kill(next(worker.pid for worker in self.cluster.workers.values() if worker.pid), signal.SIGKILL)

    def close(self):
        """End all."""
        self.cluster.close()


SERVERS = {"fetch": slow_server, "dask": Cluster}
# What studies were found to be after kills.
FOUND = Counter()


def started(name, folder, server=None, megabytes=None):
    """Start a command in a folder, in a group of its own, with so much memory."""
    command = COMMANDS[name].split()
    if name == "dask":
        command += ["--scheduler", server.cluster.scheduler_address]
    if name in STUDIES and not (folder / "out" / bh.study.FILE).exists():
        command.remove("--resume")
    environment = {"BILLHOOK_DATA": "", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if name == "fetch":
        environment |= {"BILLHOOK_MIRROR": server.url, "XDG_CACHE_HOME": str(folder / "out"), "no_proxy": "*"}
    limit = [] if megabytes is None else ["prlimit", f"--as={megabytes * 10**6}"]
    return subprocess.Popen(
        [*limit, sys.executable, "-m", "billhook", *command], cwd=folder, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | environment,
    )  # fmt: skip


def n_rows(folder):
    """Return how many rows a study has that is running."""
    path = f"{(folder / 'out' / bh.study.FILE).as_uri()}?mode=ro"  # it is not made here
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, uri=True)) as connection:
        return connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    return 0


def rows_of_study(folder, known, expected):
    """Return the rows of a study as text: those that are known must be among them, all as expected."""
    out = folder / "out"
    if not (out / bh.study.FILE).exists():
        assert not known, "all is lost"
        return set()
    FOUND["a journal"] += (out / f"{bh.study.FILE}-journal").exists()
    results = bh.study.results(out).drop(columns="seconds")
    results = results[~results["reason"].astype(str).str.startswith("memory ran out")]
    lines = [*filter(None, results.to_json(orient="records", lines=True).splitlines())]
    rows = set(lines)
    assert len(rows) == len(lines), "rows are doubled"
    assert known <= rows, f"lost: {known - rows}"
    assert expected is None or rows <= expected, f"other rows: {rows - expected}"
    FOUND["a part of the rows"] += 0 < len(rows) < N_RUNS
    return rows


def outcome(name, folder, known=frozenset(), expected=None):
    """Return what the command wrote, None if it is not all there; raise an error if what there is is not whole."""
    out = folder / "out"
    if name in STUDIES:
        return rows_of_study(folder, known, expected)
    if not out.exists():
        return None
    if name == "fetch":
        files = [path for path in out.rglob("*") if path.is_file()]
        whole = [path for path in files if path.suffix == ".parquet"]
        for path in whole:  # what has this name is whole
            assert len(pd.read_parquet(path)) == 14980, path
        return hashlib.sha256(whole[0].read_bytes()).hexdigest() if whole else None
    names = ("model.bhk", "c/model.c", "c/model.h", "report.html") if name == "fit" else ("model.c", "model.h")
    there = [(out / file).exists() for file in names]
    assert all(there) or not any(there), dict(zip(names, there, strict=True))
    if not all(there):
        return None
    files = [out / file for file in names if not file.endswith(".html")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def finish(name, folder, server=None):
    """Return how long a command takes, of a study until and from its first row, and what it writes."""
    begin = first = time.perf_counter()
    process = started(name, folder, server)
    while name in STUDIES and not n_rows(folder) and process.poll() is None:
        time.sleep(0.02)
        first = time.perf_counter()
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return first - begin, time.perf_counter() - first, outcome(name, folder)


def kill_at(name, folder, seconds, chosen, server=None, *, rows=0):
    """Kill the command and its processes, or a worker, after so many seconds; return whether it had ended before.

    Of a study it is after so many rows, where these are more than none.
    """
    process = started(name, folder, server)
    while n_rows(folder) < rows and process.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    has_ended = process.poll() is not None
    if name == "dask" and chosen.random() < 0.5:
        server.kill_worker()  # and the command goes on with others
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        return has_ended
    if not has_ended:
        (os.kill if chosen.random() < 0.5 else os.killpg)(process.pid, signal.SIGKILL)
    begin = time.perf_counter()
    process.communicate()
    assert time.perf_counter() - begin < 60.0, "processes that the killed one had started went on"
    return has_ended


def starve(folder, chosen):
    """Run a study with little memory; return whether it was enough."""
    megabytes = int(chosen.uniform(LEAST_MEMORY, MOST_MEMORY))
    process = started("memory", folder, megabytes=megabytes)
    _, errors = process.communicate()
    assert process.returncode == 0 or errors.strip(), f"{megabytes} MB: exit status {process.returncode}, no words"
    return process.returncode == 0


def main():
    """Kill each command at so many moments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", choices=[*COMMANDS, []])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    arguments = parser.parse_args()
    chosen = random.Random(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    for name in arguments.commands or COMMANDS:
        n_whole = n_ended = 0
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            prepared(folder)
            server = SERVERS[name]() if name in SERVERS else None
            until_row, needed, expected = finish(name, folder, server)
            assert expected is not None
            FOUND.clear()
            found = expected
            for moment in range(arguments.moments):
                if name not in STUDIES or found == expected:
                    shutil.rmtree(folder / "out", ignore_errors=True)
                    found = set()
                if moment % 2 and name in ("fit", "emit"):
                    (folder / "out").mkdir()  # an empty folder is taken as it is
                # The last third of the time is when files are written, but by studies, which write all the time.
                at, rows = needed * (1 - chosen.random() ** 2 * 0.95), 0
                if name in STUDIES:
                    is_by_rows = chosen.random() < 0.75
                    rows = chosen.randrange(len(found) + 1, N_RUNS) if is_by_rows and len(found) < N_RUNS - 1 else 0
                    at = chosen.random() * (needed / N_RUNS if rows else until_row)
                if name == "memory":
                    n_ended += starve(folder, chosen)
                else:
                    n_ended += kill_at(name, folder, at, chosen, server, rows=rows)
                found = outcome(name, folder, found, expected)
                if name in STUDIES:
                    print(f"{name}, kill {moment + 1}: {len(found)} of {N_RUNS} rows", flush=True)
                else:
                    assert found in (None, expected), f"{name}, killed after {at:.3f} s"
                n_whole += found == expected
                if found is None or (name in STUDIES and moment == arguments.moments - 1):
                    *_, again = finish(name, folder, server)
                    assert again == expected, f"{name}, killed after {at:.3f} s, gave something else when run again"
            if server is not None:
                server.close()
        seconds = f"{until_row + needed:.1f} s"
        print(
            f"{name}: {arguments.moments} kills within {seconds} ({n_ended} came too late); {n_whole} found all "
            "written, the others gave the same when run again"
            + "".join(f"; {n} found {what}" for what, n in FOUND.items()),
            flush=True,
        )


if __name__ == "__main__":
    main()
