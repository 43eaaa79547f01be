"""How long a row takes on this machine, in every language that reads blobs, beside C made for the model.

Each program finds the scores of the same rows, all of them again and again, writes them to a file, and tells the
processor's time of a pass in the mean. Programs take turns, so that all see what else the machine does, and the
fastest turn of each counts.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import billhook as bh

# A row twice in a row, or few of them, and the processor would know the way down the trees by heart.
N_ROWS, N_SLOW_ROWS = 5_000, 200
ROUNDS = 5
SECONDS = 0.4
TESTS = Path(__file__).parents[1] / "tests"

C = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
{include}
static double seconds(void)
{{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}}
int main(void)
{{
    static float x[N_ROWS][N_FEATURES];
    static int32_t scores[N_ROWS][N_SCORES];
    double from;
    int row, n_passes = 0;
    FILE *file = fopen("rows.bin", "rb");
    if (!file || fread(x, sizeof x, 1, file) != 1)
        return 1;
    {begin}
    from = seconds();
    for (; seconds() - from < {seconds}; n_passes++)
        for (row = 0; row < N_ROWS; row++) {{
            {call}
        }}
    from = seconds() - from;
    file = fopen("scores.bin", "wb");
    fwrite(scores, sizeof scores, 1, file);
    fclose(file);
    printf("%.9g", from / n_passes / N_ROWS);
    return 0;
}}
"""
MADE = {"include": '#include "model.h"', "begin": "", "call": "model_scores(x[row], scores[row]);"}
READER = {
    "include": '#include <string.h>\n#include "billhook.h"\n#include "model_blob.h"',
    "begin": "static bh_model model; static int32_t scratch[MODEL_SCRATCH];"
    "if (bh_open(&model, model_blob, sizeof model_blob, scratch, MODEL_SCRATCH)) return 1;",
    "call": "memcpy(scores[row], bh_scores(&model, x[row]), sizeof scores[row]);",
}
RUST = """
use std::fs::{{read, write}};
extern "C" {{ fn clock() -> std::os::raw::c_long; }}
// The processor's time, which the standard library does not tell.
fn seconds() -> f64 {{ (unsafe {{ clock() }}) as f64 * 1e-6 }}
fn main() {{
    let (blob, data) = (read("model.bhm").unwrap(), read("rows.bin").unwrap());
    let x: Vec<f32> = data.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let model = billhook::Model::open(&blob).unwrap();
    let (mut scratch, n) = (vec![0; model.scratch_len()], model.n_scores() as usize);
    let mut scores = vec![0i32; {n_rows} * n];
    let (from, mut n_passes) = (seconds(), 0);
    while seconds() - from < {seconds}f64 {{
        for (row, scores) in x.chunks({n_features}).zip(scores.chunks_mut(n)) {{
            model.scores(row, &mut scratch, scores).unwrap();
        }}
        n_passes += 1;
    }}
    let each = (seconds() - from) / n_passes as f64 / {n_rows} as f64;
    write("scores.bin", scores.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    println!("{{}}", each);
}}
"""
NODE = """
import {{ readFileSync, writeFileSync }} from "node:fs";
const bytes = readFileSync("rows.bin");
const x = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const seconds = () => {{ const {{ user, system }} = process.cpuUsage(); return (user + system) / 1e6; }};
{begin}
const n = rows.length, scores = new Int32Array(n * {n_scores}), from = seconds();
let passes = 0;
for (; seconds() - from < {seconds}; passes++)
  for (let k = 0; k < n; k++) scores.set({call}, k * {n_scores});
console.log((seconds() - from) / passes / n);
writeFileSync("scores.bin", scores);
"""
MODULE = {
    "begin": """
const { load } = await import(process.cwd() + "/billhook.mjs");
const model = await load(readFileSync("model.bhm"));
const rows = Array.from({ length: x.length / N }, (_, k) => x.subarray(k * N, (k + 1) * N));
""",
    "call": "model.scores(rows[k])",
}
# All rows are in the memory of the program, which then only has to be called.
WASM = {
    "begin": """
const [, text] = readFileSync("billhook.mjs", "utf8").match(/PROGRAM = "(.*?)"/);
const { exports: program } = (await WebAssembly.instantiate(Buffer.from(text, "base64"))).instance;
const whole = readFileSync("model.bhm"), blob = program.heap(), size = whole.readUInt32BE(4);
const scratch = blob + size + 7 & ~7, rows_at = scratch + 4 * 10000;
program.memory.grow(Math.ceil((rows_at + 4 * x.length) / 65536));
new Uint8Array(program.memory.buffer, blob, size).set(whole.subarray(0, size));
new Float32Array(program.memory.buffer, rows_at, x.length).set(x);
if (program.open(blob, size, scratch, 10000)) throw new Error("not opened");
const rows = Array.from({ length: x.length / N }, (_, k) => rows_at + 4 * N * k);
""",
    "call": "new Int32Array(program.memory.buffer, program.scores(rows[k]), N_SCORES)",
}
PYTHON = """
import billhook, struct, sys
model = billhook.load("model.bhm")
data = open("rows.bin", "rb").read()
rows = [struct.unpack_from("<{n_features}f", data, 4 * {n_features} * k) for k in range({n_rows})]
def a_pass():
    for row in rows:
        model.scores(row)
def write():
    with open("scores.bin", "wb") as file:
        for row in rows:
            for score in model.scores(row):
                file.write(struct.pack("<i", score))
"""
CPYTHON = """
import time
start, passes = time.process_time(), 0
while time.process_time() - start < {seconds}:
    a_pass()
    passes += 1
print((time.process_time() - start) / passes / {n_rows})
write()
"""
MICROPYTHON = """
import {{ readFileSync, writeFileSync }} from "node:fs";
const {{ loadMicroPython }} = await import("{micropython}");
const python = await loadMicroPython({{ heapsize: 64 * 1024 * 1024 }});
for (const file of ["billhook.py", "model.bhm", "rows.bin"]) python.FS.writeFile("/" + file, readFileSync(file));
python.runPython(readFileSync("rows.py", "utf8"));
const seconds = () => {{ const {{ user, system }} = process.cpuUsage(); return (user + system) / 1e6; }};
const from = seconds();
let passes = 0;
for (; seconds() - from < {seconds}; passes++) python.runPython("a_pass()");
console.log((seconds() - from) / passes / {n_rows});
python.runPython("write()");
writeFileSync("scores.bin", python.FS.readFile("/scores.bin"));
"""


