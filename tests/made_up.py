"""Forests and rows that no training would make: any shape, any threshold, any value."""

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import billhook as bh
from billhook.forest import pool_sets

TRICKY = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, np.inf, -np.inf, 0.1, -0.1, 16777217.0],
    dtype=np.float32,
)

# Rows that a model is tried on: more in the thorough profile, so that readers see a million.
IS_THOROUGH = settings.default.max_examples > 60
N_ROWS = 600 if IS_THOROUGH else 60


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


def symmetric_forest(rng, depths, n_features=4, n_classes=1, thresholds=(0.0, 1.0, 1.5, -2.0, 30.0)):
    """Return a forest of full trees whose splits on a level are the same."""
    forest = random_forest(
        rng, [2**depth - 1 for depth in depths], n_features, n_classes, n_classes > 2, "sum", np.array(thresholds)
    )
    feature, threshold, left = forest.feature.copy(), forest.threshold.copy(), forest.missing_left.copy()
    children = [forest.left.copy(), forest.right.copy(), forest.growth_rank.copy()]
    for tree, depth in enumerate(depths):
        first, inner = forest.offset[tree], np.arange(2**depth - 1)
        nodes = slice(first, first + 2 * inner.size + 1)
        for array in (feature, *children):
            array[nodes] = -1
        threshold[nodes], left[nodes] = 0, False
        level = np.frexp(inner + 1)[1] - 1
        asked = rng.integers(n_features, size=depth), rng.choice(thresholds, depth), rng.random(depth) < 0.5
        for array, of_level in zip((feature, threshold, left), asked, strict=True):
            array[first + inner] = of_level[level]
        for array, number in zip(children, (2 * inner + 1, 2 * inner + 2, inner), strict=True):
            array[first + inner] = number
    return replace(
        forest,
        feature=feature,
        threshold=threshold,
        missing_left=left,
        left=children[0],
        right=children[1],
        growth_rank=children[2],
    )


# Around the ends of words, and one far from the others.
CATEGORIES = np.array([0, 1, 2, 3, 5, 7, 30, 31, 32, 33, 63, 64, 100, 1000])


def with_sets(rng, forest, share=0.5, n_sets=6, categories=CATEGORIES):
    """Return the forest with some of its splits testing one of `n_sets` random sets, some of them empty or full."""
    n_chosen = rng.choice([0, 1, 2, len(categories) // 2, len(categories)], n_sets)
    number, sets = pool_sets([np.sort(rng.choice(categories, n, replace=False)) for n in n_chosen])
    tests_set = (forest.feature >= 0) & (rng.random(forest.n_nodes) < share)
    return replace(
        forest,
        category_set=np.where(tests_set, rng.choice(number, forest.n_nodes), -1).astype(np.int32),
        threshold=np.where(tests_set, 0, forest.threshold).astype(np.float32),
        **sets._asdict(),
    )


def rows_of_categories(rng, n_rows, n_features, missing=0.2, categories=CATEGORIES):
    """Return rows on categories, one float beside them, between them, below all, beyond all, and missing."""
    X = rng.choice(categories, (n_rows, n_features)).astype(np.float32)
    beside = [X, np.nextafter(X, np.float32(-np.inf)), np.nextafter(X, np.float32(np.inf)), X + np.float32(0.5), -X]
    X = np.choose(rng.integers(len(beside), size=X.shape), beside)
    X = np.where(rng.random(X.shape) < 0.2, rng.choice(TRICKY, X.shape), X)
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(np.float32)


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


@st.composite
def categorical_forests(draw):
    """Any small forest in which some splits, or all, test sets of categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share, n_sets = draw(st.sampled_from([0.1, 0.5, 1.0])), draw(st.sampled_from([1, 6, 40]))
    return with_sets(rng, draw(forests()), share, n_sets)
