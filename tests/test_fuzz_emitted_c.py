"""The script that compares emitted C with Python on many rows: a small share of it, and that it would notice."""

import shutil

import numpy as np
import pytest

import billhook as bh
import fuzz_emitted_c as fuzz
from billhook.codegen import Form
from made_up import random_forest

COMPILERS = {"gcc": "gcc", "avr": "simavr", "cortex-m0": "qemu-system-arm", "wasm": "wasm-ld"}


@pytest.mark.parametrize("family", COMPILERS)
def test_a_program_makes_up_the_rows_that_python_does(family, tmp_path):
    if shutil.which(COMPILERS[family]) is None:
        pytest.skip(f"{COMPILERS[family]} is not installed: make toolchains")
    rng = np.random.default_rng(0)
    packed = bh.pack(random_forest(rng, (9, 3), 4, 3))
    pool = fuzz.pool_of(packed, rng, "float")
    expected = fuzz.checksums(packed.scores(fuzz.rows_of(pool, 2**32 - 5, 2 * fuzz.BLOCK)))
    fuzz.write_program(packed, Form("compact", ("float",)), "float", pool, 2**32 - 5, 2 * fuzz.BLOCK, tmp_path)
    found, _ = fuzz.said(tmp_path, family, "-O0")
    np.testing.assert_array_equal(found, expected)


def test_a_wrong_bit_of_a_score_changes_the_checksum_of_its_block():
    scores = np.random.default_rng(0).integers(-(2**31), 2**31, (2 * fuzz.BLOCK, 3))
    right = fuzz.checksums(scores)
    for row, column, bit in ((0, 0, 31), (fuzz.BLOCK - 1, 2, 0), (7, 1, 30)):
        wrong = scores.copy()
        wrong[row, column] ^= 1 << bit
        assert (fuzz.checksums(wrong) == right).tolist() == [False, True]


def test_models_of_many_kinds_are_made_up():
    kinds = {fuzz.random_model(np.random.default_rng([1, number]))[0] for number in range(12)}
    assert len(kinds) > 6
