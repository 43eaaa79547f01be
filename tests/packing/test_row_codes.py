"""The codes of rows, kept and not, against those of `codes_of`."""

import numpy as np
import pytest

from billhook.packing import RowCodes, bin_features, code_features, codes_of


def made_up(n_rows=700, missing=0.0):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(-3, 4, n_rows), rng.exponential(size=n_rows)])
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 1] *= -1.0  # with -0.0, which is 0
    return X.astype(np.float32)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("bits", [4, 7, 8, 12, 16])
def test_codes_are_the_same_kept_or_found_again(bits, missing):
    X = made_up(missing=missing)
    quantizers = bin_features(X, bits, 64, 300).coding.quantizers
    expected = codes_of(X + np.float32(0.0), np.arange(3), quantizers, missing_values=True)
    assert np.isnan(expected).any() == (missing > 0.0)
    codes = RowCodes(X, quantizers)
    some = np.array([5, 3, 699, 3])
    for _ in range(2):  # found again, and kept
        assert codes.has_missing.tolist() == [missing > 0.0] * 3
        np.testing.assert_array_equal(codes[:], expected)
        np.testing.assert_array_equal(codes[some], expected[some])
        np.testing.assert_array_equal(codes.column(some, 2), expected[some, 2])
        codes.keep()


def test_features_without_a_quantizer_are_zero():
    X = made_up(missing=0.1)
    first, _, last = bin_features(X, 7, 64, 300).coding.quantizers
    codes = RowCodes(X, [first, None, last])
    assert codes.has_missing.tolist() == [True, False, True]
    for _ in range(2):
        assert not codes[:][:, 1].any()
        assert not codes.column(slice(None), 1).any()
        codes.keep()


def test_where_nothing_is_missing_what_is_not_a_number_is_infinite():
    X = made_up(missing=0.1)
    quantizers = bin_features(X, 7, 64, 300).coding.quantizers
    codes = RowCodes(X, quantizers, missing_values=False)
    expected = codes_of(X + np.float32(0.0), np.arange(3), quantizers, missing_values=False)
    for _ in range(2):
        np.testing.assert_array_equal(codes[:], expected)
        codes.keep()


@pytest.mark.parametrize("bins", [16, 256, 1024])
def test_bins_of_missing_values_are_the_last(bins):
    X = made_up(missing=0.1)
    binned = bin_features(X, 12, bins, 300)
    rows = np.arange(0, 700, 3)
    for _ in range(2):
        codes, n_bins, has_missing = binned.codes_of_bins(rows)
        assert has_missing.all()
        expected = np.array([edges.size + 1 for edges in binned.edges]) + 1
        assert n_bins.tolist() == expected.tolist()
        np.testing.assert_array_equal(codes == n_bins - 1, np.isnan(X[rows]))
        for k, edges in enumerate(binned.edges):
            there = ~np.isnan(X[rows, k])
            of_code = np.searchsorted(edges, binned.codes[rows][there, k], side="left")
            np.testing.assert_array_equal(codes[there, k], of_code)
        np.testing.assert_array_equal(np.isnan(binned.bins(rows)), np.isnan(X[rows]))
        binned.codes.keep()


def test_rows_may_begin_anywhere_in_memory():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    memory = np.zeros(X.nbytes + 1, np.uint8)
    shifted = memory[1:].view(np.float32).reshape(X.shape)
    shifted[:] = X
    assert not shifted.flags.aligned
    quantizers = code_features(X, 5, 100).coding.quantizers
    np.testing.assert_array_equal(RowCodes(shifted, quantizers).keep()[:], RowCodes(X, quantizers).keep()[:])
