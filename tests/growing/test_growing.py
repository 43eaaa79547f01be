"""Trees of our own against naive sums over rows, against XGBoost's, and against scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

import naive.growing as naive
from billhook.growing import BinnedRows, Boosting, forest_of_trees, grow_random_forest
from billhook.growing._drawn_rows import drawn_rows, row_keys
from billhook.kernels import GROWTH_LOSSES, loss_gradients


def made_up(seed, n_rows=200, n_features=4, n_bins=9, missing=0.0):
    """Return codes, how many bins each feature has, and whether one of them is for missing values."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, n_bins + 1, n_features)
    codes = np.stack([rng.integers(0, count, n_rows) for count in counts], axis=1).astype(np.uint8)
    has_missing = np.zeros(n_features, bool)
    if missing:
        has_missing[: n_features // 2 + 1] = True
        codes = np.where((rng.random(codes.shape) < missing) & has_missing, counts, codes).astype(np.uint8)
    return codes, counts + has_missing, has_missing


def binned(X, n_bins):
    """Return the bins of numbers: about as many rows in each."""
    edges = [np.quantile(x, np.arange(1, n_bins) / n_bins) for x in X.T]
    return np.stack([np.searchsorted(e, x) for e, x in zip(edges, X.T, strict=True)], axis=1).astype(np.uint8)


def targets(codes, loss, seed, n_classes=4):
    rng = np.random.default_rng(seed)
    score = codes[:, 0] * 0.7 - codes[:, 1] * (codes[:, 2] > 2) + rng.normal(size=len(codes))
    if loss == "softmax":
        return np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    if loss == "logistic":
        return (score > np.median(score)).astype(float)
    # Targets are read as float32.
    return np.floor(np.exp(score / 4.0)) if loss == "poisson" else score.astype(np.float32).astype(float)


def scores(boosting, codes, n_bins, n_trees):
    """Return the raw scores after so many trees, row by row."""
    total = np.tile(boosting.base, (len(codes), 1))
    for tree in boosting.trees[:n_trees]:
        for n, code in enumerate(codes):
            node = 0
            while tree.feature[node] >= 0:
                f = tree.feature[node]
                left = naive.goes_left(code[f], tree.bin[node], tree.missing_left[node], n_bins[f] - 1)
                node = tree.left[node] if left else tree.right[node]
            total[n] += tree.value[node]
    return total


def gradients(loss, score, target, weight, n_outputs, shape=0.8):
    """Return slopes and curvatures, as the naive formulas have them."""
    if loss == "softmax":
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        g, h = p - np.eye(n_outputs)[target.astype(int)], 2.0 * p * (1.0 - p)
    elif loss == "logistic":
        p = 1.0 / (1.0 + np.exp(-score))
        g, h = p - target[:, None], p * (1.0 - p)
    elif loss == "poisson":
        g, h = np.exp(score) - target[:, None], np.exp(score + 0.7)
    elif loss == "absolute":
        g, h = np.sign(score - target[:, None]), np.ones_like(score)
    elif loss == "huber":
        g, h = np.clip(score - target[:, None], -shape, shape), np.ones_like(score)
    elif loss == "quantile":
        g, h = np.sign(score - target[:, None]) * 0.5 + 0.5 - shape, np.ones_like(score)
        g = np.where(score == target[:, None], 0.0, g)
    else:
        g, h = score - target[:, None], np.ones_like(score)
    return g * weight[:, None], h * weight[:, None]


LOSSES = ["squared", "absolute", "huber", "quantile", "poisson", "logistic", "softmax"]


@pytest.mark.parametrize(
    ("loss", "missing", "row_share"),
    [(loss, missing, 1.0) for loss in LOSSES for missing in (0.0, 0.3)]
    + [(loss, 0.3, 0.6) for loss in ("squared", "logistic", "softmax")],
)
def test_every_split_is_the_best_and_every_leaf_a_newton_step(loss, missing, row_share):
    codes, n_bins, has_missing = made_up(1, missing=missing)
    target = targets(codes, loss, 2)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(codes))
    n_classes = 4 if loss == "softmax" else 1
    options = {"l2": 1.5, "min_weight": 1.0}
    boosting = Boosting(
        BinnedRows.of(codes, n_bins, has_missing), target, weight, loss=loss, n_classes=n_classes, max_leaves=7,
        learning_rate=0.4, quantile=0.8, row_share=row_share, seed=11, **options,
    )  # fmt: skip
    for number in range(3):
        before = scores(boosting, codes, n_bins, number)
        tree = boosting.grow()
        shape = 0.8
        if loss == "huber":
            error = np.abs(target - before[:, 0])
            order = np.argsort(error)
            shape = error[order][np.searchsorted(np.cumsum(weight[order]), 0.9 * weight.sum())]
        g, h = gradients(loss, before, target, weight, n_classes, shape)
        if row_share < 1.0:  # what is not drawn is sent through the tree, and does not count
            drawn = naive.is_drawn(codes, row_share, 11, number)
            assert 0.4 < drawn.mean() < 0.8
            g, h = g * drawn[:, None], h * drawn[:, None]
        rows_of = {0: np.arange(len(codes))}
        gains = []
        for node in np.argsort(
            np.where(tree.left < 0, tree.left.size, tree.left), kind="stable"
        ):  # as they were made
            if tree.left[node] < 0:
                continue
            every = {
                at: max(
                    naive.splits_of(codes, rows, g, h, n_bins, has_missing, **options, whole_leaf=n_classes == 1),
                    default=(0.0,),
                )
                for at, rows in rows_of.items()
            }
            rows = rows_of.pop(node)
            best = max(gain for gain, *_ in every.values())
            # Gradients are rounded to whole numbers of 15 bits or more, so that splits as good may be exchanged.
            assert tree.gain[node] == pytest.approx(best, rel=2e-3)
            f = tree.feature[node]
            left = naive.goes_left(codes[rows, f], tree.bin[node], tree.missing_left[node], n_bins[f] - 1)
            rows_of[tree.left[node]], rows_of[tree.right[node]] = rows[left], rows[~left]
            gains.append(tree.gain[node])
        assert len(gains) > 1
        for node, rows in rows_of.items():
            assert tree.left[node] == -1
            assert tree.n_rows[node] == rows.size
            assert tree.row_weight[node] == pytest.approx(weight[rows].sum(), rel=1e-6)
            if loss in ("absolute", "quantile"):
                left = (target - before[:, 0])[rows]
                order = np.argsort(left)
                share = 0.5 if loss == "absolute" else 0.8
                quantile = left[order][np.searchsorted(np.cumsum(weight[rows][order]), share * weight[rows].sum())]
                wanted = np.array([0.4 * quantile])
            else:
                wanted = naive.leaf_value(
                    g[rows].sum(0), h[rows].sum(0), learning_rate=0.4, n_outputs=n_classes, **options
                )
                wanted = np.clip(wanted, -0.28, 0.28) if loss == "poisson" else wanted
            assert tree.value[node] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        inner = np.flatnonzero(tree.left >= 0)
        for node in inner[::-1]:
            children = [tree.left[node], tree.right[node]]
            mean = np.average(tree.value[children], axis=0, weights=tree.row_weight[children])
            assert tree.value[node] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("loss", "n_classes"), [("logistic", 1), ("softmax", 3), ("softmax", 11), ("softmax", 40), ("squared", 1)]
)
def test_it_grows_the_trees_of_xgboost(loss, n_classes):
    xgboost = pytest.importorskip("xgboost")
    X, y = make_classification(
        800, 8, n_informative=6, n_redundant=0, n_classes=max(n_classes, 2), n_clusters_per_class=1, random_state=0
    )
    if loss == "squared":
        y = X[:, 0] + np.sin(X[:, 1]) + y
    codes = binned(X, 32)
    rows = BinnedRows.of(codes, np.full(8, 32), np.zeros(8, bool))
    boosting = Boosting(rows, y, np.ones(800), loss=loss, n_classes=n_classes, max_leaves=12, learning_rate=0.3)
    trees = [boosting.grow() for _ in range(3)]
    objective = {"logistic": "binary:logistic", "softmax": "multi:softprob", "squared": "reg:squarederror"}[loss]
    more = {"num_class": n_classes, "multi_strategy": "multi_output_tree"} if n_classes > 1 else {}
    booster = xgboost.train(
        {"objective": objective, "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "max_leaves": 12,
         "eta": 0.3, "max_bin": 32, "nthread": 1, "base_score": start(boosting, loss), **more},
        xgboost.QuantileDMatrix(codes, y, max_bin=32, nthread=1),
        3,
    )  # fmt: skip
    import billhook as bh

    theirs = bh.as_forest(booster)
    ours = forest_of_trees(
        trees, tree_weight=np.ones(3), averages=False, tree_column=np.zeros(3, np.int32), base=boosting.base,
        link={"logistic": "logistic", "softmax": "softmax", "squared": "identity"}[loss], n_features=8,
        task="regression" if loss == "squared" else "classification",
        classes=None if loss == "squared" else np.unique(y),
    )  # fmt: skip
    same_leaves = theirs.decision_function(codes)
    assert ours.n_leaves == theirs.n_leaves
    # XGBoost sums 32-bit floats; the same splits give the same scores up to rounding.
    assert ours.decision_function(codes) - ours.base == pytest.approx(same_leaves - theirs.base, abs=2e-4)


