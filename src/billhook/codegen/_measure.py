"""A model compiled for a device, run in its emulator, and what that took."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import as_int
from billhook.codegen import _firmware
from billhook.codegen._form import Form, c_type, form_of, suffix, whole_rows
from billhook.codegen._memory import check_fits, least_flash
from billhook.codegen._source import header, source
from billhook.codegen._targets import TARGETS, Target, target_named
from billhook.forest import as_rows
from billhook.packing import Packed, pack

OPTIONS = ["-std=c99", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
SECONDS = 120
# What the clock of an AVR says after more than it can count.
RAN_OVER = 0xFFFF
# What a row takes in the flash of an emulated device, and how much of it rows may fill.
ROW_BYTES = 8192


class MissingToolError(RuntimeError):
    """A compiler or emulator that is needed is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Measurement:
    """What a model takes on a device.

    Attributes
    ----------
    target : Target
    form : Form
        Its layout, and what the features were given as.
    data, flash, ram, stack : int
        Bytes: constant data; all that the model adds to a program's flash, and to its memory; the deepest stack.
    cycles, instructions : int or None
        For a row, the mean; instructions where the emulator counts no cycles.
    microseconds : float or None
        For a row at the clock of the device. Where instructions are counted, at one a cycle, which is the least.
    n_rows : int
        Rows that were run.
    agreement : float
        The share of them with the scores that Python computes, to the last bit.
    """

    target: Target
    form: Form
    data: int
    flash: int
    ram: int
    stack: int | None
    cycles: int | None
    instructions: int | None
    microseconds: float | None
    n_rows: int
    agreement: float

    @property
    def flash_left(self) -> int | None:
        """How many bytes of flash the device has left, below 0 if it has too few; None where it has no limits."""
        return self.target.flash - self.flash if self.target.flash else None

    @property
    def fits(self) -> bool | None:
        """Whether flash and memory hold the model and its stack; None where the device has no limits."""
        left = self.flash_left
        return None if left is None else left >= 0 and self.ram + (self.stack or 0) <= self.target.ram


@dataclass(frozen=True)
class Toolchain:
    """How to compile for a family of processors, and how to run what comes out."""

    compiler: str
    package: str
    options: tuple[str, ...]
    emulator: tuple[str, ...]
    emulator_package: str


