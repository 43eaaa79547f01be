"""
My forest file is gigabytes
===========================

A forest that was grown without limits is large: each tree has about as many leaves as there are rows that differ. It
takes memory in every process that serves it, and time to load. This page shrinks one and says what each step does to
size, speed and accuracy. The forest here is small, so that the page builds quickly; the shares are what to look at.
"""

import pickle
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = make_classification(
    12_000, 20, n_informative=8, n_classes=4, n_clusters_per_class=2, flip_y=0.05, class_sep=1.2, random_state=0
)
X = X.astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
rf = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)
folder = Path(tempfile.mkdtemp())
(folder / "forest.pkl").write_bytes(pickle.dumps(rf))
print(f"{(folder / 'forest.pkl').stat().st_size / 2**20:.1f} MB as a pickle")

# %%
# Step 0: the same forest, without pickle
# ---------------------------------------
# Read into flat arrays, it predicts the same to the last bit, and a single row is answered much faster. The file
# holds no code, and is checked when it is loaded.
forest = bh.as_forest(rf)
assert (forest.predict_proba(X_test) == rf.predict_proba(X_test)).all()
forest.save(folder / "forest.bhk")

# %%
# Steps 1 to 3: fewer leaves, fewer trees, better leaves
# ------------------------------------------------------
# Each step is one call, and takes what the step before returned. Truncating costs accuracy, and so does pruning;
# refinement, which learns the values of the leaves that are left, gives most of it back.
truncated = forest.truncate(max_leaves=128)
pruned = bh.prune(truncated, X_train, y_train, method="complementariness", n_trees=32)
refined = bh.refine(pruned, X_train, y_train, random_state=0)


# %%
# Before and after
# ----------------
def measured(model, file_size):
    """Return the bytes of the file, microseconds for one row, and the accuracy."""
    one_row = min(_seconds(model, X_test[:1]) for _ in range(5))
    return file_size, 1e6 * one_row, (model.predict(X_test) == y_test).mean()


def _seconds(model, row):
    start = time.perf_counter()
    model.predict_proba(row)
    return time.perf_counter() - start


def saved(model, name):
    """Return the size of a file."""
    model.save(folder / name)
    return (folder / name).stat().st_size


packed = bh.pack(refined, threshold_bits=10, leaf_bits=8, X=X_train)
table = {
    "scikit-learn, pickle": measured(rf, (folder / "forest.pkl").stat().st_size),
    "read, saved": measured(forest, saved(forest, "forest.bhk")),
    "128 leaves a tree": measured(truncated, saved(truncated, "truncated.bhk")),
    "32 of 100 trees": measured(pruned, saved(pruned, "pruned.bhk")),
    "leaves refined": measured(refined, saved(refined, "refined.bhk")),
    "packed, 8-bit leaves": measured(packed, saved(packed, "packed.bhk")),
}
print(f"{'':22}{'file':>12}{'of it':>8}{'one row':>12}{'accuracy':>10}")
whole = table["scikit-learn, pickle"][0]
for name, (size, microseconds, accuracy) in table.items():
    print(f"{name:22}{size / 1024:>9,.0f} KB{size / whole:>8.1%}{microseconds:>9,.0f} us{accuracy:>10.1%}")

# %%
fig, ax = plt.subplots()
for name, (size, _, accuracy) in table.items():
    ax.plot(size / 1024, accuracy, "o", markersize=9)
    ax.annotate(name, (size / 1024, accuracy), xytext=(7, -3), textcoords="offset points", fontsize=9)
ax.set(xlabel="KB of the file", ylabel="accuracy on test rows", xscale="log")
ax.margins(x=0.25)
plt.show()

# %%
# How to serve it
# ---------------
# ``bh.load`` opens any of these files, and ``predict`` and ``predict_proba`` are those of scikit-learn. What has to
# be an estimator becomes one again; ONNX and treelite are written too.
served = bh.load(folder / "refined.bhk")
estimator = bh.to_estimator(served)
assert (estimator.predict(X_test) == served.predict(X_test)).all()
print(type(estimator).__name__, len(estimator.estimators_), "trees")

# %%
# Where to go on
# --------------
# - :doc:`Forest </forest>`: what truncation does, and how exact it is. :doc:`Pruning </pruning>`: which method when.
# - :doc:`Refinement and merging </refinement>`: which rows to pass, and when not to.
# - :doc:`Speed </results/speed>`, measured on a large data set beside ONNX Runtime and lleaves.