def start(boosting, loss):
    base = boosting.base.tolist()
    if loss == "logistic":
        return float(1.0 / (1.0 + np.exp(-base[0])))
    return base if loss == "softmax" else base[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_it_goes_on_where_it_stopped_and_knows_no_order_of_rows(loss):
    codes, n_bins, has_missing = made_up(4, n_rows=300, missing=0.1)
    target, n_classes = targets(codes, loss, 5), 4 if loss == "softmax" else 1

    def grown(order, n_trees):
        rows = BinnedRows.of(codes[order], n_bins, has_missing)
        boosting = Boosting(rows, target[order], np.ones(300), loss=loss, n_classes=n_classes, max_leaves=6)
        return boosting, [boosting.grow() for _ in range(n_trees)]

    once, trees = grown(np.arange(300), 5)
    again, _ = grown(np.arange(300), 2)
    again.free_memory()
    assert again._grower._histograms.nbytes == 0
    for _ in range(3):
        again.grow()
    other, _ = grown(np.random.default_rng(6).permutation(300), 1)
    for a, b in zip(trees, again.trees, strict=True):
        assert (a.feature == b.feature).all()
        assert (a.value == b.value).all()
    # Sums of whole numbers are the same in any order; values of leaves are sums of floats.
    assert (other.trees[0].feature == trees[0].feature).all()
    assert (other.trees[0].bin == trees[0].bin).all()
    assert (other.trees[0].gain == trees[0].gain).all()
    assert other.trees[0].value == pytest.approx(trees[0].value, rel=1e-9)
    assert once.n_outputs == n_classes


@pytest.mark.parametrize("loss", LOSSES)
def test_a_feature_that_is_always_the_same_changes_nothing(loss):
    codes, n_bins, _ = made_up(30)
    target, n_classes = targets(codes, loss, 5), 4 if loss == "softmax" else 1
    most = int(n_bins.argmax())
    codes, n_bins = codes[:, [most]], n_bins[[most]]

    def trees(codes, counts):
        rows = BinnedRows.of(codes, counts, np.zeros(codes.shape[1], bool))
        assert (rows.row_start.size == 0) == (codes.shape[1] == 1)
        boosting = Boosting(rows, target, np.ones(200), loss=loss, n_classes=n_classes, max_leaves=6)
        return [boosting.grow() for _ in range(3)]

    beside = np.pad(codes, ((0, 0), (0, 1)))
    for a, b in zip(trees(codes, n_bins), trees(beside, np.append(n_bins, 9)), strict=True):
        assert (a.feature == b.feature).all()
        assert (a.bin == b.bin).all()
        assert (a.value == b.value).all()


@pytest.mark.parametrize("n_classes", [1, 3, 40])
def test_sparse_and_wide_rows_give_the_trees_of_dense_and_narrow_ones(n_classes):
    """Mostly equal cells are left out; more than 65,536 bins are of 32 bits; more than 255 of a feature of 16."""
    rng = np.random.default_rng(7)
    dense, n_bins, _ = made_up(8, n_rows=400)
    loss = "softmax" if n_classes > 1 else "squared"
    target = targets(dense, loss, 9, n_classes)
    sparse = np.where(rng.random(dense.shape) < 0.7, 1, dense).astype(np.uint8)

    def trees(codes, counts):
        rows = BinnedRows.of(codes, counts, np.zeros(codes.shape[1], bool))
        boosting = Boosting(rows, target, np.ones(400), loss=loss, n_classes=n_classes, max_leaves=8)
        return rows, [boosting.grow() for _ in range(3)]

    # Bins that no row is in change nothing, but make the others' numbers longer.
    for codes in (dense, sparse):
        rows, few = trees(codes, n_bins)
        assert (rows.row_start.size > 0) == (codes is sparse)
        for wide_codes, counts in [
            (codes.astype(np.uint16), n_bins + 300),
            (codes.astype(np.uint16), n_bins + 30_000),
        ]:
            wide_rows, many = trees(wide_codes, counts)
            assert wide_rows.cells.dtype == (np.uint32 if counts.sum() > 2**16 else np.uint16)
            for a, b in zip(few, many, strict=True):
                assert (a.feature == b.feature).all()
                assert (a.bin == b.bin).all()
                assert (a.value == b.value).all()


def test_tests_in_use_are_preferred_and_capped():
    codes, n_bins, has_missing = made_up(12, n_rows=500, n_features=6)
    target = targets(codes, "squared", 13)
    rows = BinnedRows.of(codes, n_bins, has_missing)

    def n_tests(**options):
        boosting = Boosting(rows, target, np.ones(500), loss="squared", max_leaves=10, **options)
        trees = [boosting.grow() for _ in range(8)]
        tests = {(f, b) for tree in trees for f, b in zip(tree.feature, tree.bin, strict=True) if f >= 0}
        return len(tests), sum(int((tree.feature >= 0).sum()) for tree in trees)

    free, n_splits = n_tests()
    reused, _ = n_tests(reuse_factor=3.0)
    capped, n_capped = n_tests(max_tests=6)
    assert capped <= 6 < reused < free
    assert n_capped > 30
    assert n_splits == 72


def test_equal_rows_are_drawn_together_and_others_by_chance():
    codes, n_bins, has_missing = made_up(16, n_rows=4_000, n_features=6)
    keys = row_keys(BinnedRows.of(codes, n_bins, has_missing))
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(4_000), 2))
    of_pairs = row_keys(BinnedRows.of(codes[order], n_bins, has_missing))
    assert (of_pairs == keys[order]).all()
    assert np.unique(keys).size == np.unique(codes, axis=0).shape[0]
    drawn = np.array([drawn_rows(keys, 0.9, 5, tree) for tree in range(60)])
    assert drawn[7].tolist() == naive.is_drawn(codes, 0.9, 5, 7).tolist()
    assert (drawn.mean(axis=1) > 0.88).all()
    assert (drawn.mean(axis=1) < 0.92).all()
    # Each row is left out of about six of sixty trees, and what is left out of one tells nothing of another.
    left_out = (~drawn).sum(axis=0)
    assert left_out.var() == pytest.approx(60 * 0.9 * 0.1, rel=0.1)
    assert abs(np.corrcoef(drawn)[~np.eye(60, dtype=bool)]).max() < 0.09
    assert (drawn_rows(keys, 0.9, 6, 7) != drawn[7]).any()
    assert drawn_rows(keys, 1.0, 5, 7).all()


