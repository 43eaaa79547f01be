"""Forests and rows that no training would make: any shape, any threshold, any value."""

import numpy as np
from hypothesis import strategies as st

import billhook as bh

TRICKY = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, np.inf, -np.inf, 0.1, -0.1, 16777217.0],
    dtype=np.float32,
)


def random_tree(rng, n_splits, n_features, n_values, thresholds, chain=False):
    """Split random leaves (or always the newest) until there are `n_splits` splits."""
    left, right, rank = [-1], [-1], [-1]
    leaves = [0]
    for number in range(n_splits):
        node = leaves.pop(-1 if chain else int(rng.integers(len(leaves))))
        new = len(left)
        order = rng.permutation(2)
        left[node], right[node], rank[node] = new + int(order[0]), new + int(order[1]), number
        left += [-1, -1]
        right += [-1, -1]
        rank += [-1, -1]
        leaves += [new, new + 1]
    n_nodes = len(left)
    left, right, rank = (np.array(a, np.int32) for a in (left, right, rank))
    is_split = left >= 0
    return {
        "feature": np.where(is_split, rng.integers(n_features, size=n_nodes), -1).astype(np.int32),
        "threshold": np.where(is_split, rng.choice(thresholds, n_nodes), 0).astype(np.float32),
        "left": left,
        "right": right,
        "missing_left": is_split & (rng.random(n_nodes) < 0.5),
        "value": rng.normal(size=(n_nodes, n_values)),
        "n_rows": rng.integers(0, 50, n_nodes),
        "row_weight": rng.random(n_nodes),
        "impurity": rng.random(n_nodes),
        "growth_rank": rank,
    }


def random_forest(
    rng, sizes=(1, 2, 5), n_features=3, n_classes=3, per_class=False, weights="equal", thresholds=TRICKY, chain=False
):
    """Return a Forest with one tree of each size (number of splits); regression if `n_classes` is 1."""
    n_values = 1 if per_class else n_classes
    trees = [random_tree(rng, size, n_features, n_values, thresholds, chain) for size in sizes]
    n_trees = len(trees)
    tree_weight = {"equal": np.full(n_trees, 1 / n_trees), "sum": np.ones(n_trees), "any": rng.normal(size=n_trees)}
    return bh.Forest(
        **{name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]},
        offset=np.cumsum([0] + [tree["left"].size for tree in trees]),
        tree_weight=tree_weight[weights],
        averages=weights == "equal",
        tree_column=(np.arange(n_trees) % n_classes if per_class else np.zeros(n_trees)).astype(np.int32),
        base=rng.normal(size=n_classes),
        link="identity" if n_classes == 1 or not per_class else "softmax",
        task="regression" if n_classes == 1 else "classification",
        n_features=n_features,
        classes=None if n_classes == 1 else np.arange(n_classes) * 10,
    )


def tricky_rows(rng, n_rows, n_features, missing=0.2):
    X = rng.choice(TRICKY, (n_rows, n_features))
    X[rng.random(X.shape) < missing] = np.nan
    return X


@st.composite
def forests(draw):
    """Any small forest: trees from a single leaf to some hundreds, below and above what one crown can hold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_classes = draw(st.integers(1, 4))
    return random_forest(
        rng,
        sizes=draw(st.lists(st.sampled_from([0, 1, 2, 3, 30, 31, 32, 62, 63, 64, 65, 200]), min_size=1, max_size=5)),
        n_features=draw(st.integers(1, 6)),
        n_classes=n_classes,
        per_class=draw(st.booleans()) and n_classes > 1,
        weights=draw(st.sampled_from(["equal", "sum", "any"])),
        chain=draw(st.booleans()),
    )
