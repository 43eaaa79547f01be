"""
How many sensors are needed
===========================

Every column costs something outside of the model too: a sensor, current, time to read it. `max_features` finds the
best model that reads at most so many columns of a table, and what fewer and more of them would be worth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import billhook as bh

frame = load_wine(as_frame=True).frame
result = bh.fit_table(frame, "target", budget=512, n_trials=2, max_features=3)
print(result.report.notes[-1])
print(f"held-out accuracy: {result.report.score:.1%}")

# %%
# The model takes these columns, and no others: so does its C.
print("a row:", ", ".join(result.packed.feature_names))

# %%
# The report draws how good models of one configuration are that read fewer columns, or more. Columns are chosen by
# the rows that a model learns from, and it is scored on others.
for point in result.report.columns:
    print(f"{point.n_columns:2} columns: {point.score:.1%}, in addition {', '.join(point.added)}")

# %%
points = result.report.columns
fig, axes = plt.subplots()
axes.plot([p.n_columns for p in points], [p.score for p in points], marker="o")
chosen = next(p for p in points if p.is_chosen)
axes.plot(chosen.n_columns, chosen.score, "o", markersize=12, label="asked for")
axes.set(xlabel="columns that are read", ylabel="accuracy of 512 bytes", title="13 measurements of wine")
axes.legend()
plt.show()
