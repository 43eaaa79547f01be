"""Texts of LightGBM's models that no training would write: any tests, any thresholds."""

import numpy as np

# Around what it takes for zero, what it has for infinities, and what float32 cannot hold.
ZERO = float(np.float32(1e-35))
AROUND_ZERO = [0.0, ZERO, ZERO / 2, np.nextafter(ZERO, 1), 2 * ZERO, 1e-310, 1e-45, 1e-40]
OTHERS = [0.1, 1.0, 1.5, 3.4028234663852886e38, 1e300, np.finfo(np.float64).max, np.inf]
THRESHOLDS = np.array([sign * number for number in AROUND_ZERO + OTHERS for sign in (1, -1)])
HEADER = """tree
version=v4
num_class={n_classes}
num_tree_per_iteration={n_classes}
label_index=0
max_feature_idx={last}
objective={objective}
feature_names={names}
feature_infos={infos}
tree_sizes={sizes}

"""
FOOTER = """end of trees

feature_importances:

parameters:
[boosting: gbdt]
end of parameters

pandas_categorical:null
"""


def tree_text(rng, n_leaves, n_features, number=0, kinds=(0, 2, 4, 6, 8, 10), thresholds=THRESHOLDS, n_categories=70):
    """Return a random tree as LightGBM writes it; its leaf values tell the leaves apart, in all trees."""
    left, right = [], []
    place = {0: None}  # of each leaf: the split and the side it hangs on
    for split in range(n_leaves - 1):
        leaf = int(rng.integers(split + 1))
        if place[leaf] is not None:
            parent, side = place[leaf]
            side[parent] = split
        left.append(-1 - leaf)
        right.append(-2 - split)
        place[leaf], place[split + 1] = (split, left), (split, right)
    kind = rng.choice(kinds, n_leaves - 1)
    threshold = rng.choice(thresholds, n_leaves - 1)
    is_categorical = kind & 1 > 0
    n_sets = int(is_categorical.sum())
    threshold[is_categorical] = np.arange(n_sets)
    n_words = rng.integers(1, n_categories // 32 + 2, n_sets)
    words = rng.integers(0, 2**32, n_words.sum())
    fields = {
        "num_leaves": n_leaves,
        "num_cat": n_sets,
        "split_feature": rng.integers(n_features, size=n_leaves - 1),
        "split_gain": np.ones(n_leaves - 1, int),
        "threshold": threshold,
        "decision_type": kind,
        "left_child": left,
        "right_child": right,
        "leaf_value": number + np.arange(n_leaves) / 1024,
        "leaf_weight": np.ones(n_leaves),
        "leaf_count": np.ones(n_leaves, int),
        "internal_value": np.zeros(n_leaves - 1, int),
        "internal_weight": np.full(n_leaves - 1, 2),
        "internal_count": np.full(n_leaves - 1, 2),
    }
    if n_sets:
        fields |= {"cat_boundaries": np.append(0, np.cumsum(n_words)), "cat_threshold": words}
    fields |= {"is_linear": 0, "shrinkage": 1}
    lines = [f"{name}={' '.join(map(_text, np.atleast_1d(value).tolist()))}" for name, value in fields.items()]
    return f"Tree={number}\n" + "\n".join(lines) + "\n\n\n"


def model_text(rng, sizes=(1, 2, 5), n_features=3, objective="regression", n_classes=1, **options):
    """Return a model of one tree of each size (number of leaves)."""
    trees = [tree_text(rng, size, n_features, number, **options) for number, size in enumerate(sizes)]
    header = HEADER.format(
        n_classes=n_classes,
        last=n_features - 1,
        objective=objective,
        names=" ".join(f"Column_{k}" for k in range(n_features)),
        infos=" ".join(["[-1:1]"] * n_features),
        sizes=" ".join(str(len(tree)) for tree in trees),
    )
    return header + "".join(trees) + FOOTER


def tricky_rows(rng, n_rows, n_features):
    """Return float32 rows on the thresholds, one float beside them, on categories and beside them, and missing."""
    with np.errstate(over="ignore"):
        on = np.concatenate([THRESHOLDS, np.arange(-2, 100), [2.0**24, 2.0**31, 2.0**32]]).astype(np.float32)
        beside = [np.nextafter(on, np.float32(end)) for end in (-np.inf, np.inf)]
    values = np.concatenate([on, *beside, on + np.float32(0.5), np.array([np.nan, np.inf, -np.inf] * 20, np.float32)])
    return rng.choice(values, (n_rows, n_features))


def _text(number):
    return f"{number:.17g}" if isinstance(number, float) else str(number)