def test_of_drawn_rows_one_that_counts_twice_is_as_good_as_two():
    codes, n_bins, has_missing = made_up(17, n_rows=600, n_features=5)
    target = targets(codes, "logistic", 18)
    weight = np.random.default_rng(19).integers(1, 4, 600)
    grown = []
    for n_times, weights in ((np.ones(600, np.int64), weight), (weight, np.ones(weight.sum()))):
        rows = BinnedRows.of(np.repeat(codes, n_times, axis=0), n_bins, has_missing)
        options = {"max_leaves": 8, "learning_rate": 0.3, "row_share": 0.8, "seed": 3}
        boosting = Boosting(rows, np.repeat(target, n_times), weights.astype(float), loss="logistic", **options)
        grown.append([boosting.grow() for _ in range(5)])
    for weighed, repeated in zip(*grown, strict=True):
        assert (weighed.feature == repeated.feature).all()
        assert (weighed.bin == repeated.bin).all()
        assert weighed.value == pytest.approx(repeated.value, abs=1e-5)


def test_features_drawn_for_every_split_depend_on_the_seed_and_the_tree_alone():
    codes, n_bins, has_missing = made_up(14, n_rows=500, n_features=8)
    target = targets(codes, "squared", 15)

    def grown(seed, n_trees, column_share=0.25):
        rows = BinnedRows.of(codes, n_bins, has_missing)
        options = {"max_leaves": 4, "row_share": 0.5, "column_share": column_share, "seed": seed}
        boosting = Boosting(rows, target, np.ones(500), loss="squared", **options)
        return boosting, [boosting.grow() for _ in range(n_trees)]

    _, trees = grown(1, 12)
    again, _ = grown(1, 5)
    for _ in range(7):
        again.grow()
    for a, b in zip(trees, again.trees, strict=True):
        assert (a.feature == b.feature).all()
        assert (a.value == b.value).all()
    other, _ = grown(2, 12)
    assert any(
        (a.value != b.value).any() for a, b in zip(trees, other.trees, strict=True) if a.value.size == b.value.size
    )
    # Of all features the same few are best at the root again and again.
    _, of_all = grown(1, 12, column_share=1.0)
    assert len({tree.feature[0] for tree in trees}) > len({tree.feature[0] for tree in of_all})


