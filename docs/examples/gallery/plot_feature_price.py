"""
How many sensors are needed
===========================

Every feature costs something outside of the model too: a sensor, current, time to read it. This fits the same bytes
with ever fewer features, the least important one going first, and draws what each is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

import billhook as bh

frame, y = load_wine(return_X_y=True, as_frame=True)
X = frame.to_numpy(np.float32)


def gain_of_features(forest):
    """Return how much the splits on each feature lower the impurity, rows counted."""
    gain = np.zeros(forest.n_features)
    for start, end in zip(forest.offset, forest.offset[1:], strict=False):
        nodes = slice(start, end)
        mass = forest.row_weight[nodes] * forest.impurity[nodes]
        inner = forest.feature[nodes] >= 0
        left, right = forest.left[nodes][inner], forest.right[nodes][inner]
        np.add.at(gain, forest.feature[nodes][inner], mass[inner] - mass[left] - mass[right])
    return gain


# %%
# The order comes from a random forest, read into flat arrays.
from sklearn.ensemble import RandomForestClassifier

gain = gain_of_features(bh.as_forest(RandomForestClassifier(200, random_state=0).fit(X, y)))
order = np.argsort(-gain)
print("most important first:", ", ".join(frame.columns[order][:5]))

# %%
# The best model of 512 bytes for each number of features, scored by cross-validation.
numbers = (1, 2, 3, 4, 6, 9, 13)
scores = []
for n in numbers:
    model = bh.CompactForestClassifier(512, n_trials=2, random_state=0)
    scores.append(cross_val_score(model, X[:, order[:n]], y, cv=3))
    print(f"{n:2} features: {scores[-1].mean():.1%}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.8), width_ratios=(1, 1.3))
names = [name.replace("_", " ").replace("of diluted wines", "")[:18] for name in frame.columns[order]]
axes[0].barh(names, gain[order] / gain.sum())
axes[0].invert_yaxis()
axes[0].tick_params(axis="y", labelsize=8)
axes[0].set(xlabel="share of the gain")
axes[1].errorbar(numbers, [s.mean() for s in scores], [s.std() for s in scores], marker="o", capsize=3)
axes[1].set(xlabel="features", ylabel="accuracy of 512 bytes", title="13 measurements of wine")
plt.show()
