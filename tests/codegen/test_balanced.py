"""The bytes of the balanced layout: how many there are, in which form, and that C reads them as Python does."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import billhook as bh
from billhook.codegen import Form
from billhook.codegen._balanced_data import LITTLE_MORE, balanced_data
from billhook.codegen._bit_stream import BitStream, Numbers, codings, fixed, shortest
from billhook.codegen._test_fields import fields_in_bits, fields_in_bytes
from compiled import compiled
from made_up import random_forest, symmetric_forest, tricky_rows

# Not optimized, which compiles in half the time: what is checked is what the C says. Tests without it, on the host
# and in emulators, compile with -O1, -Os and -O2.
SANITISED = ["-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all"]


def check(packed, rows, folder, *more):
    found = compiled(packed, folder, *SANITISED, *more, form=Form("balanced", ("float",)))(rows)
    np.testing.assert_array_equal(found, packed.scores(rows))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, RandomForestClassifier(16, max_leaf_nodes=128, random_state=0).fit(X, y)


def test_a_table_of_leaves_takes_a_byte_for_most_and_two_for_others(digits, tmp_path):
    X, forest = digits
    packed = bh.pack(forest, leaf_bits=8, missing_values=False)
    made = balanced_data(packed)
    assert made.form.unit == 8
    assert made.form.has_table
    assert made.entry.n_long > 0
    assert made.data.size <= LITTLE_MORE * packed.nbytes
    check(packed, X[:50].astype(np.float32), tmp_path)


@pytest.mark.parametrize("missing_values", [True, False])
@pytest.mark.parametrize(("factor", "grid"), [(1.0, "steps"), (0.3, "ranks")])
def test_the_numbers_of_features_are_read_from_bytes_where_there_is_room(factor, grid, missing_values, tmp_path):
    X, y = load_digits(return_X_y=True)
    X = (X * factor).astype(np.float32)
    forest = RandomForestClassifier(16, max_leaf_nodes=128, random_state=0).fit(X, y)
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=8, missing_values=missing_values)
    assert packed.layout.grid == grid
    assert packed.layout.has_map
    made = balanced_data(packed)
    begin, end = made.sections["features"], made.sections["table"]
    assert made.data[begin:end].tolist() == packed.used.tolist()
    assert made.data.size <= LITTLE_MORE * packed.nbytes
    check(packed, X[:50], tmp_path)


def test_a_map_of_features_is_read_where_their_numbers_have_no_room(tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (45,) * 3, 60, 1, thresholds=np.arange(3.0))
    packed = bh.pack(forest, leaf_bits=8, missing_values=False)
    assert packed.layout.has_map
    made = balanced_data(packed)
    assert made.data.size + packed.n_used > LITTLE_MORE * packed.nbytes
    assert made.sections["features"] == made.sections["table"]
    check(packed, rng.normal(0, 3, (100, 60)).astype(np.float32), tmp_path)


def test_few_bits_are_read_bit_by_bit_where_bytes_would_take_more(tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (60,) * 12, 4, 1, thresholds=rng.normal(size=8))
    packed = bh.pack(forest, leaf_bits=2, missing_values=False)
    made = balanced_data(packed)
    assert made.form.unit == 1
    assert made.data.size < 1.5 * packed.nbytes
    check(packed, rng.normal(size=(100, 4)).astype(np.float32), tmp_path)


def test_trees_stand_in_the_order_of_their_columns(tmp_path):
    X, y = load_digits(return_X_y=True)
    boosted = GradientBoostingClassifier(n_estimators=3, max_leaf_nodes=6, random_state=0).fit(X[:400], y[:400])
    forest = bh.as_forest(boosted).select([4, 29, 3, 0, 11, 12, 20])  # some columns have no tree, some two
    packed = bh.pack(forest)
    assert packed.layout.column_bits
    check(packed, X[:50].astype(np.float32), tmp_path)


@pytest.mark.parametrize("sizes", [(400, 3, 900), (5, 4)])
@pytest.mark.parametrize("leaf_bits", [8, 3])
def test_left_sides_of_any_length_are_passed(sizes, leaf_bits, tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes, 5, 1, thresholds=rng.normal(size=60))
    packed = bh.pack(forest, threshold_bits=7, leaf_bits=leaf_bits, missing_values=False)
    made = balanced_data(packed)
    assert (made.skip.largest > 1_000) == (sizes[0] > 100)
    assert made.skip.n_long > 0 or sizes[0] < 100
    check(packed, rng.normal(size=(200, 5)).astype(np.float32), tmp_path)


def test_symmetric_trees_have_one_test_a_level(tmp_path):
    rng = np.random.default_rng(0)
    packed = bh.pack(symmetric_forest(rng, (3, 6, 5), 3, thresholds=rng.normal(size=30)), leaf_bits=8)
    assert packed.layout.is_symmetric
    check(packed, tricky_rows(rng, 100, 3), tmp_path)


@pytest.mark.skipif(not shutil.which("simavr") or not shutil.which("avr-gcc"), reason="make toolchains")
def test_no_part_of_a_large_model_ends_within_a_leaf():
    """On AVR, where arrays are short: bytes of a tree are read one after the other from its address on."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (700,) * 6, 6, 12, thresholds=rng.normal(size=90))
    packed = bh.pack(forest, leaf_bits=8, missing_values=False)
    made = balanced_data(packed)
    assert made.form.unit == 8
    assert made.data.size > 40_000
    found = bh.measure(packed, rng.normal(size=(12, 6)), target="arduino-mega", layout="balanced")
    assert found.agreement == 1.0


