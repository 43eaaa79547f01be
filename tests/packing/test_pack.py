from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss

import billhook as bh
from billhook.packing._as_sum import centred
from billhook.packing._bits import bits_for, pack_bits, unpack_bits
from billhook.packing._fit_quantizers import (
    exact_quantizers,
    feature_values,
    fitted_quantizer,
    key_quantizer,
    uniform_quantizer,
)
from billhook.packing._quantizers import RankQuantizer
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import TRICKY, forests, random_forest, tricky_rows

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def around(thresholds):
    """Return each threshold, its neighbours, and what no threshold is near."""
    t = np.unique(np.asarray(thresholds, np.float32))
    with np.errstate(over="ignore"):
        near = [t, np.nextafter(t, np.float32(np.inf)), np.nextafter(t, np.float32(-np.inf))]
    return np.concatenate([*near, TRICKY, [np.nan]]).astype(np.float32)


@given(st.lists(st.integers(0, 2**20 - 1), max_size=50), st.integers(20, 33))
def test_bits_come_back(numbers, width):
    packed = pack_bits(np.array(numbers, np.int64), width)
    assert packed.size == -(-len(numbers) * width // 8)
    assert unpack_bits(packed, width, len(numbers)).tolist() == numbers


@pytest.mark.parametrize(("n_values", "bits"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9)])
def test_as_many_bits_as_it_takes(n_values, bits):
    assert bits_for(n_values) == bits


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=30))
def test_ranks_compare_as_the_numbers_do(thresholds):
    quantizer = RankQuantizer(np.unique(np.array(thresholds, np.float32)))
    x = around(thresholds)
    code, limit = quantizer.codes(x), quantizer.threshold_codes(quantizer.thresholds, np.zeros(0))
    for t, q in zip(quantizer.thresholds, limit, strict=True):
        np.testing.assert_array_equal((code <= q)[~np.isnan(x)], (x <= t)[~np.isnan(x)])
    assert (np.diff(quantizer.keys.astype(np.int64)) > 0).all()


@given(st.lists(st.integers(-2000, 2000), min_size=1, max_size=30), st.integers(-3, 4))
def test_exact_steps_compare_as_the_numbers_do(whole, power):
    thresholds = np.unique(np.ldexp(np.array(whole, np.float32), -power))
    (quantizer,) = exact_quantizers([thresholds], 10)
    x = around(thresholds)
    code, limit = quantizer.codes(x), quantizer.threshold_codes(thresholds, np.sort(thresholds).astype(float))
    for t, q in zip(thresholds, limit, strict=True):
        np.testing.assert_array_equal((code <= q)[~np.isnan(x)], (x <= t)[~np.isnan(x)])
    assert code.max() < quantizer.n_codes


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30),
    st.integers(2, 16),
)
def test_even_steps_are_off_by_no_more_than_one(thresholds, bits):
    thresholds = np.unique(np.array(thresholds, np.float32))
    quantizer = uniform_quantizer(thresholds, bits)
    x = np.sort(around(thresholds)[:-1])
    code = quantizer.codes(x)
    assert (np.diff(code) >= 0).all()
    assert code.min() >= 0
    assert code.max() < quantizer.n_codes
    limit = quantizer.threshold_codes(thresholds, np.sort(thresholds).astype(float))
    # Half a step, and what 16 bits of the range cannot tell apart.
    width = float(thresholds[-1] - thresholds[0])
    off = np.abs(quantizer.largest(limit) - thresholds)
    assert (off <= width / (2**bits - 3) + width / 2**14 + np.abs(thresholds).max() * 2.0**-19).all()


