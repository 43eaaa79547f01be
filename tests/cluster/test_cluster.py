"""A real cluster on this machine: two worker processes, one thread each."""

import os
import pickle
import signal
import time
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
import on_workers
from billhook.budget import DaskExecutor, TrainingRows, _fit_table, build, fit, fit_on_cluster
from billhook.budget._distributed import build_on_cluster
from billhook.budget._space import CompressionConfig, GrowthConfig, Trial
from billhook.cli import main
from billhook.cluster import _distributed_rows
from billhook.cluster._client import ClusterError, connect
from billhook.cluster._descent import ClusterDescent, merge_on_cluster, refine_on_cluster
from billhook.cluster._growing import grow_on_cluster
from billhook.cluster._map import ClusterWorkers, map_on_cluster
from billhook.cluster._partitions import Partitions
from billhook.refinement import LOSSES

distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install 'billhook[dask]'")

DIGITS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_digits, load_breast_cancer, load_diabetes))


def cluster_of(n_workers):
    """Return a cluster of so many processes of one thread each."""
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def mortal():
    """Return a client of three workers, two of which may be killed: whether they come back is not waited for."""
    with cluster_of(3) as cluster, distributed.Client(cluster) as client:
        yield client


def kill(client, address):
    """Kill a worker as a machine that loses its power would."""
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


@pytest.fixture
def kill_at(monkeypatch):
    """Return a function that has a worker, one that holds rows, killed right before these tasks."""
    killed = []

    def arrange(*numbers):
        ask = _distributed_rows.DistributedRows._ask

        def ask_after_killing(self, wanted, task):
            if self.n_tasks in numbers and self.n_tasks not in killed:
                killed.append(self.n_tasks)
                kill(self.client, self._places[0].address)
            return ask(self, wanted, task)

        monkeypatch.setattr(_distributed_rows.DistributedRows, "_ask", ask_after_killing)
        return killed

    return arrange


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
    parts = Partitions.from_arrays(X, y, n_parts=3)
    refined = refine_on_cluster(client, forest, parts, loss=loss, l2=2.0, n_passes=3, tol=0.0)
    expected = here(forest, X, y, loss, 2.0, 3)
    assert not np.allclose(forest.value, expected.value)
    np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)
    assert refined.link == expected.link


def test_refining_ends_where_one_process_would(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(X, y))
    expected = bh.refine(forest, X, y, l2=1.0, tol=0.1, validation_fraction=None)
    refined = refine_on_cluster(client, forest, Partitions.from_arrays(X, y, n_parts=2), l2=1.0, tol=0.1)
    np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)


def test_merging_is_that_of_one_process(client, case):
    forest, X, y, loss = case
    wanted = forest.n_leaves // 3
    merged = merge_on_cluster(client, forest, Partitions.from_arrays(X, y, n_parts=3), max_leaves=wanted, loss=loss)
    expected = bh.merge(forest, X, y, max_leaves=wanted, loss=loss)
    np.testing.assert_array_equal(merged.feature, expected.feature)
    np.testing.assert_array_equal(merged.threshold, expected.threshold)
    np.testing.assert_allclose(merged.value, expected.value, rtol=1e-6, atol=1e-8)


