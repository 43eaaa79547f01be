"""
7. Pack: bits, not nodes
========================

A packed model has no nodes and no pointers. A tree is its *shape*, two bits a split; its *tests*, numbers of a few
bits; and its *leaves*, whole numbers of a few bits with a common scale. The shape says where the children are: the
k-th bit that is 1 leads to split k + 1 of the tree, the k-th that is 0 to leaf k.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=7, random_state=3).fit(X, y))

# %%
# A tree, level by level, and the bits of its shape: for each child of each split, 1 for a split and 0 for a leaf.
start, end = forest.offset[0], forest.offset[1]
feature, left, right = (array[start:end] for array in (forest.feature, forest.left, forest.right))
levels, bits = [[0]], []
while any(feature[node] >= 0 for node in levels[-1]):
    children = [child for node in levels[-1] if feature[node] >= 0 for child in (left[node], right[node])]
    bits += [int(feature[child] >= 0) for child in children]
    levels.append(children)

place = {0: 0.5}
fig, ax = plt.subplots(figsize=(6.4, 3.6))
for depth, level in enumerate(levels):
    for node in level:
        if feature[node] >= 0:
            for side, child in ((-1, left[node]), (1, right[node])):
                place[child] = place[node] + side * 0.26 / 1.75**depth
                ax.plot((place[node], place[child]), (-depth, -depth - 1), color="0.6", zorder=1)
                ax.text(place[child] - 0.035, -depth - 0.8, int(feature[child] >= 0), color="C1", fontsize=12)
        is_split = feature[node] >= 0
        ax.plot(
            place[node], -depth, "o" if is_split else "s", color="C0" if is_split else "C2", markersize=14, zorder=2
        )
ax.axis("off")
ax.set_title("shape bits: " + " ".join(map(str, bits)), color="C1")
plt.show()

# %%
# Leaves are rounded so that the errors of the trees cancel out: later trees make up for what rounding the earlier
# ones did to the scores of some rows. Rounded one by one, few bits are useless.
fig, ax = plt.subplots(figsize=(6.4, 3.4))
sizes = (2, 3, 4, 5, 6, 8)
for name, rows in (("each alone", {}), ("with rows", {"X": X}), ("with rows and labels", {"X": X, "y": y})):
    models = [bh.pack(forest, threshold_bits="exact", leaf_bits=bits, **rows) for bits in sizes]
    ax.plot(sizes, [(model.predict(X_test) == y_test).mean() for model in models], "o-", label=name)
ax.axhline((forest.predict(X_test) == y_test).mean(), color="0.6", linestyle="--", label="not rounded")
ax.set(xlabel="bits a leaf", ylabel="accuracy on test rows", xticks=sizes)
ax.legend()
plt.show()

packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4, X=X)
print(packed)
print("".join(f"{byte:08b} " for byte in np.asarray(packed.data[-16:])), "are its last 16 bytes")

# %%
# :doc:`Options and format </packing>`, and :doc:`what they save </results/packing>`.