@given(st.lists(st.integers(0, 5_000), min_size=1), st.sampled_from([8, 1]))
def test_numbers_are_written_in_ways_that_tell_them_apart(numbers, unit):
    largest = max(numbers)
    suited = [coding for coding in codings(unit) if coding.largest >= largest]
    assert shortest(np.array(numbers), unit) in suited
    for coding in (*suited, fixed(largest, unit)):
        assert coding.bits % unit == coding.more % unit == 0
        stream = BitStream()
        for number in numbers:
            stream.add_coded(number, coding)
        bits = np.unpackbits(stream.as_bytes(), bitorder="little").tolist()
        assert read_numbers(bits, coding, len(numbers)) == numbers


def read_numbers(bits, coding, count):
    """Return numbers as the description of `Numbers` reads."""
    at, found = 0, []

    def taken(width):
        nonlocal at
        at += width
        return sum(bit << k for k, bit in enumerate(bits[at - width : at]))

    for _ in range(count):
        first = taken(coding.bits)
        if first < 2**coding.bits - coding.n_long:
            found.append(first)
        else:
            limit = 2**coding.bits - coding.n_long
            found.append(limit + ((first - limit) << coding.more) + taken(coding.more))
    return found


@given(
    st.integers(0, 16), st.integers(0, 12), st.integers(0, 1), st.sampled_from([0, 2]), st.booleans(), st.booleans()
)
def test_no_two_parts_of_a_test_are_in_the_same_bits(code, feature, missing, flags, can_shift, in_halves):
    for fields in (
        fields_in_bytes(code, feature, missing, flags, can_shift=can_shift, in_halves=in_halves),
        fields_in_bits(code, feature, missing, flags),
    ):
        parts = [
            fields.number(*(np.array([value]) for value in values))[0]
            for values in ((2**code - 1, 0, 0), (0, 2**feature - 1, 0), (0, 0, 2**missing - 1))
        ]
        if flags:
            parts += [fields.flags(True, False), fields.flags(False, True)]
            assert fields.flags(True, False).bit_count() == fields.flags(False, True).bit_count() == 1
        together = 0
        for part, width in zip(parts, (code, feature, missing, 1, 1), strict=False):
            assert int(part).bit_count() == width
            assert not together & int(part)
            together |= int(part)
        assert together < 2**fields.bits
        if fields.shift > 0:  # compared as a whole, the code decides
            assert parts[0] == (2**code - 1) << fields.shift


def test_a_number_has_no_more_bits_than_it_needs():
    assert Numbers(8, 1, 8).largest == 510
    assert Numbers(8, 1, 8).length(254) == 8
    assert Numbers(8, 1, 8).length(255) == 16
