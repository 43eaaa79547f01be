"""The same rows, seed and number of trials give the same bytes; those of three models are locked.

A change of the search, of packing or of the file format changes them: look at the difference that it makes, then

    BILLHOOK_LOCK=write pytest tests/budget/test_locked_models.py    # writes the digests anew

`tests/kernels/test_build.py` asks the same of kernels that other compilers made.
"""

import json
import os
from pathlib import Path

from locked_models import digests

LOCK = Path(__file__).parent / "locked_models.json"


def test_the_bytes_of_three_models_do_not_depend_on_jobs_and_are_as_locked():
    found = digests(n_jobs=1)
    assert digests(n_jobs=4) == found
    if os.environ.get("BILLHOOK_LOCK") == "write":
        LOCK.write_text(json.dumps(found, indent=1) + "\n")
    locked = json.loads(LOCK.read_text())
    assert found == locked, (
        "renew the lock if that is meant: BILLHOOK_LOCK=write pytest tests/budget/test_locked_models.py"
    )