def test_weights_count(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    parts = Partitions.from_arrays(X, y, n_parts=3, sample_weight=weight)
    refined = refine_on_cluster(client, forest, parts, l2=1.0, n_passes=2, tol=0.0)
    repeated = here(forest, np.repeat(X, weight, axis=0), np.repeat(y, weight), "cross_entropy", 1.0, 2)
    np.testing.assert_allclose(refined.value, repeated.value, rtol=1e-9, atol=1e-10)


def test_a_tree_takes_one_round_trip(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(X, y))
    descent = ClusterDescent(client, forest, Partitions.from_arrays(X, y, n_parts=2), LOSSES["mse"], 1.0)
    before = descent.rows.n_tasks
    passes = iter(descent)
    for _ in range(3):
        next(passes)
    assert descent.rows.n_tasks - before == 2 * 6
    descent.close()


@pytest.mark.parametrize("case", ["classes, cross-entropy", "two classes", "numbers, Huber"], indirect=True)
def test_a_worker_that_dies_costs_time_and_not_the_result(mortal, case, kill_at):
    forest, X, y, loss = case
    killed = kill_at(2, 9)
    parts = Partitions.from_arrays(X, y, n_parts=4)
    refined = refine_on_cluster(mortal, forest, parts, loss=loss, l2=2.0, n_passes=3, tol=0.0)
    assert killed == [2, 9]
    np.testing.assert_allclose(refined.value, here(forest, X, y, loss, 2.0, 3).value, rtol=1e-9, atol=1e-10)


def test_a_worker_that_dies_while_merging_costs_no_more(client, mortal, kill_at):
    X, y = DIGITS
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=16, random_state=0).fit(X[::2], y[::2]))
    expected = bh.merge(forest, X, y, max_leaves=60)
    rows = _distributed_rows.DistributedRows
    n_tasks = []
    follow = rows.follow

    def noted(self, *arguments):
        n_tasks.append(self.n_tasks + 1)
        follow(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "follow", noted)
        merge_on_cluster(client, forest, Partitions.from_arrays(X, y, n_parts=4), max_leaves=60)
    killed = kill_at(n_tasks[1], n_tasks[2] + 1)  # while rows are given new numbers, and right after
    merged = merge_on_cluster(mortal, forest, Partitions.from_arrays(X, y, n_parts=4), max_leaves=60)
    assert len(killed) == 2
    np.testing.assert_array_equal(merged.feature, expected.feature)
    np.testing.assert_allclose(merged.value, expected.value, rtol=1e-6, atol=1e-8)


def wait_until_nothing_is_held(client):
    deadline = time.monotonic() + 900.0
    while sum(client.run(on_workers.n_held).values()):
        assert time.monotonic() < deadline


def test_workers_forget_the_rows(client):
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y))
    wait_until_nothing_is_held(client)  # of the tests before
    descent = ClusterDescent(client, forest, Partitions.from_arrays(X, y, n_parts=4), LOSSES["mse"], 1.0)
    assert sum(client.run(on_workers.n_held).values()) == 4
    descent.close()
    wait_until_nothing_is_held(client)


# Whole numbers, of which XGBoost's quantiles are exact, however the rows are spread.
def one_process(X, y, n_rounds, **parameters):
    import xgboost

    given = {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "nthread": 1, **parameters}
    return bh.as_forest(xgboost.train(given, xgboost.DMatrix(X, y), n_rounds))


def test_growing_with_a_vector_in_each_leaf_is_that_of_one_process(client):
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    X, y = DIGITS
    labels = np.array([f"digit {k}" for k in y])
    parts = Partitions.from_arrays(X, labels, n_parts=3)
    forest = grow_on_cluster(client, parts, n_rounds=8, max_leaves=16, learning_rate=0.5)
    alone = one_process(
        X,
        y,
        8,
        max_leaves=16,
        learning_rate=0.5,
        objective="multi:softprob",
        num_class=10,
        multi_strategy="multi_output_tree",
    )
    half = one_process(
        X[::2],
        y[::2],
        8,
        max_leaves=16,
        learning_rate=0.5,
        objective="multi:softprob",
        num_class=10,
        multi_strategy="multi_output_tree",
    )
    assert forest.value.shape[1] == 10
    assert (forest.n_trees, forest.n_leaves) == (8, 128)
    assert forest.classes.tolist() == sorted(set(labels))
    np.testing.assert_allclose(forest.decision_function(X), alone.decision_function(X), atol=1e-3)
    assert np.abs(half.decision_function(X) - alone.decision_function(X)).max() > 0.1


