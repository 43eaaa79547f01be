"""Models as blobs: what the readers take, and whether they answer as Python does.

    python benchmarks/runtimes.py            # code of the C reader, and rows on devices beside C made for the model
    python benchmarks/runtimes.py --others   # and projects in all languages, built and tested on this machine
    python benchmarks/runtimes.py --boards   # and the compact layout on a board of each kind
    python benchmarks/runtimes.py --times    # only: how long a row takes in all languages on this machine
    BILLHOOK_DATA=folder python benchmarks/runtimes.py --data --tools    # with eeg and satimage, and other tools

Random forests of 16 trees; thresholds of 8 bits, leaves of 4. Other tools are those of `other_tools.py` that are
installed, with the same forests. Flash is what the compilers count; cycles (AVR) and instructions (Cortex-M0) are
those of the emulators, which repeat exactly. Classes of all rows are compared with Python's. Projects for this
machine test their scores themselves. On boards, and in the programs of `--times`, scores are compared with those of
Python to the last bit.
"""

import argparse
import json
import subprocess
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from emit_vs_others import stored
from firmware import Firmware, Model
from other_tools import emlearn_model, m2cgen_model, micromlgen_model, tl2cgen_model
from row_times import print_times
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

FORESTS = {"cancer 16 x 16": (load_breast_cancer, 16), "digits 16 x 64": (load_digits, 64)}
STORED = {"eeg 16 x 128": "eeg", "satimage 16 x 128": "satimage"}
TOOLS = {
    "emlearn, float inline": partial(emlearn_model, method="inline", dtype="float"),
    "m2cgen": m2cgen_model,
    "micromlgen": micromlgen_model,
    "tl2cgen": tl2cgen_model,
}
TARGETS = ("arduino-uno", "cortex-m0")
# One of each chip and processor that programs are compiled for.
BOARDS = (
    "attiny85",
    "arduino-uno",
    "arduino-nano-every",
    "arduino-mega",
    "cortex-m0",
    "stm32f103",
    "cortex-m4",
    "teensy-4",
    "raspberry-pi-pico-2",
    "ch32v003",
    "esp32-c3",
    "esp8266",
    "raspberry-pi-zero",
    "linux-x86_64",
)
# What a reader is compiled without: macros of billhook.h, less BH_NO_.
FLOAT_STEPS = ("PROJECTIONS", "RANKS", "KEYS", "CATEGORIES", "SYMMETRIC", "MISSING", "FACTORS")
PARTS = {
    "of everything, labels only": (),
    "without `PROJECTIONS`": ("PROJECTIONS",),
    "and without `KEYS`, `CATEGORIES`, `SYMMETRIC`": ("PROJECTIONS", "KEYS", "CATEGORIES", "SYMMETRIC"),
    "and without `RANKS`, `MISSING`, `FACTORS`": FLOAT_STEPS,
    "and for two classes, without `MULTICLASS`": (*FLOAT_STEPS, "MULTICLASS"),
    "and for rows of whole numbers, without `FLOATS`": (*FLOAT_STEPS, "MULTICLASS", "FLOATS"),
    "and without `CHECKSUM`": (*FLOAT_STEPS, "MULTICLASS", "FLOATS", "CHECKSUM"),
    "for two classes and rows of floats, with `RANKS` in place of `STEPS`": (
        *FLOAT_STEPS[2:],
        "PROJECTIONS",
        "MULTICLASS",
        "STEPS",
    ),
}
N_ROWS = 6
SOURCE = """#include "billhook.c" /* before row.h, whose macros it has as names */
#include "row.h"
#include "model_blob.h"
static bh_model model;
static int32_t scratch[MODEL_SCRATCH];
static uint8_t is_open;
#if defined(__AVR__)
__attribute__((constructor)) /* before the clock starts; elsewhere it is not counted */
#endif
static void open_model(void) { is_open = !bh_open(&model, model_blob, sizeof model_blob, scratch, MODEL_SCRATCH); }
int answer(const row_t *x)
{
    if (!is_open)
        open_model();
    return bh_predict(&model, x);
}
"""
WEB = """
import { readFileSync } from 'node:fs';
const { load } = await import(process.cwd() + '/billhook.mjs');
const model = await load(readFileSync('model.bhm'));
const [rows, expected] = JSON.parse(readFileSync('rows.json'));
process.exit(JSON.stringify(rows.map((row) => Array.from(model.scores(row)))) === JSON.stringify(expected) ? 0 : 1);
"""
OTHERS = {
    "c": ["make", "test"],
    "rust": ["cargo", "test", "--offline", "--quiet"],
    "micropython": ["python3", "test_model.py"],
    "web": ["node", "--input-type=module", "-e", WEB],
}


