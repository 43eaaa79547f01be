"""Numbers of less than whole bits, tables of gaps, and other short ways: as the naive twins read them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import billhook as bh
from billhook.packing import codes_of
from billhook.packing._bits import bits_for
from billhook.packing._gaps import find_gaps, pack_gaps, unpack_gaps
from billhook.packing._groups import ALONE, group_for, pack_groups, unpack_groups
from billhook.packing._with_signs import from_least
from made_up import random_forest
from naive.packing import packed_scores
from short_models import SHORT, short_model

FILES = Path(__file__).parent / "files"


@given(st.integers(9, 3000), st.integers(1, 40), st.integers(0, 2**32))
def test_groups_come_back_in_fewer_bits(n_values, count, seed):
    numbers = np.random.default_rng(seed).integers(n_values, size=count)
    bits, group = bits_for(n_values), group_for(n_values)
    data = pack_groups(numbers, bits, group)
    assert unpack_groups(data, bits, count, group).tolist() == numbers.tolist()
    assert data.size == -(-group.section_bits(count, bits) // 8)
    if group != ALONE:
        assert group.section_bits(6, bits) < 6 * bits
        assert n_values <= group.radix << group.low_bits(bits)
        assert group.radix**group.size <= 2**group.digit_bits <= 2**8


@given(st.lists(st.sets(st.integers(0, 5000), min_size=1, max_size=60), min_size=1, max_size=6))
def test_gaps_come_back(keys):
    feature = np.concatenate([np.full(len(some), k) for k, some in enumerate(keys)])
    key = np.concatenate([sorted(some) for some in keys])
    gaps = find_gaps(feature, key, len(keys))
    data = pack_gaps(gaps)
    assert data.size == -(-gaps.bits // 8)
    again = unpack_gaps(data, gaps.bits, len(keys), gaps.gap_bits, gaps.many_bits)
    np.testing.assert_array_equal(again, [feature, key])
    # Bit by bit, as the description says.
    text = "".join(f"{byte:08b}"[::-1] for byte in data)
    written = ""
    for some in keys:
        low, before = max(gaps.gap_bits - len(some).bit_length(), 0), -1
        numbers = [(len(some) - 1, gaps.many_bits)]
        for k in sorted(some):
            numbers.append((k - before - 1, low))
            before = k
        for number, bits in numbers:
            written += "1" * (number >> bits) + "0"
            written += f"{number % 2**bits:0{bits}b}" if bits else ""
    assert text[: gaps.bits] == written


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("n_classes", [1, 3])
def test_short_models_score_as_their_bits_say(name, n_classes):
    packed, rows = short_model(name, n_classes)
    layout = packed.layout
    assert bool(layout.ask_bits) == ("gaps" in name)
    assert bool(layout.group) == ("groups" in name)
    assert bool(layout.n_pairs) == ("tests" not in name and "map" not in name)
    assert (layout.has_map, layout.n_grids > 0) == ("map" in name, "grids" in name)
    codes = codes_of(rows, packed.used, packed.quantizers, missing_values=layout.missing != "none")
    np.testing.assert_array_equal(packed.scores(rows), packed_scores(packed, codes))
    packed.check()


def test_files_with_signed_numbers_are_read():
    """Written before steps and bases were counted from the least, with these scores."""
    packed = bh.load(FILES / "with_signs.bhk")
    X = load_iris().data[::30]
    expected = [[47430, 0, -44], [47430, 0, -44], [0, 46155, 1211], [0, 46155, 1211], [0, 1530, 45889]]
    assert packed.scores(X).tolist() == expected
    assert packed.nbytes == 75


def test_older_files_have_offsets_of_as_many_bytes_as_they_take():
    for n_bytes, least in {1: -(2**7), 2: -(2**15), 3: -(2**23), 4: -(2**30)}.items():
        assert from_least({"offset_bytes": n_bytes, "base_bytes": 0})["offset"] == least
    assert "offset" not in from_least({"offset_bytes": 0, "base_bytes": 0})


def test_a_table_that_takes_long_to_go_through_is_not_written_as_gaps():
    """Few large trees: a row takes few steps, and would have to answer thousands of tests."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (2000, 2000), 4, 1, thresholds=np.arange(400.0))
    assert bh.pack(forest, threshold_bits="exact", missing_values=False).layout.ask_bits == 0
