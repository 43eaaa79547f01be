"""Packed models whose splits test projections, as no search would make them, and rows for these."""

from dataclasses import replace

import numpy as np

from billhook.packing import code_features, pack_on_codes
from billhook.packing._projections import Projections
from made_up import random_forest, symmetric_forest

# Values of features of any size and sign, for rows that codes are chosen by.
SPREADS = (1.0, 0.01, 30.0, 3e4, 200.0, 7.0)


def made_up_projections(rng, n_projections, n_features, code_bits, *, weight=7, share=0.7):
    """Return projections of random weights up to this size, so that their codes are spread over what there is."""
    weights = rng.integers(-weight, weight + 1, (n_projections, n_features))
    weights[rng.random(weights.shape) > share] = 0
    empty = ~weights.any(axis=1)
    weights[empty, rng.integers(n_features, size=int(empty.sum()))] = weight
    n_codes = min(1 << code_bits, 2**16 - 1)
    low = np.minimum(weights, 0).sum(axis=1) * (n_codes - 1)
    high = np.maximum(weights, 0).sum(axis=1) * (n_codes - 1)
    # Some are wider than their codes, some narrower: both ends are cut off.
    spare = rng.integers(3, size=n_projections)
    widths = np.array([int(span).bit_length() for span in high - low])
    turn = np.maximum(widths - code_bits - spare, 0)
    return Projections(weights, turn, ((low + high) // 2 >> turn) - n_codes // 2, code_bits)


def coded_with_projections(rng, X, n_projections, code_bits, **options):
    """Return how features of rows become codes, with projections of them."""
    coding = code_features(X, code_bits, 500).coding
    bits = max(quantizer.bits for quantizer in coding.quantizers)
    return coding._replace(projections=made_up_projections(rng, n_projections, X.shape[1], bits, **options))


def projected_model(
    rng,
    sizes=(6, 9, 4),
    n_features=4,
    n_projections=3,
    code_bits=8,
    n_classes=3,
    *,
    per_class=False,
    leaf_bits=6,
    n_thresholds=None,
    rows=None,
    depths=None,
    pack_options=None,
    **options,
):
    """Return a packed model whose splits test features and projections, and rows near what its splits ask.

    Its trees are symmetric where `depths` are given.
    """
    if rows is None:
        rows = rng.normal(size=(300, n_features)) * np.resize(SPREADS, n_features)
    X = np.asarray(rows, np.float32)
    coding = coded_with_projections(rng, X, n_projections, code_bits, **options)
    n_codes = coding.projections.n_codes
    # The highest threshold may be that of the highest code but one: a row goes right.
    thresholds = np.arange(n_codes - 1.0)
    if n_thresholds is not None:
        thresholds = rng.choice(thresholds, min(n_thresholds, thresholds.size), replace=False)
    n_tested = n_features + n_projections
    if depths is not None:
        forest = symmetric_forest(rng, depths, n_tested, n_classes, thresholds)
    else:
        forest = random_forest(rng, sizes, n_tested, n_classes, per_class, "sum", thresholds)
        is_projected = (forest.feature >= 0) & (rng.random(forest.n_nodes) < 0.4)
        projected = rng.integers(n_features, n_tested, forest.n_nodes).astype(np.int32)
        forest = replace(forest, feature=np.where(is_projected, projected, forest.feature))
    packed = pack_on_codes(forest, coding, leaf_bits=leaf_bits, missing_values=False, **(pack_options or {}))
    return packed, X[:, : packed.n_features]


def projected_rows(rng, packed, n_rows, *, tricky=0.15):
    """Return rows on the ends of codes, beside them, and of infinities, missing values and the largest floats."""
    rows = rng.normal(size=(n_rows, packed.n_features)).astype(np.float32)
    for feature, values in packed.typical_values().items():
        rows[:, feature] = rng.choice(values, n_rows) + np.where(rng.random(n_rows) < 0.5, 0, rng.normal(size=n_rows))
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 0.0, -0.0, 1e-45], np.float32)
    return np.where(rng.random(rows.shape) < tricky, rng.choice(odd, rows.shape), rows).astype(np.float32)
