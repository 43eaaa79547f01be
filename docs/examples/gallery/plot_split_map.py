"""
Maps of splits and thresholds
=============================

A forest is a set of flat arrays, so what it tests can be drawn in a few lines: which features, at which thresholds,
and how many rows come by. Here for the pixels of handwritten digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

X, y = load_digits(return_X_y=True)
forest = bh.as_forest(RandomForestClassifier(64, max_leaf_nodes=32, random_state=0).fit(X, y))
splits = forest.feature >= 0

# %%
# How often a pixel is tested, and by how many rows.
tests = np.bincount(forest.feature[splits], minlength=64).reshape(8, 8)
rows = np.bincount(forest.feature[splits], weights=forest.n_rows[splits], minlength=64).reshape(8, 8)
fig, axes = plt.subplots(1, 3, figsize=(6.4, 2.6))
for ax, picture, title in zip(
    axes, (X.mean(axis=0).reshape(8, 8), tests, rows), ("mean image", "splits", "rows"), strict=True
):
    ax.imshow(picture)
    ax.set(title=title, xticks=[], yticks=[])
    ax.grid(visible=False)
plt.show()

# %%
# All thresholds of all pixels. Pixels are whole numbers from 0 to 16, so many splits share a threshold.
counts, *_ = np.histogram2d(forest.feature[splits], forest.threshold[splits], bins=(np.arange(65), np.arange(17)))
fig, ax = plt.subplots(figsize=(6.4, 3))
image = ax.imshow(np.log1p(counts.T), origin="lower", aspect="auto", extent=(0, 64, 0, 16))
ax.set(xlabel="pixel", ylabel="threshold", title="Splits by pixel and threshold (log)")
ax.grid(visible=False)
plt.show()

# %%
# Packing looks at the same: equal tests are written once.
pairs = {(f, t) for f, t in zip(forest.feature[splits], forest.threshold[splits], strict=True)}
packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4, X=X)
print(f"{splits.sum():,} splits, {len(pairs):,} different ones; {packed.nbytes:,} bytes")