@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("far", [[9e5], [-4e4], [-4e4, 9e5], [7e3, 9e5, 3e37]])
def test_a_threshold_far_away_does_not_make_all_steps_long(far, with_rows):
    rng = np.random.default_rng(0)
    near = rng.normal(4200, 30, 400)
    thresholds = np.unique(np.concatenate([near, far]).astype(np.float32))
    x = np.concatenate([rng.normal(4200, 30, 5000), [*far, 1e6, -1e6]]).astype(np.float32)
    seen = feature_values(thresholds, x if with_rows else None)
    quantizer = fitted_quantizer(thresholds, 9, seen)
    left = x[:, None] <= thresholds
    moved = quantizer.codes(x)[:, None] <= quantizer.threshold_codes(thresholds, seen)
    # A step of 1/509 of the range of those that lie together, and all rows on the right side of those far away.
    assert np.mean(left != moved) < 0.004
    even = uniform_quantizer(thresholds, 9)
    assert np.mean(left != (even.codes(x)[:, None] <= even.threshold_codes(thresholds, seen))) > 0.05


def test_one_threshold_of_eight_may_be_left_out():
    thresholds = np.array([0.1, 1.3, 2.2, 3.7, 4.1, 5.3, 6.9, 1e6], np.float32)
    x = np.append(np.linspace(-1.0, 8.0, 901), 2e6).astype(np.float32)
    quantizer = fitted_quantizer(thresholds, 8, feature_values(thresholds, x))
    moved = quantizer.codes(x)[:, None] <= quantizer.threshold_codes(thresholds, x.astype(float))
    is_other = moved != (x[:, None] <= thresholds)
    assert is_other[:-1].mean() < 0.001
    assert is_other[:, :-1].mean() < 0.001


@given(st.sets(st.integers(0, 255), min_size=1, max_size=30), st.sampled_from([0, 10**6]), st.integers(6, 9))
@example({0, 64}, 10**6, 9)
def test_what_is_above_all_thresholds_goes_right_however_fine_the_steps(whole, least, bits):
    thresholds = (least + np.array(sorted(whole)) / 16).astype(np.float32)
    quantizer = uniform_quantizer(thresholds, bits)
    above = np.float32(least + 30.0)
    values = np.append(thresholds, above).astype(float)
    assert quantizer.threshold_codes(thresholds, values).max() < quantizer.codes(np.array([above, np.inf])).min()


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.integers(2, 16)
)
def test_steps_of_as_many_floats_keep_their_order(thresholds, bits):
    thresholds = np.unique(np.array(thresholds, np.float32))
    quantizer = key_quantizer(thresholds, bits)
    assert quantizer.is_by_keys
    x = np.sort(around(thresholds)[:-1])
    code = quantizer.codes(x)
    assert (np.diff(code) >= 0).all()
    assert code.min() >= 0
    assert code.max() < quantizer.n_codes
    # The bound of a code is the largest float that has it, or less.
    for c in np.unique(np.append(code, quantizer.threshold_codes(thresholds, x.astype(float)))):
        np.testing.assert_array_equal(x <= quantizer.bounds(np.array([c]))[0], code <= c)


@given(st.lists(st.sampled_from(TRICKY[np.isfinite(TRICKY)]), min_size=2, max_size=9), st.integers(2, 16))
def test_minus_infinity_has_the_first_code_of_steps_of_floats(thresholds, bits):
    quantizer = key_quantizer(np.unique(np.array(thresholds, np.float32)), bits)
    assert quantizer.codes(np.array([-np.inf], np.float32)).tolist() == [0]


def test_steps_follow_thresholds_that_crowd_together():
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(0, 4, 4000)).astype(np.float32)
    thresholds = np.unique(np.quantile(x, np.linspace(0.01, 0.99, 90)).astype(np.float32))
    quantizer = fitted_quantizer(thresholds, 8, feature_values(thresholds, x))
    assert quantizer.is_by_keys
    moved = quantizer.codes(x)[:, None] <= quantizer.threshold_codes(thresholds, feature_values(thresholds, x))
    assert np.mean(moved != (x[:, None] <= thresholds)) < 0.002


