"""The kernels of block coordinate descent themselves, on flat tables that no forest makes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import naive.refinement
from billhook import kernels

CODES = {
    name: code
    for code, name in enumerate(
        ["mse", "cross_entropy", "squared_hinge", "absolute", "huber", "poisson", "bounded_hinge"]
    )
}
SKIP_NONE, NO_GRID = np.zeros((0, 0), bool), np.zeros((0, 3))
SIZES = (1, 5, 2, 90, 3, 6, 4)  # of the trees
FOR_ONE = [(1, 1, loss) for loss in CODES]
FOR_MANY = [
    (n_columns, n_values, loss)
    for n_columns, n_values in [(2, 2), (3, 3), (8, 8), (18, 18), (37, 37), (3, 1), (5, 2), (18, 1)]
    for loss in ("mse", "cross_entropy", "squared_hinge", "bounded_hinge")
]


def made_up(n_columns, n_values, loss, n_rows=300, skips=False, dtype=np.uint16, sizes=SIZES, seed=0):
    """Return rows and leaves: the last leaf of a tree has no rows, and some rows have no weight."""
    random = np.random.default_rng(seed)
    n_trees = len(sizes)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    leaf = np.stack([random.integers(0, max(size - 1, 1), n_rows) for size in sizes]).astype(dtype)
    target = random.integers(0, n_columns, n_rows).astype(np.uint64)
    if n_columns == 1:
        signs = random.choice([-1.0, 1.0], n_rows)
        target = {"squared_hinge": signs, "bounded_hinge": signs, "cross_entropy": (signs + 1.0) / 2.0}.get(
            loss, random.integers(0, 4, n_rows).astype(float)
        )
    rows = SimpleNamespace(
        leaf=leaf,
        first=first,
        column=random.integers(0, n_columns - n_values + 1, n_trees).astype(np.uint64),
        score=random.normal(size=(n_rows, n_columns)),
        target=target,
        weight=random.integers(0, 3, n_rows).astype(float),
        skip=(random.random((n_trees, n_rows)) < 0.4) & skips,
        table=random.normal(size=(int(first[-1]), n_values)) * 0.1,
    )
    rows.used = reached(rows)
    rows.skip_given = rows.skip if skips else SKIP_NONE
    return rows


def reached(rows):
    used = np.zeros(int(rows.first[-1]), bool)
    for k, ids in enumerate(rows.leaf):
        used[int(rows.first[k]) + ids[(rows.weight > 0) & ~rows.skip[k]].astype(int)] = True
    return used


def is_log(loss):
    return loss in ("cross_entropy", "poisson")


def state_of(rows, loss):
    return np.exp(rows.score) if is_log(loss) else rows.score.copy()


def score_of(state, loss):
    """Return the scores of a state; those of several classes for the log losses up to a number a row."""
    if not is_log(loss):
        return state
    return np.log(state / state.sum(axis=1, keepdims=True)) if state.shape[1] > 1 else np.log(state)


def descend(rows, loss, state, table, l2=1.5, largest=2.0, width=0.8, damping=0.75, grid=NO_GRID, group=0.0):
    curvature = np.full_like(table, np.nan)
    (kernels.descend_one if state.shape[1] == 1 else kernels.descend_many)(
        rows.leaf, rows.first, rows.column, state, rows.target, rows.weight, rows.skip_given, rows.used, table,
        np.zeros_like(table), curvature, CODES[loss], width, l2, group, largest, damping, grid,
    )  # fmt: skip
    return curvature


@pytest.mark.parametrize(("n_columns", "n_values", "loss"), FOR_ONE + FOR_MANY)
@pytest.mark.parametrize("skips", [False, True], ids=["", "skips"])
def test_a_pass_is_the_formula(n_columns, n_values, loss, skips):
    rows = made_up(n_columns, n_values, loss, skips=skips)
    state, table = state_of(rows, loss), rows.table.copy()
    curvature = descend(rows, loss, state, table)
    expected = naive.refinement.descend_table(rows, rows.table, loss, l2=1.5, largest=2.0, width=0.8, damping=0.75)
    np.testing.assert_allclose(table, expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(curvature, expected[1], rtol=1e-8, atol=1e-10)
    scores = [score_of(s, loss) for s in (state, np.exp(expected[2]) if is_log(loss) else expected[2])]
    np.testing.assert_allclose(*scores, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("n_columns", "n_values", "loss"), [(1, 1, "mse"), (5, 5, "cross_entropy"), (5, 2, "mse")])
def test_values_are_rounded_to_the_grid_of_their_column(n_columns, n_values, loss):
    rows = made_up(n_columns, n_values, loss)
    grid = np.stack([0.01 * np.arange(1, n_columns + 1), np.full(n_columns, -7.0), np.full(n_columns, 6.0)], axis=1)
    state, table = state_of(rows, loss), rows.table.copy()
    descend(rows, loss, state, table, grid=grid)
    options = {"l2": 1.5, "largest": 2.0, "damping": 0.75, "grid": grid}
    expected = naive.refinement.descend_table(rows, rows.table, loss, **options)[0]
    np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_columns", "n_values", "loss"), [*FOR_ONE, *FOR_MANY[::3]])
def test_wide_leaf_ids_give_the_same_bits(n_columns, n_values, loss):
    results = []
    for dtype in (np.uint16, np.uint32):
        rows = made_up(n_columns, n_values, loss, dtype=dtype, skips=True)
        state, table = state_of(rows, loss), rows.table.copy()
        results.append((state, table, descend(rows, loss, state, table)))
    for narrow, wide in zip(*results, strict=True):
        np.testing.assert_array_equal(narrow, wide)


def test_a_tree_may_have_more_leaves_than_16_bits_count():
    rows = made_up(1, 1, "mse", dtype=np.uint32, sizes=(70_000, 3))
    rows.leaf[0, 7] = 69_999
    rows.weight[7] = 2.0
    rows.used = reached(rows)
    used = np.empty_like(rows.used)
    kernels.find_reached(rows.leaf, rows.first, rows.weight, SKIP_NONE, used)
    np.testing.assert_array_equal(used, rows.used)
    state, table = rows.score.copy(), rows.table.copy()
    descend(rows, "mse", state, table, l2=0.5, largest=math.inf, damping=1.0)
    before, wanted = rows.table[69_999, 0], rows.target[7] - rows.score[7, 0]
    assert table[69_999, 0] == pytest.approx(before + (2.0 * wanted - 0.5 * before) / (2.0 + 0.5))


@pytest.mark.parametrize(("n_columns", "n_values", "loss"), FOR_ONE + FOR_MANY)
def test_sweeps_and_steps_are_a_pass(n_columns, n_values, loss):
    rows = made_up(n_columns, n_values, loss)
    state, table = state_of(rows, loss), rows.table.copy()
    curvature = descend(rows, loss, state, table)
    by_tree, table_by_tree, curvature_by_tree = state_of(rows, loss), rows.table.copy(), np.zeros_like(table)
    sweep = kernels.sweep_one if n_columns == 1 else kernels.sweep_many
    at = (rows.leaf, rows.first, rows.column)
    before, move = 0, np.full((SIZES[0], n_values), 1.0 if is_log(loss) else 0.0)
    for k, size in [*enumerate(SIZES), (0, SIZES[0])]:
        sums = np.full((size, 2, n_values), np.nan)
        sweep(*at, before, k, move, by_tree, rows.target, rows.weight, CODES[loss], 0.8, sums)
        if k == 0 and before > 0:
            break
        before, move = k, np.empty((size, n_values))
        kernels.step_tree(
            k, rows.first, rows.column, n_columns, rows.used, table_by_tree, np.zeros_like(table), curvature_by_tree,
            sums, CODES[loss], 1.5, 0.0, 2.0, 0.75, NO_GRID, move,
        )  # fmt: skip
    np.testing.assert_array_equal(table_by_tree, table)
    np.testing.assert_array_equal(curvature_by_tree, curvature)
    np.testing.assert_allclose(score_of(by_tree, loss), score_of(state, loss), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_values", [1, 2, 5])
@pytest.mark.parametrize("factor", [1e-45, 1e45])
def test_only_proportions_of_the_classes_count(n_values, factor):
    rows = made_up(5, n_values, "cross_entropy")
    tables = []
    for times in (1.0, factor):
        state, table = state_of(rows, "cross_entropy") * times, rows.table.copy()
        descend(rows, "cross_entropy", state, table)
        tables.append(table)
    np.testing.assert_allclose(*tables, rtol=1e-10)


@pytest.mark.parametrize(("n_columns", "n_values"), [(1, 1), (3, 3), (18, 18), (4, 1), (5, 2)])
@pytest.mark.parametrize("skips", [False, True], ids=["", "skips"])
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_states_are_scores_or_exp_of_them(n_columns, n_values, skips, n_rows):
    rows = made_up(n_columns, n_values, "mse", n_rows=n_rows, skips=skips)
    base = np.arange(n_columns) / 3.0
    expected = np.tile(base, (n_rows, 1))
    for k, ids in enumerate(rows.leaf):
        column = int(rows.column[k])
        values = rows.table[int(rows.first[k]) + ids.astype(int)] * ~rows.skip[k][:, None]
        expected[:, column : column + n_values] += values
    state = np.empty((n_rows, n_columns))
    given = (rows.leaf, rows.first, rows.column, rows.table, rows.skip_given, base)
    kernels.find_states(*given, False, state)
    np.testing.assert_array_equal(state, expected)
    kernels.find_states(*given, True, state)
    expected -= expected.max(axis=1, keepdims=True) if n_columns > 1 else 0.0
    np.testing.assert_allclose(state, np.exp(expected), rtol=1e-15)


@pytest.mark.parametrize("skips", [False, True], ids=["", "skips"])
@pytest.mark.parametrize("n_rows", [0, 1, 5, 2000])
def test_reached_leaves_have_rows_with_weight(skips, n_rows):
    rows = made_up(1, 1, "mse", n_rows=n_rows, skips=skips)
    used = np.ones_like(rows.used)
    kernels.find_reached(rows.leaf, rows.first, rows.weight, rows.skip_given, used)
    np.testing.assert_array_equal(used, rows.used)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_leaves_are_renumbered_tree_by_tree(dtype):
    rows = made_up(1, 1, "mse", dtype=dtype)
    number = np.random.default_rng(0).integers(0, 9, int(rows.first[-1])).astype(dtype)
    expected = [number[int(rows.first[k]) + ids.astype(int)] for k, ids in enumerate(rows.leaf)]
    kernels.renumber_leaves(rows.leaf, rows.first, number)
    np.testing.assert_array_equal(rows.leaf, expected)


@pytest.mark.parametrize(
    ("n_columns", "loss"), [(n, loss) for n, _, loss in FOR_ONE + FOR_MANY if loss != "bounded_hinge"]
)
@pytest.mark.parametrize("n_rows", [0, 1, 7, 300, 1000])
def test_losses_are_the_formulas(n_columns, loss, n_rows):
    rows = made_up(n_columns, n_columns, loss, n_rows=n_rows)
    rows.score *= 5.0
    state = state_of(rows, loss)
    expected = naive.refinement.row_losses(loss, rows.score, rows.target, 0.8)
    losses = np.full(n_rows, np.nan)
    of_rows, total = (
        (kernels.row_losses_one, kernels.total_loss_one)
        if n_columns == 1
        else (kernels.row_losses_many, kernels.total_loss_many)
    )
    of_rows(state, rows.target, CODES[loss], 0.8, losses)
    np.testing.assert_allclose(losses, expected, rtol=1e-12, atol=1e-14)
    # The sum is exact but for the rounding of the products, and of itself.
    exact = math.fsum(rows.weight * losses)
    assert total(state, rows.target, CODES[loss], 0.8, rows.weight) == pytest.approx(exact, rel=3e-16, abs=1e-300)


def test_small_losses_of_two_classes_keep_their_digits():
    score = np.array([[40.0], [30.0], [-30.0], [1e-9]])
    target = np.array([1.0, 1.0, 0.0, 0.0])
    losses = np.empty(4)
    kernels.row_losses_one(np.exp(score), target, CODES["cross_entropy"], 1.0, losses)
    np.testing.assert_allclose(losses, np.logaddexp(0.0, [-40.0, -30.0, -30.0, 1e-9]), rtol=1e-14)


@pytest.mark.parametrize(("n_columns", "n_values", "loss"), [(1, 1, "mse"), (3, 3, "cross_entropy"), (3, 1, "mse")])
@pytest.mark.parametrize("n_rows", [0, 1])
def test_few_rows_are_enough(n_columns, n_values, loss, n_rows):
    rows = made_up(n_columns, n_values, loss, n_rows=n_rows)
    rows.used = reached(rows)
    state, table = state_of(rows, loss), rows.table.copy()
    descend(rows, loss, state, table)
    expected = naive.refinement.descend_table(rows, rows.table, loss, l2=1.5, largest=2.0, damping=0.75)[0]
    np.testing.assert_allclose(table, expected, rtol=1e-8, atol=1e-10)


def descend_with(change, n_columns=3, n_values=3):
    rows = made_up(n_columns, n_values, "mse")
    state, table = rows.score.copy(), rows.table.copy()
    for name, value in change.items():
        setattr(rows, name, value(getattr(rows, name)) if callable(value) else value)
    return descend(rows, "mse", state, table)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"leaf": lambda x: x.astype(np.int64)}, TypeError),
        ({"target": lambda x: x.astype(float)}, TypeError),
        ({"weight": lambda x: x.astype(np.float32)}, TypeError),
        ({"weight": lambda x: x[1:]}, ValueError),
        ({"target": lambda x: x[1:].copy()}, ValueError),
        ({"first": lambda x: x[1:].copy()}, ValueError),
        ({"first": lambda x: x + np.uint64(1)}, ValueError),
        ({"column": lambda x: x[1:].copy()}, ValueError),
        ({"used": lambda x: x[1:].copy()}, ValueError),
        ({"skip_given": np.zeros((2, 2), bool)}, ValueError),
    ],
)
def test_what_does_not_fit_is_refused(change, error):
    with pytest.raises(error, match="descend_many"):
        descend_with(change)


def test_the_kernels_for_one_and_for_many_columns_refuse_those_of_the_other():
    one, many = np.ones((4, 1)), np.ones((4, 2))
    with pytest.raises(ValueError, match="total_loss_one: rows must have one column"):
        kernels.total_loss_one(many, np.ones(4), 0, 1.0, np.ones(4))
    with pytest.raises(ValueError, match="row_losses_many: rows must have several columns"):
        kernels.row_losses_many(one, np.ones(4, np.uint64), 0, 1.0, np.ones(4))
    with pytest.raises(ValueError, match="renumber_leaves: leaf and number have different types"):
        kernels.renumber_leaves(np.zeros((1, 2), np.uint16), np.array([0, 1], np.uint64), np.zeros(1, np.uint32))
    with pytest.raises(ValueError, match="find_reached"):
        kernels.find_reached(
            np.zeros((1, 2), np.uint16), np.array([0, 1], np.uint64), np.ones(3), SKIP_NONE, np.ones(1, bool)
        )


@pytest.mark.parametrize(
    ("before", "now", "moved", "summed", "message"),
    [
        (0, 7, (1, 3), (4, 2, 3), "no such tree"),
        (-1, 0, (1, 3), (4, 2, 3), "no such tree"),
        (0, 1, (2, 3), (5, 2, 3), "move must have a row for each leaf"),
        (0, 1, (1, 3), (4, 2, 3), "sums must have shape"),
        (0, 1, (1, 4), (5, 2, 4), "leaves must have a value"),
    ],
)
def test_a_sweep_that_does_not_fit_is_refused(before, now, moved, summed, message):
    rows = made_up(3, 3, "mse")
    at = (rows.leaf, rows.first, rows.column, before, now)
    with pytest.raises(ValueError, match=f"sweep_many: .*{message}"):
        kernels.sweep_many(*at, np.zeros(moved), rows.score, rows.target, rows.weight, 0, 1.0, np.zeros(summed))