class Program:
    """A program that scores rows: a folder, a command, and how many rows it is given."""

    def __init__(self, packed, X, folder, command, n_rows=N_ROWS):
        self.folder, self.command = folder, command
        rng = np.random.default_rng(0)
        self.rows = np.ascontiguousarray(X[rng.integers(len(X), size=n_rows)], "<f4")
        self.expected = packed.scores(self.rows)
        (folder / "rows.bin").write_bytes(self.rows.tobytes())
        self.best = np.inf

    def run(self):
        """Run it once more, and keep the least time for a row; its scores must be those of Python."""
        done = subprocess.run(self.command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.command[0]}: {done.stderr[-400:]}")
        said = np.fromfile(self.folder / "scores.bin", "<i4").reshape(self.expected.shape)
        np.testing.assert_array_equal(said, self.expected)
        self.best = min(self.best, float(done.stdout))


def _call(command, folder):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def programs_of(packed, X, folder):
    """Return programs by what they are; those whose tools are not installed are left out."""
    n_features, n_scores = packed.n_features, packed.layout.n_columns
    defines = [f"-DN_ROWS={N_ROWS}", f"-DN_FEATURES={n_features}", f"-DN_SCORES={n_scores}"]
    found = {}

    def emitted(title, **options):
        out = Path(folder) / re.sub(r"\W+", "_", title)
        out.parent.mkdir(exist_ok=True)
        bh.emit(packed, out, X=X, name="model", **options)
        return out

    def in_c(title, parts, source, **options):
        out = emitted(title, **options)
        (out / "times.c").write_text(C.format(seconds=SECONDS, **parts))
        _call(["gcc", "-std=c99", "-O2", *defines, "times.c", source, "-o", "times"], out)
        found[title] = Program(packed, X, out, ["./times"])

    def in_node(title, parts, out):
        parts = {name: re.sub(r"\bN\b", str(n_features), text) for name, text in parts.items()}
        parts = {name: text.replace("N_SCORES", str(n_scores)) for name, text in parts.items()}
        name = re.sub(r"\W+", "_", title)
        (out / f"{name}.mjs").write_text(NODE.format(n_scores=n_scores, seconds=SECONDS, **parts))
        found[title] = Program(packed, X, out, ["node", f"{name}.mjs"])

    for layout in ("compact", "balanced", "fast"):
        in_c(f"C made for the model, {layout} layout", MADE, "model.c", layout=layout, inputs="float")
    in_c("C reader", READER, "billhook.c", runtime="c")

    out = emitted("Rust", runtime="rust")
    about = {"n_rows": N_ROWS, "n_features": n_features, "seconds": SECONDS}
    (out / "examples" / "times.rs").write_text(RUST.format(**about))
    _call(["cargo", "build", "--release", "--offline", "--quiet", "--example", "times"], out)
    found["Rust"] = Program(packed, X, out, ["target/release/examples/times"])

    out = emitted("web", runtime="web")
    in_node("WebAssembly in Node", WASM, out)
    in_node("its module for the web, in Node", MODULE, out)

    out = emitted("MicroPython", runtime="micropython")
    about |= {"n_rows": N_SLOW_ROWS}
    (out / "rows.py").write_text(PYTHON.format(**about))
    (out / "times.py").write_text(PYTHON.format(**about) + CPYTHON.format(**about))
    micropython = _micropython()
    if micropython is not None:
        (out / "times.mjs").write_text(MICROPYTHON.format(micropython=micropython, **about))
        title = "module for MicroPython, in MicroPython"
        found[title] = Program(packed, X, out, ["node", "times.mjs"], N_SLOW_ROWS)
    title = "module for MicroPython, in CPython"
    # Without installed packages, one of which has the name of the module.
    found[title] = Program(packed, X, out, [sys.executable, "-S", "times.py"], N_SLOW_ROWS)
    return found


