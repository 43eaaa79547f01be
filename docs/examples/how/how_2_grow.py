"""
2. Grow: trees on few thresholds
================================

``billhook fit`` grows its own trees. Features are binned first: a feature keeps at most so many thresholds as there
are bins, and trees may only split there. What a model costs later is decided here, since a threshold out of 15 takes
four bits, and a test that two trees share is written once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import billhook as bh

X, y = load_breast_cancer(return_X_y=True)
model = bh.CompactForestClassifier("1KB", n_trials=3, random_state=0).fit(X, y)
forest = model.forest_
print(model.packed_)

# %%
# The thresholds of the model on its most used feature, over the values of the rows: they are few, and many splits
# share one.
splits = forest.feature >= 0
feature = np.bincount(forest.feature[splits]).argmax()
thresholds, counts = np.unique(forest.threshold[splits & (forest.feature == feature)], return_counts=True)
fig, ax = plt.subplots(figsize=(6.4, 3.4))
for label in (0, 1):
    ax.hist(X[y == label, feature], bins=40, alpha=0.4, label=f"rows of class {label}")
ax.vlines(thresholds, 0, 12 * counts, color="k", linewidth=1.5, label="thresholds, by splits")
ax.set(xlabel=f"feature {feature}", ylabel="rows")
ax.legend()
plt.show()

tests = set(zip(forest.feature[splits].tolist(), forest.threshold[splits].tolist(), strict=True))
print(f"{splits.sum()} splits, {len(tests)} different tests")

# %%
# Sums of gradients are exact whole numbers, so that trees are the same on every machine and in any order of the rows.
# Boosted trees for more than two classes have a vector in each leaf: one tree a round serves all classes.
