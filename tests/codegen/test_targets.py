from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import billhook as bh
from billhook.codegen import data_limit, target_named, tools_for


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("uno", "arduino-uno"),
        ("Arduino Uno", "arduino-uno"),
        ("UNO R4", "arduino-uno-r4"),
        ("blue pill", "stm32f103"),
        ("BluePill", "stm32f103"),
        ("ESP32-C3", "esp32-c3"),
        ("esp32c3", "esp32-c3"),
        ("pico", "raspberry-pi-pico"),
        ("Pico 2", "raspberry-pi-pico-2"),
        ("microbit", "microbit"),
        ("micro:bit 2", "microbit-v2"),
        ("nrf52840", "arduino-nano-33-ble"),
        ("Teensy 4.0", "teensy-4"),
        ("cortex-m4", "cortex-m4"),
        ("linux_x86-64", "linux-x86_64"),
    ],
)
def test_a_target_has_more_names_than_one(called, name):
    assert target_named(called).name == name


def test_a_target_is_taken_for_its_name():
    for target in bh.targets():
        assert target_named(target) is target
    with pytest.raises(ValueError, match="there is no target Target"):
        target_named(replace(bh.targets()[1], flash=5))


@pytest.mark.parametrize(
    ("called", "message"),
    [
        ("blupill", "no target 'blupill'; did you mean 'blue pill'?"),
        ("arduino", "no target 'arduino'; names that begin so are arduino-uno, arduino-nano"),
        ("z80", "no target 'z80'; known are generic, attiny85, arduino-uno"),
        ("", "no target ''; known are generic"),
        (None, "no target None; known are generic"),
    ],
)
def test_what_is_no_name_is_refused(called, message):
    with pytest.raises(ValueError, match=message):
        target_named(called)


def test_no_name_means_two_targets():
    def plain(name):
        return "".join(char for char in name.lower() if char.isalnum() or char == "+")

    names = [plain(name) for target in bh.targets() for name in {target.name, *target.other_names}]
    assert len(names) == len(set(names))


def test_numbers_are_as_data_sheets_have_them():
    sizes = {target.name: (target.flash, target.ram, target.clock) for target in bh.targets()}
    assert sizes["attiny85"] == (8_192, 512, 8)
    assert sizes["arduino-nano-every"] == (49_152, 6_144, 16)
    assert sizes["stm32f030"] == (16_384, 4_096, 48)
    assert sizes["stm32f103"] == (65_536, 20_480, 72)
    assert sizes["ch32v003"] == (16_384, 2_048, 48)
    assert sizes["microbit"] == (262_144, 16_384, 16)
    assert sizes["microbit-v2"] == (524_288, 131_072, 64)
    assert sizes["arduino-nano-33-ble"] == (1_048_576 - 65_536, 262_144, 64)
    assert sizes["arduino-uno-r4"] == (262_144 - 16_384, 32_768, 48)
    assert sizes["teensy-4"] == (2_097_152 - 65_536, 1_048_576, 600)
    assert sizes["raspberry-pi-pico-2"] == (4_194_304, 532_480, 150)
    assert sizes["esp32-c3"] == (4_194_304, 409_600, 160)
    assert sizes["esp8266"] == (4_194_304, 81_920, 80)
    assert sizes["esp32"] == (4_194_304, 532_480, 240)


def test_the_documentation_has_them_all():
    page = (Path(__file__).parents[2] / "docs" / "targets.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[2:-2]] for line in page.splitlines() if line.count("|") == 9]
    shown = [
        [
            target.name,
            ", ".join(target.other_names),
            target.chip,
            *(f"{number:,}" if number else "" for number in (target.flash, target.ram, target.clock)),
        ]
        for target in bh.targets()
    ]
    assert rows[2:] == shown


def test_every_target_but_one_has_a_compiler():
    assert [target.name for target in bh.targets() if tools_for(target) is None] == ["esp32"]


@pytest.mark.parametrize("called", ["ATtiny85", "esp32", "Blue Pill"])
def test_a_model_is_fitted_and_written_for_any_of_them(called, tmp_path):
    X, y = load_iris(return_X_y=True)
    target = target_named(called)
    model = bh.CompactForestClassifier("1KB", target=called, n_trials=1, random_state=0).fit(X, y)
    assert model.report_.target == target.name
    assert model.packed_.nbytes <= min(1024, data_limit(target))
    assert {fit.name: fit.fits for fit in model.report_.targets}[target.name]
    bh.emit(model.packed_, tmp_path / "c", target=called, X=np.asarray(X))
    assert (tmp_path / "c" / "arduino").exists() == target.is_arduino
