"""
8. Emit: C, and proof that it is right
======================================

The packed bytes become C99 that needs no library, no allocation and no RAM but the stack. The scores are whole
numbers, so a chip without floating point computes exactly what Python computes; ``make test`` in the project compares
them, and :func:`billhook.measure` does so in an emulator of the target.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

X, y = load_breast_cancer(return_X_y=True)
packed = bh.pack(RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X, y), leaf_bits=4, X=X, y=y)
with tempfile.TemporaryDirectory() as folder:
    bh.emit(packed, Path(folder, "tumour"), name="tumour", target="arduino-uno", X=X)
    header = Path(folder, "tumour", "tumour.h").read_text()
print("\n".join(line for line in header.splitlines() if line.startswith(("int ", "#define", "void "))))

# %%
# On several processors: every row that was run had the scores of Python, to the last bit.
TARGETS = ("attiny85", "arduino-uno", "cortex-m0", "cortex-m4", "ch32v003")
measured = {}
for target in TARGETS:
    try:
        measured[target] = bh.measure(packed, X, target=target, max_rows=8)
    except bh.MissingToolError as missing:
        print(missing)
for target, m in measured.items():
    assert m.agreement == 1
    time = f"{m.cycles:,} cycles" if m.cycles else f"{m.instructions:,} instructions"
    print(f"{target:12} {m.flash:5,} bytes of flash, {m.ram} of RAM, {m.stack} of stack, {time} a row")

fig, ax = plt.subplots(figsize=(6.4, 3))
ax.barh(list(measured), [m.data for m in measured.values()], label="model")
ax.barh(
    list(measured),
    [m.flash - m.data for m in measured.values()],
    left=[m.data for m in measured.values()],
    label="code that reads it",
    color="0.75",
)
ax.invert_yaxis()
ax.set(xlabel="bytes of flash")
ax.legend()
plt.show()

# %%
# :doc:`Targets, answers and packages </targets>`, and :doc:`runtimes that read any model </runtimes>`.
