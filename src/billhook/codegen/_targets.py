"""The targets that a model can be written for."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

ProcessorFamily = Literal[
    "any",
    "avr",
    "cortex-m0",
    "cortex-m3",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "rv32ec",
    "rv32imc",
    "xtensa-lx106",
    "xtensa-lx6",
    "armv6",
    "x86_64",
]


@dataclass(frozen=True)
class Target:
    """A microcontroller board or processor: its flash and memory in bytes, and its clock, as data sheets have them.

    Attributes
    ----------
    name : str
        As ``target=...`` takes it.
    family : str
        Its kind of processor.
    flash, ram : int
        Bytes; 0 where there is an operating system. Flash that a boot loader takes is left out.
    clock : int
        Millions of cycles a second; 0 where it varies.
    is_arduino : bool
        Whether the Arduino IDE compiles for it.
    chip : str
        The microcontroller; empty where it may be any.
    other_names : tuple of str
        What it is called too; ``target=...`` takes these as well.
    """

    name: str
    family: ProcessorFamily
    flash: int
    ram: int
    clock: int
    is_arduino: bool = False
    chip: str = ""
    other_names: tuple[str, ...] = ()


KB = 1024
TARGETS = {
    target.name: target
    for target in (
        Target("generic", "any", 0, 0, 0),
        # The clock of the oscillator inside; up to 20 MHz with a crystal.
        Target("attiny85", "avr", 8 * KB, 512, 8, True, "ATtiny85", ("tiny85",)),
        Target("arduino-uno", "avr", 32_256, 2 * KB, 16, True, "ATmega328P", ("uno", "uno r3", "atmega328p")),
        Target("arduino-nano", "avr", 32_256, 2 * KB, 16, True, "ATmega328P", ("nano",)),
        Target("arduino-nano-every", "avr", 48 * KB, 6 * KB, 16, True, "ATmega4809", ("nano every", "atmega4809")),
        Target("arduino-mega", "avr", 253_952, 8 * KB, 16, True, "ATmega2560", ("mega", "mega 2560", "atmega2560")),
        Target("cortex-m0", "cortex-m0", 0, 0, 0, other_names=("cortex-m0+",)),
        # The smallest one, of the boards with 20 pins.
        Target("stm32f030", "cortex-m0", 16 * KB, 4 * KB, 48, chip="STM32F030F4", other_names=("stm32f030f4",)),
        Target("stm32l0", "cortex-m0", 192 * KB, 20 * KB, 32, chip="STM32L072"),
        Target(
            "microbit",
            "cortex-m0",
            256 * KB,
            16 * KB,
            16,
            chip="nRF51822",
            other_names=("micro:bit 1", "microbit v1", "bbc micro:bit", "nrf51", "nrf51822"),
        ),
        Target("arduino-mkr1000", "cortex-m0", 256 * KB, 32 * KB, 48, True, "SAMD21", ("mkr1000", "samd21")),
        Target(
            "raspberry-pi-pico", "cortex-m0", 2048 * KB, 264 * KB, 133, chip="RP2040", other_names=("pico", "rp2040")
        ),
        Target(
            "stm32f103",
            "cortex-m3",
            64 * KB,
            20 * KB,
            72,
            chip="STM32F103C8",
            other_names=("blue pill", "stm32f103c8"),
        ),
        Target("arduino-due", "cortex-m3", 512 * KB, 96 * KB, 84, True, "SAM3X8E", ("due", "sam3x8e")),
        Target("stm32f2", "cortex-m3", 1024 * KB, 128 * KB, 120, chip="STM32F207"),
        Target("cortex-m4", "cortex-m4", 0, 0, 0, other_names=("cortex-m4f",)),
        # The boot loader has 16 KB.
        Target("arduino-uno-r4", "cortex-m4", 240 * KB, 32 * KB, 48, True, "RA4M1", ("uno r4", "ra4m1")),
        Target(
            "microbit-v2",
            "cortex-m4",
            512 * KB,
            128 * KB,
            64,
            chip="nRF52833",
            other_names=("micro:bit 2", "bbc micro:bit v2", "nrf52833"),
        ),
        # The boot loader has 64 KB.
        Target(
            "arduino-nano-33-ble",
            "cortex-m4",
            960 * KB,
            256 * KB,
            64,
            True,
            "nRF52840",
            ("nano 33 ble", "nano 33 ble sense", "nrf52840"),
        ),
        Target("stm32f4", "cortex-m4", 2048 * KB, 384 * KB, 180, chip="STM32F469"),
        # 64 KB of 2 MB are for recovery and for what stands in for an EEPROM.
        Target("teensy-4", "cortex-m7", 1984 * KB, 1024 * KB, 600, True, "i.MX RT1062", ("teensy 4.0", "imxrt1062")),
        Target(
            "raspberry-pi-pico-2",
            "cortex-m33",
            4096 * KB,
            520 * KB,
            150,
            chip="RP2350",
            other_names=("pico 2", "rp2350"),
        ),
        Target("ch32v003", "rv32ec", 16 * KB, 2 * KB, 48, chip="CH32V003"),
        Target("esp32-c3", "rv32imc", 4096 * KB, 400 * KB, 160, True, "ESP32-C3"),
        Target(
            "esp8266",
            "xtensa-lx106",
            4096 * KB,
            80 * KB,
            80,
            True,
            "ESP8266EX",
            ("nodemcu", "d1 mini", "wemos d1 mini", "esp-12", "esp8266ex"),
        ),
        Target("esp32", "xtensa-lx6", 4096 * KB, 520 * KB, 240, True, "ESP32", ("esp32 devkit", "esp-wroom-32")),
        Target(
            "raspberry-pi-zero", "armv6", 0, 0, 1000, chip="BCM2835", other_names=("pi zero", "rpi zero", "bcm2835")
        ),
        Target("linux-x86_64", "x86_64", 0, 0, 0, other_names=("x86_64", "amd64", "linux")),
    )
}


def targets() -> tuple[Target, ...]:
    """Return the targets that a model can be written for.

    Examples
    --------
    >>> import billhook as bh
    >>> next(target.flash for target in bh.targets() if target.name == "arduino-uno")
    32256
    """
    return tuple(TARGETS.values())


def _plain(name: str) -> str:
    """Return a name without what people write in one way or another: capitals, spaces, dashes, dots and colons."""
    return re.sub(r"[^a-z0-9+]", "", name.lower())


# What a target may be called, and how that is spelled.
CALLED = {_plain(name): (name, target) for target in TARGETS.values() for name in (target.name, *target.other_names)}


def target_named(name: str | Target) -> Target:
    """Return the target that is called so, however the name is spelled: "uno", "Blue Pill", "ESP32-C3".

    One of `targets()` is returned as it is.
    """
    if isinstance(name, Target) and TARGETS.get(name.name) == name:
        return name
    plain = _plain(name) if isinstance(name, str) else ""
    if plain in CALLED:
        return CALLED[plain][1]
    longer: dict[str, str] = {}
    for key, (called, target) in CALLED.items():
        if plain and key.startswith(plain):
            longer.setdefault(target.name, called)
    if len(longer) > 1:
        raise ValueError(f"there is no target {name!r}; names that begin so are {', '.join(longer.values())}")
    near = list(longer.values()) or [CALLED[key][0] for key in get_close_matches(plain, CALLED, n=1)]
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(TARGETS)}"
    raise ValueError(f"there is no target {name!r}; {hint}")
