"""The kernels of quantizers against `UniformQuantizer`, which says the same in numpy."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from billhook.forest import round_down
from billhook.kernels import code_rows, count_astray
from billhook.packing._fit_quantizers import key_quantizer, n_astray, uniform_quantizer
from billhook.packing._quantizers import MISSING, NO_SHIFT, POWERS, UniformQuantizer

FLOATS = st.floats(width=32, allow_nan=False)
NEAR = st.floats(-40, 40, width=32)


@st.composite
def quantizers(draw, threshold, bits):
    """Steps that thresholds would have, moved and stretched; or any whatever."""
    finite = threshold[np.isfinite(threshold)]
    kind = draw(st.sampled_from(["equal", "keys", "any", "any keys"]))
    if kind == "any":
        power = draw(st.integers(*POWERS))
        return UniformQuantizer(power, draw(st.integers(-(2**27), 2**27)), draw(st.integers(0, 2**16 - 1)), bits)
    if kind == "any keys" or not finite.size:
        shift = draw(st.integers(5, 20))
        scale = draw(st.just(0) | st.integers(2**13, 2**16 - 1))
        return UniformQuantizer(NO_SHIFT - shift, draw(st.integers(0, 2**32 >> shift)), scale, bits)
    first = uniform_quantizer(finite, bits) if kind == "equal" else key_quantizer(finite, bits)
    offset = first.offset + draw(st.integers(-3000, 3000) | st.just(0))
    scale = draw(st.sampled_from([0, 1, first.scale, first.scale // 2]) | st.integers(1, 2**16 - 1))
    return UniformQuantizer(first.power, offset, scale, bits)


@st.composite
def cases(draw):
    number = draw(st.sampled_from([FLOATS, NEAR, st.integers(-9, 300).map(float)]))
    threshold = np.array(draw(st.lists(number, max_size=20)), np.float32)
    seen = np.array(draw(st.lists(number, max_size=60)), np.float32).astype(np.float64)
    # Where there are no rows, values are middles too, which are not float32.
    middles = (seen[1:] / 2.0 + seen[:-1] / 2.0) if draw(st.booleans()) else seen
    values = np.sort(np.concatenate([seen, middles[~np.isnan(middles)], draw(st.sampled_from([seen, threshold]))]))
    bits = draw(st.integers(2, 16))
    return threshold, values, draw(st.lists(quantizers(threshold, bits), min_size=1, max_size=8))


def counted(threshold, values, tried):
    numbers = np.array([(quantizer.power, quantizer.offset, quantizer.scale) for quantizer in tried], np.int64)
    return n_astray(threshold, values, *numbers.T.copy(), tried[0].bits).tolist()


ENDS = np.array([-np.inf, -3e38, -1.0, -0.0, 0.0, 1e-45, 1.0, 3e38, np.inf], np.float32)


@given(cases())
@example((ENDS, np.sort(ENDS).astype(float), [UniformQuantizer(3, -9, 0, 5), key_quantizer(ENDS[1:-1], 5)]))
@example((ENDS, np.zeros(0), [uniform_quantizer(ENDS, 16), UniformQuantizer(116, 0, 2**16 - 1, 16)]))
def test_as_many_values_go_another_way_as_thresholds_have_in_all(case):
    threshold, values, tried = case
    expected = [quantizer.code_thresholds(threshold, values)[1].sum() for quantizer in tried]
    assert counted(threshold, -round_down(-values), tried) == expected


def test_hundreds_of_candidates_of_both_kinds_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    values = np.sort(np.exp(rng.normal(0, 2, 3000)).astype(np.float32))
    threshold = values[::40]
    by_length, by_keys = uniform_quantizer(threshold, 8), key_quantizer(threshold, 8)
    tried = [
        UniformQuantizer(first.power, first.offset - 7 * k, first.scale - 40 * k, 8)
        for first, n in [(by_length, 300), (by_keys, 3), (by_length, 2), (by_keys, 129)]
        for k in range(n)
    ]
    expected = [quantizer.code_thresholds(threshold, values.astype(float))[1].sum() for quantizer in tried]
    assert counted(threshold, values, tried) == expected
    assert len(set(expected)) > 100


def coded(x, tried, missing, kind):
    numbers = [(quantizer.power, quantizer.offset, quantizer.scale, quantizer.bits) for quantizer in tried]
    code = np.full(x.shape, 77, kind)
    code_rows(x, *np.array(numbers, np.int64).T.copy(), missing, code)
    return code


@given(st.data(), st.sampled_from([(np.uint8, 8), (np.uint16, 16)]), st.booleans())
def test_codes_of_a_table_are_those_of_its_columns(data, kind, missing_values):
    dtype, most_bits = kind
    bits = data.draw(st.integers(2, most_bits))
    n_features = data.draw(st.integers(1, 20))
    column = st.lists(FLOATS | NEAR | st.sampled_from([np.nan, -np.nan, -0.0]), min_size=6, max_size=6)
    x = np.array(data.draw(st.lists(column, min_size=n_features, max_size=n_features)), np.float32).T.copy()
    tried = [data.draw(quantizers(of[~np.isnan(of)], bits)) for of in x.T]
    missing = int(np.iinfo(dtype).max) if missing_values else -1
    code = coded(x, tried, missing, dtype)
    for k, quantizer in enumerate(tried):
        there = x[:, k]
        if not missing_values:
            there = np.where(np.isnan(there), np.copysign(np.float32(np.inf), there), there)
        expected = quantizer.codes(there)
        np.testing.assert_array_equal(code[:, k], np.where(expected == MISSING, missing, expected))


def test_a_feature_of_no_bits_is_zero():
    x = np.array([[1.0, np.nan, 3.0]], np.float32)
    steps, none = UniformQuantizer(0, 0, 0, 4), UniformQuantizer(0, 0, 0, 0)
    assert coded(x, [steps, none, steps], 255, np.uint8).tolist() == [[1, 0, 3]]


USUAL = {"power": [0], "offset": [0], "scale": [9]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"power": [-106]}, "a power is not one from -105 to 145"),
        ({"power": [146]}, "a power is not one from -105 to 145"),
        ({"offset": [2**30 + 1]}, r"an offset is not within 2\^30"),
        ({"scale": [2**16]}, "a scale is not of 16 bits"),
        ({"scale": [-1]}, "a scale is not of 16 bits"),
        ({"scale": [1, 2]}, "power, offset and scale have different lengths"),
    ],
)
def test_numbers_that_no_quantizer_has_are_refused(changed, message):
    numbers = [np.array(number, np.int64) for number in (USUAL | changed).values()]
    x, one = np.zeros((1, 1), np.float32), np.ones(1, np.int64)
    with pytest.raises(ValueError, match=message):
        count_astray(x[0], x[0], *numbers, 8, one)
    with pytest.raises(ValueError, match=message):
        code_rows(x, *numbers, one, -1, np.zeros((1, 1), np.uint8))


@pytest.mark.parametrize("changed", [{"power": [0, 0, 146]}, {"offset": [0, -(2**30) - 1, 0]}, {"scale": [9, 9, -1]}])
def test_each_of_several_quantizers_is_checked(changed):
    numbers = [
        np.array(number, np.int64) for number in ({name: 3 * n for name, n in USUAL.items()} | changed).values()
    ]
    x = np.zeros((1, 3), np.float32)
    with pytest.raises(ValueError, match=r"an? (power|offset|scale) is not"):
        count_astray(x[0], x[0], *numbers, 8, np.ones(3, np.int64))
    with pytest.raises(ValueError, match=r"an? (power|offset|scale) is not"):
        code_rows(x, *numbers, np.ones(3, np.int64), -1, np.zeros((1, 3), np.uint8))


def test_shapes_that_do_not_belong_together_are_refused():
    numbers = [np.array(number, np.int64) for number in USUAL.values()]
    x, one = np.zeros((1, 1), np.float32), np.ones(1, np.int64)
    code = np.zeros((1, 1), np.uint8)
    with pytest.raises(ValueError, match="power and n_astray have different lengths"):
        count_astray(x[0], x[0], *numbers, 8, np.zeros(2, np.int64))
    for bits in (0, 17):
        with pytest.raises(ValueError, match="codes are not of 1 to 16 bits"):
            count_astray(x[0], x[0], *numbers, bits, one)
    with pytest.raises(ValueError, match="x, power and bits are not of the same features"):
        code_rows(np.zeros((1, 2), np.float32), *numbers, one, -1, code)
    with pytest.raises(ValueError, match="x and code have different shapes"):
        code_rows(x, *numbers, one, -1, np.zeros((2, 1), np.uint8))
    with pytest.raises(ValueError, match="more bits than there is room for"):
        code_rows(x, *numbers, one * 9, -1, code)
    with pytest.raises(ValueError, match="no room for the code of missing values"):
        code_rows(x, *numbers, one, 256, code)
