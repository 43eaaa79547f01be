"""Kills commands at random moments, as kill -9 does, and goes on: nothing is lost, doubled or half-written.

    python tests/kill_at_random.py [--moments 50] [--seed N] [fit] [emit] [study]

Each command is run once undisturbed, then killed at moments spread over the time that it took. After each kill what
is there must be whole; the command is then run again, in the same place, and must give what it gives undisturbed.
"""

import argparse
import hashlib
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

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
    "fit": "fit rows.csv --label y --budget 300 --trials 2 --jobs 1 --out out",
    "emit": "emit packed.bhk --out out",
    "study": "study run study.toml --jobs 1 --out out --resume",
}


def prepared(folder):
    """Write what the commands read."""
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.assign(y=y).to_csv(folder / "rows.csv", index=False)
    bh.pack(RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(frame, y)).save(folder / "packed.bhk")
    (folder / "study.toml").write_text(STUDY)


def started(name, folder):
    """Start a command in a folder, in a group of its own."""
    command = COMMANDS[name].split()
    if name == "study" and not (folder / "out").exists():
        command.remove("--resume")
    return subprocess.Popen(
        [sys.executable, "-m", "billhook", *command], cwd=folder, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def outcome(name, folder):
    """Return a digest of what the command wrote, None if it is not all there; raise an error if it is not whole."""
    out = folder / "out"
    if not out.exists():
        return None
    if name == "study":
        results = bh.study.results(out).drop(columns=["seconds", "memory"], errors="ignore")
        assert set(results["status"]) <= {"done"}, results
        assert not results.duplicated(subset=[c for c in ("data", "fold", "method") if c in results]).any()
        scores = sorted(results["accuracy"].round(12).tolist()) if "accuracy" in results else len(results)
        return str(scores) if len(results) == 4 else None
    names = ("model.bhk", "c/model.c", "c/model.h", "report.html") if name == "fit" else ("model.c", "model.h")
    there = [(out / file).exists() for file in names]
    assert all(there) or not any(there), dict(zip(names, there, strict=True))
    if not all(there):
        return None
    files = [out / file for file in names if not file.endswith(".html")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def finish(name, folder):
    """Run a command to its end; return what it wrote."""
    process = started(name, folder)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return outcome(name, folder)


def kill_at(name, folder, seconds):
    """Kill the command and its processes after so many seconds; return whether it had ended before."""
    process = started(name, folder)
    time.sleep(seconds)
    has_ended = process.poll() is not None
    if not has_ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return has_ended


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
            begin = time.perf_counter()
            expected = finish(name, folder)
            needed = time.perf_counter() - begin
            assert expected is not None
            for moment in range(arguments.moments):
                shutil.rmtree(folder / "out")
                if moment % 2 and name != "study":
                    (folder / "out").mkdir()  # an empty folder is taken as it is
                # The last third of the time is when files are written.
                at = needed * (1 - chosen.random() ** 2 * 0.95)
                n_ended += kill_at(name, folder, at)
                found = outcome(name, folder)
                assert found in (None, expected), f"{name}, killed after {at:.3f} s"
                n_whole += found is not None
                if found is None:
                    again = finish(name, folder)
                    assert again == expected, f"{name}, killed after {at:.3f} s, gave something else when run again"
        print(
            f"{name}: {arguments.moments} kills within {needed:.1f} s ({n_ended} came too late); {n_whole} found all "
            "written, the others gave the same when run again",
            flush=True,
        )


if __name__ == "__main__":
    main()