def test_growing_for_two_classes_and_for_numbers(client):
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    X, y = CANCER
    forest = grow_on_cluster(client, Partitions.from_arrays(X, y, n_parts=2), n_rounds=10, max_leaves=8)
    alone = one_process(X, y, 10, max_leaves=8, objective="binary:logistic")
    assert forest.value.shape[1] == 1
    assert forest.classes.tolist() == [0, 1]
    assert abs(np.mean(forest.predict(X) == y) - np.mean(alone.predict(X) == y)) < 0.02
    X, y = DIABETES
    options = {"n_rounds": 10, "max_leaves": 8, "objective": "reg:squarederror"}
    numbers = grow_on_cluster(client, Partitions.from_arrays(X, y, n_parts=2), **options)
    alone = one_process(X, y, **options)
    errors = [np.mean((model.predict(X) - y) ** 2) for model in (numbers, alone)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_growing_begins_anew_when_a_worker_dies(mortal, monkeypatch):
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    from xgboost import dask as boosting

    X, y = DIGITS
    parts = Partitions.from_arrays(X, y, n_parts=4)
    options = {"n_rounds": 5, "max_leaves": 8}
    undisturbed = grow_on_cluster(mortal, parts, **options)
    train, rounds = boosting.train, []

    def train_after_killing(given_client, parameters, matrix, num_boost_round):
        rounds.append(num_boost_round)
        if len(rounds) == 1:
            address = next(iter(matrix.worker_map))
            kill(mortal, address)
            while address in mortal.nthreads():
                time.sleep(0.01)
        return train(given_client, parameters, matrix, num_boost_round=num_boost_round)

    monkeypatch.setattr(boosting, "train", train_after_killing)
    again = grow_on_cluster(mortal, parts, **options)
    assert len(rounds) == 2
    np.testing.assert_allclose(again.decision_function(X), undisturbed.decision_function(X), atol=1e-3)


def test_growing_does_not_wait_for_a_worker_that_died_with_its_rows(mortal, monkeypatch):
    """XGBoost's work waits for all its workers: here it waits for what never comes, as it does for a dead one."""
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'billhook[xgboost]'")
    from xgboost import dask as boosting

    X, y = DIGITS
    parts = Partitions.from_arrays(X, y, n_parts=4)
    train, began = boosting.train, []

    def train_that_stalls(given_client, parameters, matrix, num_boost_round):
        began.append(num_boost_round)
        if len(began) == 1:
            address = next(iter(matrix.worker_map))
            stalled = given_client.submit(time.sleep, 3600, workers=[address], allow_other_workers=False)
            kill(mortal, address)
            return stalled.result()
        return train(given_client, parameters, matrix, num_boost_round=num_boost_round)

    monkeypatch.setattr(boosting, "train", train_that_stalls)
    forest = grow_on_cluster(mortal, parts, n_rounds=2, max_leaves=8)
    assert len(began) == 2
    assert forest.n_trees == 2


def test_trials_come_back_with_their_items(client):
    workers = ClusterWorkers(client, {"factor": 2})
    assert sorted(workers.map(on_workers.double, range(10))) == [(k, 2 * k) for k in range(10)]
    assert sorted(workers.map(on_workers.double, [7])) == [(7, 14)]
    workers.close()


def test_trials_outlive_a_worker(mortal, tmp_path):
    workers = ClusterWorkers(mortal, str(tmp_path / "died"))
    assert sorted(workers.map(on_workers.kill_once, range(6))) == [(k, -k) for k in range(6)]
    assert (tmp_path / "died").exists()
    workers.close()


def test_trials_outlive_the_loss_of_the_data(mortal):
    workers = ClusterWorkers(mortal, {"factor": 2})
    assert list(workers.map(on_workers.double, [1])) == [(1, 2)]
    for address in {address for held in mortal.who_has(workers._sent).values() for address in held}:
        kill(mortal, address)
    assert sorted(workers.map(on_workers.double, [5, 6])) == [(5, 10), (6, 12)]
    workers.close()


def test_an_error_in_a_trial_names_the_item(client):
    workers = ClusterWorkers(client, "nothing")
    with pytest.raises(ValueError, match="nothing cannot do 4") as caught:
        list(workers.map(on_workers.refuse, [4]))
    assert caught.value.__notes__ == ["while a worker of the cluster tried 4"]


def test_closing_cancels_what_is_under_way(client, tmp_path):
    workers = ClusterWorkers(client, str(tmp_path / "go on"))
    results = workers.map(on_workers.wait_for_file, [0, 1, 2, 3])
    assert next(results) == (0, 0)
    under_way = workers.pending()
    assert len(under_way) == 3
    workers.close()
    (tmp_path / "go on").touch()
    assert all(future.cancelled() for future in under_way)


def test_no_more_is_under_way_than_asked_for(client):
    batches = []

    def submit(batch, is_again):
        assert not is_again
        batches.append(len(batch))
        return [client.submit(pow, item, 2, pure=False) for item in batch]

    squares = map_on_cluster(client, submit, iter(range(7)), n_at_once=lambda: 2)
    assert sorted(squares) == [(k, k * k) for k in range(7)]
    assert batches[0] == 2
    assert max(batches) <= 2
    assert sum(batches) == 7


def test_nothing_is_lost_while_none_may_be_under_way(client):
    allowed = iter([0, 2, 0, 0])

    def submit(batch, is_again):  # noqa: ARG001 - called with both
        return [client.submit(pow, item, 2, pure=False) for item in batch]

    squares = map_on_cluster(client, submit, range(7), n_at_once=lambda: next(allowed, 0))
    assert sorted(squares) == [(k, k * k) for k in range(7)]


def test_work_that_is_lost_again_and_again_is_a_clear_error(client):
    tries = []

    def submit(batch, is_again):
        tries.append(is_again)
        futures = [client.submit(pow, item, 2, pure=False) for item in batch]
        client.cancel(futures)
        return futures

    with pytest.raises(ClusterError, match="the same work was lost 5 times with workers of the cluster at tcp://"):
        list(map_on_cluster(client, submit, [3]))
    assert tries == [False, True, True, True, True]


def test_no_scheduler_is_a_clear_error():
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9 .*`dask scheduler`"):
        connect("tcp://127.0.0.1:9", timeout=0.5)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_that_nobody_can_wait_is_a_clear_error(seconds):
    with pytest.raises(ValueError, match=f"worker_timeout must be 0 to 10,000,000 seconds, not {seconds:g}"):
        connect("tcp://127.0.0.1:9", worker_timeout=seconds)


def test_a_cluster_without_workers_is_a_clear_error():
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y))
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        connect(cluster.scheduler_address, worker_timeout=0.3) as lonely,
        pytest.raises(ClusterError, match=r"the scheduler at tcp://127\.0\.0\.1:\d+ has had no worker for 0.3 sec"),
    ):
        refine_on_cluster(lonely, forest, Partitions.from_arrays(X, y, n_parts=2))