def _micropython():
    """Return the file of MicroPython that Node imports, as the tests have it, or None."""
    sys.path.insert(0, str(TESTS))
    from micropython import micropython

    try:
        return micropython()
    except BaseException as error:  # what pytest raises to skip is none of Exception
        if type(error).__name__ != "Skipped":
            raise
        print(f"MicroPython is left out: {error}")
        return None


def print_times(folder, models):
    """Print nanoseconds of a row in the compact layout, and how many times that it takes elsewhere, by model."""
    programs = {name: programs_of(packed, X, Path(folder) / name) for name, (packed, X) in models.items()}
    for _ in range(ROUNDS):
        for kinds in programs.values():
            for program in kinds.values():
                program.run()
    titles = list(next(iter(programs.values())))
    print(f"\n| a row | {' | '.join(programs)} |\n|---|{'---:|' * len(programs)}")
    best = {name: kinds[titles[0]].best for name, kinds in programs.items()}
    print(f"| {titles[0]} | {' | '.join(f'{1e9 * seconds:,.0f} ns' for seconds in best.values())} |")
    for title in titles[1:]:
        ratios = (kinds[title].best / best[name] for name, kinds in programs.items())
        print(f"| {title} | {' | '.join(f'{ratio:.3g}' for ratio in ratios)} |", flush=True)