@given(forests())
def test_exact_packing_keeps_every_row_in_its_leaf(forest):
    rows = tricky_rows(np.random.default_rng(0), 60, forest.n_features)
    plain_values = forest.with_values(np.round(forest.value * 4)).with_weights(np.ones(forest.n_trees))
    packed = bh.pack(plain_values, threshold_bits="exact", leaf_bits=16)
    scores = packed.scores(rows)
    # Whole numbers are kept as they are, but for the scale of 16 bits and the rounding of the base.
    raw = plain_values.decision_function(rows).reshape(len(rows), -1)
    raw = raw[:, 1:] - raw[:, :1] if plain_values.value.shape[1] == 2 else raw
    assert np.abs(scores * packed.scale + packed.base - raw).max() <= packed.scale * (forest.n_trees + 1)


@given(
    st.integers(0, 2**32),
    st.integers(4, 12),
    st.floats(-4, 4) | st.just(None),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.booleans(),
)
def test_centred_values_lie_about_zero_by_whole_units(seed, bits, middle, n_classes, per_class, by_class):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, (3, 5, 2, 4, 1, 6), 3, n_classes, per_class and n_classes > 1, "sum")
    if middle is None:  # nearly there already
        leaves = forest.value[forest.feature < 0]
        middle = 0.01 * np.ptp(leaves) - (leaves.max() + leaves.min()) / 2
    forest = forest.with_values(forest.value + middle)
    moved = centred(forest, bits, by_class=by_class)
    rows = tricky_rows(rng, 20, 3)
    np.testing.assert_allclose(moved.decision_function(rows), forest.decision_function(rows), atol=1e-9)
    column = np.repeat(forest.tree_column, np.diff(forest.offset))[:, None] + np.arange(forest.value.shape[1])
    column[forest.feature >= 0] = -1
    largest = 2 ** (bits - 1) - 1
    for columns in [[c] for c in range(n_classes)] if by_class else [list(range(n_classes))]:
        before, after = (values[np.isin(column, columns)] for values in (forest.value, moved.value))
        unit = np.abs(after).max() / largest
        n_units = (before - after)[0] / unit
        if before.min() < 0 < before.max():
            assert n_units == pytest.approx(round(n_units), abs=1e-6)
        if abs(before.max() + before.min()) < 2 * 0.0199 * np.ptp(before):
            np.testing.assert_array_equal(after, before)  # zeros stay zeros
        # Half of the range, but for half a unit in all on that side, and for what nearly was in the middle.
        assert np.abs(after).max() <= np.ptp(before) / 2 * max(1 + 0.51 / (largest - abs(n_units)), 1.04)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_classifier_is_packed_and_says_the_same(name, classes):
    X, y = (X2, np.array(["benign", "malign"])[y2]) if classes == 2 else (X3, y3)
    forest = bh.as_forest(clone(CLASSIFIERS[name]).fit(X, y))
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=16)
    rows = X.astype(np.float32)
    assert np.mean(packed.predict(rows) == forest.predict(rows)) > 0.98  # rounding breaks ties
    assert packed.nbytes < forest.size() / 2
    np.testing.assert_allclose(packed.predict_proba(rows), forest.predict_proba(rows), atol=2e-3)
    assert np.mean(bh.pack(forest).predict(rows) == forest.predict(rows)) > 0.9


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_is_packed_and_says_the_same(name):
    forest = bh.as_forest(clone(REGRESSORS[name]).fit(X_n, y_n))
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=16)
    rows = X_n.astype(np.float32)
    np.testing.assert_allclose(packed.predict(rows), forest.predict(rows), rtol=2e-3)


def test_refined_leaves_are_carried_as_they_are():
    rf = RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X3, y3)
    refined = bh.refine(rf, X3, y3, loss="mse", validation_fraction=None)
    packed = bh.pack(refined, threshold_bits="exact", leaf_bits=16)
    np.testing.assert_allclose(packed.decision_function(X3), refined.decision_function(X3), atol=1e-3)


