"""The kernels of codebooks by themselves: shapes that packing does not reach, and arguments that are refused."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus

from billhook.kernels import choose_entries, find_nearest, k_means, move_entries

SQUARED, LOGISTIC, SQUARED_HINGE = 0, 1, 2
LOSSES = (SQUARED, LOGISTIC, SQUARED_HINGE)
NO_GRID = np.zeros((0, 3))


def made_up(seed, n_classes, *, n_rows=50, n_trees=3, n_leaves=5, n_entries=6, loss=LOGISTIC, leaf_type=np.uint16):
    """Return the arguments that both kernels share; leaves have values of their own, which the state sums up."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(n_leaves, size=(n_trees, n_rows)).astype(leaf_type)
    first = (np.arange(n_trees + 1) * n_leaves).astype(np.uint64)
    table = rng.normal(size=(n_trees * n_leaves, n_classes))
    label = rng.integers(n_classes, size=n_rows).astype(np.uint64)
    weight = rng.integers(1, 4, size=n_rows).astype(np.float64)
    used = np.zeros(len(table), np.bool_)
    for k in range(n_trees):
        used[k * n_leaves + leaf[k].astype(np.int64)] = True
    entries = rng.normal(size=(n_entries, n_classes))
    chosen = np.full(len(table), -1, np.int64)
    state = state_of(leaf, first, table, loss)
    return [leaf, first, state, label, weight, used, table.copy(), chosen, entries], table


def state_of(leaf, first, table, loss):
    score = sum(
        (table[first[k].astype(np.int64) + ids.astype(np.int64)] for k, ids in enumerate(leaf)),
        np.zeros((leaf.shape[1], table.shape[1])),
    )
    if loss != LOGISTIC:
        return score
    state = np.exp(score - score.max(axis=1, keepdims=True))
    return state / state.sum(axis=1, keepdims=True)


def objective(shared, loss, table, l2):
    """Return what the kernels lower: the weighted losses of rows, and the penalty of leaves with rows."""
    leaf, first, _, label, weight, used, anchor, _, _ = shared
    state = state_of(leaf, first, table, loss)
    is_label = np.arange(state.shape[1]) == label[:, None].astype(np.int64)
    if loss == LOGISTIC:
        of_row = -np.log(state[is_label])
    elif loss == SQUARED:
        of_row = 0.5 * ((state - is_label) ** 2).sum(axis=1)
    else:
        of_row = 0.5 * (np.maximum(1.0 - np.where(is_label, state, -state), 0.0) ** 2).sum(axis=1)
    return weight @ of_row + 0.5 * l2 * ((table - anchor)[used] ** 2).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3, 8, 9, 17, 26, 32, 41])
@pytest.mark.parametrize("is_even", [False, True])
def test_the_state_is_that_of_the_values_and_the_loss_falls(loss, n_classes, is_even):
    shared, table = made_up(n_classes, n_classes, loss=loss)
    if is_even:
        shared[4][:] = 2.5
    state, chosen, entries = shared[2], shared[7], shared[8]
    choose_entries(*shared, table, loss, 1.0, 2.0, 4)
    np.testing.assert_array_equal(table, entries[chosen])
    np.testing.assert_allclose(state, state_of(shared[0], shared[1], table, loss), rtol=1e-10, atol=1e-13)
    reached = objective(shared, loss, table, 1.0)
    for grid in (NO_GRID, np.tile([0.25, -7.0, 8.0], (n_classes, 1))):
        move_entries(*shared, grid, loss, 1.0, 2.0, 2)
        table[:] = entries[chosen]
        np.testing.assert_allclose(state, state_of(shared[0], shared[1], table, loss), rtol=1e-10, atol=1e-13)
        now = objective(shared, loss, table, 1.0)
        assert grid.size or now < reached
        for _ in range(2):
            choose_entries(*shared, table, loss, 1.0, 2.0, 4)
            move_entries(*shared, grid, loss, 1.0, 2.0, 1)
            table[:] = entries[chosen]
            reached, now = now, objective(shared, loss, table, 1.0)
            assert now <= reached + 1e-9
        reached = now
    np.testing.assert_array_equal(entries, np.rint(entries / 0.25) * 0.25)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_leaf_takes_the_best_entry_if_it_tries_all(loss):
    shared, table = made_up(1, 5, n_trees=1, n_rows=200, loss=loss)
    anchor, chosen, entries = shared[6], shared[7], shared[8]
    choose_entries(*shared, table, loss, 1.0, 2.0, 6)
    for leaf in range(len(table)):
        costs = []
        for entry in entries:
            other = anchor.copy()
            other[leaf] = entry
            costs.append(objective(shared, loss, other, 1.0))
        assert chosen[leaf] == np.argmin(costs)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_copy_of_a_row_is_as_good_as_twice_its_weight(loss):
    once, table = made_up(2, 11, loss=loss)
    twice = [a.copy() for a in once]
    for place, axis in ((0, 1), (2, 0), (3, 0), (4, 0)):
        twice[place] = np.ascontiguousarray(np.repeat(once[place], 2, axis=axis))
    once[4] *= 2.0
    results = []
    for shared in (once, twice):
        values = table.copy()
        choose_entries(*shared, values, loss, 1.0, 2.0, 5)
        move_entries(*shared, NO_GRID, loss, 1.0, 2.0, 2)
        results.append(shared)
    np.testing.assert_array_equal(results[0][7], results[1][7])
    np.testing.assert_allclose(results[0][8], results[1][8], rtol=1e-9)