@pytest.mark.parametrize("is_extra", [False, True])
def test_a_random_forest_predicts_as_well_as_scikit_learns(is_extra):
    X, y = make_classification(3000, 10, n_informative=6, n_classes=3, random_state=0)
    codes = binned(X, 64)
    train, test = slice(0, 2000), slice(2000, None)
    rows = BinnedRows.of(codes[train], np.full(10, 64), np.zeros(10, bool))
    trees = grow_random_forest(
        rows, y[train], np.ones(2000), n_classes=3, n_trees=64, max_leaves=64, max_features=3, is_extra=is_extra
    )
    forest = forest_of_trees(
        trees, tree_weight=np.full(64, 1 / 64), averages=True, tree_column=np.zeros(64, np.int32), base=np.zeros(3),
        link="identity", task="classification", n_features=10, classes=np.arange(3),
    )  # fmt: skip
    maker = ExtraTreesClassifier if is_extra else RandomForestClassifier
    theirs = maker(64, max_leaf_nodes=64, random_state=0).fit(codes[train], y[train]).score(codes[test], y[test])
    ours = (forest.predict(codes[test]) == y[test]).mean()
    # One standard error of a difference of such shares of 1,000 rows is about 0.01.
    assert abs(ours - theirs) < 0.03
    assert forest.predict_proba(codes).sum(axis=1) == pytest.approx(1.0)
    assert len({tuple(tree.feature) for tree in trees}) == 64


