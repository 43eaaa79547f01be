"""One trained forest, nine sizes: what fewer leaves and fewer trees cost in accuracy on scikit-learn's digits.

Nothing is trained twice. The forest is grown once, with up to 1024 leaves a tree; `truncate` reads each smaller one
off it, exactly as scikit-learn would have grown it, and `select` takes the first trees.
"""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

LEAVES = (1024, 256, 64)
TREES = (256, 32, 8)


def main() -> None:
    """Train, shrink, print."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.33, stratify=y, random_state=0)
    rf = RandomForestClassifier(256, max_leaf_nodes=1024, random_state=0, n_jobs=-1).fit(X_train, y_train)
    forest = bh.as_forest(rf)
    whole = forest.size("paper")

    print(f"A random forest on {len(X_train):,} images of handwritten digits, tested on {len(X_test):,} others.")
    print("Sizes are as the paper counts: 17 + 4 x classes bytes a node.\n")
    print(f"{'leaves a tree':>15}{'trees':>8}{'leaves':>10}{'size':>12}{'of the whole':>14}{'accuracy':>11}")
    for max_leaves in LEAVES:
        for n_trees in TREES:
            small = forest.truncate(max_leaves=max_leaves).select(range(n_trees))
            accuracy = (small.predict(X_test) == y_test).mean()
            size = small.size("paper")
            print(
                f"{'up to ' + format(max_leaves, ','):>15}{n_trees:>8}{small.n_leaves:>10,}{size / 1024:>9,.1f} KB"
                f"{size / whole:>14.1%}{accuracy:>11.1%}"
            )
        print()
    if forest.truncate(max_leaves=LEAVES[1]) == forest:
        print(
            f"On these rows no tree grows beyond {LEAVES[1]} leaves (mean {forest.n_leaves / forest.n_trees:.0f}), "
            "so the first two blocks are the same forest."
        )
    rf.set_params(n_jobs=1)  # several threads add up in any order
    same = (forest.predict_proba(X_test) == rf.predict_proba(X_test)).all()
    print(f"Probabilities of the whole forest equal scikit-learn's, bit for bit: {'yes' if same else 'NO'}.")


if __name__ == "__main__":
    main()
