"""What the fast layout compares on processors of 8 bits: keys of features."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import billhook as bh
from billhook.codegen import Form, source
from billhook.codegen._key_functions import KEY_ABOVE, KEY_IN_STEPS
from billhook.forest import derive
from compiled import FLAGS as WARNINGS
from compiled import compiled, write_sources
from made_up import TRICKY, random_forest

KINDS = ("float", "int16")
FLAGS = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
GRIDS = {
    "key_above": np.arange(4150, 4700, 0.25),
    "low": np.nextafter(np.linspace(3900, 4300, 400), np.inf),
    "key_by_upper": np.arange(0.5, 16),
    "key_around": np.arange(-4700, -4150, 0.25),
    "key_in_steps": np.arange(-30_000, 35_000, 7) / 1024,
    "steps of a byte": np.arange(-8, 8, 0.5),
    "steps below 0": np.arange(-60_000, -100, 13) * 2.0**-30,
    "UPPER": np.linspace(-3, 3, 1000),
    "key_of_whole": np.arange(-100, 100),
    "largest": np.array([2e38, 2.5e38, 3e38, np.inf]),
    "single": np.array([0.0]),
}


def rows_around(rng, grid, n_rows, n_features):
    """Values on the thresholds, beside them, far off on both sides, and not numbers of either sign."""
    finite = grid[np.isfinite(grid)].astype(np.float32)
    beside = [finite, np.nextafter(finite, np.float32(np.inf)), np.nextafter(finite, np.float32(-np.inf)), -finite]
    with np.errstate(over="ignore"):
        far = [TRICKY, np.copysign(np.float32(np.nan), np.array([1, -1], np.float32)), finite * 2, finite / 2]
    values = [rng.choice(np.concatenate(part).astype(np.float32), (n_rows, n_features)) for part in (beside, far)]
    return np.where(rng.random((n_rows, n_features)) < 0.8, *values)


def packed_on(grid, missing, sizes=(40, 60, 50)):
    """Return a packed forest whose thresholds are exactly these; missing values go as `missing` says."""
    forest = random_forest(np.random.default_rng(3), sizes, 3, 3, thresholds=grid.astype(np.float32))
    if missing in ("left", "right"):
        forest = derive(forest, missing_left=np.full(forest.n_nodes, missing == "left"))
    return bh.pack(forest, threshold_bits="exact", leaf_bits=4, missing_values=missing != "none")


def packed_for(name, missing):
    """Return one on a grid, with as many trees as keys need to pay."""
    return packed_on(GRIDS[name], missing, (40, 60, 50) * (3 if "steps" in name else 1))


@pytest.mark.parametrize(
    ("grid", "missing"),
    [(grid, missing) for grid in GRIDS for missing in ("none", "split")]
    + [
        (grid, missing) for grid in ("key_above", "UPPER", "largest", "key_in_steps") for missing in ("left", "right")
    ],
)
def test_keys_go_the_way_of_the_features(grid, missing, tmp_path):
    packed = packed_for(grid, missing)
    rows = rows_around(np.random.default_rng(0), GRIDS[grid], 2000, 3)
    form = Form("fast", KINDS, is_small=True)
    np.testing.assert_array_equal(compiled(packed, tmp_path, *FLAGS, form=form)(rows), packed.scores(rows))
    whole = np.clip(np.rint(np.nan_to_num(rows)), -32768, 32767).astype(np.float32)
    (tmp_path / "whole").mkdir()
    found = compiled(packed, tmp_path / "whole", *FLAGS, form=form, kind="int16")(whole)
    np.testing.assert_array_equal(found, packed.scores(whole))


@pytest.mark.parametrize("grid", ["key_above", "low", "key_by_upper", "key_around", "key_in_steps", "key_of_whole"])
def test_each_kind_of_key_is_used_where_it_is_exact(grid):
    text = source(packed_for(grid, "none"), form=Form("fast", KINDS, is_small=True))
    assert re.search(rf"{grid}\(|->{grid}\d", text)


def test_what_would_not_fit_is_written_with_codes():
    packed = packed_on(GRIDS["key_above"], "none")
    texts = [source(packed, form=Form("fast", ("float",), is_small=True, flash=flash)) for flash in (2000, 200_000)]
    assert ["code_of(" in text for text in texts] == [True, False]


def test_what_takes_more_than_there_is_is_written_with_codes():
    """By what avr-gcc makes of it: missing values that go left, and the keys themselves, take flash too."""
    X, y = load_breast_cancer(return_X_y=True)
    packed = bh.pack(HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y), threshold_bits=9)
    try:
        flash = bh.measure(packed, X[:1], target="arduino-mega", layout="fast").flash
    except bh.MissingToolError as error:
        pytest.skip(str(error))
    text = source(packed, form=Form("fast", ("float",), is_small=True, flash=flash - 1))
    assert "code_of(" in text


@pytest.mark.parametrize(("n_outputs", "has_codes"), [(1, False), (2, True)])
def test_several_outputs_share_the_flash(n_outputs, has_codes, tmp_path):
    packed = packed_on(GRIDS["key_above"], "split")
    bh.emit([packed] * n_outputs, tmp_path / "out", target="attiny85", layout="fast")
    assert ("code_of(" in (tmp_path / "out" / "model_0.c").read_text()) == has_codes


def test_trees_for_several_kinds_of_features_share_the_flash():
    packed = packed_on(np.random.default_rng(0).normal(size=300), "split")
    form = Form("fast", ("float",), is_small=True, flash=14_000)
    texts = [
        source(packed, form=replace(form, inputs=inputs)) for inputs in (("float",), ("float", "int16", "uint8"))
    ]
    assert ["code_of(" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    "grid", ["key_above", "low", "key_by_upper", "key_around", "key_in_steps", "steps of a byte"]
)
def test_keys_are_the_same_on_avr(grid):
    packed = packed_for(grid, "split")
    rows = rows_around(np.random.default_rng(1), GRIDS[grid], 30, 3)
    try:
        found = bh.measure(packed, rows, target="arduino-mega", layout="fast", max_rows=30)
    except bh.MissingToolError as error:
        pytest.skip(str(error))
    assert found.agreement == 1.0


def sparse(bits):
    """Return a packed forest with one number in a leaf, whose sums may be further apart than 15 bits."""
    forest = random_forest(np.random.default_rng(1), (6, 6), 3, 3, weights="sum")
    values = np.zeros_like(forest.value)
    leaves = np.flatnonzero(forest.feature < 0)
    values[leaves, np.arange(leaves.size) % 3] = np.where(np.arange(leaves.size) % 2, 1.0, -1.0)
    return bh.pack(replace(forest, value=values, base=np.array([-1.0, 1.3, 0.0])), leaf_bits=bits)


def test_avr_gcc_has_nothing_to_say(tmp_path):
    if shutil.which("avr-gcc") is None:
        pytest.skip("avr-gcc is not installed: make toolchains")
    models = [packed_for(grid, "split") for grid in ("key_by_upper", "key_in_steps", "key_of_whole")]
    for packed in [*models, packed_on(GRIDS["UPPER"], "none"), *map(sparse, (8, 14, 16))]:
        write_sources(packed, tmp_path, Form("fast", KINDS, is_small=True))
        # As the headers of Arduino have them.
        pins = ["-DHIGH=1", "-DLOW=0", "-DINPUT=0", "-DOUTPUT=1"]
        command = ["avr-gcc", "-mmcu=atmega2560", *WARNINGS, *pins, "-c", "model.c", "-o", "model.o"]
        subprocess.run(command, cwd=tmp_path, check=True)


def test_what_never_goes_right_asks_for_no_bits(tmp_path):
    packed = packed_on(np.array([np.inf]), "none")
    rows = rows_around(np.random.default_rng(0), GRIDS["largest"], 20, 3)
    found = compiled(packed, tmp_path, form=Form("fast", ("float",), is_small=True))(rows)
    np.testing.assert_array_equal(found, packed.scores(rows))


PRINTS_WRONG = """#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#define INLINE inline __attribute__((always_inline))
%s
static uint16_t wrong, tried;
static void put(char c) { while (!(UCSR0A & _BV(UDRE0))); UDR0 = (uint8_t)c; }
static void print(uint16_t n) { int8_t k; for (k = 12; k >= 0; k -= 4) put("0123456789abcdef"[n >> k & 15]); }
#define COMPARE(values, key, a, b, c) do { uint8_t k; for (k = 0; k < sizeof values / 4; k++) { \
    uint32_t bits = pgm_read_dword(&values[k]); tried++; \
    wrong += key(bits, a, b, c) != key##_in_c(bits, a, b, c); } } while (0)
