"""Models whose splits test projections, in C and on processors."""

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import billhook as bh
from billhook.codegen import TOOLCHAINS, Form, most_flash, target_named
from billhook.codegen._estimate import estimated_cycles
from billhook.codegen._memory import least_stack
from compiled import FLAGS, compiled, write_sources
from projected import projected_model, projected_rows

KINDS = ("float", "int16", "uint8")
FORMS = {
    "compact": Form("compact", KINDS),
    "balanced": Form("balanced", KINDS),
    "fast": Form("fast", KINDS),
    "fast, small": Form("fast", KINDS, is_small=True),
}
SANITISED = ["-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
COMPILERS = {
    "uno": ["avr-gcc", "-mmcu=atmega328p"],
    "attiny40": ["avr-gcc", "-mmcu=attiny40"],
    "cortex-m0": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    "cortex-m4": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
}
MODELS = {
    "gaps": {"sizes": (15,) * 40, "n_thresholds": 12, "n_features": 2},
    "pairs": {"sizes": (60,), "n_thresholds": 2, "n_features": 4, "n_classes": 1},
    "groups": {"sizes": (20,) * 30, "n_features": 3, "n_projections": 2, "code_bits": 10, "n_classes": 1},
    "symmetric": {"depths": (5, 4, 5), "code_bits": 6},
    "three bits": {"code_bits": 3},
    "sixteen bits": {"code_bits": 16},
    "40 projections": {"n_projections": 40, "sizes": (60, 60)},
    "1,000 features": {"n_features": 1000, "sizes": (9, 9), "n_projections": 2, "share": 1.0, "code_bits": 5},
    "few of 1,000 features": {"n_features": 1000, "sizes": (9, 9), "n_projections": 3, "share": 0.01},
    "large weights": {"weight": 127, "code_bits": 8},
    "a sum of all": {"weight": 127, "n_features": 12, "n_projections": 1, "share": 1.0, "code_bits": 16},
    "scales of classes": {"n_classes": 5, "leaf_bits": 4, "pack_options": {"scales": "class", "codebook": 9}},
}


def model(name, seed=0):
    rng = np.random.default_rng(seed)
    packed, _ = projected_model(rng, **MODELS[name])
    assert packed.projections is not None
    return packed, projected_rows(rng, packed, 120)


def rows_of_kind(rows, kind):
    """Return rows as whole numbers of a type, spread over where features differ as far as it holds that."""
    if kind == "float":
        return rows
    low, high = (0, 255) if kind == "uint8" else (-32768, 32767)
    return np.clip(np.rint(np.nan_to_num(rows, nan=7.0)), low, high).astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", FORMS)
def test_they_score_the_same_in_c(name, form, tmp_path):
    packed, rows = model(name)
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        given_rows = rows_of_kind(rows, kind)
        found = compiled(packed, tmp_path / kind, *SANITISED, form=FORMS[form], kind=kind)(given_rows)
        np.testing.assert_array_equal(found, packed.scores(given_rows))


@given(
    st.lists(st.sampled_from([1, 3, 20, 63]), min_size=1, max_size=4),
    st.integers(1, 12),
    st.sampled_from([1, 3, 40]),
    st.integers(3, 16),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 7, 127]),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
)
@settings(max_examples=settings.default.max_examples // 2)
def test_whatever_they_are_they_score_the_same_in_c(
    tmp_path_factory, sizes, n_features, n_projections, code_bits, n_classes, weight, form, kind, seed
):
    rng = np.random.default_rng(seed)
    # Whole numbers, of which some have codes of their own; all else are close to each other.
    values = rng.normal(size=(200, n_features)) * rng.choice([1.0, 40.0, 9000.0], n_features)
    rows = np.rint(values) if kind != "float" else values
    packed, _ = projected_model(
        rng, sizes, n_features, n_projections, code_bits, n_classes, weight=weight, rows=rows, leaf_bits=5
    )
    tried = rows_of_kind(projected_rows(rng, packed, 60), kind)
    found = compiled(packed, tmp_path_factory.mktemp("c"), *SANITISED, form=FORMS[form], kind=kind)(tried)
    np.testing.assert_array_equal(found, packed.scores(tried))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", COMPILERS)
def test_no_compiler_has_anything_to_say(target, form, tmp_path):
    compiler, *options = COMPILERS[target]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed: make toolchains")
    for name in ("gaps", "symmetric", "three bits", "sixteen bits", "large weights"):
        write_sources(model(name)[0], tmp_path, FORMS[form])
        command = [compiler, *options, "-Os", *FLAGS, "-c", "model.c", "-o", "model.o"]
        subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["gaps", "groups", "sixteen bits", "40 projections"])
