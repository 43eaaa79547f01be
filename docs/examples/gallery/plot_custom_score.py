"""
A pruning score of your own
===========================

Pruning can rank trees, or build an ensemble tree by tree, by any function of the trees' probabilities and the labels.
Here a missed tumour costs ten times what a false alarm costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_prune, X_test, y_prune, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)
rf = RandomForestClassifier(64, max_leaf_nodes=6, random_state=0).fit(X_train, y_train)


def cost(P, true):
    """Return the mean cost of predicting the likelier class."""
    predicted = P.argmax(axis=1)
    return np.mean(10.0 * ((true == 0) & (predicted == 1)) + 1.0 * ((true == 1) & (predicted == 0)))


def saving(P, true):
    """Larger is better."""
    return -cost(P, true)


# %%
# ``ordering`` adds the tree with which the ensemble so far does best; ``ranking`` takes the best single trees.
orders = {
    "my cost, ordering": bh.pruning_order(rf, X_prune, y_prune, method="ordering", score=saving),
    "my cost, ranking": bh.pruning_order(rf, X_prune, y_prune, method="ranking", score=saving),
    "reduced error": bh.pruning_order(rf, X_prune, y_prune, method="reduced_error"),
}
forest = bh.as_forest(rf)
trees = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)

fig, ax = plt.subplots()
for (name, order), marker in zip(orders.items(), "os^", strict=True):
    costs = [cost(forest.select(order[:k]).predict_proba(X_test), y_test) for k in trees]
    ax.plot(trees, costs, marker + "-", label=name)
    chosen_on = cost(forest.select(order[:8]).predict_proba(X_prune), y_prune)
    print(
        f"{name:18} 8 trees: {chosen_on:.3f} on the rows they were chosen on, {costs[trees.index(8)]:.3f} on others"
    )
ax.set(xlabel="trees kept of 64", ylabel="mean cost on test rows", xscale="log")
ax.set_xticks((1, 2, 4, 8, 16, 32, 64), ("1", "2", "4", "8", "16", "32", "64"))
ax.legend()
plt.show()

# %%
# On so few rows, the ensemble that is built step by step fits those it was chosen on, and the simpler ranking does
# better on others. Which it is on your rows, only rows that were not used for the choice can tell.
