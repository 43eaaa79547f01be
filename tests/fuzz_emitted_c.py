"""Whether emitted C computes the scores of Python on many rows, for each layout and family of processors.

    python tests/fuzz_emitted_c.py [--rows 1000000] [--models 40] [--seed N] [--layout compact] [--family avr]

So many models of every kind are made up, and each is written in each layout, compiled for each family, and run on its
share of the rows in an emulator: no rows have to be sent there, as the program makes them up as this script does, of
values on thresholds, beside them and at the ends of what floats are. For each block of rows it prints a checksum of
all scores, in which a single wrong bit is never lost. A program that says something else than Python is kept in
build/fuzz-c, and the exit status is 1.

On the host, each model is compiled with the address and undefined sanitizers and one of -O0, -O2, -Os and -O3.
"""

import argparse
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import billhook as bh
from billhook.codegen import Form, firmware_source, header, source
from billhook.codegen._form import c_type, suffix
from billhook.codegen._measure import FIRMWARE
from billhook.codegen._resources import filled_firmware
from billhook.codegen._toolchains import COMPILER_OPTIONS, LARGEST_AVR, TOO_LARGE, TOOLCHAINS, avr_tools
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import CATEGORIES, TRICKY, random_forest, symmetric_forest, with_sets
from projected import projected_model
from short_models import SHORT, short_model