CORTEX = ("--specs=nano.specs", "--specs=nosys.specs", "-nostartfiles", "-Os", "-mthumb", "-Tlink.ld", "start.c")
CORTEX_RUN = ("qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native")
ARM_PACKAGE = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
TOOLCHAINS = {
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
MCUS = {"arduino-uno": "atmega328p", "arduino-mega": "atmega2560"}
# The linker may not refuse what is too large: that is for the numbers to say.
AVR_ROOM = ("-Wl,--defsym=__TEXT_REGION_LENGTH__=0x3e000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x2000")
AVR_BYTES_A_SPLIT = 16


def measure(
    model: Any,
    X: ArrayLike,
    *,
    target: str = "linux-x86_64",
    max_rows: int = 50,
    layout: str = "compact",
    inputs: str = "float",
) -> Measurement:
    """Return what a model takes on a device: it is compiled for it and run in its emulator.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    X : rows
        To run; in an emulator the first `max_rows` of them, or as many as fit.
    target : str
        One of `targets`.
    layout : {"compact", "fast"}
        As for `emit`.
    inputs : {"float", "int16", "uint8"}
        What the features of the rows are given as.

    Raises
    ------
    MissingToolError
        If the compiler or the emulator is not installed; it names the Debian package.
    """
    board = target_named(target)
    packed = model if isinstance(model, Packed) else pack(model)
    form = form_of(layout, inputs, board)
    if len(form.inputs) > 1:
        raise ValueError(f"measure runs one kind of input at a time, not {', '.join(form.inputs)}")
    if as_int(max_rows, "max_rows") < 1:
        raise ValueError(f"max_rows must be 1 or more, not {max_rows}")
    rows = np.ascontiguousarray(as_rows(X, packed), np.float32)
    if len(rows) == 0:
        raise ValueError("X has no rows to run")
    tools = TOOLCHAINS[board.family]
    for program, package in (
        (tools.compiler, tools.package),
        (next(iter(tools.emulator), "gcc"), tools.emulator_package),
    ):
        if shutil.which(program) is None:
            raise MissingToolError(f"{program} is not installed; on Debian: apt-get install {package}")
    if board.family == "avr":
        tools = _large_enough(packed, form, board, tools)
    is_emulated = bool(tools.emulator)
    if form.inputs[0] != "float":
        whole_rows(rows, form.inputs[0])
    if is_emulated:
        rows = rows[: min(max_rows, max(1, ROW_BYTES // (4 * packed.n_features)))]
    with tempfile.TemporaryDirectory() as folder:
        return _measured(packed, form, rows, board, tools, Path(folder))


def _large_enough(packed: Packed, form: Form, board: Target, tools: Toolchain) -> Toolchain:
    """Return the tools for the AVR of a board, or where a model cannot fit its flash, for the largest there is."""
    largest = TARGETS["arduino-mega"]
    check_fits(packed, packed, form, largest)
    takes = max(least_flash(packed, form), packed.layout.n_inner * AVR_BYTES_A_SPLIT * (form.layout == "fast"))
    chip = MCUS["arduino-mega"] if takes > board.flash or board == largest else MCUS["arduino-uno"]
    return replace(
        tools, options=(*tools.options, f"-mmcu={chip}", *AVR_ROOM), emulator=(*tools.emulator, "-m", chip)
    )


def _measured(
    packed: Packed, form: Form, rows: NDArray[np.float32], board: Target, tools: Toolchain, folder: Path
) -> Measurement:
    _write(packed, form, rows, folder)
    program = _compile(folder, tools, "model.c", 1)
    with_model, without = (_sizes(one, tools) for one in (program, _compile(folder, tools, "empty.c", 1)))
    flash, ram = (with_model[k] - without[k] for k in (0, 1))
    printed, n_once = _run(program, board, tools, folder)
    scores, clocks, stack = _read(printed, packed)
    expected = packed.scores(rows)
    agreement = float(np.mean((scores == expected).all(axis=1))) if scores.shape == expected.shape else 0.0
    cycles = instructions = None
    if board.family == "avr":
        if (clocks == RAN_OVER).any():
            printed, _ = _run(_compile(folder, tools, "model.c", 1, prescaler=1024), board, tools, folder)
            cycles = int(1024 * _read(printed, packed)[1].mean())
        else:
            cycles = int(8 * clocks.mean())
    elif n_once is not None:
        _, n_twice = _run(_compile(folder, tools, "model.c", 2), board, tools, folder)
        instructions = None if n_twice is None else round((n_twice - n_once) / len(rows))
    steps = cycles if cycles is not None else instructions
    microseconds = steps / board.clock if steps is not None and board.clock else None
    return Measurement(
        board, form, packed.nbytes, flash, ram, stack, cycles, instructions, microseconds, len(rows), agreement
    )


def _write(packed: Packed, form: Form, rows: NDArray[np.float32], folder: Path) -> None:
    kind = form.inputs[0]
    numbers: NDArray[Any] = rows.view(np.uint32) if kind == "float" else rows.astype(np.int64)
    text = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in numbers.tolist())
    texts = {
        "model.h": header(packed, form=form),
        "model.c": source(packed, form=form),
        "empty.c": _firmware.EMPTY_MODEL,
        "main.c": _firmware.MAIN,
        "rows.h": f"#define SCORES model_scores{suffix(kind)}\n#define FEATURE {c_type(kind)}\n"
        f"#define ROW_TYPE {'uint32_t' if kind == 'float' else c_type(kind)}\n#define N_ROWS {len(rows)}\n"
        "#define ROWS { \\\n" + text.replace("\n", " \\\n") + " }\n",
        "start.c": _firmware.CORTEX_START,
        "link.ld": _firmware.CORTEX_LINK,
        "counter.c": _firmware.COUNTER,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)


def _compile(folder: Path, tools: Toolchain, model: str, repeat: int, prescaler: int = 8) -> Path:
    out = folder / f"{Path(model).stem}{repeat}.elf"
    command = [
        tools.compiler,
        *OPTIONS,
        *tools.options,
        f"-DREPEAT={repeat}",
        f"-DPRESCALER={prescaler}",
        "main.c",
        model,
        "-o",
        out.name,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"{tools.compiler} cannot compile the model: {done.stderr[:2000]}")
    return out


def _sizes(program: Path, tools: Toolchain) -> tuple[int, int]:
    """Return the bytes of flash and of memory that a program takes."""
    size = tools.compiler.removesuffix("gcc") + "size"
    done = subprocess.run([size, program.name], cwd=program.parent, capture_output=True, text=True, check=True)
    text, data, bss = (int(number) for number in done.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def _run(program: Path, board: Target, tools: Toolchain, folder: Path) -> tuple[str, int | None]:
    """Return what the program prints and, in QEMU, how many instructions it ran."""
    if not tools.emulator:
        done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout, None
    command: list[str] = list(tools.emulator)
    if board.family == "avr":
        command.append(program.name)
    else:
        counter = folder / "counter.so"
        if not counter.exists():
            subprocess.run(
                ["gcc", "-shared", "-fPIC", "-O2", "counter.c", "-o", str(counter)], cwd=folder, check=True
            )
        command += ["-plugin", str(counter)]
        command += [program.name] if board.family == "armv6" else ["-kernel", program.name]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS
    )
    found = re.search(r"instructions (\d+)", done.stderr)
    return done.stdout + done.stderr, int(found[1]) if found else None


def _read(printed: str, packed: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """Return the scores, the clock of each row, and the depth of the stack, from what the firmware printed."""
    width = 8 * (packed.layout.n_columns + 1)
    lines = re.findall(rf"S([0-9a-f]{{{width}}})", printed)
    words = [[int(line[at : at + 8], 16) for at in range(0, width, 8)] for line in lines]
    table = np.array(words, np.int64).reshape(len(lines), packed.layout.n_columns + 1)
    scores = np.where(table[:, 1:] >= 2**31, table[:, 1:] - 2**32, table[:, 1:])
    stack = re.search(r"T([0-9a-f]{8})", printed)
    return scores, table[:, 0], int(stack[1], 16) if stack else None