def test_a_random_forest_for_numbers():
    X, y = make_regression(2000, 6, noise=10.0, random_state=0)
    codes = binned(X, 64)
    rows = BinnedRows.of(codes[:1500], np.full(6, 64), np.zeros(6, bool))
    y = (y - y.mean()) / y.std()
    trees = grow_random_forest(
        rows, y[:1500], np.ones(1500), n_classes=None, n_trees=32, max_leaves=64, max_features=6
    )
    forest = forest_of_trees(
        trees, tree_weight=np.full(32, 1 / 32), averages=True, tree_column=np.zeros(32, np.int32), base=np.zeros(1),
        link="identity", task="regression", n_features=6,
    )  # fmt: skip
    theirs = RandomForestRegressor(32, max_leaf_nodes=64, random_state=0).fit(codes[:1500], y[:1500])
    error = np.mean((forest.predict(codes[1500:]) - y[1500:]) ** 2)
    assert error < 1.1 * np.mean((theirs.predict(codes[1500:]) - y[1500:]) ** 2)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_the_formulas(loss):
    rng = np.random.default_rng(14)
    n_outputs = 5 if loss == "softmax" else 1
    n_lanes = 8 if loss == "softmax" else 1
    score = np.zeros((40, n_lanes), np.float32)
    score[:, :n_outputs] = rng.normal(size=(40, n_outputs)) * 3.0
    target = rng.integers(0, n_outputs, 40) if loss == "softmax" else rng.integers(0, 2, 40)
    weight = rng.uniform(0.5, 2.0, 40)
    g, h = np.empty_like(score), np.empty_like(score)
    loss_gradients(
        GROWTH_LOSSES[loss], 0.8, n_outputs, score, target.astype(np.float32), weight.astype(np.float32), g, h
    )
    wanted = gradients(loss, score[:, :n_outputs].astype(float), target, weight, n_outputs)
    assert g[:, :n_outputs] == pytest.approx(wanted[0], rel=2e-5, abs=2e-6)
    assert h[:, :n_outputs] == pytest.approx(wanted[1], rel=2e-5, abs=2e-6)
    assert (g[:, n_outputs:] == 0.0).all()
    assert (h[:, n_outputs:] == 0.0).all()


