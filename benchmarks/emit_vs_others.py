"""Models of Billhook on devices beside those of other tools: flash, memory, cycles, time on a PC, answers.

    pip install emlearn m2cgen micromlgen treelite tl2cgen
    BILLHOOK_DATA=folder python benchmarks/emit_vs_others.py [--rows 20] [--repeats 15] ["eeg 16 x 128" ...]

For each forest a Markdown table: the same forest given to every tool, compiled with the same options into the same
program, which asks for the class of each row. A fifth of the rows is kept apart; they are run.

    same, accuracy   share of rows with the class that the Forest in Python says, and with the right one; on the PC
    flash, RAM       what the model adds to the program, as the compilers count: over one that has no model
    cycles, instr.   for a row, the mean: of simavr (AVR), of QEMU (Cortex-M); they repeat exactly
    x86-64           nanoseconds for a row, the best of the repeats, and the same as a share of float if-else

AVR is an Arduino Uno, or a Mega where it says so, because the Uno has no room. emlearn's int16 models are given rows
and thresholds times a factor, rounded and cut off, which is printed; "+ 1" are its models with thresholds raised by
hand to the next whole number: it cuts off their fractions and asks for less, not for less or equal. Its leaves of 8
bits have to be shares between 0 and 1, which those of a refined forest are not; without them each tree has one vote.
Float if-else is what this script writes: nested ifs, and the addition of a float for each class not 0 in a leaf.
Billhook: exact thresholds with leaves of 8 bits, and the smallest setting that says the same class in 99 % of rows.
"""

import argparse
import copy
import inspect
import os
import re
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import _firmware
from billhook.codegen._measure import OPTIONS, TOOLCHAINS

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
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (row = 0; row < n; row++)
            said[row] = answer(x + (size_t)row * N_FEATURES);
        clock_gettime(CLOCK_MONOTONIC, &to);
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
SECONDS = 300


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
                found = self._on(Path(folder), board, family)
                if found.flash <= flash and found.ram <= ram:
                    return found
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
            _call(["gcc", *OPTIONS, "-O2", *self.model.options, "host.c", self._name("answer"), "-o", "host"], folder)
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
            "start.c": _firmware.CORTEX_START,
            "link.ld": _firmware.CORTEX_LINK,
            "counter.c": _firmware.COUNTER,
            **self.model.files,
        }
        for name, text in files.items():
            (folder / name).write_text(text)

    def _compile(self, folder, target, family, stem, repeat=1, prescaler=8):
        tools = TOOLCHAINS[family]
        out = folder / f"{stem}-{target}-{repeat}-{prescaler}.elf"
        if out.exists():
            return out
        command = [tools.compiler, *OPTIONS, *tools.options, *self.model.options]
        command += [f"-DREPEAT={repeat}", f"-DPRESCALER={prescaler}", "main.c", self._name(stem), "-o", out.name]
        if family == "avr":
            # The linker may not refuse what is too large: that is for the numbers to say.
            room = ["-Wl,--defsym=__TEXT_REGION_LENGTH__=0x800000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x100000"]
            command += [f"-mmcu={BOARDS[target][0]}", *room]
        _call([*command, "-lm"], folder)
        return out


def _call(command, folder, check=True):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS
    )
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


def argmax(number, call, scores="s"):
    """Return a function that calls something for the scores and answers with the class of the highest."""
    return f"""
int answer(const row_t *x)
{{
    {number} {scores}[N_CLASSES] = {{0}};
    int best = 0, c;
    {call};
    for (c = 1; c < N_CLASSES; c++)
        if ({scores}[c] > {scores}[best])
            best = c;
    return best;
}}
"""


def if_else(estimator):
    """Return nested ifs on floats, as one would write them by hand."""

    def literal(number):
        text = f"{number:.9g}"
        return (text if "." in text or "e" in text else text + ".0") + "f"

    def branch(tree, node, value, depth):
        indent = "    " * min(depth, 8)
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return [f"{indent}s[{c}] += {literal(p)};" for c, p in enumerate(value[node]) if p]
        threshold = np.float32(tree.threshold[node])
        if threshold > tree.threshold[node]:
            threshold = np.nextafter(threshold, np.float32(-np.inf))
        return [
            f"{indent}if (x[{tree.feature[node]}] <= {literal(threshold)}) {{",
            *branch(tree, left, value, depth + 1),
            f"{indent}}} else {{",
            *branch(tree, right, value, depth + 1),
            f"{indent}}}",
        ]

    lines = ['#include "row.h"', f"#define N_CLASSES {estimator.n_classes_}"]
    for k, member in enumerate(estimator.estimators_):
        lines += [f"static void tree{k}(const float *x, float *s)", "{"]
        lines += [*branch(member.tree_, 0, member.tree_.value[:, 0].astype(np.float32), 1), "}"]
    calls = "; ".join(f"tree{k}(x, s)" for k in range(len(estimator.estimators_)))
    return Model("\n".join(lines) + argmax("float", calls))


