"""
What refinement does to leaves
==============================

A random forest's leaves hold the shares of the classes among the training rows. :func:`billhook.refine` keeps the
splits and learns all leaf values again, so that their *sum* fits the labels: afterwards they are no shares any more,
and some are negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = make_classification(4000, 10, n_informative=6, n_clusters_per_class=4, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
rf = RandomForestClassifier(12, max_leaf_nodes=16, random_state=0).fit(X_train, y_train)

forest = bh.as_forest(rf)
refined, report = bh.refine(rf, X_train, y_train, random_state=0, return_report=True)
print(report.loss, [round(error, 4) for error in report.validation][:4], "...")
for name, model in (("as it was", forest), ("refined", refined)):
    print(f"{name:10} {(model.predict(X_test) == y_test).mean():.1%} of the test rows")

# %%
# With two classes a leaf is one number: how much it speaks for the second class. The size of a point is the number of
# training rows in the leaf.
is_leaf = forest.feature < 0


def margin(model):
    """Return what each leaf says for the second class and against the first."""
    value = model.value[is_leaf]
    return value[:, 1] - value[:, 0] if value.shape[1] == 2 else value[:, 0]


fig, ax = plt.subplots()
ax.axhline(0, color="0.6", linewidth=1)
ax.scatter(margin(forest), margin(refined), s=4 + forest.n_rows[is_leaf] / 5, alpha=0.5)
ax.set(xlabel="leaf value before: a share", ylabel="leaf value after: log-odds", title="Every leaf of 12 trees")
plt.show()

# %%
# A few leaves speak up, many say less, and some have changed sides: what a leaf adds depends on what the other trees
# say about its rows. The scores of rows that were not trained on:
scores = {name: model.decision_function(X_test) for name, model in (("as it was", forest), ("refined", refined))}
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2))
for ax, (name, score) in zip(axes, scores.items(), strict=True):
    score = score[:, -1] - score[:, 0] if score.ndim == 2 and score.shape[1] == 2 else score.ravel()
    for label in (0, 1):
        ax.hist(
            score[y_test == label], bins=np.linspace(score.min(), score.max(), 20), alpha=0.6, label=f"class {label}"
        )
    ax.set(title=name, xlabel="score", ylabel="test rows")
axes[0].legend()
plt.show()
