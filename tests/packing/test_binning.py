import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.budget._grow import on_codes
from billhook.budget._splits import TrainingRows
from billhook.packing import bin_features, pack_on_codes, size_on_codes
from billhook.packing._binning import quantiles


def grown(X, y, bits, n_bins, **options):
    """Return a forest grown on bins, with codes for thresholds, and the cuts."""
    X = X.astype(np.float32)
    cuts = bin_features(X, bits, n_bins, 300)
    bins = cuts.bins(np.arange(len(X)))
    kind = RandomForestRegressor if y.dtype.kind == "f" else RandomForestClassifier
    forest = bh.as_forest(kind(6, max_leaf_nodes=20, random_state=0, **options).fit(bins, y))
    return on_codes(forest, cuts, TrainingRows(X, y, np.ones(len(y)), forest.classes), None), cuts, bins, forest


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=300), st.integers(1, 40))
def test_quantiles_are_values_and_have_as_many_between_them(values, n):
    x = np.array(values, np.float32)
    found = quantiles(x, n)
    assert found.size <= max(n, 1)
    assert np.isin(found, x).all()
    assert (np.diff(found) > 0).all()
    different = np.unique(x)
    if different.size <= n + 1:
        assert found.tolist() == different[: max(different.size - 1, 1)].tolist()
    else:
        assert found[-1] < x.max()
        # No bin has many more rows than its share, but for a value that alone has more.
        bins = np.searchsorted(found, x, side="left")
        for number in range(found.size + 1):
            inside = x[bins == number]
            heaviest = max(np.unique(inside, return_counts=True)[1], default=0)
            assert inside.size <= 2 * len(x) / (n + 1) + 1 + heaviest


def test_a_heavy_value_takes_one_bin():
    x = np.r_[np.zeros(9000), np.arange(1000)].astype(np.float32)
    found = quantiles(x, 15)
    assert found[0] == 0
    np.testing.assert_allclose(np.diff(found), 1000 / 16, rtol=0.2)


@pytest.mark.parametrize("bits", [4, 6, 8, 12])
@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_iris])
def test_rows_go_the_same_way_by_bins_by_codes_and_by_bytes(load, bits):
    X, y = load(return_X_y=True)
    coded, cuts, bins, forest = grown(X, y, bits, 16)
    np.testing.assert_array_equal(coded.apply(cuts.codes[:]), forest.apply(bins))
    packed = pack_on_codes(coded, cuts.coding, leaf_bits=16)
    np.testing.assert_allclose(packed.predict_proba(X), forest.predict_proba(bins), atol=1e-3)


def test_missing_values_keep_their_way():
    X, y = load_breast_cancer(return_X_y=True)
    X[::3, :20] = np.nan
    coded, cuts, bins, forest = grown(X, y, 7, 32)
    np.testing.assert_array_equal(np.isnan(cuts.codes[:]), np.isnan(X))
    packed = pack_on_codes(coded, cuts.coding, leaf_bits=16)
    np.testing.assert_allclose(packed.predict_proba(X), forest.predict_proba(bins), atol=1e-3)


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_iris])
@pytest.mark.parametrize("asked", [3, 5, 8, 12])
def test_cutting_to_the_bits_that_came_out_comes_to_the_same(load, asked):
    X = load(return_X_y=True)[0].astype(np.float32)
    for rows in (X, np.round(X % 3)):
        cuts = bin_features(rows, asked, 64, 300)
        bits = max(quantizer.n_codes - 1 for quantizer in cuts.coding.quantizers).bit_length()
        again = bin_features(rows, bits, max(edges.size for edges in cuts.edges) + 1, 300)
        np.testing.assert_array_equal(again.codes[:], cuts.codes[:])


def test_pixels_share_their_steps():
    X, y = load_digits(return_X_y=True)
    X = X * 15.0  # 0 to 240
    for bits in (3, 4, 5):
        coded, cuts, _, _ = grown(X, y, bits, 16)
        packed = pack_on_codes(coded, cuts.coding, leaf_bits=4)
        assert packed.layout.step_bytes == 0
        assert packed.layout.code_bits <= bits + 1


@settings(max_examples=25)
@given(
    st.sampled_from([2, 3, 4, 6]),
    st.sampled_from([None, 8, 32]),
    st.sampled_from(["one", "class"]),
    st.sampled_from([4, 8]),
    st.booleans(),
)
def test_the_size_is_known_before_it_is_packed(leaf_bits, codebook, scales, bits, is_two):
    X, y = load_iris(return_X_y=True)
    y = y == 1 if is_two else y
    coded, cuts, _, _ = grown(X, y, bits, 16)
    options = {"leaf_bits": leaf_bits, "codebook": None if is_two else codebook, "scales": scales}
    size = size_on_codes(coded, cuts.coding, missing_values=False, **options)
    packed = pack_on_codes(coded, cuts.coding, missing_values=False, **options)
    assert packed.nbytes <= size
    # It is less only where leaves turned out alike.
    if packed.layout.n_leaves == coded.n_leaves and not packed.layout.n_entries and not packed.layout.n_columns > 1:
        assert packed.nbytes == size


@pytest.mark.parametrize("leaf_bits", [10, 12, 16])
@pytest.mark.parametrize("n_classes", [1, 8])
def test_the_size_of_trees_of_many_sizes_is_known_to_the_byte(n_classes, leaf_bits):
    X, y = load_diabetes(return_X_y=True)
    y = np.digitize(y, np.quantile(y, np.arange(1, 8) / 8)) if n_classes > 1 else y
    coded, cuts, _, _ = grown(X, y, 6, 16, min_samples_leaf=25)
    options = {"missing_values": False, "leaf_bits": leaf_bits, "scales": "one" if n_classes == 1 else "class"}
    packed = pack_on_codes(coded, cuts.coding, **options)
    assert packed.layout.n_leaves == coded.n_leaves  # none turned out alike
    # Where scores of classes begin may take a byte less for each.
    assert 0 <= size_on_codes(coded, cuts.coding, **options) - packed.nbytes <= (0 if n_classes == 1 else n_classes)


def test_a_packed_model_as_a_forest():
    X, y = load_iris(return_X_y=True)
    for labels in (y, y == 1, y.astype(float)):
        packed = bh.pack(grown(X, labels, 8, 16)[3], leaf_bits=5)
        forest = packed.to_forest()
        rows = np.random.default_rng(0).uniform(-2, 20, (500, 4)).astype(np.float32)
        np.testing.assert_array_equal(forest.predict(rows), packed.predict(rows))
        # It is a sum, of which a part is a sum too.
        parts = sum(forest.select([tree]).decision_function(rows) - forest.base.sum() for tree in range(6))
        if forest.base.size == 1 and labels.dtype.kind == "f":
            np.testing.assert_allclose(parts + forest.base[0], forest.predict(rows), rtol=1e-12)
        assert forest.select([0, 1]).tree_weight.tolist() == [1.0, 1.0]
        if labels.dtype.kind != "f":
            np.testing.assert_array_equal(forest.predict_proba(rows), packed.predict_proba(rows))
