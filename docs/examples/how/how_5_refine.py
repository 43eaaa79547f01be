"""
5. Refine: all leaves at once
=============================

In a random forest each tree estimates class shares on its own, and the forest takes their mean. Refinement keeps the
splits, takes the leaf values of *all* trees as the unknowns of one problem, and minimises the loss of their sum. Each
tree is a block: with the other trees fixed, every leaf has a minimum of its own, and passes over the trees go on
until held-out rows stop gaining.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X_train, y_train)
refined, report = bh.refine(rf, X_train, y_train, random_state=0, return_report=True)
print(f"{report.loss}, l2 = {report.l2}, {len(report.validation) - 1} passes")

# %%
# The objective never rises; the error on held-out rows decides when to stop, and whether to refine at all.
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3))
axes[0].plot(report.objective, "o-")
axes[0].set(xlabel="pass", title="objective, training rows", yscale="log")
axes[1].plot(report.validation, "o-", color="C1")
axes[1].set(xlabel="pass", title="error, held-out rows")
plt.show()

# %%
# The size is the same, and the test rows gain.
forest = bh.as_forest(rf)
for name, model in (("before", forest), ("after", refined)):
    right = (model.predict(X_test) == y_test).mean()
    print(f"{name:7} {model.size('paper') / 1024:.1f} KB, {right:.1%} of the test rows")
