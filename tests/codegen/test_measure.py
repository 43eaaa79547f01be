import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.codegen import TOOLCHAINS, Form, firmware_source, flash_with_reader, source, target_named
from compiled import write_sources
from made_up import random_forest, rows_of_categories, symmetric_forest, tricky_rows, with_sets
from short_models import SHORT, short_model

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
TARGETS = ["arduino-uno", "arduino-mega", "cortex-m0", "stm32f2", "cortex-m4", "raspberry-pi-zero", "linux-x86_64"]


# One of each kind that the above leave out; all of them are in tests/cli/test_measure.py.
BOARDS = [
    "attiny85",
    "arduino-nano-every",
    "teensy-4",
    "raspberry-pi-pico-2",
    "ch32v003",
    "esp32-c3",
    "esp8266",
]


def need(target):
    tools = TOOLCHAINS[target_named(target).family]
    for program in (tools.compiler, *tools.emulator[:1]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
@pytest.mark.parametrize(
    ("X", "y", "model", "threshold_bits"),
    [
        (X3, y3, RandomForestClassifier(5, max_leaf_nodes=9, random_state=0), 8),
        (X2, y2, HistGradientBoostingClassifier(max_iter=6, random_state=0), "exact"),
        (X_n, y_n, RandomForestRegressor(4, max_leaf_nodes=20, random_state=0), 12),
    ],
    ids=["three classes", "boosted", "numbers"],
)
def test_devices_answer_as_python_does(target, layout, X, y, model, threshold_bits):
    need(target)
    packed = bh.pack(model.fit(X, y), threshold_bits=threshold_bits)
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = bh.measure(packed, rows, target=target, max_rows=25, layout=layout)
    assert found.agreement == 1.0
    assert found.form.layout == layout
    assert found.data == packed.nbytes
    if layout != "fast":
        assert packed.nbytes < found.flash < 1.3 * packed.nbytes + 1500
    assert found.ram == 0
    assert 0 < found.stack < 400
    assert found.fits in (True, None)
    if target.startswith("arduino"):
        assert found.microseconds == pytest.approx(found.cycles / 16)
    elif target != "linux-x86_64":
        assert found.instructions > 50


@pytest.mark.parametrize("target", BOARDS)
@pytest.mark.parametrize("layout", ["compact", "fast"])
def test_other_boards_answer_as_python_does(target, layout):
    need(target)
    rng = np.random.default_rng(0)
    forest = with_sets(rng, random_forest(rng, (9, 20, 30), 3, 3), categories=np.arange(40))
    packed = bh.pack(forest, leaf_bits=6)
    found = bh.measure(packed, rows_of_categories(rng, 25, 3), target=target, layout=layout)
    assert found.agreement == 1.0
    assert found.n_rows == 25
    assert found.ram == 0
    assert found.fits
    if layout == "compact":
        assert found.flash <= flash_with_reader(packed.nbytes, found.target)
    steps = found.cycles if found.target.family == "avr" else found.instructions
    assert steps > 50
    assert found.microseconds == pytest.approx(steps / found.target.clock)
    assert ("ATmega644P" in found.note) == (target == "arduino-nano-every")


@pytest.mark.parametrize("layout", ["compact", "fast"])
def test_without_an_emulator_the_size_is_measured(layout, monkeypatch):
    need("esp8266")
    without = replace(TOOLCHAINS["xtensa-lx106"], emulator=(), measures="size", core="size only: no emulator")
    monkeypatch.setitem(TOOLCHAINS, "xtensa-lx106", without)
    packed = bh.pack(RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(X3, y3))
    found = bh.measure(packed, X3, target="esp8266", layout=layout)
    assert found.flash > (packed.nbytes if layout == "compact" else 0) + 200
    assert found.flash <= flash_with_reader(packed.nbytes, found.target) or layout == "fast"
    assert found.ram == 0  # the bytes stay in flash
    assert (found.stack, found.cycles, found.instructions, found.microseconds, found.n_rows) == (None,) * 4 + (0,)
    assert np.isnan(found.agreement)
    assert "size only: no emulator" in found.note


def test_a_table_of_leaves_stays_in_the_flash_of_an_esp8266(tmp_path):
    need("esp8266")
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(4, max_leaf_nodes=30, random_state=0).fit(X, y)
    packed = bh.pack(bh.refine(rf, X, y, loss="cross_entropy", validation_fraction=None))
    assert "TABLE PROGMEM" in source(packed, form=Form("fast", ("float",)))
    write_sources(packed, tmp_path, Form("fast", ("float",)))
    options = ["-c", "-Os", "-std=c99", "-ffreestanding", "-DESP8266", "-DARDUINO", "-mlongcalls"]
    (tmp_path / "avr").mkdir()
    (tmp_path / "avr" / "pgmspace.h").write_text(firmware_source("esp8266/avr/pgmspace.h"))
    subprocess.run(["xtensa-lx106-elf-gcc", *options, "-I.", "model.c"], cwd=tmp_path, check=True)
    sections = subprocess.run(
        ["xtensa-lx106-elf-size", "-A", "model.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    sizes = {line.split()[0]: int(line.split()[1]) for line in sections.splitlines() if line.startswith(".")}
    in_memory = sum(size for name, size in sizes.items() if name.startswith((".rodata", ".data", ".bss")))
    assert sizes[".irom.text"] > 1000
    assert in_memory < 200  # the names of the classes


def test_without_a_compiler_nothing_is_measured():
    with pytest.raises(bh.MissingToolError, match=r"no compiler for esp32 \(xtensa-lx6\) is to be had from Debian"):
        bh.measure(RandomForestClassifier(2).fit(X3, y3), X3, target="esp32")


def test_an_attiny_counts_the_cycles_that_an_uno_does():
    """Comparisons need no multiplication, which is all that sets the two apart; and its clock is coarse."""
    need("attiny85")
    packed = bh.pack(RandomForestClassifier(12, max_leaf_nodes=12, random_state=0).fit(X3, y3))
    tiny, uno = (
        bh.measure(packed, np.rint(10 * X3), target=target, layout="fast", inputs="uint8")
        for target in ("attiny85", "arduino-uno")
    )
    assert tiny.agreement == 1.0
    assert tiny.cycles == pytest.approx(uno.cycles, abs=64)


@pytest.mark.parametrize("layout", ["compact", "fast"])
def test_what_an_attiny_cannot_hold_runs_on_a_larger_chip(layout):
    need("attiny85")
    packed, rows = short_model("a map and few grids")  # 300 features
    found = bh.measure(packed, rows, target="attiny85", layout=layout, max_rows=2)
    assert found.agreement == 1.0
    assert "ATmega2560, since attiny85 cannot hold it" in found.note


def test_an_avr_reads_more_than_one_array_without_far_addresses():
    need("arduino-nano-every")
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (3000,) * 4, n_features=9, n_classes=1, thresholds=rng.normal(size=300))
    packed = bh.pack(forest, threshold_bits=9, leaf_bits=8)
    assert 32_000 < packed.nbytes < 40_000
    found = bh.measure(packed, rng.normal(size=(3, 9)), target="arduino-nano-every")
    assert found.agreement == 1.0
    assert found.fits
    assert "ATmega644P" in found.note


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
def test_devices_read_categories_and_symmetric_trees(target, layout):
    need(target)
    rng = np.random.default_rng(0)
    categorical = with_sets(rng, random_forest(rng, (9, 20, 30), 3, 3), categories=np.arange(40))
    symmetric = symmetric_forest(rng, (3, 5, 4), 3, thresholds=rng.normal(size=30))
    for forest, rows in ((categorical, rows_of_categories(rng, 25, 3)), (symmetric, tricky_rows(rng, 25, 3))):
        packed = bh.pack(forest, leaf_bits=6)
        assert packed.layout.is_symmetric == (forest is symmetric)
        found = bh.measure(packed, rows, target=target, layout=layout)
        assert found.agreement == 1.0
        if layout == "compact" and found.target.flash:
            assert found.flash <= flash_with_reader(packed.nbytes, found.target)


@pytest.mark.parametrize("target", ["arduino-uno", "cortex-m0"])
@pytest.mark.parametrize("name", SHORT)
def test_devices_read_short_models(target, name):
    need(target)
    packed, rows = short_model(name, 3)
    found = bh.measure(packed, rows, target=target, max_rows=10)
    assert found.agreement == 1.0
    assert found.flash < flash_with_reader(packed.nbytes, found.target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
@pytest.mark.parametrize("inputs", ["int16", "uint8"])
def test_whole_numbers_need_no_floats(target, layout, inputs):
    need(target)
    X, y = load_digits(return_X_y=True)
    packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=20, random_state=0).fit(X, y), threshold_bits="exact")
    found = bh.measure(packed, X * (-1 if inputs == "int16" else 15), target=target, layout=layout, inputs=inputs)
    assert found.agreement == 1.0
    assert found.ram == 0


# A third of it is for counting shapes by bytes or words, not bit by bit, which takes a third of the time off a row.
@pytest.mark.parametrize(("target", "most"), [("arduino-uno", 1000), ("cortex-m0", 630), ("cortex-m4", 630)])
def test_the_program_that_reads_the_data_is_small(target, most):
    need(target)
    rf = RandomForestClassifier(16, max_leaf_nodes=30, random_state=0).fit(X2, y2)
    packed = bh.pack(rf, threshold_bits=9, missing_values=False)
    assert bh.measure(packed, X2, target=target, max_rows=2).flash - packed.nbytes <= most


def test_an_avr_reads_what_lies_beyond_16_bits_of_address():
    need("arduino-mega")
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (3000,) * 9, n_features=9, n_classes=1, thresholds=rng.normal(size=300))
    packed = bh.pack(forest, threshold_bits=9, leaf_bits=8)
    assert packed.nbytes > 80_000
    found = bh.measure(packed, rng.normal(size=(3, 9)), target="arduino-mega")
    assert found.agreement == 1.0
    assert found.flash_left == found.target.flash - found.flash > 0
    small = bh.measure(packed, rng.normal(size=(3, 9)), target="arduino-uno")
    assert small.fits is False
    assert small.flash_left < -40_000