def emlearn_model(estimator, **how):
    """Return what emlearn writes; its int16 models take whole numbers."""
    import emlearn

    np.seterr(all="warn", under="ignore")  # emlearn has numpy raise errors from its import on
    code = emlearn.convert(estimator, **how).save(name="m", format="c", include_proba=False)
    row = how["dtype"]
    source = f'#include "row.h"\n{code}\nint answer(const row_t *x) {{ return m_predict(x, N_FEATURES); }}\n'
    return Model(source, row, options=(f"-I{Path(emlearn.__file__).parent}",))


def scaled(estimator, scale, is_raised):
    """Return the estimator with thresholds for rows times a factor; raised: for `<` instead of `<=`."""
    estimator = copy.deepcopy(estimator)
    for member in estimator.estimators_:
        threshold = member.tree_.threshold
        threshold[:] = threshold * scale
        if is_raised:
            threshold[:] = np.floor(threshold) + 1
        threshold[:] = np.clip(threshold, -32768, 32767)
    return estimator


def m2cgen_model(estimator):
    """Return what m2cgen writes: nested ifs on doubles."""
    import m2cgen

    about = f'#include "row.h"\n#define N_CLASSES {estimator.n_classes_}\n'
    return Model(about + m2cgen.export_to_c(estimator) + argmax("double", "score((double *)x, s)"), "double")


def micromlgen_model(estimator):
    """Return what micromlgen writes: nested ifs in C++, a vote for each tree."""
    import micromlgen

    # No compiler for AVR has this header, and nothing of it is used.
    code = micromlgen.port(estimator).replace("#include <cstdarg>", "#include <stdint.h>")
    wrapper = 'extern "C" int answer(const row_t *x)\n{\n    Eloquent::ML::Port::RandomForest forest;\n'
    wrapper += "    return forest.predict((float *)x);\n}\n"
    return Model(f'#include "row.h"\n{code}\n{wrapper}', is_cpp=True)


def tl2cgen_model(estimator):
    """Return what tl2cgen writes: nested ifs on doubles that may be missing."""
    import tl2cgen
    import treelite

    with tempfile.TemporaryDirectory() as folder:
        tl2cgen.generate_c_code(treelite.sklearn.import_model(estimator), dirpath=folder, params={}, verbose=False)
        code, about = ((Path(folder) / name).read_text() for name in ("main.c", "header.h"))
    call = "predict((union Entry *)x, 0, s)"
    source = f'#include "row.h"\n#define N_CLASSES {estimator.n_classes_}\n{code}\n' + argmax("double", call)
    return Model(source, "double", files={"header.h": about})


def billhook_model(packed, layout, inputs):
    """Return what Billhook writes, or None if this version has no such layout."""
    known = inspect.signature(bh.emit).parameters
    options = {"layout": layout, "inputs": inputs}
    if layout != "compact" and "layout" not in known:
        return None
    if "inputs" not in known:
        inputs = "float"
    with tempfile.TemporaryDirectory() as folder:
        bh.emit(packed, folder, **{key: value for key, value in options.items() if key in known})
        source, header = ((Path(folder) / name).read_text() for name in ("model.c", "model.h"))
    source += '\n#include "row.h"\nint answer(const row_t *x) { return model_predict(x); }\n'
    row = {"float": "float", "int16": "int16_t", "uint8": "uint8_t"}[inputs]
    return Model(source, row, files={"model.h": header})


def smallest(forest, data):
    """Return the packing of the fewest bytes with the forest's class in 99 % of the rows that are kept apart."""
    answers = forest.predict(data.X_test)
    best = None
    for labels in ({}, {"y": data.y_train}):
        for threshold_bits in range(12, 5, -1):
            for leaf_bits in range(8, 1, -1):
                bits = {"threshold_bits": threshold_bits, "leaf_bits": leaf_bits}
                packed = bh.pack(forest, **bits, X=data.X_train, **labels, missing_values=False)
                if np.mean(packed.predict(data.X_test) == answers) < 0.99:
                    break
                if best is None or packed.nbytes < best[0].nbytes:
                    best = packed, f"{threshold_bits}-bit thresholds, {leaf_bits}-bit leaves"
    return best


