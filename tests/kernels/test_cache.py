import os
import subprocess
import sys

CODE = """
import numpy as np
from made_up import random_forest, tricky_rows
forest = random_forest(np.random.default_rng(0), sizes=(5, 100))
X = tricky_rows(np.random.default_rng(1), 40, 3)
print(forest.apply(X).sum(), forest.decision_function(X).sum(), forest.predict(X[:2]).tolist())
"""


def start(folder):
    here = os.path.dirname(os.path.dirname(__file__))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": here}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CODE],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_four_processes_may_fill_an_empty_cache_at_once(tmp_path):
    processes = [start(tmp_path) for _ in range(4)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert list(tmp_path.rglob("*.nbi")), "the cache is not where it should be"
    again = start(tmp_path)
    assert again.communicate()[0] == answers[0][0]
