"""
Calibration
===========

Are rows with a probability of 0.8 right in 80 of 100 cases? A small random forest is too cautious, since each tree
pulls the mean towards the middle: its curve is steeper than the diagonal. Refined with cross-entropy, scores become
log-odds, and the packed model computes them in whole numbers.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = make_classification(6000, 12, n_informative=8, n_clusters_per_class=4, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
rf = RandomForestClassifier(16, max_leaf_nodes=32, random_state=0).fit(X_train, y_train)

refined = bh.refine(rf, X_train, y_train, loss="cross_entropy", random_state=0)
packed = bh.pack(refined, threshold_bits=8, leaf_bits=8, X=X_train)
models = {"random forest": rf, "refined": refined, f"refined, packed in {packed.nbytes:,} bytes": packed}

# %%
fig, ax = plt.subplots(figsize=(5.2, 4.6))
ax.plot((0, 1), (0, 1), color="0.7", linewidth=1)
for (name, model), marker in zip(models.items(), "os^", strict=True):
    probability = model.predict_proba(X_test)[:, 1]
    share, mean = calibration_curve(y_test, probability, n_bins=10, strategy="quantile")
    ax.plot(mean, share, marker + "-", label=name)
    accuracy = ((probability > 0.5) == y_test).mean()
    print(f"{name:34} accuracy {accuracy:.1%}, log loss {log_loss(y_test, probability):.3f}")
ax.set(xlabel="predicted probability", ylabel="share of the second class", title="Rows that were not trained on")
ax.legend()
plt.show()