def test_wide_leaf_ids_change_nothing():
    results = []
    for leaf_type in (np.uint16, np.uint32):
        shared, table = made_up(3, 7, leaf_type=leaf_type)
        choose_entries(*shared, table, LOGISTIC, 1.0, 2.0, 3)
        move_entries(*shared, NO_GRID, LOGISTIC, 1.0, 2.0, 2)
        results.append((shared[2], shared[7], shared[8], table))
    for narrow, wide in zip(*results, strict=True):
        np.testing.assert_array_equal(narrow, wide)


@pytest.mark.parametrize("n_rows", [0, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_leaves_without_rows_take_the_entry_nearest_to_their_anchor(loss, n_rows):
    shared, table = made_up(4, 6, n_rows=n_rows, loss=loss)
    used, anchor, chosen, entries = shared[5:]
    choose_entries(*shared, table, loss, 1.0, 2.0, 3)
    nearest = np.square(anchor[:, None] - entries).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(chosen[~used], nearest[~used])
    before, own = entries.copy(), np.unique(chosen[used])
    move_entries(*shared, NO_GRID, loss, 1.0, 2.0, 2)
    others = np.setdiff1d(np.arange(len(entries)), own)
    np.testing.assert_array_equal(entries[others], before[others])
    assert np.isfinite(entries).all()


def test_a_step_to_the_grid_keeps_to_its_limits():
    shared, table = made_up(5, 4)
    choose_entries(*shared, table, LOGISTIC, 1.0, 2.0, 3)
    grid = np.array([[0.5, -1.0, 1.0], [0.1, -2.0, 0.0], [0.3, 2.0, 3.0], [1.0, -4.0, 3.0]])
    move_entries(*shared, grid, LOGISTIC, 1.0, 2.0, 3)
    whole = shared[8] / grid[:, 0]
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-9)
    assert (np.rint(whole) >= grid[:, 1]).all()
    assert (np.rint(whole) <= grid[:, 2]).all()


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (0, np.zeros((3, 50), np.int64), TypeError),
        (0, np.zeros((3, 49), np.uint16), ValueError),
        (1, np.arange(3, dtype=np.uint64), ValueError),
        (1, np.arange(4, dtype=np.uint64), ValueError),
        (2, np.zeros((50, 5)), ValueError),
        (2, np.zeros((50, 4), np.float32), TypeError),
        (3, np.zeros(49, np.uint64), ValueError),
        (4, np.ones(51), ValueError),
        (5, np.ones(14, np.bool_), ValueError),
        (6, np.zeros((14, 4)), ValueError),
        (7, np.zeros(15, np.int32), TypeError),
        (8, np.zeros((0, 4)), ValueError),
        (8, np.zeros((6, 3)), ValueError),
        (9, np.zeros((15, 3)), ValueError),
        (10, 3, ValueError),
        (13, 0, ValueError),
        (13, 8, ValueError),
    ],
)
def test_choosing_refuses_other_arguments(place, value, error):
    shared, table = made_up(0, 4)
    arguments = [*shared, table, LOGISTIC, 1.0, 2.0, 3]
    arguments[place] = value
    with pytest.raises(error, match="choose_entries: "):
        choose_entries(*arguments)


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [(7, np.zeros(14, np.int64), ValueError), (9, np.zeros((3, 3)), ValueError), (9, np.zeros((4, 2)), ValueError)],
)
def test_moving_refuses_other_arguments(place, value, error):
    shared, _ = made_up(0, 4)
    arguments = [*shared, NO_GRID, LOGISTIC, 1.0, 2.0, 2]
    arguments[place] = value
    with pytest.raises(error, match="move_entries: "):
        move_entries(*arguments)


