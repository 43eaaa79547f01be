"""
Pruning methods compared
========================

Six of the nineteen pruning methods on one forest. All of them are nested: one order gives every number of trees.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_prune, X_test, y_prune, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)
forest = bh.as_forest(RandomForestClassifier(96, max_leaf_nodes=24, random_state=0).fit(X_train, y_train))

METHODS = (
    "reduced_error",
    "complementariness",
    "margin_distance",
    "individual_contribution",
    "individual_error",
    "random",
)
trees = (1, 2, 4, 8, 16, 32, 64, 96)
fig, ax = plt.subplots()
for method in METHODS:
    order = bh.pruning_order(forest, X_prune, y_prune, method=method, random_state=0)
    accuracy = [(forest.select(order[:k]).predict(X_test) == y_test).mean() for k in trees]
    style = {"color": "0.5", "linestyle": "--"} if method == "random" else {"marker": "o"}
    ax.plot(trees, accuracy, label=method, **style)
ax.set(xlabel="trees kept of 96", ylabel="accuracy on test rows", xscale="log")
ax.set_xticks(trees, [str(k) for k in trees])
ax.legend()
plt.show()

# %%
# Which trees a method takes first differs widely. :doc:`When to use which </pruning>`.
for method in METHODS:
    order = bh.pruning_order(forest, X_prune, y_prune, method=method, random_state=0)
    print(f"{method:24}", *order[:10])
