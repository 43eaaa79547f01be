"""What writing equal subtrees once could save: the share of splits that stand in one that occurs more than once.

    BILLHOOK_DATA=folder python benchmarks/equal_subtrees.py

Forests packed with 8-bit thresholds and leaves of 8 and of 2 bits. A subtree has one split at least; two are equal
if they have the same tests and leaves. Of each set of equal ones all but the first could be left out; instead, a
reference has to stand in its parent, and every other split needs a bit that says that it has none. Saved: the bits of
the splits and leaves left out, minus these, as a share of all bits.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh


def stored(name):
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
    y = table.pop("label").to_numpy()
    return table.to_numpy(np.float32), y


def splits_left_out(forest):
    """Return how many subtrees, and how many splits in them, are equal to an earlier one, the largest first."""
    seen = set()
    n_subtrees = n_splits = 0
    for first, end in zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True):
        text, size, is_known = {}, {}, {}
        for node in range(end - 1, first - 1, -1):  # children come after their parents
            if forest.feature[node] < 0:
                text[node], size[node] = (tuple(forest.value[node]),), 0
                continue
            sides = [first + int(side[node]) for side in (forest.left, forest.right)]
            test = (int(forest.feature[node]), float(forest.threshold[node]))
            text[node] = hash((test, text[sides[0]], text[sides[1]]))
            size[node] = 1 + size[sides[0]] + size[sides[1]]
            is_known[node] = text[node] in seen
            seen.add(text[node])
        inside = set()
        for node in range(first, end):
            if node in inside or is_known.get(node):
                if node not in inside:
                    n_subtrees += 1
                    n_splits += size[node]
                inside |= {first + int(side[node]) for side in (forest.left, forest.right) if side[node] >= 0}
    return n_subtrees, n_splits


def main():
    print("| forest | leaf bits | splits | in equal subtrees | saved |\n|---|---:|---:|---:|---:|")
    for name, (X, y), trees, leaves in (
        ("eeg", stored("eeg"), 16, 128),
        ("digits", load_digits(return_X_y=True), 32, 256),
        ("satimage", stored("satimage"), 16, 128),
        ("magic", stored("magic"), 32, 256),
    ):
        rf = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(X, y)
        for leaf_bits in (8, 2):
            packed = bh.pack(rf, leaf_bits=leaf_bits, missing_values=False)
            layout = packed.layout
            n_subtrees, n_splits = splits_left_out(packed.coded)
            of_split = 2 + layout.test_bits + layout.n_values * leaf_bits
            if layout.n_entries:
                of_split = 2 + layout.test_bits + (layout.n_entries - 1).bit_length()
            reference = max(layout.n_inner - 1, 1).bit_length()
            saved = n_splits * of_split - n_subtrees * reference - layout.n_inner
            share = saved / (8 * packed.nbytes)
            print(f"| {name} {trees} x {leaves} | {leaf_bits} | {layout.n_inner:,} | {n_splits:,} | {share:.1%} |")


if __name__ == "__main__":
    main()
