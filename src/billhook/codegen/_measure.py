"""A model compiled for a target, run in its emulator, and what that took."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import as_int
from billhook.codegen._form import Form, Input, LayoutName, c_type, check_whole_rows, form_of, suffix
from billhook.codegen._memory import check_fits, least_flash, least_stack
from billhook.codegen._resources import filled_firmware, firmware_source
from billhook.codegen._source import header, source
from billhook.codegen._targets import TARGETS, Target, target_named
from billhook.codegen._toolchains import (
    AVR_CHIPS,
    LARGEST_AVR,
    TooLargeError,
    Toolchain,
    avr_tools,
    compile_program,
    installed_tools,
    program_sizes,
    run_program,
)
from billhook.forest import as_rows
from billhook.packing import Packed, pack

# What the clock of an AVR says after more than it can count.
CLOCK_OVERFLOW = 0xFFFF
# What rows may take in the flash of an emulated target.
MAX_ROW_BYTES = 8192
AVR_BYTES_A_SPLIT = 16
# What calls of functions take of the stack, at least.
AVR_CALLS = 48
FIRMWARE = (
    "main.c",
    "empty.c",
    "start.c",
    "link.ld",
    "counter.c",
    "esp8266/math.h",
    "esp8266/string.h",
    "esp8266/avr/pgmspace.h",
)


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
        Rows that were run; 0 where there is no emulator.
    agreement : float
        The share of them with the scores that Python computes, to the last bit; not a number where none were run.
    note : str
        Why there are no cycles, or which core they were counted on if it is not that of the target.
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
    note: str = ""

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

    Where there is no emulator, that is the bytes of flash and memory.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    X : rows
        To run; in an emulator the first `max_rows` of them, or as many as fit.
    target : str
        The name of one of `targets`, such as ``"arduino-uno"`` or ``"blue pill"``.
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
    tools = installed_tools(chosen)
    if form.inputs[0] != "float":
        check_whole_rows(rows, form.inputs[0])
    if tools.measures != "answers":
        room = min(MAX_ROW_BYTES, chosen.flash // 4 if chosen.family == "avr" else MAX_ROW_BYTES)
        rows = rows[: min(max_rows, max(1, room // (4 * packed.n_features)))]
    with tempfile.TemporaryDirectory() as folder:
        write_firmware(packed, form, rows, Path(folder))
        if chosen.family == "avr":
            return _measured_on_avr(packed, form, rows, chosen, Path(folder))
        return _measured(packed, form, rows, chosen, tools, Path(folder))


def _measured_on_avr(
    packed: Packed, form: Form, rows: NDArray[np.float32], target: Target, folder: Path
) -> Measurement:
    """Return what the model takes on the chip of a target; what that cannot hold runs on the largest chip."""
    check_fits(packed, packed, form, TARGETS["arduino-mega"])
    takes = max(least_flash(packed, form), packed.layout.n_splits * AVR_BYTES_A_SPLIT * (form.layout == "fast"))
    chip = LARGEST_AVR if takes > target.flash else AVR_CHIPS[target.chip]
    tools = avr_tools(chip, target.clock)
    program, sizes = _compiled(folder, tools, chip.prescaler)
    flash, ram = program_sizes(program, tools)  # with the rows, which take some too
    is_held = flash <= target.flash and ram + least_stack(packed, form) + AVR_CALLS <= target.ram
    if chip != LARGEST_AVR and not is_held:
        chip = LARGEST_AVR
        tools = avr_tools(chip, target.clock)
        program = compile_program(folder, tools, "model.c", prescaler=chip.prescaler)
    scores, clocks, stack = read_printed(run_program(program, tools)[0], packed)
    prescaler = chip.prescaler
    if (clocks == CLOCK_OVERFLOW).any():
        prescaler = 1024
        slower = compile_program(folder, tools, "model.c", prescaler=prescaler)
        clocks = read_printed(run_program(slower, tools)[0], packed)[1]
    if len(clocks) == 0:
        raise TooLargeError(f"the program for {target.name} printed nothing: it needs more memory than there is")
    cycles = int(prescaler * clocks.mean())
    is_elsewhere = chip == LARGEST_AVR and target.name != "arduino-mega"
    return Measurement(
        target=target,
        form=form,
        data=packed.nbytes,
        flash=sizes[0],
        ram=sizes[1],
        stack=stack,
        cycles=cycles,
        instructions=None,
        microseconds=cycles / target.clock,
        n_rows=len(rows),
        agreement=_agreement(packed, rows, scores),
        note=f"run on an ATmega2560, since {target.name} cannot hold it with the rows"
        if is_elsewhere
        else tools.core,
    )


def _measured(
    packed: Packed, form: Form, rows: NDArray[np.float32], target: Target, tools: Toolchain, folder: Path
) -> Measurement:
    program, sizes = _compiled(folder, tools)
    stack = instructions = microseconds = None
    n_rows, agreement = 0, float("nan")
    if tools.measures != "size":
        printed, n_once = run_program(program, tools)
        scores, _, stack = read_printed(printed, packed)
        n_rows, agreement = len(rows), _agreement(packed, rows, scores)
        if n_once is not None:
            _, n_twice = run_program(compile_program(folder, tools, "model.c", repeat=2), tools)
            instructions = None if n_twice is None else round((n_twice - n_once) / len(rows))
        if instructions is not None and target.clock:
            microseconds = instructions / target.clock
    return Measurement(
        target=target,
        form=form,
        data=packed.nbytes,
        flash=sizes[0],
        ram=sizes[1],
        stack=stack,
        cycles=None,
        instructions=instructions,
        microseconds=microseconds,
        n_rows=n_rows,
        agreement=agreement,
        note=tools.core,
    )


def _compiled(folder: Path, tools: Toolchain, prescaler: int = 1) -> tuple[Path, tuple[int, int]]:
    """Return the program with the model, and the bytes of flash and memory that the model adds to it."""
    program, empty = (compile_program(folder, tools, model, prescaler=prescaler) for model in ("model.c", "empty.c"))
    with_model, without = program_sizes(program, tools), program_sizes(empty, tools)
    return program, (with_model[0] - without[0], with_model[1] - without[1])


def _agreement(packed: Packed, rows: NDArray[np.float32], scores: NDArray[np.int64]) -> float:
    """Return the share of rows with the scores that Python computes."""
    expected = packed.scores(rows)
    return float(np.mean((scores == expected).all(axis=1))) if scores.shape == expected.shape else 0.0


def write_firmware(packed: Packed, form: Form, rows: NDArray[np.float32], folder: Path) -> None:
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
    for name in FIRMWARE:
        sources[name] = firmware_source(name)
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def read_printed(printed: str, packed: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """Return the scores, the clock of each row, and the depth of the stack, from what the firmware printed."""
    width = 8 * (packed.layout.n_columns + 1)
    lines = re.findall(rf"S([0-9a-f]{{{width}}})", printed)
    words = [[int(line[at : at + 8], 16) for at in range(0, width, 8)] for line in lines]
    table = np.array(words, np.int64).reshape(len(lines), packed.layout.n_columns + 1)
    scores = np.where(table[:, 1:] >= 2**31, table[:, 1:] - 2**32, table[:, 1:])
    stack = re.search(r"T([0-9a-f]{8})", printed)
    return scores, table[:, 0], int(stack[1], 16) if stack else None
