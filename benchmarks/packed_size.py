"""The bytes of packed forests, what rounding costs, and what they take on targets in each layout.

    BILLHOOK_DATA=folder python benchmarks/packed_size.py

Random forests on eeg, refined: of 16 trees of at most 128 leaves, and for an Arduino Uno of 32 trees of 256; a fifth
of the rows is kept apart to compare on. Thresholds are fitted to the training rows; leaves of less than 8 bits are
rounded with them too. Flash is what the model adds to a program, data and code, as the compilers count it; cycles
(AVR) and instructions (Cortex-M) are those of the emulators, which repeat exactly. Rows are floats, but where it says
int16: then they are rounded to whole numbers, and only the cost is of interest.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

WAYS = [("exact", 16), ("exact", 8), (12, 11), (12, 8), (9, 8), (8, 8), (9, 4), (9, 3), (9, 2)]
TARGETS = ("arduino-uno", "cortex-m0", "cortex-m4")


def cost(packed, X, target, **how):
    """Return flash and cycles or instructions, as cells of a table."""
    found = bh.measure(packed, X, target=target, max_rows=20, **how)
    assert found.agreement == 1.0
    assert found.ram == 0
    fits = " (too much)" if found.fits is False else ""
    return f" {found.flash:,}{fits} | {found.cycles or found.instructions:,} |"


def main():
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / "eeg.parquet")
    y = table.pop("label").to_numpy()
    X = np.ascontiguousarray(table, np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[len(y) // 5 :], order[: len(y) // 5]

    def refined(n_trees, max_leaves):
        rf = RandomForestClassifier(n_trees, max_leaf_nodes=max_leaves, random_state=0).fit(X[train], y[train])
        forest = bh.refine(rf, X[train], y[train], random_state=0)
        accuracy = 100 * np.mean(forest.predict(X[test]) == y[test])
        print(f"\n{forest!r}, accuracy {accuracy:.2f}\n")
        return forest

    def line(forest, threshold_bits, leaf_bits, targets):
        labels = {"y": y[train]} if leaf_bits < 8 else {}
        bits = {"threshold_bits": threshold_bits, "leaf_bits": leaf_bits}
        packed = bh.pack(forest, **bits, X=X[train], **labels, missing_values=False)
        report = bh.pack_report(forest, packed, X[test], y[test])
        cells = f"| {threshold_bits} | {leaf_bits} | {packed.nbytes:,} | {1 - report.changed:.4f} "
        cells += f"| {100 * report.accuracy_after:.2f} |"
        print(cells + "".join(cost(packed, X[test], target) for target in targets), flush=True)
        return packed

    forest = refined(16, 128)
    heads = ["thresholds", "leaves", "data", "same", "accuracy", "Uno flash", "cycles", "M0 flash", "instr."]
    print("| " + " | ".join([*heads, "M4 flash", "instr."]) + " |\n|---|---|" + "---:|" * 9)
    packed = {way: line(forest, *way, TARGETS) for way in WAYS}[9, 8]

    print("\n| layout | features | Uno flash | cycles | M0 flash | instr. | M4 flash | instr. |")
    print("|---|---|" + "---:|" * 6)
    whole = np.rint(X[test][np.abs(X[test]).max(axis=1) < 2**15])
    for layout in ("compact", "balanced", "fast"):
        for inputs in ("float", "int16"):
            cells = "".join(cost(packed, whole, target, layout=layout, inputs=inputs) for target in TARGETS)
            print(f"| {layout} | {inputs} |{cells}", flush=True)

    forest = refined(32, 256)
    print("| " + " | ".join(heads[:7]) + " |\n|---|---|" + "---:|" * 5)
    for way in ((9, 8), (9, 4)):
        line(forest, *way, TARGETS[:1])


if __name__ == "__main__":
    main()
