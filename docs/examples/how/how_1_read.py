"""
1. Read: any ensemble as flat arrays
====================================

A model of any library becomes a :class:`~billhook.Forest`: for every node the feature, the threshold, the children
and the value, one tree after the other. Every row falls into the same leaf of every tree as in the library, or the
model is refused.

The one thing that needs care is the threshold. scikit-learn compares features in float32 with thresholds in float64.
There are only so many float32 numbers, and between two neighbours of them it makes no difference where a threshold
lies. So the largest float32 number that is not above the threshold takes its place, and *every* float32 row goes the
same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

X, y = load_breast_cancer(return_X_y=True)
rf = RandomForestClassifier(20, random_state=0).fit(X, y)
forest = bh.as_forest(rf)
print(forest)

# %%
# One threshold of the forest, among the float32 numbers around it. What is to the left of the line goes left, and so
# does the point that replaces it.
tree = rf.estimators_[0].tree_
node = next(
    n for n in range(tree.node_count) if tree.feature[n] >= 0 and np.float32(tree.threshold[n]) != tree.threshold[n]
)
exact, stored = tree.threshold[node], forest.threshold[node]
neighbours = [stored]
for _ in range(3):
    neighbours = [
        np.nextafter(neighbours[0], np.float32(-np.inf)),
        *neighbours,
        np.nextafter(neighbours[-1], np.float32(np.inf)),
    ]
unit = float(np.spacing(stored))
fig, ax = plt.subplots(figsize=(6.4, 1.9))
for number in neighbours:
    goes_left = number <= exact
    ax.plot((float(number) - exact) / unit, 0, "o", color="C0" if goes_left else "C1", markersize=10)
ax.axvline(0, color="0.3")
ax.annotate("threshold in float64", (0, 0.6), xytext=(6, 0), textcoords="offset points")
ax.annotate(
    "stored", ((float(stored) - exact) / unit, -0.2), xytext=(0, -14), textcoords="offset points", ha="center"
)
ax.set(yticks=[], ylim=(-1, 1), xlabel="distance in units of the last bit of a float32")
ax.grid(visible=False)
plt.show()

# %%
# So probabilities are the same to the last bit, and so are the leaves.
rows = X.astype(np.float32)
assert (forest.predict_proba(rows) == rf.predict_proba(rows)).all()
assert (forest.apply(rows) == rf.apply(rows)).all()

# %%
# :doc:`Which models are read, and what is refused </models>`; :doc:`how exactly predictions agree </forest>`.