def test_a_scheduler_that_goes_is_a_clear_error():
    X, y = CANCER
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y))
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        away = connect(cluster.scheduler_address, timeout=900)
        away._timeout = 0.5  # it need not wait for this scheduler to come back
        descent = ClusterDescent(away, forest, Partitions.from_arrays(X, y, n_parts=2), LOSSES["mse"], 1.0)
    with pytest.raises(ClusterError, match=r"the scheduler at tcp://127\.0\.0\.1:\d+ cannot be reached any more"):
        list(descent)
    away.close()


@pytest.fixture
def files(tmp_path):
    """Three files of the same table, one with its columns in another order; missing values too."""
    pandas = pytest.importorskip("pandas")
    X, y = CANCER
    table = pandas.DataFrame(X.astype(np.float32)[:, :5], columns=list("abcde"))
    table.iloc[::7, 2] = np.nan
    table["kind"] = np.array(["bad", "good"])[y]
    paths = [tmp_path / f"{k}.parquet" for k in range(3)]
    for k, path in enumerate(paths):
        rows = table.iloc[k::3]
        rows = rows[sorted(rows.columns, reverse=True)] if k == 1 else rows
        rows.to_parquet(path)
    return table, paths


def test_workers_read_files(client, files):
    table, paths = files
    parts = Partitions.from_files(client, paths, label="kind")
    assert parts.feature_names == tuple("abcde")
    X, y = table[list("abcde")], table["kind"]
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    refined = refine_on_cluster(client, forest, parts, l2=1.0, n_passes=2, tol=0.0)
    expected = here(forest, X, y, "cross_entropy", 1.0, 2)
    np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)


def test_files_are_read_as_the_caller_says_and_csv_too(client, files, tmp_path):
    table, paths = files
    for k in range(3):
        table.iloc[k::3].to_csv(tmp_path / f"{k}.csv", index=False)
    X, y = table[list("abcde")], table["kind"]
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    expected = here(forest, X, y, "cross_entropy", 1.0, 1)
    text = Partitions.from_files(client, [tmp_path / f"{k}.csv" for k in range(3)], label="kind")
    own = Partitions.from_files(client, paths, read=on_workers.read_with_pandas)
    for parts in (text, own):
        refined = refine_on_cluster(client, forest, parts, l2=1.0, n_passes=1, tol=0.0)
        np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)


