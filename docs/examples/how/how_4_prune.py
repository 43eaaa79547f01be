"""
4. Prune: the trees that do best together
=========================================

Pruning keeps some trees and drops the others. The best single trees are not the best ensemble, since they make the
same mistakes; so most methods look at how trees differ. ``reduced_error`` begins with the best tree, and adds, one
after the other, the tree with which the ensemble so far makes the fewest mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=1)
X_prune, X_test, y_prune, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=1)
forest = bh.as_forest(RandomForestClassifier(64, max_leaf_nodes=16, random_state=0).fit(X_train, y_train))

# %%
# One order serves every number of trees.
order = bh.pruning_order(forest, X_prune, y_prune, method="reduced_error")
alone = [(forest.select([tree]).predict(X_test) == y_test).mean() for tree in range(forest.n_trees)]
trees = np.arange(1, 65)
chosen = [(forest.select(order[:k]).predict(X_test) == y_test).mean() for k in trees]
by_rank = np.argsort(alone)[::-1]
best_alone = [(forest.select(by_rank[:k]).predict(X_test) == y_test).mean() for k in trees]
by_chance = [(forest.select(range(k)).predict(X_test) == y_test).mean() for k in trees]

fig, ax = plt.subplots()
ax.plot(trees, chosen, label="reduced error")
ax.plot(trees, best_alone, label="best single trees (chosen on the test rows!)")
ax.plot(trees, by_chance, "--", color="0.5", label="the first trees")
ax.plot(trees, sorted(alone, reverse=True), ":", color="0.7", label="each tree alone")
ax.set(xlabel="trees kept of 64", ylabel="accuracy on test rows")
ax.legend(fontsize=9)
plt.show()

# %%
# :doc:`All nineteen methods </pruning>`.
