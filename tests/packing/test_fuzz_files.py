"""Damaged and made-up model files and blobs: an error that says what is wrong, little memory, and never a crash."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
KEPT = TESTS.parent / "build" / "fuzz"
FEW = 250


@pytest.mark.parametrize(("script", "example"), [("fuzz_model_files.py", "bhk"), ("fuzz_blobs.py", "bhm")])
def test_whatever_a_model_file_holds_it_is_read_or_refused(script, example, tmp_path):
    """Many more with BILLHOOK_FUZZ_SECONDS, as `make fuzz` sets it; BILLHOOK_FUZZ_SEED runs the same again."""
    seconds = os.environ.get("BILLHOOK_FUZZ_SECONDS")
    seed = os.environ.get("BILLHOOK_FUZZ_SEED") or ("0" if seconds is None else str(secrets.randbits(31)))
    command = [sys.executable, str(TESTS / script), str(tmp_path), seed]
    command += ["3600", str(FEW)] if seconds is None else [seconds, str(10**9)]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    if done.returncode != 0:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = KEPT / f"model_file_{seed}.{example}"
        shutil.copy(tmp_path / f"example.{example}", kept)
        raise AssertionError(f"seed {seed}, status {done.returncode}, at {kept}:\n{done.stderr}")
    assert "'read'" in done.stdout
    assert "'ModelFileError'" in done.stdout
