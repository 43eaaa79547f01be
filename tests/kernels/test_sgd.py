"""The epoch of gradient descent against sums as they are written down, for shapes that refine seldom meets."""

import numpy as np
import pytest

from billhook.kernels import sgd_epoch, shuffle

LOGISTIC = 1


def arguments(n_classes, n_trees=5, n_rows=40, ids=np.uint16, one_value=False, seed=0):
    rng = np.random.default_rng(seed)
    n_leaves = rng.integers(1, 6, n_trees)
    first = np.concatenate([[0], np.cumsum(n_leaves)])
    n_columns = 1 if n_classes == 1 else -(-n_classes // 4) * 4
    table = np.zeros((first[-1], 1 if one_value else n_columns))
    table[:, : 1 if one_value else n_classes] = rng.normal(size=(first[-1], 1 if one_value else n_classes))
    many = n_classes > 1
    return {
        "leaf": rng.integers(0, n_leaves, (n_rows, n_trees)).astype(ids),
        "first": first.astype(np.uint64),
        "column": (np.arange(n_trees) % n_classes if one_value else np.zeros(n_trees)).astype(np.uint64),
        "base": np.zeros(n_columns),
        "order": rng.permutation(n_rows).astype(np.uint32),
        "target": np.zeros(0) if many else rng.integers(0, 2, n_rows).astype(np.float64),
        "label": rng.integers(0, n_classes, n_rows).astype(np.uint64) if many else np.zeros(0, np.uint64),
        "weight": rng.uniform(0.5, 2.0, n_rows),
        "tree_weight": rng.uniform(0.1, 1.0, n_trees),
        "table": table,
        "moments": np.zeros((0, 0, 0)),
        "step_of": np.zeros(0, np.int64),
        "n_classes": n_classes,
        "loss": LOGISTIC,
        "width": 1.0,
        "gain": 1.0,
        "step_size": 0.1,
        "batch_size": 7,
        "takes_mean": True,
        "weight_step": 0.0,
        "weight_shrink": 0.0,
        "n_steps": 0,
    }


def naive_epoch(given):
    """Return the loss and the table after an epoch of softmax or logistic steps."""
    table, loss = given["table"].copy(), 0.0
    n_classes = given["n_classes"]
    for start in range(0, len(given["order"]), given["batch_size"]):
        rows = given["order"][start : start + given["batch_size"]]
        step = np.zeros_like(table)
        for n in rows:
            leaves = given["first"][:-1].astype(int) + given["leaf"][n]
            score = given["base"].copy()
            for k, at in enumerate(leaves):
                column = int(given["column"][k])
                score[column : column + table.shape[1]] += given["tree_weight"][k] * table[at]
            if n_classes == 1:
                p = 1 / (1 + np.exp(-score[0]))
                y = given["target"][n]
                loss += given["weight"][n] * (-np.log(p) if y else -np.log1p(-p))
                slope = np.array([y - p])
            else:
                shares = np.zeros(score.size)
                shares[:n_classes] = np.exp(score[:n_classes]) / np.exp(score[:n_classes]).sum()
                loss -= given["weight"][n] * np.log(shares[given["label"][n]])
                slope = np.eye(score.size)[given["label"][n]] - shares
            for k, at in enumerate(leaves):
                column = int(given["column"][k])
                share = given["weight"][n] * given["tree_weight"][k] / rows.size
                step[at] += share * slope[column : column + table.shape[1]]
        table += given["step_size"] * step
    return loss, table


@pytest.mark.parametrize("ids", [np.uint16, np.uint32])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 8, 9, 15, 18, 22, 26, 31, 33, 50, 70])
def test_an_epoch_is_what_the_formula_says(n_classes, ids):
    given = arguments(n_classes, ids=ids)
    loss, table = naive_epoch(given)
    assert sgd_epoch(*given.values()) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(given["table"], table, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("n_rows", "n_trees", "batch_size"), [(1, 1, 1), (3, 2, 1), (600, 3, 600), (300, 7, 290)])
@pytest.mark.parametrize("n_classes", [1, 6])
def test_batches_of_any_size_are_what_the_formula_says(n_classes, n_rows, n_trees, batch_size):
    given = arguments(n_classes, n_trees, n_rows) | {"batch_size": batch_size}
    loss, table = naive_epoch(given)
    assert sgd_epoch(*given.values()) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(given["table"], table, rtol=1e-12, atol=1e-14)


def test_trees_of_single_classes_are_what_the_formula_says():
    given = arguments(6, n_trees=12, one_value=True)
    loss, table = naive_epoch(given)
    assert sgd_epoch(*given.values()) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(given["table"], table, rtol=1e-12, atol=1e-14)


def test_padding_stays_empty():
    given = arguments(18)
    sgd_epoch(*given.values())
    assert (given["table"][:, 18:] == 0.0).all()


def test_no_rows_change_nothing():
    given = arguments(3) | {"order": np.zeros(0, np.uint32)}
    before = given["table"].copy()
    assert sgd_epoch(*given.values()) == 0.0
    assert (given["table"] == before).all()
    shuffle(given["order"], 5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"first": np.zeros(3, np.uint64)}, "leaf has other trees"),
        ({"weight": np.ones(3)}, "leaf has other rows"),
        ({"label": np.zeros(3, np.uint64)}, "leaf has other rows"),
        ({"base": np.zeros(6)}, "multiple of 4"),
        ({"n_classes": 5}, "classes, values and columns"),
        ({"table": np.zeros((20, 8))}, "classes, values and columns"),
        ({"moments": np.zeros((2, 1, 4))}, "moments"),
        ({"step_of": np.zeros(2, np.int64)}, "step_of"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_shapes_that_do_not_go_together_are_refused(wrong, message):
    with pytest.raises(ValueError, match=f"sgd_epoch: .*{message}"):
        sgd_epoch(*(arguments(3) | wrong).values())


def test_other_types_are_refused():
    given = arguments(3)
    with pytest.raises(TypeError, match=r"sgd_epoch: argument 1 .* uint16 or uint32"):
        sgd_epoch(*(given | {"leaf": given["leaf"].astype(np.int64)}).values())
    with pytest.raises(TypeError, match="shuffle: argument 1"):
        shuffle(np.zeros(3, np.int64), 1)


def test_a_batch_is_no_larger_than_the_rows():
    given, same = arguments(3), arguments(3)
    given["batch_size"], same["batch_size"] = 2**62, 40
    assert sgd_epoch(*given.values()) == sgd_epoch(*same.values())
    assert (given["table"] == same["table"]).all()
