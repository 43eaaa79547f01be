"""
3. Truncate: all sizes from one training
========================================

A tree that is grown best-first with 64 leaves is the beginning of the tree with 1,024 leaves. So a forest is trained
once, with the most leaves, and :meth:`billhook.Forest.truncate` reads off every smaller one: exactly what a training
with ``max_leaf_nodes`` of that size would have given.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
leaves = (2, 4, 8, 16, 32, 64)
forest = bh.as_forest(RandomForestClassifier(24, max_leaf_nodes=64, random_state=0).fit(X_train, y_train))
truncated = {n: forest.truncate(max_leaves=n) for n in leaves}
trained = {n: RandomForestClassifier(24, max_leaf_nodes=n, random_state=0).fit(X_train, y_train) for n in leaves[:4]}

for n, rf in trained.items():
    assert (truncated[n].predict_proba(X_test) == rf.predict_proba(X_test)).all()

# %%
# One training gives the line; the circles are trainings of their own.
fig, ax = plt.subplots()
sizes = [truncated[n].size("paper") / 1024 for n in leaves]
ax.plot(
    sizes, [(truncated[n].predict(X_test) == y_test).mean() for n in leaves], ".-", label="truncated from 64 leaves"
)
ax.plot(
    sizes[:4],
    [rf.score(X_test, y_test) for rf in trained.values()],
    "o",
    markersize=12,
    fillstyle="none",
    color="C1",
    label="trained with so many leaves",
)
for n, size in zip(leaves, sizes, strict=True):
    ax.annotate(
        f"{n} leaves",
        (size, (truncated[n].predict(X_test) == y_test).mean()),
        xytext=(4, -16),
        textcoords="offset points",
        fontsize=9,
    )
ax.set(xlabel="KB, as the paper counts", ylabel="accuracy on test rows", xscale="log")
ax.legend()
plt.show()
