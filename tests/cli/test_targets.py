import pytest

import billhook as bh
from billhook.cli import main


def test_the_targets_are_listed_by_their_processors(capsys):
    assert main(["targets"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["avr", "attiny85", "ATtiny85", "8,192", "512", "8", "cycles"] in lines
    assert ["arduino-uno", "ATmega328P", "32,256", "2,048", "16", "cycles"] in lines
    assert ["rv32ec", "ch32v003", "CH32V003", "16,384", "2,048", "48", "instructions"] in lines
    assert ["xtensa-lx106", "esp8266", "ESP8266EX", "4,194,304", "81,920", "80", "instructions"] in lines
    assert ["xtensa-lx6", "esp32", "ESP32", "4,194,304", "532,480", "240", "data", "sheet", "only"] in lines
    families = [target.family for target in bh.targets()]
    assert [line[0] for line in lines if line and line[0] in families] == list(dict.fromkeys(families))


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (
            "Blue Pill",
            ["stm32f103", "65,536 bytes (data sheet", "run on a Cortex-M4, which has all its instructions"],
        ),
        ("nano every", ["arduino-nano-every", "cycles of a row", "run on an ATmega644P"]),
        ("esp8266", ["xtensa-lx106-elf-gcc (Debian: gcc-xtensa-lx106)", "qemu-system-xtensa", "run on a bare lx106"]),
        ("esp32", ["none in Debian", "nothing: what a model takes at most is reckoned"]),
        ("generic", ["any", "compiled for this machine"]),
    ],
)
def test_a_target_is_shown(called, shown, capsys):
    assert main(["targets", called]) == 0
    printed = capsys.readouterr().out
    for text in shown:
        assert text in printed


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("arduino-unos", "did you mean 'arduino-uno'?"),
        ("teensy", "did you mean 'teensy-4'?"),
        ("stm32", "names that begin so are stm32f030, stm32l0, stm32f103, stm32f2, stm32f4"),
        ("nrf52", "names that begin so are nrf52833, nrf52840"),
        ("", "known are generic, attiny85"),
    ],
)
def test_the_nearest_names_are_said(called, said, capsys):
    assert main(["targets", called]) == 2
    assert said in capsys.readouterr().err
