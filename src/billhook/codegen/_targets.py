"""The targets that a model can be written for."""

from dataclasses import dataclass
from typing import Literal

from billhook._checks import resolve_name

ProcessorFamily = Literal["any", "avr", "cortex-m0", "cortex-m3", "cortex-m4", "armv6", "x86_64"]


@dataclass(frozen=True)
class Target:
    """A board or processor: its flash and memory in bytes, and its clock.

    Attributes
    ----------
    name : str
        As ``target=...`` takes it.
    family : str
        Its kind of processor.
    flash, ram : int
        Bytes; 0 where there is an operating system.
    clock : int
        Millions of cycles a second; 0 where it varies.
    is_arduino : bool
        Whether the Arduino IDE compiles for it.
    """

    name: str
    family: ProcessorFamily
    flash: int
    ram: int
    clock: int
    is_arduino: bool = False


TARGETS = {
    target.name: target
    for target in (
        Target("generic", "any", 0, 0, 0),
        Target("arduino-uno", "avr", 32_256, 2_048, 16, True),  # without the boot loader
        Target("arduino-nano", "avr", 32_256, 2_048, 16, True),
        Target("arduino-mega", "avr", 253_952, 8_192, 16, True),
        Target("arduino-mkr1000", "cortex-m0", 256 * 1024, 32 * 1024, 48, True),
        Target("arduino-due", "cortex-m3", 512 * 1024, 96 * 1024, 84, True),
        Target("stm32l0", "cortex-m0", 192 * 1024, 20 * 1024, 32),
        Target("stm32f2", "cortex-m3", 1024 * 1024, 128 * 1024, 120),
        Target("stm32f4", "cortex-m4", 2048 * 1024, 384 * 1024, 180),
        Target("raspberry-pi-pico", "cortex-m0", 2048 * 1024, 264 * 1024, 133),
        Target("cortex-m0", "cortex-m0", 0, 0, 0),
        Target("cortex-m4", "cortex-m4", 0, 0, 0),
        Target("raspberry-pi-zero", "armv6", 0, 0, 1000),
        Target("linux-x86_64", "x86_64", 0, 0, 0),
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


def target_named(name: str) -> Target:
    """Return the target of this name."""
    return resolve_name(name, TARGETS, "there is no target")
