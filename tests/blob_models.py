"""Packed models of every kind that a blob can hold, and rows: what readers in all languages are tested on."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
from billhook.forest import derive
from billhook.packing import Projections, code_features, pack_on_codes
from made_up import TRICKY, random_forest, rows_of_categories, symmetric_forest, tricky_rows, with_sets
from short_models import SHORT, short_model

SMALL = {"threshold_bits": 8, "leaf_bits": 5}
EXACT = {"threshold_bits": "exact", "leaf_bits": 12}


def _rows(rng, packed, n_rows=40, missing=0.2):
    """Return rows on the thresholds, one float beside them, and of numbers that are at the end of what floats are."""
    rows = rng.choice(TRICKY, (n_rows, packed.n_features))
    for feature, values in packed.typical_values().items():
        rows[:, feature] = np.where(rng.random(n_rows) < 0.8, rng.choice(values, n_rows), rows[:, feature])
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def _made_up(n_classes, options, missing_values=True, **shape):
    rng = np.random.default_rng(n_classes)
    packed = bh.pack(random_forest(rng, n_classes=n_classes, **shape), missing_values=missing_values, **options)
    return packed, _rows(rng, packed)


def _crowded():
    """Return a model with steps by the order of floats."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (30,) * 5, 2, 1, thresholds=np.float32(1.3) ** np.arange(-40, 40))
    packed = bh.pack(forest, threshold_bits=8)
    assert any(getattr(quantizer, "is_by_keys", False) for quantizer in packed.quantizers)
    return packed, _rows(rng, packed)


def _sets(n_classes, symmetric=False, **options):
    rng = np.random.default_rng(7)
    forest = symmetric_forest(rng, (2, 3, 1)) if symmetric else random_forest(rng, (20, 9, 1), 4, n_classes)
    packed = bh.pack(with_sets(rng, forest, share=1.0 if symmetric else 0.5), **options)
    return packed, rows_of_categories(rng, 40, 4)


def _symmetric(n_classes, depths=(1, 4, 6, 3, 6, 6)):
    rng = np.random.default_rng(3)
    packed = bh.pack(symmetric_forest(rng, depths, n_classes=n_classes), leaf_bits=6)
    assert packed.layout.is_symmetric
    return packed, tricky_rows(rng, 40, packed.n_features)


def _learned(model, data, n_rows=40, **options):
    X, y = data(return_X_y=True)
    packed = bh.pack(model.fit(X, y), **options)
    return packed, X[:n_rows].astype(np.float32)


def _with_codebook():
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X, y)
    packed = bh.pack(model, leaf_bits=4, codebook=20, scales="class", X=X, y=y)
    assert packed.layout.n_entries
    assert packed.layout.factor_bits
    return packed, X[:40].astype(np.float32)