def test_bytes_are_counted_as_the_format_says():
    """Three trees of known shape: everything by hand."""
    X, y = load_digits(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=20, random_state=0).fit(X, y))
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4, missing_values=False)
    layout = packed.layout
    assert bh.pack(forest, threshold_bits="exact", leaf_bits=4).nbytes == packed.nbytes + 7  # a bit for each split
    n_used = len(set(forest.feature[forest.feature >= 0]))
    assert (layout.n_inner, layout.n_leaves, layout.n_used) == (57, 60, n_used)
    bits = {
        "features": 64,  # a bit each, since the numbers of those in use would take more
        "grids": 0,  # thresholds between whole numbers, alike for all features
        "trees": 0,  # all have 19 splits
        "shapes": 57 * 2,
        "tests": 57 * (bits_for(n_used) + layout.code_bits),
        "leaves": 60 * 10 * 4 if not layout.n_entries else 60 * bits_for(layout.n_entries),
        "table": layout.n_entries * 10 * 4,
        "base": 8 * 3,  # all begin alike
    }
    assert packed.nbytes == sum(-(-b // 8) for b in bits.values())


def test_splits_that_decide_nothing_any_more_are_left_out():
    forest = bh.as_forest(RandomForestRegressor(2, max_leaf_nodes=30, random_state=0).fit(X_n, y_n))
    coarse, fine = bh.pack(forest, leaf_bits=2), bh.pack(forest, leaf_bits=16)
    assert coarse.layout.n_leaves < fine.layout.n_leaves


@pytest.mark.parametrize("bits", [8, "exact"])
def test_a_forest_of_one_leaf_and_one_of_many_nodes(bits):
    constant = bh.pack(RandomForestClassifier(5, random_state=0).fit(X3, np.ones(150, int)), threshold_bits=bits)
    assert set(constant.predict(X3)) == {1}
    number = bh.pack(RandomForestRegressor(5, random_state=0).fit(X_n, np.full(442, 7.0)), threshold_bits=bits)
    np.testing.assert_allclose(number.predict(X_n), 7.0, rtol=1e-2)
    # More nodes than 15 bits count, and more features than 8 bits.
    rng = np.random.default_rng(0)
    large = random_forest(rng, sizes=(40_000,), n_features=300, n_classes=1, thresholds=rng.normal(size=5000))
    rows = rng.normal(size=(50, 300)).astype(np.float32)
    packed = bh.pack(large, threshold_bits=bits, leaf_bits=16)
    assert packed.layout.n_inner > 30_000
    if bits == "exact":
        np.testing.assert_allclose(packed.predict(rows), large.predict(rows), atol=2e-3)


def test_missing_values_go_where_the_forest_sends_them():
    X = X2.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    rf = RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X, y2)
    packed = bh.pack(rf, threshold_bits="exact", leaf_bits=16)
    assert packed.layout.missing == "split"
    np.testing.assert_allclose(
        packed.predict_proba(X.astype(np.float32)), rf.predict_proba(X.astype(np.float32)), atol=1e-3
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold_bits": 1}, ValueError, "threshold_bits must be between 2 and 16, not 1"),
        ({"threshold_bits": "all"}, ValueError, "or a whole number from 2 to 16, not 'all'"),
        ({"leaf_bits": 17}, ValueError, "leaf_bits must be between 2 and 16, not 17"),
        ({"leaf_bits": 2.5}, TypeError, "leaf_bits must be a whole number, not 2.5"),
    ],
)
def test_what_cannot_be_packed_is_refused(options, error, message):
    rf = RandomForestClassifier(2, random_state=0).fit(X3, y3)
    with pytest.raises(error, match=message):
        bh.pack(rf, **options)


def test_rows_with_other_features_are_refused():
    packed = bh.pack(RandomForestClassifier(2, random_state=0).fit(X3, y3))
    with pytest.raises(ValueError, match="X has 3 features, but the forest was trained on 4"):
        packed.predict(X3[:, :3])


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_rounding_with_rows_is_better_than_without(bits):
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=24, random_state=0).fit(X[:900], y[:900])
    refined = bh.refine(rf, X[:900], y[:900], validation_fraction=None)
    plain = bh.pack(refined, threshold_bits="exact", leaf_bits=bits)
    rounded = bh.pack(refined, threshold_bits="exact", leaf_bits=bits, X=X[:900], y=y[:900])
    plain_right, right = (np.mean(p.predict(X[900:]) == y[900:]) for p in (plain, rounded))
    assert right > plain_right or (bits == 4 and right == plain_right)  # 4 bits may be enough without rows
    assert right > np.mean(refined.predict(X[900:]) == y[900:]) - {2: 0.08, 3: 0.03, 4: 0.02}[bits]


