"""Programs that ask a model for classes, on devices and on this machine; used by the comparisons beside this file."""

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import billhook as bh
from billhook.codegen import COMPILER_OPTIONS, TOOLCHAINS, firmware_source

MAIN = r"""
#include <stdint.h>
#include "row.h"
#include "rows.h"
int answer(const row_t *x);

#if defined(__AVR__)
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
static void put(char c)
{
    while (!(UCSR0A & _BV(UDRE0)))
        ;
    UDR0 = (uint8_t)c;
}
static void begin(void) { UCSR0B = _BV(TXEN0); TCCR1B = PRESCALER == 8 ? _BV(CS11) : _BV(CS11) | _BV(CS10); }
static void end(void) { cli(); sleep_enable(); sleep_cpu(); }
#define CLOCK_START() (TCNT1 = 0, TIFR1 = _BV(TOV1))
#define CLOCK() (TIFR1 & _BV(TOV1) ? 0xFFFF : TCNT1)
#else
#define PROGMEM
#define pgm_read_byte(at) (*(at))
#define CLOCK_START()
#define CLOCK() 0
static void begin(void) {}
#if defined(__linux__)
#include <stdio.h>
static void put(char c) { putchar(c); }
static void end(void) {}
#else
static void ask(int what, const void *about)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = about;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void put(char c) { ask(3, &c); }
static void end(void) { ask(0x18, (const void *)0x20026); }
#endif
#endif

static const uint8_t rows[N_ROWS][N_FEATURES][sizeof(stored_t)] PROGMEM = ROWS;

static void hex(uint16_t number)
{
    int8_t k;
    for (k = 12; k >= 0; k = (int8_t)(k - 4))
        put("0123456789abcdef"[number >> k & 15]);
}

int main(void)
{
    static row_t x[N_FEATURES];
    uint16_t row, k, clock = 0;
    int said = 0;
    begin();
    for (row = 0; row < N_ROWS; row++) {
        for (k = 0; k < N_FEATURES; k++) {
            union { stored_t number; uint8_t bytes[sizeof(stored_t)]; } both;
            uint8_t b;
            for (b = 0; b < sizeof(stored_t); b++)
                both.bytes[b] = pgm_read_byte(&rows[row][k][b]);
            x[k] = (row_t)both.number;
        }
        for (k = 0; k < REPEAT; k++) {
            CLOCK_START();
            said = answer(x);
            clock = CLOCK();
        }
        put('S');
        hex(clock);
        hex((uint16_t)said);
        put('\n');
    }
    end();
    return 0;
}
"""

# Reads a byte and no more: whatever a model needs of the compiler's library counts as the model's.
EMPTY = '#include <stdint.h>\n#include "row.h"\nint answer(const row_t *x) { return *(const uint8_t *)x; }\n'

HOST = r"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "row.h"
int answer(const row_t *x);

int main(int argc, char **argv)
{
    int n = atoi(argv[2]), repeats = atoi(argv[3]), k, row;
    row_t *x = malloc(sizeof(row_t) * N_FEATURES * (size_t)n);
    int *said = malloc(sizeof(int) * (size_t)n);
    double best = 1e30;
    FILE *file = fopen(argv[1], "rb");
    (void)argc;
    if (!file || fread(x, sizeof(row_t) * N_FEATURES, (size_t)n, file) != (size_t)n)
        return 1;
    for (k = 0; k < repeats; k++) {
        struct timespec from, to;
        double took;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (row = 0; row < n; row++)
            said[row] = answer(x + (size_t)row * N_FEATURES);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        took = 1e9 * (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec);
        best = took < best ? took : best;
    }
    printf("%.2f", best / n);
    for (row = 0; row < n; row++)
        printf(" %d", said[row]);
    return 0;
}
"""

BOARDS = {"arduino-uno": ("atmega328p", 32_256, 2_048), "arduino-mega": ("atmega2560", 253_952, 8_192)}
FLASH_OF_UNO = 32_768  # what the emulator has, for the rows too
N_HOST_ROWS = 20_000
SECONDS = 180


@dataclass(frozen=True)
class Model:
    """A function ``int answer(const row_t *x)`` in C or C++, and the type of its numbers."""

    source: str
    row: str = "float"
    is_cpp: bool = False
    options: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What a model takes on a device; `count` is None if it was not run, and `problem` says why."""

    flash: int
    ram: int
    count: int | None = None
    board: str = ""
    problem: str = ""


