"""
MicroPython
===========

A model for boards that run MicroPython: one module of 6 KB that reads any model, and the model beside it as a file.
The module runs in CPython too, so this page executes what the board would.
"""

import importlib.util
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

X, y = load_digits(return_X_y=True)
rf = RandomForestClassifier(32, max_leaf_nodes=16, random_state=0).fit(X, y)
folder = Path(tempfile.mkdtemp())


def on_the_board(packed, rows):
    """Write the device's files, load them as the device does, and return its scores."""
    bh.emit(packed, folder, runtime="micropython", force=True)
    spec = importlib.util.spec_from_file_location("reader_of_the_board", folder / "billhook.py")
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    model = reader.load(str(folder / "model.bhm"))
    return np.array([list(model.scores(row)) for row in rows.tolist()])


# %%
# The scores are those of Python, to the last bit.
rows = X[:50].astype(np.float32)
packed = bh.pack(rf, threshold_bits="exact", leaf_bits=4, X=X)
assert (on_the_board(packed, rows) == packed.scores(rows)).all()
print("\n".join(f"{p.stat().st_size:7,}  {p.name}" for p in (folder / "billhook.py", folder / "model.bhm")))

# %%
# What goes onto the board by number of trees: the module is always the same.
module = (folder / "billhook.py").stat().st_size
trees = (2, 4, 8, 16, 32)
blobs = [
    len(bh.pack(bh.as_forest(rf).select(range(k)), threshold_bits="exact", leaf_bits=4, X=X).to_bytes())
    for k in trees
]
fig, ax = plt.subplots()
ax.bar([str(k) for k in trees], [module] * len(trees), label="billhook.py", color="0.75")
ax.bar([str(k) for k in trees], blobs, bottom=module, label="model.bhm")
ax.set(xlabel="trees of 16 leaves", ylabel="bytes on the board", title="Files for MicroPython")
ax.legend()
plt.show()

# %%
# On the board::
#
#     mpremote cp billhook.py model.bhm : && mpremote run main.py
print((folder / "main.py").read_text())
