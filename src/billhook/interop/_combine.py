"""Several forests as one, the raw scores of which are sums of theirs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest

PER_NODE = (
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "n_rows",
    "row_weight",
    "impurity",
    "growth_rank",
)


class Part(NamedTuple):
    """A forest, and what its raw scores count: a matrix (columns of the sum, columns of the forest)."""

    forest: Forest
    factors: NDArray[np.float64]


def combine(parts: Sequence[Part], intercept: NDArray[np.float64], **about: Any) -> Forest:
    """Return the forest whose raw scores are the sum of factors times those of the parts, and the intercept.

    Parts that count nothing are left out, unless all do. The trees are summed; `mean_of` averages them.

    Parameters
    ----------
    parts : sequence of Part
        Their features are the same.
    intercept : float64 array (columns)
    **about
        Fields of Forest: link, task, classes, origin, and others that are not those of the parts.
    """
    counting = [part for part in parts if part.factors.any()] or [parts[0]]
    base = intercept + sum(part.factors @ part.forest.base for part in counting)
    return _joined(
        [part.forest for part in counting],
        [_mapped(part) for part in counting],
        [part.forest.tree_weight for part in counting],
        base=base,
        averages=False,
        **about,
    )


def mean_of(forests: Sequence[Forest], shares: NDArray[np.float64], **about: Any) -> Forest:
    """Return the forest whose raw scores are the mean, with these shares, of those of the forests."""
    return _joined(
        forests,
        [forest.value for forest in forests],
        [share * forest.tree_weight for share, forest in zip(shares, forests, strict=True)],
        base=np.asarray(sum(share * forest.base for share, forest in zip(shares, forests, strict=True))),
        averages=all(forest.averages and not forest.base.any() for forest in forests) and bool((shares > 0).all()),
        **about,
    )


def check_same_features(forests: Sequence[Forest], name: str) -> None:
    """Refuse members of an ensemble of this name that do not take the same features."""
    first = forests[0]
    for other in forests[1:]:
        if (other.n_features, other.encoding, other.feature_names) != (
            first.n_features,
            first.encoding,
            first.feature_names,
        ):
            raise TypeError(
                f"as_forest cannot read a {name} whose members take different features, or encode them in different "
                "ways; put the steps before it, in one pipeline"
            )


def _mapped(part: Part) -> NDArray[np.float64]:
    """Return the values of all columns of the sum, for each node."""
    forest = part.forest
    column = np.repeat(forest.tree_column, np.diff(forest.offset))
    if forest.value.shape[1] == forest.base.size:
        return np.asarray(forest.value @ part.factors.T)
    return np.asarray(forest.value * part.factors.T[column])


def _joined(
    forests: Sequence[Forest],
    values: list[NDArray[np.float64]],
    weights: list[NDArray[np.float64]],
    **about: Any,
) -> Forest:
    first = forests[0]
    per_node: dict[str, Any] = {
        name: np.concatenate([getattr(forest, name) for forest in forests]) for name in PER_NODE
    }
    n_trees = sum(forest.n_trees for forest in forests)
    return Forest(
        **per_node,
        value=np.concatenate(values),
        tree_weight=np.concatenate(weights),
        tree_column=np.zeros(n_trees, np.int32),
        offset=_shifted([forest.offset for forest in forests]),
        category_set=_set_numbers(forests),
        set_offset=_shifted([forest.set_offset for forest in forests]),
        set_bits=np.concatenate([forest.set_bits for forest in forests]),
        n_features=first.n_features,
        feature_names=first.feature_names,
        encoding=first.encoding,
        # On float32 rows both are the same; on others, only rounding down keeps a value that is a threshold where
        # it was.
        rounding="down" if any(forest.rounding == "down" for forest in forests) else "nearest",
        **about,
    )


def _shifted(offsets: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the offsets of arrays that follow one another."""
    ends = np.cumsum([0, *(offset[-1] for offset in offsets)])
    moved = [offset[1:] + end for offset, end in zip(offsets, ends, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *moved])


def _set_numbers(forests: Sequence[Forest]) -> NDArray[np.int32]:
    before = np.cumsum([0, *(forest.n_sets for forest in forests)])
    numbers = [
        np.where(forest.category_set >= 0, forest.category_set + n, -1)
        for forest, n in zip(forests, before, strict=False)
    ]
    return np.concatenate(numbers).astype(np.int32)
