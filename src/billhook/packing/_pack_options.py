"""The parameters of `pack`, checked."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._checks import as_int
from billhook._types import Float32Array, Vector
from billhook.forest import Forest, as_rows, as_targets, as_weights
from billhook.packing._leaf_values import LARGEST_SUM
from billhook.refinement import Loss, loss_named, losses_for


class PackOptions(NamedTuple):
    """How a forest is packed: the parameters of `pack`, checked."""

    threshold_bits: int | Literal["exact"]
    leaf_bits: int
    codebook: int | None
    by_class: bool
    missing_values: bool
    is_quick: bool = False
    l2: float = 1.0


class RoundingRows(NamedTuple):
    """Rows to choose thresholds by and, when they have become codes, to round leaves with."""

    X: Float32Array | None
    target: NDArray[Any] | None
    weight: Vector
    loss: Loss


def checked_options(
    plain: Forest, threshold_bits: Any, leaf_bits: Any, codebook: Any, scales: Any, missing_values: Any
) -> PackOptions:
    """Return the parameters of `pack` for this forest, or say which is wrong."""
    if threshold_bits != "exact":
        if isinstance(threshold_bits, str):
            raise ValueError(f'threshold_bits must be "exact" or a whole number from 2 to 16, not {threshold_bits!r}')
        threshold_bits = _between(threshold_bits, "threshold_bits")
    leaf_bits = _between(leaf_bits, "leaf_bits")
    if plain.n_trees << (leaf_bits - 1) > LARGEST_SUM:
        raise ValueError(
            f"the sum of {plain.n_trees:,} trees of {leaf_bits}-bit leaves does not fit 32 bits: use fewer leaf_bits"
        )
    if scales not in ("one", "class"):
        raise ValueError(f'scales must be "one" or "class", not {scales!r}')
    if codebook is not None:
        codebook = _between(codebook, "codebook", 65_536)
        if plain.value.shape[1] == 1:
            raise ValueError(
                "a codebook needs leaves of more than one number, and those of this forest have one: use leaf_bits"
            )
    if not isinstance(missing_values, bool):
        raise ValueError(f"missing_values must be True or False, not {missing_values!r}")
    return PackOptions(threshold_bits, leaf_bits, codebook, scales == "class", missing_values)


def checked_rows(
    forest: Forest, X: Any, y: Any, loss: str | None, sample_weight: Any, *, missing_values: bool
) -> RoundingRows:
    """Return the rows that `pack` is given, or say what is wrong with them."""
    if y is not None and X is None:
        raise ValueError("y has labels of rows that are not there: give X too")
    if y is None and loss is not None:
        raise ValueError("loss is for rounding leaves with labels: give X and y too")
    if X is None and sample_weight is not None:
        raise ValueError("sample_weight is for rounding leaves with rows: give X too")
    rows = None if X is None else as_rows(X, forest)
    if rows is not None and len(rows) == 0:
        raise ValueError("X has no rows")
    if rows is not None and not missing_values and np.isnan(rows).any():
        raise ValueError("X has missing values (NaN), and missing_values=False says that there are none")
    target = None if y is None else as_targets(y, forest)
    if rows is not None and target is not None and len(rows) != target.size:
        raise ValueError(f"X has {len(rows):,} rows and y {target.size:,} labels")
    n_rows = 0 if rows is None else len(rows)
    weight = np.ones(n_rows) if sample_weight is None else as_weights(sample_weight, n_rows)
    return RoundingRows(rows, target, weight, _loss(loss, forest))


def _loss(name: str | None, forest: Forest) -> Loss:
    known: tuple[str, ...]
    if forest.classes is None:
        known = losses_for(forest)
    elif forest.link == "identity":
        known = ("mse", "cross_entropy", "squared_hinge")
    else:
        known = ("cross_entropy", "mse", "squared_hinge")
    loss = loss_named(known[0] if name is None else name)
    is_quantile = loss is not None and loss.name.startswith("quantile_") and "absolute" in known
    if loss is None or (loss.name not in known and not is_quantile):
        raise ValueError(f"loss must be one of {', '.join(known)} for this forest, not {name!r}")
    return loss


def _between(value: Any, name: str, highest: int = 16) -> int:
    number = as_int(value, name)
    if not 2 <= number <= highest:
        raise ValueError(f"{name} must be between 2 and {highest:,}, not {number:,}")
    return number