class Firmware:
    """A model in a program for devices, and for this machine."""

    def __init__(self, model, rows):
        self.model, self.rows = model, rows
        self.stored = "int16_t" if rows.dtype == np.int16 else "float"

    def on(self, target):
        """Compile and run on a target; on AVR the Mega if the Uno has no room."""
        family = next(board.family for board in bh.targets() if board.name == target)
        with tempfile.TemporaryDirectory() as folder:
            self._write(Path(folder))
            if family != "avr":
                return self._on(Path(folder), target, family)
            for board, (_, flash, ram) in BOARDS.items():
                try:
                    found = self._on(Path(folder), board, family)
                except RuntimeError:  # what an Uno has no room for may not even be linked
                    if board == "arduino-mega":
                        raise
                    continue
                if (found.flash <= flash and found.ram <= ram) or not _fits(found, "arduino-mega"):
                    break
            return found

    def _on(self, folder, target, family):
        program = self._compile(folder, target, family, "answer")
        with_model, without = (
            _sizes(file, family) for file in (program, self._compile(folder, target, family, "empty"))
        )
        sizes = [with_model[k] - without[k] for k in (0, 1)]
        sized_for = target
        if family == "avr":
            _, flash, ram = BOARDS[target]
            if sizes[0] > flash or sizes[1] > ram:
                return Found(*sizes, None, target, "does not fit")
            if target == "arduino-uno" and with_model[0] > FLASH_OF_UNO:
                target = "arduino-mega"  # the model fits, but not with the rows
            for prescaler in (8, 64):
                program = self._compile(folder, target, family, "answer", prescaler=prescaler)
                printed, _ = _run(folder, program, target, family)
                clocks, said = _read(printed)
                if len(clocks) and (clocks < 0xFFFF).all():
                    break
            count = round(prescaler * clocks.mean()) if len(clocks) and (clocks < 0xFFFF).all() else None
        else:
            printed, once = _run(folder, program, target, family)
            _, twice = _run(folder, self._compile(folder, target, family, "answer", repeat=2), target, family)
            _, said = _read(printed)
            count = round((twice - once) / len(self.rows))
        problem = "" if said.tolist() == self.expected else "other answers than on the PC"
        return Found(*sizes, None if problem else count, sized_for, problem)

    def on_host(self, rows, repeats):
        """Return the classes of all rows and the nanoseconds for one."""
        with tempfile.TemporaryDirectory() as folder:
            self._write(Path(folder))
            (Path(folder) / "host.c").write_text(HOST)
            kind = {"float": np.float32, "double": np.float64, "int16_t": np.int16, "uint8_t": np.uint8}[
                self.model.row
            ]
            # More rows than there are, in disorder, or the processor learns the way of each by heart.
            many = np.concatenate([np.arange(len(rows)), np.random.default_rng(0).choice(len(rows), N_HOST_ROWS)])
            (Path(folder) / "rows.bin").write_bytes(np.ascontiguousarray(rows[many], kind).tobytes())
            _call(
                ["gcc", *COMPILER_OPTIONS, "-O2", *self.model.options, "host.c", self._name("answer"), "-o", "host"],
                folder,
            )
            out = _call(["./host", "rows.bin", str(len(many)), str(repeats)], folder).stdout.split()
        said = np.array(out[1 : 1 + len(rows)], int)
        self.expected = said[: len(self.rows)].astype(np.uint16).tolist()
        return said, float(out[0])

    def _name(self, stem):
        return f"{stem}.cpp" if self.model.is_cpp and stem == "answer" else f"{stem}.c"

    def _write(self, folder):
        bits = self.rows.view(np.uint8).reshape(*self.rows.shape, self.rows.itemsize)
        text = re.sub(r"\s+", "", str(bits.tolist())).replace("[", "{").replace("]", "}")
        files = {
            self._name("answer"): self.model.source,
            "empty.c": EMPTY,
            "main.c": MAIN,
            "row.h": f"#include <stdint.h>\ntypedef {self.model.row} row_t;\ntypedef {self.stored} stored_t;\n"
            f"#define N_FEATURES {self.rows.shape[1]}\n",
            "rows.h": f"#define N_ROWS {len(self.rows)}\n#define ROWS {text}\n",
            **{name: firmware_source(name) for name in ("start.c", "link.ld", "counter.c")},
            **self.model.files,
        }
        for name, text in files.items():
            (folder / name).write_text(text)

    def _compile(self, folder, target, family, stem, repeat=1, prescaler=8):
        tools = TOOLCHAINS[family]
        command = [
            tools.compiler,
            *COMPILER_OPTIONS,
            *tools.options,
            f"-DREPEAT={repeat}",
            f"-DPRESCALER={prescaler}",
        ]
        if family == "avr":
            # The linker may not refuse what is too large: that is for the numbers to say.
            room = ["-Wl,--defsym=__TEXT_REGION_LENGTH__=0x800000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x100000"]
            command += [f"-mmcu={BOARDS[target][0]}", *room]
        compiled = folder / f"{stem}-{target}.o"
        if not compiled.exists():  # takes minutes for some models
            alone = [option for option in command if option != "start.c"]
            _call([*alone, *self.model.options, "-c", self._name(stem), "-o", compiled.name], folder)
        out = folder / f"{stem}-{target}-{repeat}-{prescaler}.elf"
        _call([*command, *self.model.options, "main.c", compiled.name, "-lm", "-o", out.name], folder)
        return out