def _projected(data, bits, n_projections, *, is_regression=False, n_rows=40, **options):
    """Return a model whose splits test projections, some with one feature of many, beside features."""
    X, y = data(return_X_y=True)
    X, rng = X.astype(np.float32), np.random.default_rng(bits)
    binned = code_features(X, bits, 500)
    codes = binned.codes[np.arange(len(X))]
    weights = rng.integers(-7, 8, (n_projections, X.shape[1]))
    weights[:, rng.random(X.shape[1]) < 0.3] = 0
    weights[0, np.ptp(X, axis=0).argmax()] = -128
    sums = codes.astype(np.int64) @ weights.T
    code_bits = max(quantizer.bits for quantizer in binned.coding.quantizers)
    turn = np.array([max(0, int(np.ptp(column)).bit_length() - code_bits) for column in sums.T])
    projections = Projections(weights, turn, sums.min(axis=0) >> turn, code_bits)
    both = np.column_stack([codes, projections.codes(codes)])
    grow = RandomForestRegressor if is_regression else RandomForestClassifier
    forest = bh.as_forest(grow(12, max_leaf_nodes=16, max_features=0.3, random_state=0).fit(both, y))
    forest = derive(forest, threshold=np.floor(forest.threshold), feature_names=None)
    coding = binned.coding._replace(projections=projections)
    packed = pack_on_codes(forest, coding, missing_values=False, **options)
    assert packed.layout.n_projections
    return packed, np.concatenate([X[:: len(X) // n_rows][:n_rows], _rows(rng, packed)])


def _two_digits(**_):
    X, y = load_digits(return_X_y=True)
    return X[y < 2], y[y < 2]


MODELS = {
    "one leaf": lambda: _made_up(1, SMALL, sizes=(0,)),
    "one split": lambda: _made_up(2, SMALL, sizes=(1,)),
    "steps": lambda: _made_up(1, SMALL, sizes=(5, 30, 2), n_features=6),
    "steps, no missing values": lambda: _made_up(3, SMALL, False, sizes=(5, 30, 2), n_features=6),
    "steps by floats": _crowded,
    "ranks": lambda: _made_up(1, EXACT, sizes=(40, 1, 7), n_features=4),
    "ranks, no missing values": lambda: _made_up(3, EXACT, False, sizes=(40, 1, 7), n_features=4),
    "a score for each class": lambda: _made_up(4, SMALL, sizes=(9, 3, 5, 7) * 3, per_class=True),
    "26 classes": lambda: _made_up(26, SMALL, sizes=(12, 3, 9)),
    "a chain": lambda: _made_up(2, EXACT, sizes=(300,), n_features=40, chain=True),
    "scales and a codebook": _with_codebook,
    "sets of categories": lambda: _sets(3),
    "sets of categories, ranks": lambda: _sets(1, **EXACT),
    "sets of categories on levels": lambda: _sets(1, symmetric=True),
    "symmetric": lambda: _symmetric(1),
    "symmetric, three classes": lambda: _symmetric(3),
    "two classes, boosted": lambda: _learned(
        GradientBoostingClassifier(n_estimators=8, random_state=0), load_breast_cancer, leaf_bits=5
    ),
    "counts": lambda: _learned(
        HistGradientBoostingRegressor(loss="poisson", max_iter=6, random_state=0), load_diabetes, leaf_bits=8
    ),
    "outliers": lambda: _learned(
        IsolationForest(n_estimators=5, random_state=0), lambda **_: (load_diabetes().data, None)
    ),
    "projections, 4 bits": lambda: _projected(load_iris, 4, 1, leaf_bits=4),
    "projections, 8 bits": lambda: _projected(load_breast_cancer, 8, 16, leaf_bits=5),
    "projections, 10 bits": lambda: _projected(load_diabetes, 10, 8, is_regression=True, leaf_bits=8),
    "projections, 16 bits": lambda: _projected(load_wine, 16, 3, leaf_bits=4),
    "projections of some features": lambda: _projected(_two_digits, 4, 4, leaf_bits=6),
    "projections and a codebook": lambda: _projected(load_digits, 8, 16, leaf_bits=4, codebook=20),
    **{f"{name}, {n}": lambda name=name, n=n: short_model(name, n) for name in SHORT for n in (1, 3)},
}


@cache
def blob_model(name):
    """Return the packed model of this name, and rows."""
    return MODELS[name]()


def rounding_down(threshold_bits):
    """Return a model whose forest rounds float64 values down to float32, and rows of which many are rounded."""
    X = np.array([[0.1, -7.1], [0.3, -7.3]] * 50)
    y = X[:, 0] > 0.2
    fitted = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1).fit(X, y)
    packed = bh.pack(fitted, threshold_bits=threshold_bits)
    assert packed.rounding == "down"
    values = np.array([0.1, 0.2, 0.3, 0.2 + 1e-12, 0.2 - 1e-12, -1e-50, 1e-50, -7.2, 1e39, 0.7, -1e39])
    return packed, np.stack([values, values[::-1]], axis=1)
