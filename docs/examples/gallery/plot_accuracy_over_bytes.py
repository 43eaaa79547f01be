"""
Accuracy over bytes
===================

One search gives a model for every budget below the one that was asked for. This draws the Pareto front of such a
search on scikit-learn's digits, and beside it what a random forest of the same bytes reaches when it is only packed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# The search. ``n_trials`` instead of a time limit makes the page the same on every machine; 60 seconds would try many
# more configurations.
model = bh.CompactForestClassifier("4KB", n_trials=16, random_state=0).fit(X_train, y_train)
print(model.packed_)
print(f"{model.score(X_test, y_test):.1%} of the test rows are right")

# %%
# A random forest of 16-leaf trees for comparison, with as many trees as fit.
forest = bh.as_forest(RandomForestClassifier(48, max_leaf_nodes=16, random_state=0).fit(X_train, y_train))
plain = []
for n_trees in (1, 2, 4, 8, 12, 16, 24, 32):
    packed = bh.pack(forest.select(range(n_trees)), threshold_bits="exact", leaf_bits=4, X=X_train)
    if packed.nbytes <= 4096:
        plain.append((packed.nbytes, (packed.predict(X_test) == y_test).mean()))

# %%
# ``front_`` has the score on held-out rows of each model that no other beats in both. ``refit`` trains one of them.
front = [(entry.nbytes, entry.score) for entry in model.front_]
fig, ax = plt.subplots()
ax.plot(*zip(*sorted(front), strict=True), "o-", label="search, held-out rows")
ax.plot(
    model.packed_.nbytes, model.score(X_test, y_test), "*", markersize=16, color="C0", label="its model, test rows"
)
ax.plot(*zip(*plain, strict=True), "s--", label="random forest, packed, test rows")
ax.set(xlabel="bytes of the model", ylabel="accuracy", xscale="log", title="scikit-learn's digits")
ax.legend()
plt.show()