def test_paths_are_relative_to_the_folder_of_the_client(client, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the workers stay where they are
    parts = Partitions.from_files(client, [path.name for path in files[1]], label="kind")
    rows = client.gather(client.compute([load(client) for load in parts.loaders]))
    assert [len(part.y) for part in rows] == [190, 190, 189]


def test_dask_arrays_and_frames_are_parts(client, files):
    dask_array, dask_frame = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    table, _ = files
    X, y = table[list("abcde")], table["kind"]
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    expected = here(forest, X, y, "cross_entropy", 1.0, 1)
    frame = dask_frame.from_pandas(table, npartitions=3)
    arrays = Partitions.from_dask(
        dask_array.from_array(X.to_numpy(), chunks=(200, -1)),
        dask_array.from_array(y.to_numpy(object), chunks=200),
    )
    for parts in (Partitions.from_dask(frame[list("abcde")], frame["kind"]), arrays):
        refined = refine_on_cluster(client, forest, parts, l2=1.0, n_passes=1, tol=0.0)
        np.testing.assert_allclose(refined.value, expected.value, rtol=1e-9, atol=1e-10)


def test_what_is_wrong_with_a_part_is_said(client, files, tmp_path):
    _, paths = files
    forest = bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(*CANCER))
    with pytest.raises(ValueError, match=r"0\.parquet has no column 'sort'; its columns are a, b, c, d, e, kind"):
        Partitions.from_files(client, paths, label="sort")
    with pytest.raises(ValueError, match=r"either a label, .* or a function"):
        Partitions.from_files(client, paths)
    with pytest.raises(ValueError, match="there are no parts"):
        Partitions.from_files(client, [], label="kind")
    with pytest.raises(FileNotFoundError, match="absent"):
        Partitions.from_files(client, [tmp_path / "absent.parquet"], label="kind")
    with pytest.raises(ValueError, match="n_parts must be from 1 to the number of rows, 569, not 0"):
        Partitions.from_arrays(*CANCER, n_parts=0)
    with pytest.raises(ValueError, match="X has 568 rows, y 569 labels"):
        Partitions.from_arrays(CANCER[0][1:], CANCER[1], n_parts=2)
    with pytest.raises(ValueError, match="labels that the forest does not know: 7"):
        refine_on_cluster(client, forest, Partitions.from_arrays(CANCER[0], CANCER[1] * 7, n_parts=2))
    with pytest.raises(ValueError, match="X has 5 features, but the forest was trained on 30"):
        refine_on_cluster(client, forest, Partitions.from_arrays(CANCER[0][:, :5], CANCER[1], n_parts=2))
    with pytest.raises(TypeError, match="takes Dask arrays, data frames and series, not ndarray"):
        Partitions.from_dask(*CANCER)
    with pytest.raises(ValueError, match="one loss, by its name"):
        refine_on_cluster(client, forest, Partitions.from_arrays(*CANCER, n_parts=2), loss="auto")
    with pytest.raises(ValueError, match="there is one class only, 1"):
        grow_on_cluster(client, Partitions.from_arrays(CANCER[0], np.ones(569, int), n_parts=2))


def rows_of(X, y):
    classes, number = np.unique(y, return_inverse=True)
    return TrainingRows(X.astype(np.float32), number, np.ones(len(y)), classes)


def test_a_search_on_the_cluster_finds_what_threads_find(client):
    # Three trials are more than there are workers, so that one waits; where they are done changes none of them.
    rows = rows_of(DIGITS[0][::3], DIGITS[1][::3])
    here = fit(rows, 700, n_trials=3)
    there = fit(rows, 700, n_trials=3, executor=DaskExecutor(client))
    assert there.packed == here.packed
    assert there.report.points == here.report.points


def test_a_worker_that_dies_during_a_search_does_not_change_what_is_found(mortal):
    # Of four trials two are not done when a worker dies: one is lost, or its rows. A trial is the same work with few
    # rows and features.
    rows = rows_of(CANCER[0][::3, :10], CANCER[1][::3])
    killed = []

    def kill_one(search):
        if search.n_done >= 2 and not killed:
            killed.append(next(iter(mortal.scheduler_info()["workers"])))
            kill(mortal, killed[0])

    found = fit(rows, 300, n_trials=4, executor=DaskExecutor(mortal), progress=kill_one)
    assert killed
    assert found.packed == fit(rows, 300, n_trials=4).packed