def test_rows_that_cannot_be_grown_on_are_refused():
    codes, n_bins, has_missing = made_up(15)
    with pytest.raises(ValueError, match="not below the number of bins"):
        BinnedRows.of(codes, n_bins - 1, has_missing)
    with pytest.raises(TypeError, match="uint8 or uint16, not int64"):
        BinnedRows.of(codes.astype(np.int64), n_bins, has_missing)
    with pytest.raises(ValueError, match="a bin beside that of missing values"):
        BinnedRows.of(np.zeros((5, 1), np.uint8), np.array([1]), np.array([True]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"first": np.array([0, 2, 2], np.int32)}, "no bin, or only that of missing values"),
        ({"first": np.array([1, 3, 5], np.int32)}, "not counted from 0"),
        ({"has_missing": np.zeros(3, bool)}, "of other features"),
        ({"commonest": np.array([0, 1], np.int32)}, "not one of its feature"),
        ({"row_start": np.zeros(3, np.int64)}, "row_start is of other rows"),
        ({"cells": np.zeros(7, np.uint16)}, "cells are missing"),
    ],
)
def test_bins_that_do_not_belong_together_are_refused(changed, message):
    rows = BinnedRows.of(np.array([[0, 1], [1, 0], [0, 0], [1, 1]], np.uint8), np.array([2, 2]), np.zeros(2, bool))
    boosting = Boosting(replace(rows, **changed), np.arange(4.0), np.ones(4), loss="squared", max_leaves=3)
    with pytest.raises(ValueError, match=message):
        boosting.grow()