@dataclass(frozen=True)
class Data:
    """Rows to train with, rows kept apart, the factor for int16, and whether the rows are whole numbers."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    scale: float
    inputs: str


def split(X, y, scale, inputs="float"):
    X = np.ascontiguousarray(X, np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[len(y) // 5 :], order[: len(y) // 5]
    return Data(X[train], y[train], X[test], y[test], scale, inputs)


def stored(name):
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
    y = table.pop("label").to_numpy()
    return table.to_numpy(np.float32), y


def eeg():
    return split(*stored("eeg"), 5)


def eeg_whole():
    X, y = stored("eeg")
    return split(np.clip(np.rint(X * 5), -32768, 32767), y, 1, "int16")


def digits():
    return split(*load_digits(return_X_y=True), 1, "int16")


def satimage():
    return split(*stored("satimage"), 1, "int16")


def made_up():
    X, y = make_classification(
        20_000, 16, n_informative=12, n_redundant=2, n_classes=26, n_clusters_per_class=1, random_state=0
    )
    return split(X, y, float(np.floor(32767 / np.abs(X).max())))


# Name: rows, trees, leaves, whether leaves are refined.
FORESTS = {
    "eeg 16 x 128": (eeg, 16, 128, True),
    "eeg, whole numbers 16 x 128": (eeg_whole, 16, 128, True),
    "digits 8 x 64": (digits, 8, 64, False),
    "digits 16 x 128": (digits, 16, 128, False),
    "digits 32 x 256": (digits, 32, 256, False),
    "satimage 16 x 128": (satimage, 16, 128, False),
    "made up, 26 classes 16 x 128": (made_up, 16, 128, False),
}
DEVICES = ("arduino-uno", "cortex-m0", "cortex-m4")


@dataclass
class Row:
    """One line of a table."""

    name: str
    same: float = 0.0
    accuracy: float = 0.0
    found: dict[str, Found | str] = field(default_factory=dict)
    nanoseconds: float | None = None
    failure: str = ""

    def cells(self, plain):
        """Return the line in Markdown; times are shares of this one."""
        if self.failure:
            return f"| {self.name} | {self.failure} " + "| " * 12 + "|"
        cells = [self.name, f"{self.same:.4f}", f"{100 * self.accuracy:.2f}"]
        for device in DEVICES:
            found = self.found[device]
            if isinstance(found, str):
                cells += [found, "", ""]
                continue
            mega = " (Mega)" if found.board == "arduino-mega" else ""
            count = f"{found.count:,}" if found.count is not None else found.problem or "-"
            cells += [f"{found.flash:,}{mega}", f"{found.ram:,}", count]
        cells += (
            ["-", "-"]
            if self.nanoseconds is None
            else [f"{self.nanoseconds:,.0f}", f"{self.nanoseconds / plain:.2f}"]
        )
        return "| " + " | ".join(cells) + " |"


HEAD = (
    "| tool | same | accuracy | AVR flash | RAM | cycles | M0 flash | RAM | instr. | M4 flash | RAM | instr. "
    "| x86-64 ns | of if-else |\n|---|" + "---:|" * 13
)


def measured(name, make: Callable[[], Model | None], forest, data, given, scale=1.0):
    """Return the line of one tool, or what went wrong, in short."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
        if model is None:
            return Row(name, failure="-")
        rows = data.X_test
        if model.row in ("int16_t", "uint8_t"):
            rows = np.clip(np.rint(rows * scale), -32768, 32767).astype(np.int16)
        firmware = Firmware(model, np.ascontiguousarray(rows[: given.rows]))
        said, nanoseconds = firmware.on_host(rows, given.repeats)
    except Exception as error:
        return Row(name, failure=f"{type(error).__name__}: {_short(error)}")
    classes = np.asarray(forest.classes)
    said = np.where((said >= 0) & (said < len(classes)), said, 0)
    row = Row(name, np.mean(classes[said] == forest.predict(data.X_test)), np.mean(classes[said] == data.y_test))
    row.nanoseconds = nanoseconds
    for device in DEVICES:
        try:
            row.found[device] = firmware.on(device)
        except Exception as error:
            row.found[device] = _short(error)
    return row


