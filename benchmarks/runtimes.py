"""Models as blobs: what the readers take, and whether they answer as Python does.

    python benchmarks/runtimes.py            # code of the C reader, and rows on devices beside C made for the model
    python benchmarks/runtimes.py --others   # and projects in all languages, built and tested on this machine

Random forests of 16 trees on scikit-learn's sets; thresholds of 8 bits, leaves of 4. Flash is what the compilers
count; cycles (AVR) and instructions (Cortex-M0) are those of the emulators, which repeat exactly. Classes of all rows
are compared with Python's. Projects for this machine test their scores themselves.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from firmware import Firmware, Model
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

FORESTS = {"cancer 16 x 16": (load_breast_cancer, 16), "digits 16 x 64": (load_digits, 64)}
TARGETS = ("arduino-uno", "cortex-m0")
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


def packed_forest(name):
    load, n_leaves = FORESTS[name]
    X, y = load(return_X_y=True)
    forest = RandomForestClassifier(16, max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    return bh.pack(forest, leaf_bits=4, X=X, missing_values=False), X.astype(np.float32)


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


def made_for(packed):
    """Return C that is made for this model, in the compact layout."""
    with tempfile.TemporaryDirectory() as folder:
        bh.emit(packed, folder, layout="compact", inputs="float", force=True)
        files = {name: (Path(folder) / name).read_text() for name in ("model.h", "model.c")}
    source = '#include "row.h"\n#include "model.c"\nint answer(const row_t *x) { return model_predict(x); }\n'
    return Model(source, files=files)


def print_code(folder):
    """Print the bytes of the reader's code, which are the same for every model."""
    packed, X = packed_forest("cancer 16 x 16")
    n_blob = len(packed.to_bytes(names=False))
    program = Firmware(reader(packed, folder), np.ascontiguousarray(X[:1]))
    program.expected = None  # only the size counts
    sizes = [f"{program.on(target).flash - n_blob:,}" for target in TARGETS]
    print(f"code of the reader: {sizes[0]} bytes on AVR, {sizes[1]} on Cortex-M0")


def print_rows(folder):
    print("\n| forest | data | blob | | AVR flash | cycles | M0 flash | instructions |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for name in FORESTS:
        packed, X = packed_forest(name)
        n_blob = len(packed.to_bytes(names=False))
        models = {"compact layout": made_for(packed), "reader": reader(packed, folder)}
        for kind, model in models.items():
            found = on_devices(model, packed, X)
            cells = [
                f"{found[target].flash:,} | {found[target].count or found[target].problem}" for target in TARGETS
            ]
            print(f"| {name} | {packed.nbytes:,} | {n_blob:,} | {kind} | {' | '.join(cells)} |", flush=True)


def print_others(folder):
    packed, X = packed_forest("digits 16 x 64")
    print("\n| runtime | bytes of the reader | its own test |\n|---|---:|---|")
    for runtime, command in OTHERS.items():
        out = Path(folder) / f"{runtime}-project"
        bh.emit(packed, out, runtime=runtime, X=X)
        if runtime == "web":
            (out / "rows.json").write_text(json.dumps([X[:99].tolist(), packed.scores(X[:99]).tolist()]))
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
        reader_files = {"c": ["billhook.c"], "rust": sorted(out.glob("src/*.rs")), "micropython": ["billhook.py"]}
        files = reader_files.get(runtime, ["billhook.mjs"])
        size = sum((out / file).stat().st_size for file in files)
        print(f"| {runtime} | {size:,} | {'passed' if done.returncode == 0 else done.stderr[-200:]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--others", action="store_true", help="build and test the other runtimes on this machine too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_code(Path(folder) / "c")
        print_rows(Path(folder) / "c")
        if given.others:
            print_others(folder)


if __name__ == "__main__":
    main()
