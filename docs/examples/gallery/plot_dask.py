"""
Rows on a Dask cluster
======================

Growing, merging and refining with rows that stay on the workers. Here the cluster is one process on this machine; in
earnest it is as many machines as you like, and only the address changes.
"""

import matplotlib.pyplot as plt
from distributed import Client, LocalCluster
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import billhook as bh
from billhook.cluster import Partitions, merge_on_cluster, refine_on_cluster

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# A forest that is too large, grown on a sample that one machine holds.
from sklearn.ensemble import RandomForestClassifier

rf = RandomForestClassifier(24, max_leaf_nodes=32, random_state=0).fit(X_train[:400], y_train[:400])
steps = {"grown on 400 rows": bh.as_forest(rf)}

# %%
# Refined and merged on all rows, in four partitions. The leaf values go out, sums of gradients come back; rows do not
# move.
options = {
    "n_workers": 1,
    "threads_per_worker": 1,
    "processes": False,
    "dashboard_address": None,
    "protocol": "inproc://",
}
with LocalCluster(**options) as cluster, Client(cluster) as client:
    parts = Partitions.from_arrays(X_train, y_train, n_parts=4)
    steps["refined on the cluster"] = refine_on_cluster(client, steps["grown on 400 rows"], parts, l2=1.0, n_passes=5)
    steps["merged to 300 leaves"] = merge_on_cluster(client, steps["grown on 400 rows"], parts, max_leaves=300)

# %%
accuracy = {name: (forest.predict(X_test) == y_test).mean() for name, forest in steps.items()}
fig, ax = plt.subplots(figsize=(6.4, 3))
bars = ax.barh(list(accuracy), list(accuracy.values()), color=["0.75", "C0", "C1"])
ax.bar_label(
    bars,
    [f"{a:.1%}, {forest.n_leaves:,} leaves" for a, forest in zip(accuracy.values(), steps.values(), strict=True)],
    padding=-130,
    color="white",
)
ax.invert_yaxis()
ax.set(xlabel="accuracy on test rows", xlim=(0.6, 1))
plt.show()

# %%
# ``billhook fit rows --label kind --budget 4KB --backend dask --scheduler tcp://...`` does all of it for a folder of
# files: :doc:`more than one machine </cluster>`.