def test_no_address_outside_the_data_is_read(name, tmp_path):
    packed, rows = model(name)
    for layout, target in (("compact", "generic"), ("balanced", "generic"), ("fast", "arduino-mega")):
        bh.emit(packed, tmp_path / layout, X=rows, layout=layout, target=target)
        flags = "CFLAGS=-std=c99 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
        done = subprocess.run(
            ["make", "-C", tmp_path / layout, flags, "test"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_it_is_also_cpp(form, tmp_path):
    write_sources(model("gaps")[0], tmp_path, FORMS[form])
    flags = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-std=c++11"]
    subprocess.run(["g++", *flags, "-x", "c++", "-c", "model.c", "-o", "model.o"], cwd=tmp_path, check=True)


TARGETS = ["arduino-mega", "attiny85", "cortex-m0", "cortex-m4", "ch32v003", "esp32-c3", "esp8266"]
ON_BOARDS = ["three bits", "sixteen bits", "symmetric", "gaps", "large weights"]


def need(target):
    tools = TOOLCHAINS[target_named(target).family]
    for program in (tools.compiler, *tools.emulator[:1]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
def test_devices_answer_as_python_does(target, layout):
    need(target)
    names = ON_BOARDS if target in ("arduino-mega", "cortex-m0") else ON_BOARDS[:2]
    for name, inputs in zip(names, ("float", "int16", "float", "float", "uint8"), strict=False):
        packed, rows = model(name)
        found = bh.measure(
            packed, rows_of_kind(rows, inputs), target=target, layout=layout, inputs=inputs, max_rows=15
        )
        assert found.agreement == 1.0
        assert found.ram == 0
        if layout == "compact" and inputs == "float":
            assert found.flash <= most_flash(packed, found.target)


LONGEST = {
    "gaps": {"sizes": (15, 20) * 12, "n_features": 4, "n_projections": 5, "n_thresholds": 15, "code_bits": 8},
    "groups": {"sizes": (20,) * 20, "n_features": 5, "n_projections": 5, "code_bits": 8, "weight": 7},
    "a map": {"sizes": (31,) * 12, "n_features": 60, "n_projections": 5, "n_thresholds": 4, "share": 0.05},
}


@pytest.mark.parametrize("name", LONGEST)
@pytest.mark.parametrize("target", ["arduino-mega", "cortex-m0", "ch32v003", "esp32-c3", "esp8266"])
def test_the_reader_takes_no_more_code_than_is_said(name, target):
    need(target)
    options = {"weight": 127, "n_classes": 9, "leaf_bits": 13, "pack_options": {"scales": "class"}} | LONGEST[name]
    packed, _ = projected_model(np.random.default_rng(0), **options)
    found = bh.measure(packed, projected_rows(np.random.default_rng(1), packed, 2), target=target)
    assert found.flash <= most_flash(packed, found.target)


@pytest.mark.parametrize("target", ["arduino-mega", "cortex-m0"])
@pytest.mark.parametrize("code_bits", [7, 10])
def test_estimates_of_cycles_are_within_a_factor_of_two(target, code_bits):
    need(target)
    packed, _ = projected_model(np.random.default_rng(0), (30,) * 6, 20, 15, code_bits, 3, share=1.0)
    rows = projected_rows(np.random.default_rng(1), packed, 15, tricky=0)
    for layout in ("compact", "balanced", "fast"):
        found = bh.measure(packed, rows, target=target, layout=layout, max_rows=15)
        taken = found.cycles if found.cycles is not None else found.instructions
        assert 0.5 < estimated_cycles(packed, layout, found.target) / taken < 2.0


def test_a_thousand_features_answer_as_python_does_on_a_device():
    need("cortex-m0")
    packed, rows = model("1,000 features")
    assert bh.measure(packed, rows, target="cortex-m0", max_rows=5).agreement == 1.0


@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
@pytest.mark.parametrize("code_bits", [6, 12])
def test_a_row_takes_memory_for_the_codes_of_projections(layout, code_bits):
    packed, _ = projected_model(np.random.default_rng(0), sizes=(30, 30), code_bits=code_bits)
    layout_of = packed.layout
    assert (layout_of.n_used, layout_of.n_projections, layout_of.ask_bits) == (4, 3, 0)
    n_bytes = 4 * layout_of.n_columns + (4 + 3) * (1 if code_bits <= 8 else 2)
    for inputs in (("float",), ("int16",)):
        assert least_stack(packed, Form(layout, inputs)) == n_bytes


@pytest.mark.parametrize("name", ["three bits", "symmetric"])
def test_features_that_only_projections_use_are_made_up_for_the_self_test(name, tmp_path):
    """Without rows, those of the self-test are typical values: not all of one code."""
    packed, _ = model(name)
    bh.emit(packed, tmp_path / "out")
    done = subprocess.run(["make", "-C", tmp_path / "out", "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
