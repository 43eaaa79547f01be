"""The bytes of models of 2 KB by part, with numbers of whole bits and as they are packed, and what the reader takes.

    BILLHOOK_DATA=folder python benchmarks/bytes_by_part.py --models folder

A model of each of the 14 data sets (of mnist the first 6,000 rows) by a search of 12 trials, at 2,048 bytes; it is
kept in the folder of models, and taken from there if it is there already. On the left is what a model takes if every
number has whole bits, or bytes, for itself: numbers of all features in use, steps of every feature, sizes of trees
from 0, signed bases, tests or a table of them. The scores are the same. Reader and cycles are those of an Arduino
Mega, which has the flash for all of them: the code that a model adds to a program, and the mean of some rows. On the
left are those of the file as it is, which for a file of before these ways is in whole bits.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import billhook as bh
from billhook.packing._bits import bits_for
from billhook.packing._decode import decode_factors
from billhook.packing._encode import encode
from billhook.tables import features_of

NAMES = (
    "adult anura avila bank chess connect eeg elec japanese-vowels magic mnist mozilla nomao satimage".split()  # noqa: SIM905
)
MNIST_ROWS = 6_000
PARTS = {
    "features": ("features", "grids"),
    "grids": ("grids", "trees"),
    "sizes": ("trees", "shapes"),
    "shapes": ("shapes", "tests"),
    "tests": ("tests", "leaves"),
    "leaves": ("leaves", "factors"),
    "base": ("factors", "end"),
}


def table_of(name):
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
    return table.iloc[:MNIST_ROWS] if name == "mnist" else table


def model_of(name, folder):
    path = folder / f"{name}.bhk"
    if not path.exists():
        found = bh.fit_table(table_of(name), "label", budget=2048, n_trials=12, random_state=0, n_jobs=1)
        found.packed.save(path)
    packed = bh.load(path)
    layout = packed.layout
    layout, data = encode(
        packed.coded,
        packed.used,
        packed.quantizers,
        packed.n_features,
        layout.leaf_bits,
        decode_factors(layout, packed.data),
        missing_values=layout.missing != "none",
    )
    again = replace(packed, layout=layout, data=data)
    again.check()
    return packed, again


def in_whole_bits(packed):
    """Return the bytes of each part with numbers of whole bits."""
    layout = packed.layout
    steps = (
        [(step.fine_shift, step.offset, step.scale) for step in packed.quantizers] if layout.grid == "steps" else []
    )
    shifts, offsets, scales = (set(numbers) for numbers in zip(*steps, strict=True)) if steps else (set(),) * 3
    of_offset = max(((n if n >= 0 else ~n).bit_length() // 8 + 1 for n in offsets), default=0)
    step_bytes = (len(shifts) > 1) + of_offset * (len(offsets) > 1) + 2 * any(scales)
    sizes = np.diff(packed.coded.offset) // 2
    is_split = packed.coded.feature >= 0
    tests = np.stack([packed.coded.feature, packed.coded.threshold, packed.coded.missing_left], axis=1)[is_split]
    n_different = len(np.unique(tests, axis=0))
    as_table = [layout.n_inner * bits_for(n_different), n_different * layout.test_bits]
    tests_bytes = min(-(-layout.n_inner * layout.test_bits // 8), sum(-(-bits // 8) for bits in as_table))
    base = packed.coded.base - layout.bias * packed.coded.n_trees  # about: without factors
    base_bytes = 0 if layout.base_bytes == 0 else 4 if layout.factor_bits else 1 + (np.abs(base).max() > 127)
    at = layout.sections
    return {
        "features": -(-layout.n_used * layout.id_bits // 8),
        "grids": at["trees"] - at["grids"] if layout.grid == "ranks" else layout.n_used * step_bytes,
        "sizes": -(-layout.n_trees * (bits_for(int(sizes.max()) + 1) + layout.column_bits) // 8),
        "shapes": at["tests"] - at["shapes"],
        "tests": tests_bytes,
        "leaves": at["factors"] - at["leaves"],
        "base": at["base"] - at["factors"] + max(base_bytes * layout.n_columns, 3),
    }


def cost(packed, name):
    table = table_of(name).sample(8 if name == "mnist" else 60, random_state=0).drop(columns="label")
    X = features_of(table, packed) if packed.encoding is not None else np.ascontiguousarray(table, np.float32)
    found = bh.measure(packed, X, target="arduino-mega", max_rows=20)
    assert found.agreement == 1.0
    return found.flash - packed.nbytes, found.cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder that models are kept in")
    folder = parser.parse_args().models
    folder.mkdir(exist_ok=True)
    print(f"| | {' | '.join(PARTS)} | all | saved | reader | cycles |\n|---|{'---:|' * (len(PARTS) + 4)}")
    saved, more, times = [], [], []
    for name in NAMES:
        kept, packed = model_of(name, folder)
        assert packed.coded == kept.coded
        whole, at = in_whole_bits(packed), packed.layout.sections
        packed_parts = {part: at[end] - at[begin] for part, (begin, end) in PARTS.items()}
        (reader, cycles), (reader_kept, cycles_kept) = cost(packed, name), cost(kept, name)
        saved.append(100 - 100 * packed.nbytes / sum(whole.values()))
        more.append(reader - reader_kept)
        times.append(cycles / cycles_kept)
        cells = [f"{whole[part]:,} → {packed_parts[part]:,}" for part in PARTS]
        cells += [f"{sum(whole.values()):,} → {packed.nbytes:,}", f"{saved[-1]:.1f} %"]
        cells += [f"{reader_kept:,} → {reader:,}", f"{cycles_kept:,} → {cycles:,}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    readers = f"{np.median(more):+.0f} bytes of reader (from {min(more):+} to {max(more):+})"
    cycles = f"{np.median(times):.2f} times the cycles (at most {max(times):.2f})"
    print(f"\nMedian: {np.median(saved):.1f} % saved, {readers}, {cycles}.")


if __name__ == "__main__":
    main()
