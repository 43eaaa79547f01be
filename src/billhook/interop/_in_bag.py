from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_bag_mask(fitted: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which of its training rows each tree of a fitted estimator was trained on: (trees, rows)."""
    if not hasattr(fitted, "estimators_samples_") or not (
        getattr(fitted, "bootstrap", False) or getattr(fitted, "max_samples", None) not in (None, 1.0)
    ):
        hint = (
            "those of a Forest are not known: pass the fitted estimator"
            if hasattr(fitted, "n_trees")
            else (f"those of the {type(fitted).__name__} were trained on all; fit it with bootstrap=True")
        )
        raise ValueError(f"out-of-bag rows need trees trained on only some of the rows, and {hint}")
    mask = np.zeros((len(fitted.estimators_), n_rows), np.bool_)
    for tree, rows in enumerate(fitted.estimators_samples_):
        if rows.size and rows.max() >= n_rows:
            raise ValueError(f"the estimator was fitted on more rows than the {n_rows:,} given")
        mask[tree, rows] = True
    return mask
