"""Models that test projections as forests of more features, for those who look at trees."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from billhook._types import Float32Array
from billhook.forest import Forest, as_rows
from billhook.packing._packed import Packed, codes_of


def forest_of_tests(packed: Packed) -> Forest:
    """Return a model as a forest whose features are those of rows and, behind them, the codes of its projections.

    Without projections it is what `to_forest` returns. With them it knows no encoding; the features of rows keep
    their numbers and names.
    """
    projections = packed.projections
    if projections is None:
        return packed.to_forest()
    names = packed.feature_names or tuple(f"feature {number}" for number in range(packed.n_features))
    names += tuple(projection_name(number) for number in range(projections.n_projections))
    about: dict[str, Any] = {"n_features": len(names), "feature_names": names, "encoding": None}
    return packed._as_forest(packed._on_features, **about)


def rows_of_tests(packed: Packed, X: ArrayLike) -> Float32Array:
    """Return rows as `forest_of_tests` takes them."""
    rows = as_rows(X, packed)
    if packed.projections is None:
        return rows
    codes = codes_of(rows, packed.used, packed.quantizers, missing_values=False)
    return np.column_stack([rows, packed.projections.codes(codes)])


def projection_name(number: int) -> str:
    """Return what a projection is called; they are counted from 0."""
    return f"projection {number}"