ROOT = Path(__file__).parents[1]
LAYOUTS = ("compact", "balanced", "fast")
LEVELS = ("-O0", "-O2", "-Os", "-O3")
SANITIZED = ("-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WASM = ("clang", "--target=wasm32", "-Os", "-ffreestanding", "-fno-builtin", "-nostdlib", "-Iesp8266")
WASM += ("-Wl,--no-entry", "-Wl,--export=main", "-Wl,--strip-all")
RUN_WASM = """
let said = "";
const host = { put: (c) => { said += String.fromCharCode(c); } };
const bytes = require("fs").readFileSync(process.argv[2]);
WebAssembly.instantiate(bytes, { host }).then(({ instance }) => {
  (instance.exports.main ?? instance.exports.__original_main)(0, 0);
  process.stdout.write(said);
});
"""
FAMILIES = ("gcc", "clang", "avr", "cortex-m0", "cortex-m3", "cortex-m4", "armv6", "rv32imc", "wasm")
BLOCK = 256
# The program has so many values of each feature, or fewer of many features.
POOL, SMALL_POOL, MANY_FEATURES = 64, 8, 20
PRIME = 16777619
SECONDS = 1200


def made_up(rng):
    """Return a forest that no training would make."""
    n_classes = int(rng.integers(1, 6))
    kind = rng.choice(["tricky", "normal", "wide", "chain", "sets", "symmetric", "symmetric sets", "many classes"])
    if kind.startswith("symmetric"):
        forest = symmetric_forest(rng, rng.integers(1, 6, rng.integers(1, 8)).tolist(), 4, n_classes)
        return kind, with_sets(rng, forest, 1.0) if kind.endswith("sets") else forest
    thresholds = {"normal": rng.normal(size=80), "wide": np.exp(rng.normal(0, 9, 80)) * rng.choice([-1, 1], 80)}
    if kind == "many classes":
        n_classes = int(rng.integers(6, 27))
    sizes = rng.choice([0, 1, 2, 3, 7, 30, 31, 32, 62, 63, 64, 65, 120], rng.integers(1, 9)).tolist()
    forest = random_forest(
        rng,
        sizes,
        int(rng.choice([1, 2, 3, 4, 6, 12])),
        n_classes,
        per_class=n_classes > 1 and bool(rng.random() < 0.4),
        weights=str(rng.choice(["equal", "sum", "any"])),
        thresholds=thresholds.get(kind, TRICKY),
        chain=kind == "chain",
    )
    return kind, with_sets(rng, forest, rng.choice([0.1, 0.5, 1.0])) if kind == "sets" else forest


def learned(rng):
    """Return what a library has learned from rows of its own."""
    is_number = bool(rng.random() < 0.35)
    data = load_diabetes if is_number else (load_iris, load_breast_cancer)[rng.integers(2)]
    X, y = data(return_X_y=True)
    some = rng.choice(len(X), 140, replace=False)
    X, y = X[some], y[some]
    kinds = dict(REGRESSORS if is_number else CLASSIFIERS)
    kinds |= boosters(is_number)
    name = str(rng.choice(sorted(kinds)))
    model = clone(kinds[name]) if "sklearn" in type(kinds[name]).__module__ else kinds[name]
    return name, bh.as_forest(model.fit(X, y))


def boosters(is_number):
    """Return models of other libraries that are there."""
    kinds = {}
    try:
        import xgboost

        kinds["XGBoost"] = (xgboost.XGBRegressor if is_number else xgboost.XGBClassifier)(n_estimators=6, max_depth=4)
    except ImportError:
        pass
    try:
        import lightgbm

        kind = lightgbm.LGBMRegressor if is_number else lightgbm.LGBMClassifier
        kinds["LightGBM"] = kind(n_estimators=6, num_leaves=9, min_child_samples=4, verbosity=-1)
    except ImportError:
        pass
    try:
        import catboost

        kind = catboost.CatBoostRegressor if is_number else catboost.CatBoostClassifier
        kinds["CatBoost"] = kind(iterations=6, depth=4, verbose=False, allow_writing_files=False, thread_count=1)
    except ImportError:
        pass
    return kinds


def with_projections(rng):
    """Return a packed model whose splits test projections."""
    is_symmetric = bool(rng.random() < 0.2)
    options = {
        "sizes": rng.choice([1, 3, 9, 15, 31, 70], rng.integers(1, 30)).tolist(),
        "n_features": int(rng.choice([1, 2, 4, 9, 40])),
        "n_projections": int(rng.choice([1, 2, 5, 12, 40])),
        "code_bits": int(rng.integers(2, 17)),
        "n_classes": int(rng.integers(1, 6)),
        "leaf_bits": int(rng.integers(2, 17)),
        "n_thresholds": rng.choice([None, 2, 12, 40]),
        "weight": int(rng.choice([1, 7, 127])),
        "share": float(rng.choice([0.1, 0.7, 1.0])),
        "pack_options": {"scales": str(rng.choice(["one", "class"]))},
    }
    if is_symmetric:
        options["depths"] = rng.integers(1, 6, rng.integers(1, 8)).tolist()
    return "projections", projected_model(rng, **options)[0]


def random_model(rng):
    """Return the kind of a model, and the model, packed in some way."""
    while True:
        draw = rng.random()
        if draw < 0.12:
            name = str(rng.choice(sorted(SHORT)))
            return name, short_model(name, int(rng.choice([1, 3])))[0]
        if draw > 0.88:
            return with_projections(rng)
        kind, forest = learned(rng) if draw < 0.45 else made_up(rng)
        bits = rng.choice(["exact", "exact", "16", "12", "9", "8", "5", "3"])
        options = {
            "threshold_bits": bits if bits == "exact" else int(bits),
            "leaf_bits": int(rng.integers(2, 17)),
            "missing_values": bool(rng.random() < 0.6),
            "scales": str(rng.choice(["one", "class"])),
        }
        if forest.n_classes > 2 and forest.value.shape[1] > 1 and rng.random() < 0.4:
            options["codebook"] = int(rng.choice([2, 9, 64]))
        try:
            return kind, bh.pack(forest, **options)
        except ValueError as error:
            if "too large for leaves in units of" not in str(error):
                raise


def pool_of(packed, rng, kind):
    """Return values of each feature to make rows of: (features, so many)."""
    size = POOL if packed.n_features <= MANY_FEATURES else SMALL_POOL
    typical = packed.typical_values()
    if kind == "float":
        pool = rng.choice(TRICKY, (packed.n_features, size))
    else:
        low, high = (0, 256) if kind == "uint8" else (-32768, 32768)
        pool = rng.choice([low, high - 1, 0, 1, *rng.integers(low, high, 6)], (packed.n_features, size))
        pool = pool.astype(np.float32)
    for feature, values in typical.items():
        with np.errstate(over="ignore"):
            beside = np.concatenate([values, np.nextafter(values, np.float32(-np.inf)), rng.choice(CATEGORIES, 4)])
        drawn = rng.choice(beside.astype(np.float32), size)
        pool[feature] = np.where(rng.random(size) < 0.8, drawn, pool[feature])
    if kind == "float":
        pool[rng.random(pool.shape) < 0.08] = np.nan
        return pool
    return np.clip(np.rint(np.nan_to_num(pool, nan=7.0)), low, high - 1).astype(np.float32)


def rows_of(pool, first, n_rows):
    """Return rows as the C program makes them up."""
    n_features = len(pool)
    x = np.arange(n_rows * n_features, dtype=np.uint32) + np.uint32(first)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    place = (x & np.uint32(pool.shape[1] - 1)).reshape(n_rows, n_features)
    return pool[np.arange(n_features), place]


def checksums(scores):
    """Return a number for each block of rows; a single score that differs makes another one, as the prime is odd."""
    n_values = BLOCK * scores.shape[1]
    factor = np.full(n_values, PRIME, np.uint32)
    factor[-1] = 1
    factor = np.cumprod(factor[::-1], dtype=np.uint32)[::-1]
    words = (scores & 0xFFFFFFFF).astype(np.uint32).reshape(-1, n_values)
    return (words * factor).sum(axis=1, dtype=np.uint32)


def write_program(packed, form, kind, pool, first, n_rows, folder):
    """Write all sources of a program."""
    bits = pool.view(np.uint32) if kind == "float" else pool.astype(np.int64)
    cells = ", \\\n".join("{" + ",".join(map(str, row)) + "}" for row in bits.tolist())
    about = {"N_POOL": pool.shape[1], "N_FUZZED": f"UINT32_C({n_rows})", "N_BLOCK": BLOCK}
    about |= {"FIRST_NUMBER": f"UINT32_C({first})", "POOL": "{ \\\n" + cells + " }"}
    (folder / "pool.h").write_text("".join(f"#define {name} {value}\n" for name, value in about.items()))
    zeros = "{" + ",".join(["0"] * packed.n_features) + "}"
    rows = filled_firmware(
        "rows.h",
        function=f"model_scores{suffix(kind)}",
        feature_type=c_type(kind),
        row_type="uint32_t" if kind == "float" else c_type(kind),
        n_rows=1,
        rows=zeros,
    )
    (folder / "rows.h").write_text(rows)
    (folder / "model.h").write_text(header(packed, form=form))
    (folder / "model.c").write_text(source(packed, form=form))
    for name in FIRMWARE:
        path = folder / ("firmware.c" if name == "main.c" else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(firmware_source(name))
    shutil.copy(Path(__file__).with_suffix(".c"), folder / "main.c")
    (folder / "run.js").write_text(RUN_WASM)


def commands(family, level):
    """Return how a program is compiled, and run."""
    if family == "wasm":
        return [*WASM, "-std=c99", "main.c", "model.c", "-o", "program"], ["node", "run.js", "program"]
    if family in ("gcc", "clang"):
        options = ["-std=c99", level, *SANITIZED, "-DREPEAT=1", "main.c", "model.c", "-o", "program", "-lm"]
        return [family, *options], ["./program"]
    tools = avr_tools(LARGEST_AVR, 16) if family == "avr" else TOOLCHAINS[family]
    compiling = [tools.compiler, *COMPILER_OPTIONS, *tools.options, "-DREPEAT=1", "-DPRESCALER=8"]
    kernel = ["-kernel"] if "system" in tools.emulator[0] else []
    return [*compiling, "main.c", "model.c", "-o", "program", "-lm"], [*tools.emulator, *kernel, "program"]


def said(folder, family, level):
    """Return the checksums that the program prints; None if it is too large for the processor."""
    compiling, running = commands(family, level)
    done = subprocess.run(compiling, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        if any(words in done.stderr for words in TOO_LARGE):
            return None
        raise RuntimeError(f"{compiling[0]} cannot compile the model: {done.stderr[:2000]}")
    done = subprocess.run(
        running, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    found = [int(number, 16) for number in re.findall(r"S([0-9a-f]{8})\b", printed)]
    return np.array(found, np.uint32), printed


def main():
    """Run all, and print how many rows agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each layout and family")
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    parser.add_argument("--layout", nargs="+", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES)
    arguments = parser.parse_args()
    print(f"--rows {arguments.rows} --models {arguments.models} --seed {arguments.seed}", flush=True)
    n_rows = -(-arguments.rows // (arguments.models * BLOCK)) * BLOCK
    agreed, seconds, kinds, wrong = Counter(), Counter(), Counter(), 0
    for number in range(arguments.models):
        rng = np.random.default_rng([arguments.seed, number])
        name, packed = random_model(rng)
        kinds[name] += 1
        kind = str(rng.choice(["float", "float", "float", "int16", "uint8"]))
        pool, first = pool_of(packed, rng, kind), int(rng.integers(2**32))
        expected = checksums(packed.scores(rows_of(pool, first, n_rows)))
        print(f"{number + 1} of {arguments.models}: {name}, {kind}", file=sys.stderr, flush=True)
        for layout in arguments.layout:
            for family in arguments.family:
                form = Form(layout, (kind,), is_small=family == "avr")
                begin = os.times()
                with tempfile.TemporaryDirectory() as place:
                    folder = Path(place)
                    write_program(packed, form, kind, pool, first, n_rows, folder)
                    found = said(folder, family, LEVELS[number % len(LEVELS)])
                    if found is not None and np.array_equal(found[0], expected):
                        agreed[layout, family] += n_rows
                    elif found is not None:
                        wrong += 1
                        kept = ROOT / "build" / "fuzz-c" / f"{arguments.seed}-{number}-{layout}-{family}"
                        shutil.copytree(folder, kept, dirs_exist_ok=True)
                        (kept / "expected.txt").write_text("\n".join(f"S{one:08x}" for one in expected))
                        (kept / "printed.txt").write_text(found[1])
                        print(f"{name}, {kind}: another answer in {layout} for {family}, kept in {kept}", flush=True)
                end = os.times()
                seconds[layout, family] += sum(end[:4]) - sum(begin[:4])
    print(", ".join(f"{count} {name}" for name, count in sorted(kinds.items())))
    print(f"{'rows that agree':16s}" + "".join(f"{layout:>12s}" for layout in arguments.layout) + "   CPU seconds")
    for family in arguments.family:
        counts = "".join(f"{agreed[layout, family]:12,d}" for layout in arguments.layout)
        print(f"{family:16s}{counts}   {sum(seconds[layout, family] for layout in arguments.layout):.0f}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
