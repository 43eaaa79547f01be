import os

import pytest
from joblib import Parallel, delayed

from billhook._checks import n_threads_of


def test_a_number_of_jobs_is_one_of_threads():
    assert [n_threads_of(n) for n in (None, 1, 3)] == [1, 1, 3]
    assert n_threads_of(-1) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_threads_do_not_multiply_in_the_workers_of_a_grid_search(backend):
    asked = (None, 1, 3, -1)
    assert Parallel(2, backend=backend)(delayed(n_threads_of)(n) for n in asked) == [1, 1, 1, 1]
