"""Leaves of many numbers in the fast layout, of which a word holds several sums."""

import shutil

import numpy as np
import pytest

import billhook as bh
from billhook.codegen import Form, _measure, source
from compiled import compiled
from made_up import random_forest, tricky_rows

FAST = Form("fast", ("float",))
# Trees, classes, bits of a leaf, and the sums in a word; 0 for those that need one each.
TABLES = [
    (16, 26, 4, 4),
    (16, 26, 5, 3),
    (6, 26, 8, 3),
    (9, 25, 8, 2),
    (16, 10, 4, 4),
    (16, 10, 8, 2),
    (1, 14, 8, 4),
    (3, 7, 16, 0),
]


def packed_for(n_trees, n_classes, leaf_bits):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (12,) * n_trees, 3, n_classes, weights="any")
    return bh.pack(forest, leaf_bits=leaf_bits, missing_values=False), tricky_rows(rng, 200, 3, missing=0)


@pytest.mark.parametrize(("n_trees", "n_classes", "leaf_bits", "lanes"), TABLES)
def test_several_sums_in_a_word_are_those_of_python(n_trees, n_classes, leaf_bits, lanes, tmp_path):
    packed, rows = packed_for(n_trees, n_classes, leaf_bits)
    text = source(packed, form=FAST)
    assert f"uint32_t sums[{-(-n_classes // lanes)}]" in text if lanes else "sums" not in text
    np.testing.assert_array_equal(compiled(packed, tmp_path, form=FAST)(rows), packed.scores(rows))


@pytest.mark.parametrize(("n_trees", "n_classes", "leaf_bits"), [table[:3] for table in TABLES])
def test_what_is_written_for_any_target_reads_leaves_from_the_flash_of_an_avr(
    n_trees, n_classes, leaf_bits, monkeypatch
):
    for program in ("avr-gcc", "simavr"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")
    packed, rows = packed_for(n_trees, n_classes, leaf_bits)
    monkeypatch.setattr(_measure, "form_of", lambda *_: FAST)
    found = bh.measure(packed, rows[:20], target="arduino-mega", layout="fast")
    assert found.form == FAST
    assert found.agreement == 1.0
