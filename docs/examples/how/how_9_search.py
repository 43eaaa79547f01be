"""
9. Search: which of all this, for a budget
==========================================

How many trees, how many leaves, how many bins, how many bits, merged or not: ``billhook fit`` tries configurations of
all stages, scores them on held-out rows, and trains the best again on all rows. It begins with a portfolio that did
well on other data, and goes on near the best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import billhook as bh

X, y = load_digits(return_X_y=True)
model = bh.CompactForestClassifier("2KB", n_trials=16, random_state=0).fit(X, y)

# %%
# Every point is a configuration. Most aim at the size that was asked for, some at a half and a quarter of it, so that
# the front of smaller models comes for free.
points = model.report_.points
front = sorted((entry.nbytes, entry.score) for entry in model.front_)
fig, ax = plt.subplots()
ax.plot([p.nbytes for p in points], [p.score for p in points], "o", color="0.7", label="tried")
ax.step(*zip(*front, strict=True), "o-", where="post", label="no other is as good in as few bytes")
ax.axvline(2048, color="C1", linestyle="--", label="budget")
ax.set(xlabel="bytes", ylabel="accuracy on held-out rows")
ax.legend()
plt.show()

print(model.packed_)
print(model.front_[-1].settings)

# %%
# :doc:`How the search works in detail, and how it keeps to its time </fit>`.
