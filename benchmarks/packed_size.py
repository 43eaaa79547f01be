"""The bytes of a packed forest, what rounding costs, and what it takes on devices.

    BILLHOOK_DATA=folder python benchmarks/packed_size.py

A random forest of 16 trees of at most 128 leaves on eeg (102 KB as the paper counts), refined; a fifth of the rows is
kept apart to compare on. Flash is what the model adds to a program, data and code, as the compilers count it; cycles
(AVR) and instructions (Cortex-M) are those of the emulators, which repeat exactly.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

WAYS = [("exact", 16), ("exact", 8), (13, 9), (12, 8), (9, 8), (8, 8), (9, 4), (9, 3), (9, 2)]
TARGETS = ("arduino-uno", "cortex-m0", "cortex-m4")


def main():
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / "eeg.parquet")
    y = table.pop("label").to_numpy()
    X = np.ascontiguousarray(table, np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[len(y) // 5 :], order[: len(y) // 5]
    rf = RandomForestClassifier(16, max_leaf_nodes=128, random_state=0).fit(X[train], y[train])
    forest = bh.refine(rf, X[train], y[train], random_state=0)
    answers = forest.predict(X[test])
    accuracy = 100 * np.mean(answers == y[test])
    print(f"{forest!r}, accuracy {accuracy:.2f}")
    print(f"{'thresholds':>10}{'leaves':>8}{'rounded':>9}{'data':>9}{'same':>9}{'accuracy':>10}", end="")
    print("".join(f"{target:>14}{'':>9}" for target in TARGETS))
    for threshold_bits, leaf_bits in WAYS:
        for labels in ({}, {"y": y[train]}) if leaf_bits < 8 else ({},):
            bits = {"threshold_bits": threshold_bits, "leaf_bits": leaf_bits}
            packed = bh.pack(forest, **bits, X=X[train], **labels, missing_values=False)
            said = packed.predict(X[test])
            how = "descent" if labels else "alone"
            cells = f"{threshold_bits:>10}{leaf_bits:>8}{how:>10}{packed.nbytes:>8,}{np.mean(said == answers):>9.4f}"
            cells += f"{100 * np.mean(said == y[test]):>10.2f}"
            for target in TARGETS:
                found = bh.measure(packed, X[test], target=target, max_rows=20)
                assert found.agreement == 1.0
                cells += f"{found.flash:>14,}{found.cycles or found.instructions:>9,}"
            print(cells, flush=True)


if __name__ == "__main__":
    main()