def test_more_data_than_an_uno_has_flash():
    need("cortex-m4")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = X[:, 0] * X[:, 1] + rng.normal(size=4000)
    packed = bh.pack(
        RandomForestRegressor(8, max_leaf_nodes=1500, random_state=0).fit(X, y), threshold_bits=16, leaf_bits=16
    )
    assert packed.nbytes > 32_256
    assert bh.measure(packed, X, target="cortex-m4", max_rows=3).agreement == 1.0


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        bh.MissingToolError, match="avr-gcc is not installed; on Debian: apt-get install gcc-avr avr-libc"
    ):
        bh.measure(RandomForestClassifier(2).fit(X3, y3), X3, target="arduino-uno")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z80"}, "no target 'z80'"),
        ({"max_rows": 0}, "max_rows must be 1 or more, not 0"),
        ({"inputs": ("float", "int16")}, "one kind of input at a time"),
        ({"X": X3[:0]}, "no rows to run"),
        ({"X": X3[:, :2]}, "X has 2 features"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bh.measure(RandomForestClassifier(2).fit(X3, y3), **{"X": X3, **options})


@pytest.mark.parametrize("target", ["arduino-uno", "arduino-mkr1000", "arduino-due", "stm32f4"])
@pytest.mark.parametrize(
    "options",
    [
        {"leaf_bits": 4},
        {"leaf_bits": 4, "missing_values": False},
        {"leaf_bits": 4, "codebook": 16, "scales": "class"},
        {"threshold_bits": "exact"},
        {"threshold_bits": 12, "leaf_bits": 11, "scales": "class"},
    ],
    ids=str,
)
def test_what_reads_a_model_takes_no_more_than_is_reckoned_with(target, options):
    need(target)
    packed = bh.pack(RandomForestClassifier(5, max_leaf_nodes=16, random_state=0).fit(X3, y3), **options)
    measured = bh.measure(packed, X3[:2], target=target)
    assert measured.flash <= flash_with_reader(packed.nbytes, target_named(target))