def _short(error):
    return (str(error).strip().splitlines() or [""])[0].replace("|", "/")[:90]


def table(name, given):
    """Print one table, and what the tools have to do with each other."""
    load, trees, leaves, is_refined = FORESTS[name]
    data = load()
    rf = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(data.X_train, data.y_train)
    forest = bh.refine(rf, data.X_train, data.y_train, random_state=0) if is_refined else bh.as_forest(rf)
    estimator = bh.to_estimator(forest)
    accuracy = np.mean(forest.predict(data.X_test) == data.y_test)
    print(f"\n## {name}\n")
    print(
        f"{forest.n_trees} trees, {forest.n_nodes:,} nodes, {forest.n_features} features, {forest.n_classes} classes"
        f"{', refined' if is_refined else ''}; accuracy {100 * accuracy:.2f} on {len(data.y_test):,} rows; int16: "
        f"times {data.scale:g}\n\n{HEAD}",
        flush=True,
    )
    exact = bh.pack(forest, threshold_bits="exact", leaf_bits=8, missing_values=False)
    few = smallest(forest, data)
    makers = {
        "float if-else": (lambda: if_else(estimator), 1),
        "m2cgen": (lambda: m2cgen_model(estimator), 1),
        "tl2cgen": (lambda: tl2cgen_model(estimator), 1),
        "micromlgen": (lambda: micromlgen_model(estimator), 1),
        "emlearn inline float": (lambda: emlearn_model(estimator, method="inline", dtype="float"), 1),
    }
    for label, how, is_raised in (
        ("inline int16", {"method": "inline"}, False),
        ("inline int16, + 1", {"method": "inline"}, True),
        ("inline int16, + 1, 8-bit leaves", {"method": "inline", "leaf_bits": 8}, True),
        ("loadable int16", {"method": "loadable"}, False),
    ):
        makers[f"emlearn {label}"] = (
            lambda how=how, raised=is_raised: emlearn_model(
                scaled(estimator, data.scale, raised), dtype="int16_t", **how
            ),
            data.scale,
        )
    packings = {"exact thresholds, 8-bit leaves": exact}
    if few:
        packings[few[1]] = few[0]
    for layout in ("compact", "fast"):
        for how, packed in packings.items():
            makers[f"Billhook {layout}, {how}"] = (
                lambda packed=packed, layout=layout: billhook_model(packed, layout, data.inputs),
                1,
            )
    lines = {}
    for label, (make, scale) in makers.items():
        lines[label] = measured(label, make, forest, data, given, scale)
        print(lines[label].cells(lines["float if-else"].nanoseconds), flush=True)
    print("\n" + ratios(lines), flush=True)


def ratios(lines):
    """Return the flash of emlearn over ours, our cycles over emlearn's, the time of if-else over ours."""

    def least(start, what):
        values = [what(row) for name, row in lines.items() if name.startswith(start) and not row.failure]
        return min((value for value in values if value), default=None)

    def of(device, attribute):
        def value(row):
            found = row.found[device]
            return None if isinstance(found, str) or found.problem else getattr(found, attribute)

        return value

    def over(a, b):
        return f"{a / b:.2f}" if a and b else "-"

    names = ("AVR", "M0", "M4")
    flash = [over(least("emlearn", of(d, "flash")), least("Billhook compact", of(d, "flash"))) for d in DEVICES]
    cycles = [
        over(least("Billhook fast", of(d, "count")), least("emlearn inline int16", of(d, "count"))) for d in DEVICES
    ]
    plain = lines["float if-else"].nanoseconds
    times = [over(plain, least(f"Billhook {kind}", lambda row: row.nanoseconds)) for kind in ("compact", "fast")]
    return (
        "| | " + " | ".join(names) + " | x86-64 |\n|---|" + "---:|" * 4 + "\n"
        "| emlearn's smallest flash / Billhook's smallest | " + " | ".join(flash) + " | |\n"
        "| cycles or instr. of Billhook fast / emlearn inline int16 | " + " | ".join(cycles) + " | |\n"
        f"| time of float if-else / Billhook compact, fast | | | | {times[0]}, {times[1]} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20, help="to run in the emulators")
    parser.add_argument("--repeats", type=int, default=15, help="of all rows on the PC; the best counts")
    parser.add_argument("names", nargs="*", default=list(FORESTS), help="of forests")
    given = parser.parse_args()
    for name in given.names:
        table(name, given)


if __name__ == "__main__":
    main()
