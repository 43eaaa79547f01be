"""
Cycles against bytes
====================

The same model can be written in three layouts with the same scores: ``compact`` takes the fewest bytes, ``fast`` the
fewest cycles, and ``balanced`` lies between. :func:`billhook.measure` compiles each for an Arduino Uno and counts in
an emulator of its processor.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

X, y = load_digits(return_X_y=True)
forests = {
    "8 trees": RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X, y),
    "16 trees": RandomForestClassifier(16, max_leaf_nodes=32, random_state=0).fit(X, y),
}

# %%
# The compiler and the emulator come with the system's packages (``make toolchains``). Where they are missing, measure
# says what to install.
LAYOUTS = ("compact", "balanced", "fast")
found = {}
try:
    for name, rf in forests.items():
        packed = bh.pack(rf, threshold_bits="exact", leaf_bits=8, X=X)
        found[name] = [bh.measure(packed, X, target="arduino-uno", layout=layout, max_rows=8) for layout in LAYOUTS]
except bh.MissingToolError as missing:
    print(missing)

for name, measured in found.items():
    for layout, m in zip(LAYOUTS, measured, strict=True):
        print(f"{name:9} {layout:9} {m.flash:6,} B flash {m.cycles:7,} cycles {m.microseconds / 1000:6.2f} ms")

# %%
fig, ax = plt.subplots()
for (name, measured), marker in zip(found.items(), "os", strict=False):
    ax.plot([m.flash for m in measured], [m.cycles for m in measured], marker + "-", label=name)
    for layout, m in zip(LAYOUTS, measured, strict=True):
        ax.annotate(layout, (m.flash, m.cycles), xytext=(6, 6), textcoords="offset points", fontsize=9)
ax.set(xlabel="bytes of flash, code included", ylabel="cycles for a row", xscale="log", yscale="log")
ax.set_title("Arduino Uno")
ax.legend()
plt.show()

# %%
# ``billhook fit --target arduino-uno --max-cycles 20000`` takes the smallest layout that keeps to a number of cycles.