@pytest.mark.parametrize("loss", ["cross_entropy", "mse", "squared_hinge"])
def test_two_classes_and_every_loss(loss):
    refined = bh.refine(RandomForestClassifier(9, max_leaf_nodes=8, random_state=0).fit(X2, y2), X2, y2)
    packed = bh.pack(refined, leaf_bits=3, X=X2, y=y2, loss=loss, sample_weight=np.ones(len(y2)))
    assert np.mean(packed.predict(X2) == y2) > 0.94


def test_numbers_and_counts_are_rounded_with_rows():
    for name in ("random forest", "histogram boosting, poisson"):
        forest = bh.as_forest(clone(REGRESSORS[name]).fit(X_n, y_n))
        alone, to_labels, to_scores = (
            bh.pack(forest, leaf_bits=4, threshold_bits="exact", **rows).predict(X_n)
            for rows in ({}, {"X": X_n, "y": y_n}, {"X": X_n})
        )
        assert np.mean((to_labels - y_n) ** 2) < np.mean((alone - y_n) ** 2)
        whole = forest.predict(X_n)
        assert np.mean((to_scores - whole) ** 2) < np.mean((alone - whole) ** 2)


@cache
def boosted_on_noise(n_classes):
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(1_500, 5)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 1.5 * random.normal(size=len(X)), [-1.0, 0.0, 1.0][: n_classes - 1])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=12, learning_rate=0.08, random_state=0)
    return bh.as_forest(model.fit(X[:900], y[:900])), X, y


@pytest.mark.parametrize("scales", ["one", "class"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("bits", [2, 3, 4])
def test_rows_without_labels_keep_scores_where_they_were(bits, n_classes, scales):
    forest, X, _ = boosted_on_noise(n_classes)
    exact = {"threshold_bits": "exact", "leaf_bits": bits, "scales": scales}
    alone, kept = (bh.pack(forest, **exact, **rows) for rows in ({}, {"X": X[:900]}))
    # On rows that it was not rounded with.
    errors = [np.mean((p.predict_proba(X[900:]) - forest.predict_proba(X[900:])) ** 2) for p in (alone, kept)]
    assert errors[1] < errors[0] / 3


def test_rows_without_labels_do_not_teach_noise():
    forest, X, y = boosted_on_noise(2)
    rows = {"threshold_bits": "exact", "leaf_bits": 3, "X": X[:900]}
    to_scores, to_labels = bh.pack(forest, **rows), bh.pack(forest, **rows, y=y[:900])

    def losses(model):
        return [log_loss(y[some], model.predict_proba(X[some])) for some in (slice(0, 900), slice(900, None))]

    # The fit to the labels is better on the rows they are of, and worse on others.
    assert losses(to_labels)[0] < losses(to_scores)[0]
    assert losses(to_labels)[1] > losses(to_scores)[1]
    assert losses(to_scores)[1] < losses(forest)[1] + 0.02


def test_weights_count_without_labels():
    forest, X, _ = boosted_on_noise(2)
    is_left = X[:, 0] < 0.0

    def error(weight, some):
        packed = bh.pack(forest, threshold_bits="exact", leaf_bits=2, X=X, sample_weight=weight)
        return np.mean((packed.predict_proba(X[some]) - forest.predict_proba(X[some])) ** 2)

    assert error(np.where(is_left, 1.0, 1e-3), is_left) < error(np.where(is_left, 1e-3, 1.0), is_left)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": y3}, "y has labels of rows that are not there: give X too"),
        ({"X": X3, "loss": "mse"}, "loss is for rounding leaves with labels: give X and y too"),
        ({"sample_weight": np.ones(150)}, "sample_weight is for rounding leaves with rows: give X too"),
        ({"X": X3[:9], "y": y3}, "X has 9 rows and y 150 labels"),
        ({"X": X3, "y": y3 + 7}, "labels that the forest does not know"),
        ({"X": X3, "y": y3, "loss": "huber"}, "loss must be one of mse, cross_entropy, squared_hinge"),
        ({"X": X3, "y": y3, "sample_weight": -np.ones(150)}, "none negative"),
        ({"X": X3[:0], "y": y3[:0]}, "X has no rows"),
    ],
)
def test_rows_to_round_with_are_checked(options, message):
    rf = RandomForestClassifier(2, random_state=0).fit(X3, y3)
    with pytest.raises(ValueError, match=message):
        bh.pack(rf, **options)


