"""Packed models that are written in each of the short ways."""

import numpy as np

import billhook as bh
from made_up import random_forest

SHORT = {
    "gaps": {"sizes": (15,) * 40, "n_features": 4, "thresholds": 37.0 * np.arange(25.0)},
    "gaps, missing values": {"sizes": (12, 15) * 30, "n_features": 3, "thresholds": np.arange(9.0)},
    "groups of tests": {"sizes": (20,) * 30, "n_features": 5, "thresholds": np.arange(250.0)},
    "groups of pairs": {"sizes": (30, 31) * 15, "n_features": 20, "thresholds": np.arange(2.0)},
    "a map and few grids": {"sizes": (25,) * 8, "n_features": 300, "thresholds": np.array([0.3, 700.1])},
}


def short_model(name, n_classes=1):
    """Return a packed model that is written in some short way, and rows near its thresholds."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, n_classes=n_classes, **SHORT[name])
    # "Exact" steps would be alike for all features.
    bits = 12 if "grids" in name else "exact"
    packed = bh.pack(forest, threshold_bits=bits, leaf_bits=4, missing_values="missing" in name)
    near = SHORT[name]["thresholds"]
    rows = rng.choice(np.concatenate([near, near + 0.5, near - 0.5]), (40, forest.n_features)).astype(np.float32)
    if "missing" in name:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    return packed, rows
