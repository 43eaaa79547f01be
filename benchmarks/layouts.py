"""What the three layouts take on targets: bytes of flash and cycles, for the same models with the same scores.

    BILLHOOK_DATA=folder python benchmarks/layouts.py [--rows 20]
    BILLHOOK_DATA=folder python benchmarks/layouts.py --release    # the same of release 0.1.0, which had two layouts

The forests are those of `emit_vs_others.py`: random forests of 16 trees of at most 128 leaves on eeg (refined),
digits, satimage and a made-up set of 26 classes; thresholds of 9 bits, leaves of 8 bits. Rows are floats; those of
digits and satimage, which are whole numbers, also int16. Flash is what the model adds to a program, data and code, as
the compilers count it; cycles (AVR) and instructions (Cortex-M) are those of the emulators, which repeat exactly;
stack is what was painted over. "1 / n" compares the cycles with those of the compact layout.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from emit_vs_others import FORESTS
from environments import RELEASE, environment_of, environment_variables
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import LAYOUTS
from billhook.codegen._balanced_data import balanced_data

NAMES = ("eeg 16 x 128", "digits 16 x 128", "satimage 16 x 128", "made up, 26 classes 16 x 128")
TARGETS = ("arduino-mega", "cortex-m0", "cortex-m4")

OF_RELEASE = """
import sys
import numpy as np
import billhook as bh
from sklearn.ensemble import RandomForestClassifier
name, file, n_trees, n_leaves, is_refined, n_rows, *targets = sys.argv[1:]
data = np.load(file)
X, y, rows = data["X"], data["y"], data["rows"]
forest = RandomForestClassifier(int(n_trees), max_leaf_nodes=int(n_leaves), random_state=0).fit(X, y)
if is_refined == "True":
    forest = bh.refine(forest, X, y, random_state=0)
packed = bh.pack(forest, threshold_bits=9, leaf_bits=8, X=X, missing_values=False)
for inputs in dict.fromkeys(("float", str(data["inputs"]))):
    for layout in ("compact", "fast"):
        cells = [name, inputs, layout, f"{packed.nbytes:,}" if layout == "compact" else ""]
        for target in targets:
            try:
                found = bh.measure(packed, rows, target=target, max_rows=int(n_rows), layout=layout, inputs=inputs)
            except (ValueError, RuntimeError) as error:
                cells += [str(error).partition(":")[0][:40], "", "", ""]
                continue
            assert found.agreement == 1.0
            cells += [f"{found.flash:,}", f"{found.cycles or found.instructions:,}", "", f"{found.stack:,}"]
        print("| " + " | ".join(cells) + " |", flush=True)
"""


def print_release(name, n_rows):
    """Print the lines of the table for a forest as release 0.1.0 packs and writes it."""
    load, n_trees, n_leaves, is_refined = FORESTS[name]
    data = load()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=data.X_train, y=data.y_train, rows=data.X_test, inputs=data.inputs)
        words = [name, file, n_trees, n_leaves, is_refined, n_rows, *TARGETS]
        command = [environment_of(RELEASE).python, "-c", OF_RELEASE, *map(str, words)]
        subprocess.run(command, check=True, env=environment_variables())


def lines(name, n_rows):
    """Yield the lines of the table for a forest."""
    load, n_trees, n_leaves, is_refined = FORESTS[name]
    data = load()
    rf = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=0).fit(data.X_train, data.y_train)
    forest = bh.refine(rf, data.X_train, data.y_train, random_state=0) if is_refined else bh.as_forest(rf)
    packed = bh.pack(forest, threshold_bits=9, leaf_bits=8, X=data.X_train, missing_values=False)
    n_bytes = {"compact": packed.nbytes, "balanced": balanced_data(packed).data.size}
    for inputs in dict.fromkeys(("float", data.inputs)):
        first = {}
        for layout in LAYOUTS:
            cells = [name, inputs, layout, f"{n_bytes[layout]:,}" if layout in n_bytes else ""]
            for target in TARGETS:
                try:
                    found = bh.measure(
                        packed, data.X_test, target=target, max_rows=n_rows, layout=layout, inputs=inputs
                    )
                except (ValueError, RuntimeError) as error:
                    cells += [str(error).partition(":")[0][:40], "", "", ""]
                    continue
                assert found.agreement == 1.0
                count = found.cycles or found.instructions
                first.setdefault(target, count)
                cells += [f"{found.flash:,}", f"{count:,}", f"1 / {first[target] / count:.1f}", f"{found.stack:,}"]
            yield "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20, help="to run in the emulators")
    parser.add_argument("--release", action="store_true", help="of release 0.1.0, in an environment of its own")
    given = parser.parse_args()
    heads = ["forest", "rows", "layout", "data"]
    for target in ("AVR", "M0", "M4"):
        heads += [f"{target} flash", "cycles" if target == "AVR" else "instr.", "", "stack"]
    print("| " + " | ".join(heads) + " |\n|---|---|---|" + "---:|" * (len(heads) - 3), flush=True)
    for name in NAMES:
        if given.release:
            print_release(name, given.rows)
            continue
        for line in lines(name, given.rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