%s
int main(void)
{
    UCSR0B = _BV(TXEN0);
%s
    print(tried); put(' '); print(wrong); put('\\n');
    sleep_enable(); sleep_cpu();
    return 0;
}
"""
ODD = [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF]


def cases_above():
    """Yield numbers around where a key begins, where it ends and where bytes are full, and what it is called with."""
    for base, most in [(0, 0xFF), (1, 0xFFFE), (0x100, 0xFE), (0x7EFFFFFF, 0xFFFF), (0x3F7FFFC1, 0xFFFF)]:
        for n_bits in range(9):
            ends = [base + (number << n_bits) + d for number in (0, 1, most, most + 1) for d in (-1, 0, 1)]
            ends += [base + full + d for full in (1 << 16, 1 << 24) for d in (-1, 0, 1)]
            yield ends, f"{base}ul, {n_bits}, {most}u"


def cases_in_steps():
    """Yield numbers around steps of 2^-10 and their ends, of both signs, and what the key is called with."""
    for zero, most in [(1, 0xFF), (0xFF, 0xFF), (20_000, 0xFFFE), (0xFFFE, 0xFFFF), (1, 0xFFFF)]:
        for unit in (16, 132, 238):
            whole = np.unique([0.5, 1, 2, 3, 255, 4097, zero - 1, zero, most - zero, most - zero + 1, 65535, 65536])
            bits = np.ldexp(whole, unit - 142).astype(np.float32).view(np.uint32)
            yield (
                [int(n) + sign + d for n in bits for sign in (0, 1 << 31) for d in (-1, 0, 1)],
                f"{unit}, {zero}u, {most}u",
            )


@pytest.mark.parametrize(
    ("name", "in_c", "cases"),
    [("key_above", KEY_ABOVE, cases_above), ("key_in_steps", KEY_IN_STEPS, cases_in_steps)],
)
def test_the_assembler_gives_what_the_c_beside_it_does(name, in_c, cases, tmp_path):
    """Of numbers where something may happen, of floats that are odd, and of any others."""
    if shutil.which("avr-gcc") is None or shutil.which("simavr") is None:
        pytest.skip("avr-gcc or simavr is not installed: make toolchains")
    rng = np.random.default_rng(0)
    tables, calls, n_numbers = [], [], 0
    for ends, arguments in cases():
        numbers = [*ODD, *(bits | 1 << 31 for bits in ODD), *ends, *rng.integers(1 << 32, size=8).tolist()]
        cells = ", ".join(f"{number & 0xFFFFFFFF}ul" for number in numbers)
        tables.append(f"static const uint32_t values{len(tables)}[] PROGMEM = {{{cells}}};")
        calls.append(f"    COMPARE(values{len(calls)}, {name}, {arguments});")
        n_numbers += len(numbers)
    beside = in_c.replace(name, f"{name}_in_c").replace("defined(__AVR__)", "0")
    (tmp_path / "keys.c").write_text(PRINTS_WRONG % (in_c + beside, "\n".join(tables), "\n".join(calls)))
    command = ["avr-gcc", "-std=c99", "-Os", "-mmcu=atmega2560", "keys.c", "-o", "keys.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = ["simavr", "-f", "16000000", "-m", "atmega2560", "keys.elf"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert f"{n_numbers:04x} 0000" in done.stdout + done.stderr