def _fits(found, board):
    """Whether a board has room; other boards differ by a few bytes."""
    return found.flash <= 1.05 * BOARDS[board][1] and found.ram <= 1.05 * BOARDS[board][2]


def _call(command, folder, check=True):
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{command[0]} takes more than {SECONDS} seconds") from None
    if check and done.returncode:
        lines = (
            [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines() or ["failed"]
        )
        raise RuntimeError(f"{command[0]}: {lines[0].rpartition('rror: ')[2].strip()}")
    return done


def _sizes(program, family):
    """Return the bytes of flash and of memory that a program takes."""
    size = TOOLCHAINS[family].compiler.removesuffix("gcc") + "size"
    text, data, bss = map(int, _call([size, program.name], program.parent).stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def _run(folder, program, target, family):
    """Return what the program prints and, in QEMU, how many instructions it ran."""
    command = list(TOOLCHAINS[family].emulator)
    if family == "avr":
        command += ["-m", BOARDS[target][0], program.name]
    else:
        if not (folder / "counter.so").exists():
            _call(["gcc", "-shared", "-fPIC", "-O2", "counter.c", "-o", "counter.so"], folder)
        command += ["-plugin", str(folder / "counter.so")]
        command += [program.name] if family == "armv6" else ["-kernel", program.name]
    done = _call(command, folder, check=False)
    found = re.search(r"instructions (\d+)", done.stderr)
    return done.stdout + done.stderr, int(found[1]) if found else None


def _read(printed):
    """Return the clock and the class of each row."""
    words = [(int(line[:4], 16), int(line[4:], 16)) for line in re.findall(r"S([0-9a-f]{8})", printed)]
    return np.array(words, int).reshape(-1, 2).T