def trained_forest(name):
    if name in STORED:
        (X, y), n_leaves = stored(STORED[name]), 128
    else:
        load, n_leaves = FORESTS[name]
        X, y = load(return_X_y=True)
    X = np.ascontiguousarray(X, np.float32)
    return RandomForestClassifier(16, max_leaf_nodes=n_leaves, random_state=0).fit(X, y), X


def packed_forest(name):
    forest, X = trained_forest(name)
    return bh.pack(forest, leaf_bits=4, X=X, missing_values=False), X


def reader(packed, folder):
    """Return the reader with a model in it, as the comparisons take models."""
    bh.emit(packed, folder, runtime="c", force=True)
    files = {name: (Path(folder) / name).read_text() for name in ("billhook.h", "billhook.c", "model_blob.h")}
    return Model(SOURCE, files=files)


def on_devices(model, packed, X):
    """Return what a model takes on each target, rows as Python answers them."""
    rows = np.ascontiguousarray(X[:: len(X) // N_ROWS][:N_ROWS])
    program = Firmware(model, rows)
    said, _ = program.on_host(rows, 1)
    assert packed.classes[said].tolist() == packed.predict(rows).tolist()
    return {target: program.on(target) for target in TARGETS}


def made_for(packed, layout):
    """Return C that is made for this model."""
    with tempfile.TemporaryDirectory() as folder:
        bh.emit(packed, folder, layout=layout, inputs="float", force=True)
        files = {name: (Path(folder) / name).read_text() for name in ("model.h", "model.c")}
    source = '#include "row.h"\n#include "model.c"\nint answer(const row_t *x) { return model_predict(x); }\n'
    return Model(source, files=files)


def print_code(folder):
    """Print the bytes of the reader's code, which are the same for every model, whole and without some parts."""
    packed, X = packed_forest("cancer 16 x 16")
    n_blob = len(packed.to_bytes(names=False))
    whole = reader(packed, folder)
    print("\n| a reader | AVR | AVR, with `-mcall-prologues -mrelax` | Cortex-M0 |\n|---|---:|---:|---:|")
    for what, parts in PARTS.items():
        options = tuple(f"-DBH_NO_{part}=1" for part in parts)
        model, rows = replace(whole, options=options), X[:1]
        if "FLOATS" in parts:
            model = replace(model, row="int16_t", source=SOURCE.replace("bh_predict(", "bh_predict_int16("))
            rows = rows.astype(np.int16)
        tight = replace(model, options=(*options, "-mcall-prologues", "-mrelax"))
        sizes = []
        for target, built in ((TARGETS[0], model), (TARGETS[0], tight), (TARGETS[1], model)):
            program = Firmware(built, np.ascontiguousarray(rows))
            program.expected = None  # only the size counts
            sizes.append(f"{program.on(target).flash - n_blob:,}")
        print(f"| {what} | {' | '.join(sizes)} |", flush=True)


def print_rows(folder, names, tools):
    print("\n| forest | data | blob | | AVR flash | cycles | M0 flash | instructions |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for name in names:
        forest, X = trained_forest(name)
        packed = bh.pack(forest, leaf_bits=4, X=X, missing_values=False)
        sizes = f"{packed.nbytes:,} | {len(packed.to_bytes(names=False)):,}"
        for kind in ("compact layout", "balanced layout", "reader"):
            model = reader(packed, folder) if kind == "reader" else made_for(packed, kind.partition(" ")[0])
            print(f"| {name} | {sizes} | {kind} | {_cells(on_devices(model, packed, X))} |", flush=True)
        for tool, write in tools.items():
            try:
                program = Firmware(write(forest), np.ascontiguousarray(X[:: len(X) // N_ROWS][:N_ROWS]))
                program.on_host(program.rows, 1)
                cells = _cells({target: program.on(target) for target in TARGETS})
            except Exception as error:  # whatever another tool does not take
                cells = f"{str(error)[:60]} | | |".replace("\n", " ")
            print(f"| {name} | | | {tool} | {cells} |", flush=True)


def _cells(found):
    """Return flash and time on each target; a Mega is named where an Uno has no room."""
    cells = []
    for target in TARGETS:
        place = " (Mega)" if found[target].board == "arduino-mega" else ""
        count = found[target].count
        cells.append(f"{found[target].flash:,}{place} | {found[target].problem if count is None else f'{count:,}'}")
    return " | ".join(cells)


def print_others(folder, names):
    print("\n| forest | runtime | bytes of the reader | its own test |\n|---|---|---:|---|")
    for name in names:
        packed, X = packed_forest(name)
        for runtime, command in OTHERS.items():
            out = Path(folder) / f"{name}-{runtime}"
            bh.emit(packed, out, runtime=runtime, X=X)
            if runtime == "web":
                (out / "rows.json").write_text(json.dumps([X[:99].tolist(), packed.scores(X[:99]).tolist()]))
            done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
            reader_files = {"c": ["billhook.c"], "rust": sorted(out.glob("src/*.rs")), "micropython": ["billhook.py"]}
            size = sum((out / file).stat().st_size for file in reader_files.get(runtime, ["billhook.mjs"]))
            outcome = "passed" if done.returncode == 0 else done.stderr[-200:]
            print(f"| {name} | {runtime} | {size:,} | {outcome} |", flush=True)


def print_boards(names):
    """Print what the compact layout takes on each board: bytes of flash and of stack, and steps of a row."""
    print(f"\n| board | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    models = [packed_forest(name) for name in names]
    for board in BOARDS:
        cells = []
        for packed, X in models:
            try:
                found = bh.measure(packed, X[:: len(X) // N_ROWS][:N_ROWS], target=board, max_rows=N_ROWS)
            except (bh.MissingToolError, bh.DoesNotFitError) as error:
                cells.append(str(error)[:60])
                continue
            steps = found.cycles or found.instructions
            parts = [f"{found.flash:,}", f"{found.stack:,}", *([] if steps is None else [f"{steps:,}"])]
            cells.append(", ".join(parts) if found.agreement == 1.0 else "other scores than in Python")
            cells[-1] += "" if found.fits in (True, None) else " (does not fit)"
        print(f"| {board} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--others", action="store_true", help="build and test the other runtimes on this machine too")
    parser.add_argument("--boards", action="store_true", help="the compact layout on a board of each kind too")
    parser.add_argument("--times", action="store_true", help="only how long a row takes on this machine, by language")
    parser.add_argument("--data", action="store_true", help="eeg and satimage too, from the folder BILLHOOK_DATA")
    parser.add_argument("--tools", action="store_true", help="other tools beside it, as far as they are installed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = [*FORESTS, *(STORED if given.data else ())]
        if given.times:
            print_times(folder, {name: packed_forest(name) for name in names})
            return
        print_code(Path(folder) / "c")
        print_rows(Path(folder) / "c", names, TOOLS if given.tools else {})
        if given.others:
            print_others(folder, names)
        if given.boards:
            print_boards(names)


if __name__ == "__main__":
    main()
