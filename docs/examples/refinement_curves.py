"""Draw accuracy over size before and after refinement and merging, on scikit-learn's digits.

    python docs/examples/refinement_curves.py refined.png

A random forest of 128 trees is grown once on two thirds of the rows. Its first trees, truncated to 8, 16, 32 or 64
leaves, are taken as they are, refined, or merged to the same size from twice as many; the accuracy is that on the
last third. Of each size the best number of leaves is drawn, means of five splits.
"""

import sys

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

SIZES = (2, 4, 8, 16, 32, 64, 128)  # KB as the paper counts
LEAVES = (8, 16, 32, 64)
VARIANTS = ("as it was", "sgd, squared error", "bcd, cross-entropy", "merged from twice the size")


def curves() -> dict[str, list[float]]:
    """Return the mean accuracy over five splits of each variant for each size."""
    X, y = load_digits(return_X_y=True)
    totals = {variant: np.zeros((len(LEAVES), len(SIZES))) for variant in VARIANTS}
    for seed in range(5):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
        whole = bh.as_forest(RandomForestClassifier(128, max_leaf_nodes=64, random_state=seed).fit(X_train, y_train))
        for i, leaves in enumerate(LEAVES):
            for j, kb in enumerate(SIZES):
                forest = _of_size(whole.truncate(max_leaves=leaves), kb)
                twice = _of_size(whole.truncate(max_leaves=leaves), 2 * kb)
                rows = {"X": X_train, "y": y_train}
                asked = {"validation_fraction": None, "random_state": 0}
                models = (
                    forest,
                    bh.refine(forest, **rows, solver="sgd", step_size=0.02, **asked),
                    bh.refine(forest, **rows, **asked),
                    bh.merge(twice, **rows, size=kb * 1024),
                )
                for variant, model in zip(VARIANTS, models, strict=True):
                    if model.size() <= kb * 1024:  # one tree may be too much
                        totals[variant][i, j] += np.mean(model.predict(X_test) == y_test) / 5
    return {variant: total.max(axis=0).tolist() for variant, total in totals.items()}


def _of_size(forest: bh.Forest, kb: int) -> bh.Forest:
    """Return as many of the first trees as fit; one at least."""
    n_trees = forest.n_trees
    while n_trees > 1 and forest.select(range(n_trees)).size() > kb * 1024:
        n_trees -= 1
    return forest.select(range(n_trees))


def draw(path: str) -> None:
    """Draw the curves and print their numbers."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = curves()
    figure, panel = plt.subplots(figsize=(8, 5), layout="constrained")
    for variant, accuracy in found.items():
        style = {"color": "0.6", "linestyle": "--"} if variant == VARIANTS[0] else {}
        panel.plot(SIZES, accuracy, marker="o", markersize=4, label=variant, **style)
    panel.set_xscale("log", base=2)
    panel.set_xticks(SIZES, [str(kb) for kb in SIZES])
    panel.set_xlabel("size in KB (17 + 4 x 10 bytes a node)")
    panel.set_ylabel("accuracy on unseen rows (digits)")
    panel.grid(alpha=0.3)
    panel.legend(loc="lower right")
    figure.savefig(path, dpi=110)
    print(f"{'KB':28}" + "".join(f"{kb:8}" for kb in SIZES))
    for variant, accuracy in found.items():
        print(f"{variant:28}" + "".join(f"{a:8.1%}" for a in accuracy))


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "refined.png")