@pytest.mark.parametrize(
    "way",
    [
        CompressionConfig(1.0, None),
        CompressionConfig(1.0, 3.0),
        CompressionConfig(2.0, 1.0),
        CompressionConfig(2.0, 1.0, 4, 16, True, "labels"),
    ],
    ids=str,
)
def test_a_model_of_rows_on_the_cluster_is_that_of_rows_here(client, way):
    X, y = DIGITS if way.codebook else CANCER
    rows = rows_of(X, y)
    trial = Trial(900, GrowthConfig("boosted", 16, 0.4, 6, 16), way)
    parts = Partitions.from_arrays(X.astype(np.float32), y, n_parts=3)
    there = build_on_cluster(client, parts, rows, trial)
    here = build(rows, trial)
    assert there.nbytes <= 900
    # XGBoost adds the histograms of workers in another order: a split may fall differently where two are as good.
    assert np.mean(there.predict(X) == here.predict(X)) > 0.98
    assert np.mean(there.predict(X) == y) > np.mean(here.predict(X) == y) - 0.01


def test_what_is_sent_with_each_part_does_not_grow_with_the_sample(client, monkeypatch):
    sizes, of_parts = [], Partitions.map

    def weighed(parts, function):
        sizes.append(len(pickle.dumps(function)))
        return of_parts(parts, function)

    monkeypatch.setattr(Partitions, "map", weighed)
    X = np.random.default_rng(0).normal(size=(4_000, 5)).astype(np.float32)
    for n_rows in (500, 4_000):
        y = (X[:n_rows, 0] > X[:n_rows, 1]).astype(np.int64)
        trial = Trial(300, GrowthConfig("boosted", 8, 0.4, 6, 16), CompressionConfig(1.0, None))
        build_on_cluster(client, Partitions.from_arrays(X[:n_rows], y, n_parts=2), rows_of(X[:n_rows], y), trial)
    assert sizes[2:] == pytest.approx(sizes[:2], rel=0.1)


def test_files_are_learned_from_where_they_are(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = CANCER
    frame = pandas.DataFrame(X, columns=[f"c{k}" for k in range(30)]).assign(kind=np.where(y, "benign", "malignant"))
    for k in range(3):
        frame.iloc[k::3].to_parquet(tmp_path / f"{k}.parquet")
    parts = Partitions.from_files(client, sorted(tmp_path.iterdir()), label="kind")
    found = fit_on_cluster(client, parts, 500, is_classification=True, n_trials=3)
    assert found.packed.nbytes <= 500
    assert found.packed.feature_names == tuple(frame.columns[:-1])
    assert np.mean(found.packed.predict(X) == frame["kind"]) > 0.95
    assert any("569 of 569 rows" in note for note in found.report.notes)


def test_the_command_searches_on_a_cluster(client, tmp_path, capsys):
    address = client.scheduler_info()["address"]
    options = ["--demo", "--budget", "600", "--trials", "2", "--backend", "dask"]
    assert main(["fit", *options, "--scheduler", address, "--out", str(tmp_path / "o")]) == 0, capsys.readouterr().err
    assert bh.load(tmp_path / "o/model.bhk").nbytes <= 600
    folder = tmp_path / "parts"
    folder.mkdir()
    table = "\n".join(["a,b,kind", *(f"{k % 7},{k % 3},{'no' if k % 7 < 3 else 'yes'}" for k in range(300))])
    (folder / "1.csv").write_text(table)
    (folder / "2.csv").write_text(table)
    options = [str(folder), "--label", "kind", "--budget", "100", "--trials", "2", "--backend", "dask"]
    assert main(["fit", *options, "--scheduler", address, "--out", str(tmp_path / "p")]) == 0, capsys.readouterr().err
    assert "600 of 600 rows" in capsys.readouterr().out
    assert bh.load(tmp_path / "p/model.bhk").predict([[1.0, 0.0], [5.0, 0.0]]).tolist() == ["no", "yes"]


def test_a_cluster_that_is_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_fit_table, "connect", partial(connect, timeout=0.5))
    options = ["--demo", "--trials", "1", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--out"]
    assert main(["fit", *options, str(tmp_path / "o")]) == 2
    assert "tcp://127.0.0.1:9" in capsys.readouterr().err
