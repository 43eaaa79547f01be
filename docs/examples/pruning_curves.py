"""Draw the accuracy of pruned forests over the number of trees kept, for every method, on scikit-learn's digits.

    python docs/examples/pruning_curves.py curves.png

The forest has 128 small trees; a third of the rows grows it, a third is used for pruning, and the accuracy is that on
the last third.
"""

import inspect
import sys

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

TREES = (1, 2, 4, 8, 16, 32, 64, 128)


def curves() -> dict[str, list[float]]:
    """Return the mean accuracy over five splits of each method for each number of trees, and that of all trees."""
    X, y = load_digits(return_X_y=True)
    totals: dict[str, np.ndarray] = {}
    for seed in range(5):
        X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
        X_grow, X_prune, y_grow, y_prune = train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)
        rf = RandomForestClassifier(128, max_leaf_nodes=24, random_state=seed).fit(X_grow, y_grow)
        forest = bh.as_forest(rf)
        for method in bh.pruning_methods():
            if inspect.Parameter.empty in method.options.values():
                continue
            about = {"method": method.name, "random_state": seed}
            order = bh.pruning_order(forest, X_prune, y_prune, **about) if method.nested else None
            for k, n_trees in enumerate(TREES):
                if order is not None:
                    small = forest.select(order[:n_trees])
                else:
                    small = bh.prune(forest, X_prune, y_prune, n_trees=n_trees, **about)
                accuracy = float((small.predict(X_test) == y_test).mean())
                totals.setdefault(method.name, np.zeros(len(TREES)))[k] += accuracy / 5
    return {name: total.tolist() for name, total in totals.items()}


def draw(path: str) -> None:
    """Draw one panel a family, with the random choice in each for comparison."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = curves()
    family = {method.name: method.family for method in bh.pruning_methods()}
    families = list(dict.fromkeys(family[name] for name in found))
    figure, grid = plt.subplots(2, 3, figsize=(13, 8.5), sharex=True, sharey=True, layout="constrained")
    for panel in grid.ravel()[len(families) :]:
        panel.set_axis_off()
    for panel, which in zip(grid.ravel(), families, strict=False):
        panel.plot(TREES, found["random"], color="0.6", linestyle="--", label="random")
        for name, accuracy in found.items():
            if family[name] == which and name != "random":
                panel.plot(TREES, accuracy, marker="o", markersize=3, label=name)
        panel.set_xscale("log", base=2)
        panel.set_xticks(TREES, [str(n) for n in TREES])
        panel.tick_params(labelbottom=True)
        panel.set_title(which)
        panel.set_xlabel("trees kept of 128")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8, loc="lower right")
    for panel in grid[:, 0]:
        panel.set_ylabel("accuracy on unseen rows (digits)")
    figure.savefig(path, dpi=110)
    for name, accuracy in found.items():
        print(f"{name:25}" + "".join(f"{a:8.1%}" for a in accuracy))


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "curves.png")
