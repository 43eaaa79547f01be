"""Compilers and emulators: how to compile for a family of processors, and how to run what comes out."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from billhook.codegen._targets import ProcessorFamily

COMPILER_OPTIONS = ("-std=c99", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
TIMEOUT_SECONDS = 120


class MissingToolError(RuntimeError):
    """A compiler or emulator that is needed is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler with its options, an emulator with its own, and the Debian packages that they come in.

    Without an emulator programs run on this machine.
    """

    compiler: str
    package: str
    options: tuple[str, ...]
    emulator: tuple[str, ...]
    emulator_package: str

    def check_installed(self) -> None:
        """Raise MissingToolError unless the compiler and the emulator are installed."""
        emulator = (next(iter(self.emulator), "gcc"), self.emulator_package)
        for program, package in ((self.compiler, self.package), emulator):
            if shutil.which(program) is None:
                raise MissingToolError(f"{program} is not installed; on Debian: apt-get install {package}")


CORTEX = ("--specs=nano.specs", "--specs=nosys.specs", "-nostartfiles", "-Os", "-mthumb", "-Tlink.ld", "start.c")
CORTEX_RUN = ("qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native")
ARM_PACKAGE = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
TOOLCHAINS: dict[ProcessorFamily, Toolchain] = {
    "avr": Toolchain(
        "avr-gcc",
        "gcc-avr avr-libc",
        ("-Os",),
        ("simavr", "-f", "16000000"),
        "simavr",
    ),
    "cortex-m0": Toolchain(
        "arm-none-eabi-gcc", ARM_PACKAGE, (*CORTEX, "-mcpu=cortex-m0"), CORTEX_RUN, "qemu-system-arm"
    ),
    "cortex-m3": Toolchain(
        "arm-none-eabi-gcc", ARM_PACKAGE, (*CORTEX, "-mcpu=cortex-m3"), CORTEX_RUN, "qemu-system-arm"
    ),
    "cortex-m4": Toolchain(
        "arm-none-eabi-gcc",
        ARM_PACKAGE,
        (*CORTEX, "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
        CORTEX_RUN,
        "qemu-system-arm",
    ),
    "armv6": Toolchain(
        "arm-linux-gnueabi-gcc",
        "gcc-arm-linux-gnueabi libc6-dev-armel-cross",
        ("-O2", "-march=armv6", "-marm", "-mfpu=vfp", "-mfloat-abi=softfp", "-static"),
        ("qemu-arm", "-cpu", "arm1176"),
        "qemu-user",
    ),
    "x86_64": Toolchain("gcc", "gcc", ("-O2",), (), ""),
    "any": Toolchain("gcc", "gcc", ("-O2",), (), ""),
}


def compile_program(folder: Path, tools: Toolchain, model: str, *, repeat: int = 1, prescaler: int = 8) -> Path:
    """Return the program of main.c and this source of a model, which computes each row `repeat` times."""
    out = folder / f"{Path(model).stem}{repeat}.elf"
    defined = (f"-DREPEAT={repeat}", f"-DPRESCALER={prescaler}")
    command = [tools.compiler, *COMPILER_OPTIONS, *tools.options, *defined, "main.c", model, "-o", out.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{tools.compiler} cannot compile the model: {done.stderr[:2000]}")
    return out


def program_sizes(program: Path, tools: Toolchain) -> tuple[int, int]:
    """Return the bytes of flash and of memory that a program takes."""
    size = tools.compiler.removesuffix("gcc") + "size"
    done = subprocess.run([size, program.name], cwd=program.parent, capture_output=True, text=True, check=True)
    text, data, bss = (int(number) for number in done.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def run_program(program: Path, family: ProcessorFamily, tools: Toolchain) -> tuple[str, int | None]:
    """Return what the program prints and, in QEMU, how many instructions it ran."""
    if not tools.emulator:
        done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=TIMEOUT_SECONDS)
        return done.stdout, None
    folder = program.parent
    command = list(tools.emulator)
    if family == "avr":
        command.append(program.name)
    else:
        counter = folder / "counter.so"
        if not counter.exists():
            subprocess.run(
                ["gcc", "-shared", "-fPIC", "-O2", "counter.c", "-o", str(counter)], cwd=folder, check=True
            )
        command += ["-plugin", str(counter)]
        command += [program.name] if family == "armv6" else ["-kernel", program.name]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    counted = re.search(r"instructions (\d+)", done.stderr)
    return done.stdout + done.stderr, int(counted[1]) if counted else None
