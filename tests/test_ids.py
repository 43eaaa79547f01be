"""The ids of tests: workers that share a run have to collect the same ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 300
# Another day, in a process of its own: what holds the time then has another name.
COLLECT = """
import sys, time
now = time.time
time.time = lambda: now() + 100_000
import pytest
plugins = ["-p", "no:cacheprovider", "-p", "no:terminalreporter", "-p", "test_ids"]
sys.exit(pytest.main(["--collect-only", *plugins]))
"""


def pytest_collection_modifyitems(items):
    """Print the ids, one a line, where this file is loaded as a plugin."""
    print(*(ascii(item.nodeid) for item in items), sep="\n")


@pytest.fixture(scope="module")
def collected():
    """Return the ids that a process finds at another time, with another order of sets."""
    # Not that of this process, whichever it has.
    seed = str((int(os.environ.get("PYTHONHASHSEED", "random").replace("random", "0")) + 1) % 2**32)
    done = subprocess.run(
        [sys.executable, "-c", COLLECT],
        cwd=ROOT,
        env=os.environ
        | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found = done.stdout.splitlines()
    assert done.returncode == 0, found[-20:]
    return found


def test_ids_are_the_same_in_every_process(request, collected):
    here = [ascii(item.nodeid) for item in request.session.items]
    files, all_files = ({one.partition("::")[0] for one in ids} for ids in (here, collected))
    assert len(collected) > 1000
    assert len(set(collected)) == len(collected)
    if files == all_files:
        assert here == collected
    else:  # only some tests are run
        assert set(here) - set(collected) == set()


def test_ids_hold_nothing_that_a_terminal_cannot_show(collected):
    # Of an address in memory, or bytes that are no text; pytest writes both so.
    strange = re.compile(r"0x[0-9a-f]{5,}|\\x(?:[0189][0-9a-f]|7f)")
    assert [one for one in collected if strange.search(one) or len(one) > LONGEST] == []
