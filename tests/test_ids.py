"""The ids of tests: workers that share a run have to collect the same ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 300
# A process in which it is another day: what holds the time then has another name.
COLLECT = """
import sys, time
now = time.time
time.time = lambda: now() + float(sys.argv[1])
import pytest
plugins = ["-p", "no:cacheprovider", "-p", "no:terminalreporter", "-p", "test_ids"]
sys.exit(pytest.main(["--collect-only", *plugins]))
"""


def pytest_collection_modifyitems(items):
    """Print the ids, one a line, where this file is loaded as a plugin."""
    print(*(ascii(item.nodeid) for item in items), sep="\n")


@pytest.fixture(scope="module")
def collected():
    """Return the ids that two processes find, which differ in the time and in the order of sets."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COLLECT, later],
            cwd=ROOT,
            env=os.environ
            | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for later, seed in (("0", "1"), ("100000", "2"))
    ]
    found = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], found[0][-20:]
    return found


def test_ids_are_the_same_in_every_process(collected):
    first, second = collected
    assert len(first) > 1000
    assert first == second
    assert len(set(first)) == len(first)


def test_ids_hold_nothing_that_a_terminal_cannot_show(collected):
    # Of an address in memory, or bytes that are no text; pytest writes both so.
    strange = re.compile(r"0x[0-9a-f]{5,}|\\x(?:[0189][0-9a-f]|7f)")
    assert [one for one in collected[0] if strange.search(one) or len(one) > LONGEST] == []
