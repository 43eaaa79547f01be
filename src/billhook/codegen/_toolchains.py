"""Compilers and emulators: how to compile for a family of processors, and how to run what comes out."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from billhook.codegen._targets import ProcessorFamily, Target

COMPILER_OPTIONS = ("-std=c99", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
# What compilers say may be in any encoding, and that of the system need not be able to read it.
AS_TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "replace"}
TIMEOUT_SECONDS = 120
# What compilers, assemblers and linkers say of programs that are too large, not wrong.
TOO_LARGE = (
    "will not fit in region",
    "overflowed by",
    "relocation truncated to fit",
    "is too large",
    "operand out of range",
)
# Cycles or instructions of a row; else its answers alone; or nothing but the size, where nothing can be run.
Measures = Literal["cycles", "instructions", "answers", "size"]


class MissingToolError(RuntimeError):
    """A compiler or emulator that is needed is not installed; the message says how to get it."""


class TooLargeError(RuntimeError):
    """A program does not fit the memory of the processor that it is compiled for."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler with its options, an emulator with its own, and the Debian packages that they come in.

    Without an emulator programs run on this machine, unless only their size is measured.

    Attributes
    ----------
    compiler, package : str
    options : tuple of str
    emulator : tuple of str
    emulator_package : str
    measures : {"cycles", "instructions", "answers", "size"}
        What is known of a row besides the bytes that the program takes.
    core : str
        The core that programs run on, where it is not that of the target; and what that means.
    """

    compiler: str
    package: str
    options: tuple[str, ...]
    emulator: tuple[str, ...]
    emulator_package: str
    measures: Measures = "instructions"
    core: str = ""

    def check_installed(self) -> None:
        """Raise MissingToolError unless the compiler and the emulator are installed."""
        emulator = (next(iter(self.emulator), self.compiler), self.emulator_package)
        for program, package in ((self.compiler, self.package), emulator):
            if shutil.which(program) is None:
                raise MissingToolError(f"{program} is not installed; on Debian: apt-get install {package}")


CORTEX = ("--specs=nano.specs", "--specs=nosys.specs", "-nostartfiles", "-Os", "-mthumb", "-Tlink.ld", "start.c")
ARM_PACKAGE = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
RISCV = ("--specs=picolibc.specs", "-nostartfiles", "-Os", "-Tlink.ld", "start.c")
RISCV_MEMORY = ("-Wl,--defsym=FLASH_ORIGIN=0x80000000", "-Wl,--defsym=RAM_ORIGIN=0x80400000")
RISCV_RUN = ("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-nographic")
# In the memory that belongs to the secure side, where the processor starts.
SECURE_MEMORY = ("-Wl,--defsym=FLASH_ORIGIN=0x10000000", "-Wl,--defsym=RAM_ORIGIN=0x38000000")
SEMIHOSTING = ("-nographic", "-semihosting-config", "enable=on,target=native")


def _cortex(machine: str, *options: str, core: str = "") -> Toolchain:
    """Return the tools for a Cortex-M; the emulated machine has a core that runs its programs."""
    run = ("qemu-system-arm", "-M", machine, *SEMIHOSTING)
    return Toolchain("arm-none-eabi-gcc", ARM_PACKAGE, (*CORTEX, *options), run, "qemu-system-arm", core=core)


def _riscv(*options: str, core: str = "") -> Toolchain:
    packages = "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
    return Toolchain(
        "riscv64-unknown-elf-gcc",
        packages,
        (*RISCV, *RISCV_MEMORY, *options),
        RISCV_RUN,
        "qemu-system-misc",
        core=core,
    )


# Where the lx106 of QEMU starts, and where it has memory.
XTENSA_MEMORY = ("-Wl,--defsym=FLASH_ORIGIN=0x50000000", "-Wl,--defsym=RAM_ORIGIN=0x60000000")
XTENSA_RUN = ("qemu-system-xtensa", "-M", "sim", "-cpu", "lx106", "-semihosting", "-nographic")
TOOLCHAINS: dict[ProcessorFamily, Toolchain] = {
    "avr": Toolchain("avr-gcc", "gcc-avr avr-libc", ("-Os",), ("simavr", "-f", "16000000"), "simavr", "cycles"),
    "cortex-m0": _cortex("mps2-an386", "-mcpu=cortex-m0", core="run on a Cortex-M4, which has all its instructions"),
    "cortex-m3": _cortex("mps2-an386", "-mcpu=cortex-m3", core="run on a Cortex-M4, which has all its instructions"),
    "cortex-m4": _cortex("mps2-an386", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    "cortex-m7": _cortex("mps2-an500", "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"),
    "cortex-m33": _cortex("mps2-an505", "-mcpu=cortex-m33", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16", *SECURE_MEMORY),
    "rv32ec": _riscv("-march=rv32ec", "-mabi=ilp32e", core="run on an RV32GC, which has all its instructions"),
    "rv32imc": _riscv("-march=rv32imc", "-mabi=ilp32"),
    "xtensa-lx106": Toolchain(
        "xtensa-lx106-elf-gcc",
        "gcc-xtensa-lx106",
        (
            "-Os",
            "-mlongcalls",
            "-ffreestanding",
            "-nostdlib",
            "-Tlink.ld",
            "start.c",
            *XTENSA_MEMORY,
            "-Iesp8266",
            "-DESP8266",
            "-DARDUINO",
            "-lgcc",
        ),
        XTENSA_RUN,
        "qemu-system-misc",
        core="run on a bare lx106: an ESP8266 waits for its flash, which holds the data, besides",
    ),
    "armv6": Toolchain(
        "arm-linux-gnueabi-gcc",
        "gcc-arm-linux-gnueabi libc6-dev-armel-cross",
        ("-O2", "-march=armv6", "-marm", "-mfpu=vfp", "-mfloat-abi=softfp", "-static"),
        ("qemu-arm", "-cpu", "arm1176"),
        "qemu-user",
    ),
    "x86_64": Toolchain("gcc", "gcc", ("-O2",), (), "", "answers"),
    "any": Toolchain("gcc", "gcc", ("-O2",), (), "", "answers", "compiled for this machine and run on it"),
}


@dataclass(frozen=True)
class AvrChip:
    """An AVR that avr-gcc knows and simavr emulates.

    Attributes
    ----------
    name : str
        As both know it.
    prescaler : int
        How many cycles a step of its clock takes.
    core : str
        As in `Toolchain`.
    """

    name: str
    prescaler: int = 8
    core: str = ""


LARGEST_AVR = AvrChip("atmega2560")
AVR_CHIPS = {
    # Its clock has 8 bits only, and an interrupt counts the rest: that must not come often.
    "ATtiny85": AvrChip("attiny85", prescaler=64),
    "ATmega328P": AvrChip("atmega328p"),
    "ATmega2560": LARGEST_AVR,
    "ATmega4809": AvrChip(
        "atmega644p",
        core="run on an ATmega644P, which has the same instructions; "
        "an ATmega4809 takes a cycle less for calls, pushes and stores",
    ),
}
# The linker may not refuse what is too large: that is for the numbers to say.
AVR_MEMORY = ("-Wl,--defsym=__TEXT_REGION_LENGTH__=0x3e000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x2000")
# Where simavr looks for the register that an ATtiny, which has no serial port, prints to.
AVR_CONSOLE = ("-Wl,--undefined=console", "-Wl,--section-start=.mmcu=0x910000")


def avr_tools(chip: AvrChip, clock: int) -> Toolchain:
    """Return the tools for a chip with a clock of so many MHz."""
    console = AVR_CONSOLE if chip.name.startswith("attiny") else ()
    return replace(
        TOOLCHAINS["avr"],
        options=(*TOOLCHAINS["avr"].options, f"-mmcu={chip.name}", *AVR_MEMORY, *console),
        emulator=("simavr", "-f", f"{clock}000000", "-m", chip.name),
        core=chip.core,
    )


def tools_for(target: Target) -> Toolchain | None:
    """Return the tools for a target, whether they are installed or not; None where Debian has no compiler for it."""
    if target.family == "avr":
        return avr_tools(AVR_CHIPS[target.chip], target.clock)
    return TOOLCHAINS.get(target.family)


def installed_tools(target: Target) -> Toolchain:
    """Return the tools for a target, or raise MissingToolError."""
    tools = tools_for(target)
    if tools is None:
        raise MissingToolError(
            f"no compiler for {target.name} ({target.family}) is to be had from Debian: what a model takes there "
            "is not measured, only reckoned"
        )
    tools.check_installed()
    return tools


def compile_program(folder: Path, tools: Toolchain, model: str, *, repeat: int = 1, prescaler: int = 8) -> Path:
    """Return the program of main.c and this source of a model, which computes each row `repeat` times.

    What was compiled in this folder with the same options, and has not changed, is not compiled again.
    """
    libraries = [option for option in tools.options if option.startswith("-l")]
    sources = [option for option in tools.options if option.endswith(".c")]
    options = [option for option in tools.options if option not in (*libraries, *sources)]
    command = [tools.compiler, *COMPILER_OPTIONS, *options]
    defined = [f"-DREPEAT={repeat}", f"-DPRESCALER={prescaler}"]
    objects = [_compiled_source(folder, command, source) for source in sources]
    objects.append(_compiled_source(folder, [*command, *defined], "main.c"))
    objects.append(_compiled_source(folder, command, model))
    out = folder / f"{Path(model).stem}{repeat}.elf"
    _compile(folder, [*command, *objects, "-o", out.name, *libraries])
    return out


def _compiled_source(folder: Path, command: list[str], source: str) -> str:
    """Return the name of the object file of a source in a folder: another if the source or a header is another."""
    files = [folder / source, *sorted(folder.rglob("*.h"))]
    made_of = b"".join([" ".join(command).encode(), *(file.read_bytes() for file in files)])
    name = f"{Path(source).stem}-{crc32(made_of):08x}.o"
    if not (folder / name).exists():
        # Options for the linker are no mistake here.
        _compile(folder, [*command, "-c", source, "-o", name])
    return name


def _compile(folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, **AS_TEXT, check=False, timeout=TIMEOUT_SECONDS)
    if done.returncode:
        if any(words in done.stderr for words in TOO_LARGE):
            raise TooLargeError(
                f"the program is too large for what {command[0]} compiles it for: {done.stderr[:2000]}"
            )
        raise RuntimeError(f"{command[0]} cannot compile the model: {done.stderr[:2000]}")


def program_sizes(program: Path, tools: Toolchain) -> tuple[int, int]:
    """Return the bytes of flash and of memory that a program takes."""
    size = tools.compiler.removesuffix("gcc") + "size"
    done = subprocess.run([size, program.name], cwd=program.parent, capture_output=True, **AS_TEXT, check=True)
    text, data, bss = (int(number) for number in done.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


@cache
def _counter(source: bytes) -> bytes:
    """Return the plugin that counts instructions: the same for all models and targets."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "counter.c").write_bytes(source)
        command = ["gcc", "-shared", "-fPIC", "-O2", "counter.c", "-o", "counter.so"]
        subprocess.run(command, cwd=folder, check=True)
        return (Path(folder) / "counter.so").read_bytes()


def run_program(program: Path, tools: Toolchain) -> tuple[str, int | None]:
    """Return what the program prints and, in QEMU, how many instructions it ran."""
    if not tools.emulator:
        done = subprocess.run([program], capture_output=True, **AS_TEXT, check=True, timeout=TIMEOUT_SECONDS)
        return done.stdout, None
    folder = program.parent
    command = list(tools.emulator)
    if tools.measures == "cycles":
        command.append(program.name)
    else:
        counter = folder / "counter.so"
        if not counter.exists():
            counter.write_bytes(_counter((folder / "counter.c").read_bytes()))
        command += ["-plugin", str(counter)]
        command += ["-kernel", program.name] if "system" in command[0] else [program.name]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        **AS_TEXT,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_SECONDS,
    )
    counted = re.search(r"instructions (\d+)", done.stderr)
    return done.stdout + done.stderr, int(counted[1]) if counted else None
