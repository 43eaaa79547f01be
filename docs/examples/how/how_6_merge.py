"""
6. Merge: leaves where they count
=================================

Truncation leaves the same number of leaves in every tree. Merging looks at all trees together: the pairs of sibling
leaves that cost the least are merged, the others are refined, and so on until the forest fits. What is left is
uneven: a tree may keep all its leaves, shrink to one split, or vanish.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
forest = bh.as_forest(RandomForestClassifier(24, max_leaf_nodes=32, random_state=0).fit(X_train, y_train))
truncated = bh.refine(forest.truncate(max_leaves=12), X_train, y_train, random_state=0)
merged = bh.merge(forest, X_train, y_train, max_leaves=truncated.n_leaves)


def leaves_of(model):
    """Return the number of leaves of each tree."""
    return np.add.reduceat(model.feature < 0, model.offset[:-1])


# %%
fig, ax = plt.subplots(figsize=(6.4, 3.4))
places = np.arange(forest.n_trees)
ax.bar(places, leaves_of(forest), color="0.88", label=f"before: {forest.n_leaves} leaves")
n_left = np.pad(np.sort(leaves_of(merged))[::-1], (0, forest.n_trees - merged.n_trees))
ax.bar(places, n_left, width=0.6, label=f"merged: {merged.n_leaves} leaves, largest trees first")
ax.axhline(12, color="C1", linestyle="--", label="truncated: 12 leaves each")
ax.set(xlabel="tree", ylabel="leaves")
ax.legend(fontsize=9, loc="lower left", frameon=True)
plt.show()

for name, model in (("before", forest), ("truncated, refined", truncated), ("merged", merged)):
    print(f"{name:19} {model.n_leaves:4} leaves, {(model.predict(X_test) == y_test).mean():.1%} of the test rows")