def test_trees_grow_until_each_row_is_alone():
    codes, target = np.arange(8, dtype=np.uint8)[:, None], np.array([0.0, 1.0, 4.0, 6.0, 20.0, 23.0, 40.0, 47.0])
    rows = BinnedRows.of(codes, np.array([8]), np.zeros(1, bool))
    options = {"loss": "squared", "max_leaves": 8, "learning_rate": 1.0, "l2": 0.0, "min_weight": 0.0}
    boosting = Boosting(rows, target, np.ones(8), **options)
    tree = boosting.grow()
    leaves = tree.value[tree.left < 0, 0] + boosting.base[0]
    assert np.sort(leaves) == pytest.approx(target, abs=1e-3)


@pytest.mark.parametrize(("name", "size"), [("is_used", 3), ("_n_used", 0), ("_spare", 7), ("_whole_size", 1)])
def test_scratch_that_is_too_small_is_refused(name, size):
    rows = BinnedRows.of(np.array([[0, 1], [1, 0], [0, 0], [1, 1]], np.uint8), np.array([2, 2]), np.zeros(2, bool))
    boosting = Boosting(rows, np.arange(4.0), np.ones(4), loss="squared", max_leaves=3)
    grower = boosting._grower
    old = getattr(grower, name)
    setattr(grower, name, size if isinstance(old, int) else old[:size])
    with pytest.raises(ValueError, match="rows, gradients and scratch do not belong together"):
        boosting.grow()


@pytest.mark.parametrize(
    ("n_outputs", "n_lanes", "loss"), [(1, 1, "softmax"), (3, 3, "softmax"), (0, 8, "softmax"), (1, 8, "squared")]
)
def test_gradients_that_are_no_whole_registers_are_refused(n_outputs, n_lanes, loss):
    score = np.zeros((4, n_lanes), np.float32)
    of_row = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="up to a multiple of 8"):
        loss_gradients(GROWTH_LOSSES[loss], 0.5, n_outputs, score, of_row, of_row, score.copy(), score.copy())


def test_rows_that_hardly_count_are_not_split_off_first():
    """Their weights are rounded to nothing, and their gradients are not; alone they would gain without limit."""
    codes = np.zeros((1000, 2), np.uint8)
    codes[500:, 0], codes[990:, 1] = 1, 1
    target, weight = np.where(np.arange(1000) < 500, -1.0, 1.0), np.ones(1000)
    target[990:], weight[990:] = 1e4, 2e-8
    rows = BinnedRows.of(codes, np.array([2, 2]), np.zeros(2, bool))
    for is_extra in (False, True):
        tree = grow_random_forest(
            rows, target, weight, n_classes=None, n_trees=1, max_leaves=2, max_features=2, is_extra=is_extra
        )[0]
        assert tree.feature[0] == 0


def test_a_forest_reads_bins_as_they_were_grown_on():
    codes, n_bins, has_missing = made_up(16, n_rows=400, missing=0.3)
    is_missing = has_missing & (codes == n_bins - 1)
    target = targets(np.where(is_missing, 0, codes), "squared", 17)  # those go left
    rows = BinnedRows.of(codes, n_bins, has_missing)
    boosting = Boosting(rows, target, np.ones(400), loss="squared", max_leaves=12)
    trees = [boosting.grow() for _ in range(5)]
    assert any((tree.missing_left & (tree.feature >= 0)).any() for tree in trees)
    forest = forest_of_trees(
        trees, tree_weight=np.ones(5), averages=False, tree_column=np.zeros(5, np.int32), base=boosting.base,
        link="identity", task="regression", n_features=4,
    )  # fmt: skip
    assert forest.predict(rows.numbers()) == pytest.approx(scores(boosting, codes, n_bins, 5)[:, 0])


def test_rows_that_are_all_alike_are_one_leaf():
    codes = np.zeros((10, 2), np.uint8)
    rows = BinnedRows.of(codes, np.array([1, 3]), np.zeros(2, bool))
    tree = Boosting(rows, np.arange(10.0), np.ones(10), loss="squared", max_leaves=4).grow()
    assert tree.feature.tolist() == [-1]
    assert tree.value[0, 0] == pytest.approx(0.0, abs=1e-6)
