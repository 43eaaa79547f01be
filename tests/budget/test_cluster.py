"""A real cluster on this machine: two worker processes, one thread each."""

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.budget import _crew
from billhook.budget._cluster import (
    ClusterDescent,
    Parts,
    merge_on_cluster,
    refine_on_cluster,
    round_on_cluster,
)
from billhook.refinement import LOSSES, Descent, Problem, find_leaves

distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install 'billhook[dask]'")

DIGITS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_digits, load_breast_cancer, load_diabetes))
SETTINGS = {
    "distributed.worker.memory.terminate": False,
    "distributed.comm.retry.count": 0,
}


@pytest.fixture(scope="module")
def client():
    import dask

    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def kill_one(client):
    """Kill one worker, as a machine that loses its power would; its nanny starts another after a while."""
    client.wait_for_workers(1)
    pids = client.run(os.getpid)
    os.kill(pids[min(pids)], signal.SIGKILL)


@pytest.fixture
def kill_at(client, monkeypatch):
    """Return a function that has a worker killed right before these tasks of a crew."""
    killed = []

    def arrange(*numbers):
        ask = _crew.Crew._ask

        def ask_after_killing(self, wanted, task):
            if self.n_tasks in numbers and self.n_tasks not in killed:
                killed.append(self.n_tasks)
                kill_one(client)
            return ask(self, wanted, task)

        monkeypatch.setattr(_crew.Crew, "_ask", ask_after_killing)
        return killed

    yield arrange
    client.wait_for_workers(2, timeout=20)


FORESTS = {
    "classes, cross-entropy": (DIGITS, RandomForestClassifier(6, max_leaf_nodes=16, random_state=0), "cross_entropy"),
    "classes, squares": (DIGITS, RandomForestClassifier(6, max_leaf_nodes=16, random_state=0), "mse"),
    "two classes": (CANCER, RandomForestClassifier(6, max_leaf_nodes=16, random_state=0), "cross_entropy"),
    "one tree a class": (DIGITS, GradientBoostingClassifier(n_estimators=1, random_state=0), "cross_entropy"),
    "numbers, squares": (DIABETES, RandomForestRegressor(6, max_leaf_nodes=16, random_state=0), "mse"),
    "numbers, Huber": (DIABETES, RandomForestRegressor(6, max_leaf_nodes=16, random_state=0), "huber"),
}


@pytest.fixture(scope="module", params=FORESTS)
def case(request):
    (X, y), model, loss = FORESTS[request.param]
    return bh.as_forest(model.fit(X[::2], y[::2])), X, y, loss


def here(forest, X, y, loss, l2, n_passes):
    return bh.refine(forest, X, y, loss=loss, l2=l2, epochs=n_passes, tol=0.0, validation_fraction=None)


def test_refining_is_that_of_one_process(client, case):
    forest, X, y, loss = case
    parts = Parts.from_arrays(X, y, n_parts=3)
    refined = refine_on_cluster(client, forest, parts, loss=loss, l2=2.0, n_passes=3, tol=0.0)
    expected = here(forest, X, y, loss, 2.0, 3)
    assert not np.allclose(forest.value, expected.value)
    np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)
    assert refined.link == expected.link


def test_refining_ends_where_one_process_would(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(X, y))
    expected = bh.refine(forest, X, y, l2=1.0, tol=0.1, validation_fraction=None)
    refined = refine_on_cluster(client, forest, Parts.from_arrays(X, y, n_parts=2), l2=1.0, tol=0.1)
    np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)


def test_rounding_is_that_of_one_process(client, case):
    forest, X, y, loss = case
    problem = Problem(forest)
    table = problem.value * problem.weight_of_leaf
    unit = np.full(problem.base.size, np.abs(table).max() / 30.0)
    leaf = find_leaves(problem, [(X, len(y))], by_row=False, n_jobs=None)
    code = y if forest.classes is None else np.searchsorted(forest.classes, y)
    if loss == "huber":
        pytest.skip("the width would have to be that of one process, which `refine` chooses")
    descent = Descent(
        problem, leaf, problem.targets(code, LOSSES[loss]), np.ones(len(y)), LOSSES[loss], 1.0, 1.0, table
    )
    expected = descent.round_to(unit, -31, 31, 2)
    parts = Parts.from_arrays(X, y, n_parts=3)
    rounded = round_on_cluster(client, forest, parts, unit=unit, lowest=-31, highest=31, loss=loss, n_passes=2)
    actual = Problem(rounded).value * problem.weight_of_leaf
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(actual / unit[0], np.rint(actual / unit[0]), atol=1e-9)


def test_merging_is_that_of_one_process(client, case):
    forest, X, y, loss = case
    wanted = forest.n_leaves // 3
    merged = merge_on_cluster(client, forest, Parts.from_arrays(X, y, n_parts=3), max_leaves=wanted, loss=loss)
    expected = bh.merge(forest, X, y, max_leaves=wanted, loss=loss)
    np.testing.assert_array_equal(merged.feature, expected.feature)
    np.testing.assert_array_equal(merged.threshold, expected.threshold)
    np.testing.assert_allclose(merged.value, expected.value, rtol=1e-6, atol=1e-8)


def test_weights_count(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    parts = Parts.from_arrays(X, y, n_parts=3, sample_weight=weight)
    refined = refine_on_cluster(client, forest, parts, l2=1.0, n_passes=2, tol=0.0)
    repeated = here(forest, np.repeat(X, weight, axis=0), np.repeat(y, weight), "cross_entropy", 1.0, 2)
    np.testing.assert_allclose(refined.value, repeated.value, rtol=1e-9, atol=1e-10)


def test_a_tree_takes_one_round_trip(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(X, y))
    descent = ClusterDescent(client, forest, Parts.from_arrays(X, y, n_parts=2), LOSSES["mse"], 1.0)
    before = descent.crew.n_tasks
    passes = iter(descent)
    for _ in range(3):
        next(passes)
    assert descent.crew.n_tasks - before == 2 * 6
    descent.close()


def test_a_worker_that_dies_costs_time_and_not_the_result(client, case, kill_at):
    forest, X, y, loss = case
    killed = kill_at(2, 9, 10)
    parts = Parts.from_arrays(X, y, n_parts=4)
    refined = refine_on_cluster(client, forest, parts, loss=loss, l2=2.0, n_passes=3, tol=0.0)
    assert killed == [2, 9, 10]
    np.testing.assert_allclose(refined.value, here(forest, X, y, loss, 2.0, 3).value, rtol=1e-9, atol=1e-10)