def test_one_row_is_enough_to_round_with():
    rf = RandomForestClassifier(5, max_leaf_nodes=6, random_state=0).fit(X3, y3)
    packed = bh.pack(rf, leaf_bits=3, X=X3[:1], y=y3[:1])
    assert packed.predict(X3[:1]).tolist() == y3[:1].tolist()


def test_steps_are_fitted_to_values_that_are_multiples_of_something():
    rng = np.random.default_rng(0)
    X = (4300 + 0.5128205 * rng.integers(-200, 200, size=(2000, 4))).astype(np.float32)
    y = (np.sin(X[:, 0] / 9) + X[:, 1] / 50 + rng.normal(size=2000) > 86).astype(int)
    forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=60, random_state=0).fit(X, y))

    def same(packed):
        return np.mean(packed.scores(X)[:, 0] == exact.scores(X)[:, 0])

    exact = bh.pack(forest, threshold_bits="exact", leaf_bits=16)
    plain, fitted = (bh.pack(forest, threshold_bits=9, leaf_bits=16, **rows) for rows in ({}, {"X": X}))
    assert same(fitted) > same(plain)
    assert same(fitted) > 0.99
    assert fitted.nbytes <= plain.nbytes + 8


def test_repr_says_how_large_it_is_and_what_it_predicts():
    forest = random_forest(np.random.default_rng(0), (2, 3), 2, 3)
    packed = bh.pack(forest, leaf_bits=3)
    size = f"{packed.nbytes} bytes"
    assert repr(packed) == f"Packed({size}: 2 trees, 7 leaves, 2 of 2 features, 3 classes; 3-bit leaves)"
    html = replace(packed, origin="<script>")._repr_html_()
    assert html.startswith("<table><caption>Packed</caption>")
    assert "<script>" not in html
    assert f"{packed.nbytes} (without the program that reads them)" in html


def test_two_classes_with_a_softmax_are_logistic_again():
    X, y = load_breast_cancer(return_X_y=True)
    merged = bh.merge(RandomForestClassifier(6, random_state=0).fit(X, y), X, y, max_leaves=40, loss="cross_entropy")
    assert (merged.link, merged.value.shape[1]) == ("softmax", 2)
    packed = bh.pack(merged, leaf_bits=16, threshold_bits="exact")
    again = packed.to_forest()
    np.testing.assert_allclose(again.predict_proba(X), packed.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X), merged.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(again.predict(X), packed.predict(X))


@pytest.mark.parametrize("model", [GradientBoostingRegressor, HistGradientBoostingRegressor])
def test_errors_of_leaves_near_zero_do_not_add_up(model):
    """Leaves of boosted trees lie on either side of 0, but not evenly: 0 is not in the middle."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(2_000, 4)).astype(np.float32)
    y = np.exp(3.0 * X[:, 0] + X[:, 1]) + random.normal(size=2_000)
    fitted = model(random_state=0).fit(X, y)
    forest = bh.as_forest(fitted)
    exact = forest.predict(X)
    for bits in range(3, 9):
        unit = bh.pack(forest, leaf_bits=bits).scale
        found = bh.pack(forest, leaf_bits=bits).predict(X)
        # A leaf is wrong by half a unit at most, this way or that; all the same way, it would be n_trees / 4 units.
        assert abs(np.mean(found - exact)) < forest.n_trees / 16 * unit, bits