def clustered(vectors, weight, n_centres, seed=0):
    centre, nearest = np.empty((n_centres, vectors.shape[1])), np.empty(len(vectors), np.int64)
    inertia = k_means(vectors, weight, seed, 300, centre, nearest)
    return inertia, centre, nearest


@pytest.mark.parametrize("n_values", [1, 2, 3, 4, 5, 7, 18, 26])
@pytest.mark.parametrize("n_vectors", [5, 64, 65, 200])
def test_nearest_is_the_first_of_the_nearest(n_vectors, n_values):
    rng = np.random.default_rng(n_values)
    vectors = rng.integers(-2, 3, size=(n_vectors, n_values)).astype(np.float64)
    centre = rng.integers(-2, 3, size=(9, n_values)).astype(np.float64)
    nearest = np.empty(n_vectors, np.int64)
    find_nearest(vectors, centre, nearest)
    np.testing.assert_array_equal(nearest, np.square(vectors[:, None] - centre).sum(axis=2).argmin(axis=1))


@pytest.mark.parametrize("n_values", [1, 3, 18, 26])
def test_clusters_are_means_of_what_is_nearest_to_them(n_values):
    rng = np.random.default_rng(n_values)
    vectors, weight = rng.normal(size=(150, n_values)), rng.random(150) + 0.1
    inertia, centre, nearest = clustered(vectors, weight, 12)
    squared = np.square(vectors[:, None] - centre).sum(axis=2)
    np.testing.assert_array_equal(nearest, squared.argmin(axis=1))
    assert inertia == pytest.approx(weight @ squared.min(axis=1))
    for e in range(12):
        own = nearest == e
        np.testing.assert_allclose(centre[e], np.average(vectors[own], axis=0, weights=weight[own]), atol=1e-12)
    np.testing.assert_array_equal(clustered(vectors, weight, 12)[1], centre)


def test_clusters_are_as_good_as_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    vectors, weight = rng.normal(size=(300, 6)) * rng.gamma(0.5, size=(300, 6)), rng.random(300) + 0.1
    ours = [clustered(vectors, weight, 20, seed)[0] for seed in range(40)]
    theirs = [
        KMeans(20, n_init=1, tol=0.0, random_state=s).fit(vectors, sample_weight=weight).inertia_ for s in range(40)
    ]
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(40)
    assert np.mean(ours) < np.mean(theirs) + 3.0 * spread
    # With no pass at all, they are where it starts: better than drawn one by one.
    start = np.empty((20, 6))
    alone = [k_means(vectors, weight, seed, 0, start, np.empty(300, np.int64)) for seed in range(40)]
    drawn = []
    for seed in range(40):
        centre, _ = kmeans_plusplus(vectors, 20, sample_weight=weight, random_state=seed, n_local_trials=1)
        drawn.append(weight @ np.square(vectors[:, None] - centre).sum(axis=2).min(axis=1))
    assert np.mean(alone) < np.mean(drawn)
    assert {tuple(row) for row in start} <= {tuple(row) for row in vectors}


def test_vectors_that_are_alike_leave_centres_over():
    vectors = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    inertia, centre, nearest = clustered(vectors, np.ones(8), 5)
    assert inertia == 0.0
    np.testing.assert_array_equal(centre[nearest], vectors)
    assert {tuple(row) for row in centre} == {(0.0, 1.0), (2.0, 3.0)}


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (0, np.zeros((9, 4)), ValueError),
        (0, np.zeros((9, 3), np.float32), TypeError),
        (1, np.ones(8), ValueError),
        (4, np.zeros((0, 3)), ValueError),
        (4, np.zeros((10, 3)), ValueError),
        (5, np.zeros(8, np.int64), ValueError),
        (5, np.zeros(9, np.int32), TypeError),
    ],
)
def test_k_means_refuses_other_arguments(place, value, error):
    arguments = [np.zeros((9, 3)), np.ones(9), 0, 300, np.zeros((2, 3)), np.zeros(9, np.int64)]
    arguments[place] = value
    with pytest.raises(error, match="k_means: "):
        k_means(*arguments)
    if place not in (1, 4):
        with pytest.raises(error, match="find_nearest: "):
            find_nearest(arguments[0], arguments[4], arguments[5])
