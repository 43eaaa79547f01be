"""A model compiled for a target, run in its emulator, and what that took."""

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import as_int
from billhook.codegen._form import Form, Input, LayoutName, c_type, check_whole_rows, form_of, suffix
from billhook.codegen._memory import check_fits, least_flash
from billhook.codegen._resources import filled_firmware, firmware_source
from billhook.codegen._source import header, source
from billhook.codegen._targets import TARGETS, Target, target_named
from billhook.codegen._toolchains import TOOLCHAINS, Toolchain, compile_program, program_sizes, run_program
from billhook.forest import as_rows
from billhook.packing import Packed, pack

# What the clock of an AVR says after more than it can count.
CLOCK_OVERFLOW = 0xFFFF
# What rows may take in the flash of an emulated target.
MAX_ROW_BYTES = 8192
CHIPS = {"arduino-uno": "atmega328p", "arduino-mega": "atmega2560"}
# The linker may not refuse what is too large: that is for the numbers to say.
AVR_MEMORY = ("-Wl,--defsym=__TEXT_REGION_LENGTH__=0x3e000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x2000")
AVR_BYTES_A_SPLIT = 16


@dataclass(frozen=True)
class Measurement:
    """What a model takes on a target: flash, memory and time.

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
        For a row at the clock of the target. Where instructions are counted, at one a cycle, which is the least.
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
        """How many bytes of flash the target has left, below 0 if it has too few; None where it has no limits."""
        return self.target.flash - self.flash if self.target.flash else None

    @property
    def fits(self) -> bool | None:
        """Whether flash and memory hold the model and its stack; None where the target has no limits."""
        left = self.flash_left
        return None if left is None else left >= 0 and self.ram + (self.stack or 0) <= self.target.ram


def measure(
    model: Any,
    X: ArrayLike,
    *,
    target: str = "linux-x86_64",
    max_rows: int = 50,
    layout: LayoutName = "compact",
    inputs: Input = "float",
) -> Measurement:
    """Return what a model takes on a target: it is compiled for the target and run in an emulator of it.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    X : rows
        To run; in an emulator the first `max_rows` of them, or as many as fit.
    target : str
        The name of one of `targets`, such as ``"arduino-uno"``.
    max_rows : int
        At most how many rows are run in an emulator.
    layout : {"compact", "balanced", "fast"}
        As for `emit`.
    inputs : {"float", "int16", "uint8"}
        What the features of the rows are given as.

    Raises
    ------
    MissingToolError
        If the compiler or the emulator is not installed; it names the Debian package.
    """
    chosen = target_named(target)
    packed = model if isinstance(model, Packed) else pack(model)
    form = form_of(layout, inputs, chosen)
    if len(form.inputs) > 1:
        raise ValueError(f"measure runs one kind of input at a time, not {', '.join(form.inputs)}")
    if as_int(max_rows, "max_rows") < 1:
        raise ValueError(f"max_rows must be 1 or more, not {max_rows}")
    rows = np.ascontiguousarray(as_rows(X, packed), np.float32)
    if len(rows) == 0:
        raise ValueError("X has no rows to run")
    tools = TOOLCHAINS[chosen.family]
    tools.check_installed()
    if chosen.family == "avr":
        tools = _with_chip(packed, form, chosen, tools)
    if form.inputs[0] != "float":
        check_whole_rows(rows, form.inputs[0])
    if tools.emulator:
        rows = rows[: min(max_rows, max(1, MAX_ROW_BYTES // (4 * packed.n_features)))]
    with tempfile.TemporaryDirectory() as folder:
        _write(packed, form, rows, Path(folder))
        return _measured(packed, form, rows, chosen, tools, Path(folder))


def _with_chip(packed: Packed, form: Form, target: Target, tools: Toolchain) -> Toolchain:
    """Return the tools for the chip of an AVR target or, if its flash cannot hold the model, for the largest chip."""
    largest = TARGETS["arduino-mega"]
    check_fits(packed, packed, form, largest)
    takes = max(least_flash(packed, form), packed.layout.n_splits * AVR_BYTES_A_SPLIT * (form.layout == "fast"))
    chip = CHIPS["arduino-mega"] if takes > target.flash or target == largest else CHIPS["arduino-uno"]
    return replace(
        tools, options=(*tools.options, f"-mmcu={chip}", *AVR_MEMORY), emulator=(*tools.emulator, "-m", chip)
    )


def _measured(
    packed: Packed, form: Form, rows: NDArray[np.float32], target: Target, tools: Toolchain, folder: Path
) -> Measurement:
    program, empty = (compile_program(folder, tools, model) for model in ("model.c", "empty.c"))
    with_model, without = program_sizes(program, tools), program_sizes(empty, tools)
    flash, ram = (with_model[k] - without[k] for k in (0, 1))
    printed, n_once = run_program(program, target.family, tools)
    scores, clocks, stack = _read(printed, packed)
    expected = packed.scores(rows)
    agreement = float(np.mean((scores == expected).all(axis=1))) if scores.shape == expected.shape else 0.0
    cycles = instructions = None
    if target.family == "avr":
        if (clocks == CLOCK_OVERFLOW).any():
            slower = compile_program(folder, tools, "model.c", prescaler=1024)
            printed, _ = run_program(slower, target.family, tools)
            cycles = int(1024 * _read(printed, packed)[1].mean())
        else:
            cycles = int(8 * clocks.mean())
    elif n_once is not None:
        _, n_twice = run_program(compile_program(folder, tools, "model.c", repeat=2), target.family, tools)
        instructions = None if n_twice is None else round((n_twice - n_once) / len(rows))
    steps = cycles if cycles is not None else instructions
    microseconds = steps / target.clock if steps is not None and target.clock else None
    return Measurement(
        target, form, packed.nbytes, flash, ram, stack, cycles, instructions, microseconds, len(rows), agreement
    )


def _write(packed: Packed, form: Form, rows: NDArray[np.float32], folder: Path) -> None:
    """Write all sources of a program that runs these rows."""
    kind = form.inputs[0]
    numbers: NDArray[Any] = rows.view(np.uint32) if kind == "float" else rows.astype(np.int64)
    sources = {
        "model.h": header(packed, form=form),
        "model.c": source(packed, form=form),
        "rows.h": filled_firmware(
            "rows.h",
            function=f"model_scores{suffix(kind)}",
            feature_type=c_type(kind),
            row_type="uint32_t" if kind == "float" else c_type(kind),
            n_rows=len(rows),
            rows=", \\\n".join("{" + ",".join(map(str, row)) + "}" for row in numbers.tolist()),
        ),
    }
    for name in ("main.c", "empty.c", "start.c", "link.ld", "counter.c"):
        sources[name] = firmware_source(name)
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")


def _read(printed: str, packed: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """Return the scores, the clock of each row, and the depth of the stack, from what the firmware printed."""
    width = 8 * (packed.layout.n_columns + 1)
    lines = re.findall(rf"S([0-9a-f]{{{width}}})", printed)
    words = [[int(line[at : at + 8], 16) for at in range(0, width, 8)] for line in lines]
    table = np.array(words, np.int64).reshape(len(lines), packed.layout.n_columns + 1)
    scores = np.where(table[:, 1:] >= 2**31, table[:, 1:] - 2**32, table[:, 1:])
    stack = re.search(r"T([0-9a-f]{8})", printed)
    return scores, table[:, 0], int(stack[1], 16) if stack else None
