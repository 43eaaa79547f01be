from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.forest import Forest, as_int, as_rows, as_targets, as_weights
from billhook.interop import as_forest
from billhook.packing._codebook import round_to_codebook, round_to_codebook_with_rows
from billhook.packing._encode import Grid, encode, n_trees_of_columns
from billhook.packing._grids import Ranks, Values, exact_steps, fitted_steps, values_of
from billhook.packing._leaves import LARGEST_SUM, Rounded, find_units, largest_by_column, round_values
from billhook.packing._packed import Packed, codes_of
from billhook.packing._plain import plain_sum, without_idle_splits
from billhook.packing._rounding import round_with_rows, with_whole_base
from billhook.refinement import LOSSES, Loss, kernel_targets

NO_VALUES = np.zeros(0)
# Codes of 16 bits, of which one is that of a missing value.
MOST_RANKS = 2**16 - 2
# By how much values may lie off the middle.
NEARLY = 0.02
# What steps of its own take for a feature, about.
STEP_BYTES = 4


def pack(
    model: Any,
    *,
    threshold_bits: int | Literal["exact"] = 8,
    leaf_bits: int = 8,
    codebook: int | None = None,
    scales: Literal["one", "class"] = "one",
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    loss: str | None = None,
    sample_weight: ArrayLike | None = None,
    missing_values: bool = True,
) -> Packed:
    """Return a forest in as few bytes as it takes on a device.

    Parameters
    ----------
    model : Forest or fitted estimator
    threshold_bits : int or "exact"
        Bits of a threshold, 2 to 16: thresholds are rounded to that many steps between the lowest and the highest
        of their feature. With ``"exact"`` every float32 row goes the way it goes in the forest.
    leaf_bits : int
        Bits of a number of a leaf, 2 to 16: one for each class, or one in all for two classes and for regression.
    codebook : int, optional
        Leaves have at most so many different vectors of numbers, 2 to 65,536, and take the number of one of them: for
        more than two classes. With 64 of them a leaf takes 6 bits, however many classes there are.
    scales : {"one", "class"}
        Whether all numbers of leaves are worth the same, or those of each class have a scale of their own: a byte a
        class. With one number a row, as for two classes, there is no difference.
    X, y : rows and their labels or targets, optional
        With X, the steps that thresholds are rounded to are chosen so that few of these rows go another way. With y
        too, and where rounding loses something, leaves are rounded one tree after the other so that later trees make
        up for what earlier ones lost: worth points of accuracy at 2 to 4 bits.
    loss : {"cross_entropy", "mse", "squared_hinge"}, optional
        What is minimised in that; by default what the link suggests, cross-entropy or squares.
    sample_weight : array, optional
    missing_values : bool
        Whether rows may have missing values (NaN). If not, a split needs no bit for where they go, and a device
        need not look for them: NaN counts as an infinity of its sign.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=32, random_state=0).fit(X, y))
    >>> packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4)
    >>> packed.nbytes < forest.size("paper") / 8
    True
    >>> bool((packed.predict(X) == forest.predict(X)).mean() > 0.97)
    True
    """
    if isinstance(model, Packed):
        raise TypeError("the model is packed already; pack takes a Forest or a fitted estimator")
    forest = as_forest(model)
    if threshold_bits != "exact":
        threshold_bits = _between(threshold_bits, "threshold_bits")
    leaf_bits = _between(leaf_bits, "leaf_bits")
    if scales not in ("one", "class"):
        raise ValueError(f'scales must be "one" or "class", not {scales!r}')
    plain = plain_sum(forest)
    if plain.n_trees << (leaf_bits - 1) > LARGEST_SUM:
        raise ValueError(
            f"the sum of {plain.n_trees:,} trees of {leaf_bits}-bit leaves does not fit 32 bits: use fewer leaf_bits"
        )
    if codebook is not None:
        codebook = _between(codebook, "codebook", 65_536)
        if plain.value.shape[1] == 1:
            raise ValueError(
                "a codebook needs leaves of more than one number, and those of this forest have one: use leaf_bits"
            )
    if not missing_values:
        plain = replace(plain, missing_left=np.zeros(plain.n_nodes, np.bool_))
    if y is not None and X is None:
        raise ValueError("to round leaves with rows, pack needs X, not y alone")
    if y is None and (loss is not None or sample_weight is not None):
        raise ValueError("loss and sample_weight say how leaves are rounded with rows: give X and y too")
    if not isinstance(missing_values, bool):
        raise ValueError(f"missing_values must be True or False, not {missing_values!r}")
    rows = None if X is None else as_rows(X, forest)
    if rows is not None and len(rows) == 0:
        raise ValueError("X has no rows")
    if rows is not None and not missing_values and np.isnan(rows).any():
        raise ValueError("X has missing values (NaN), and missing_values=False says that there are none")
    coding = _coding(plain, threshold_bits, rows)
    by_class = scales == "class"
    coded = centred(with_codes(plain, coding), by_class=by_class)
    units = find_units(largest_by_column(coded), leaf_bits, coded.n_trees, by_class=by_class)
    if rows is None or y is None:
        if codebook is None:
            rounded = round_values(coded, leaf_bits, units)
        else:
            rounded = round_to_codebook(coded, leaf_bits, codebook, by_class=by_class)
    else:
        target = as_targets(y, forest)
        weight = np.ones(target.size) if sample_weight is None else as_weights(sample_weight, target.size)
        if len(rows) != target.size:
            raise ValueError(f"X has {len(rows):,} rows and y {target.size:,} labels")
        chosen = _loss(loss, forest)
        codes = codes_of(rows, coding.used, coding.grids, missing_values=missing_values)
        expected = kernel_targets(target, chosen, is_classes=forest.classes is not None, n_columns=coded.base.size)
        given = (coded, codes, expected, weight, chosen, leaf_bits)
        if codebook is None:
            rounded = round_with_rows(*given, units, is_base_whole=forest.classes is not None)
        else:
            rounded = round_to_codebook_with_rows(*given, codebook, by_class=by_class)
    # Of numbers the base stays a float, beside their sums: it may be large, such as a date.
    base = (
        with_whole_base(coded, rounded.units).base / rounded.units.scale
        if forest.classes is not None
        else np.zeros(1)
    )
    walked, coding = without_unused(with_whole_values(coded, rounded, base), coding)
    factor = rounded.units.factor if by_class and coded.base.size > 1 else None
    layout, data = encode(
        walked, coding.used, coding.grids, forest.n_features, leaf_bits, factor, missing_values=missing_values
    )
    data.flags.writeable = False
    return Packed(
        data=data,
        layout=layout,
        scale=rounded.units.scale,
        base=float(coded.base[0]) if forest.classes is None else 0.0,
        link=forest.link,
        task=forest.task,
        ties=forest.ties,
        rounding=forest.rounding,
        n_features=forest.n_features,
        classes=forest.classes,
        feature_names=forest.feature_names,
        origin=forest.origin,
    )


class Coding(NamedTuple):
    """The features in use, how their values become codes, and the values that thresholds have to tell apart."""

    used: NDArray[np.int64]
    grids: list[Grid]
    values: list[Values]


def _coding(forest: Forest, threshold_bits: int | Literal["exact"], rows: NDArray[np.float32] | None) -> Coding:
    used, of_feature = _splits_by_feature(forest)
    thresholds = [np.unique(forest.threshold[nodes]) for nodes in of_feature]
    columns = [None] * used.size if rows is None else [rows[:, feature] for feature in used]
    n_splits = int((forest.feature >= 0).sum())
    exact = exact_steps(thresholds, n_splits)
    if threshold_bits == "exact" and exact is None:
        most = max((threshold.size for threshold in thresholds), default=0)
        if most > MOST_RANKS:
            raise ValueError(f"a feature has {most:,} thresholds, more than 16 bits can count: use threshold_bits=16")
        return Coding(used, [Ranks(threshold) for threshold in thresholds], [NO_VALUES] * used.size)
    # Exact steps that are alike for all features may be the shorter way even with longer codes.
    if exact is not None and (
        threshold_bits == "exact" or n_splits * (exact[0].bits - threshold_bits) <= 8 * STEP_BYTES * used.size
    ):
        return Coding(used, list(exact), [NO_VALUES] * used.size)
    assert threshold_bits != "exact"
    values = [values_of(threshold, x) for threshold, x in zip(thresholds, columns, strict=True)]
    grids: list[Grid] = [
        fitted_steps(threshold, threshold_bits, seen) for threshold, seen in zip(thresholds, values, strict=True)
    ]
    return Coding(used, grids, values)


def _splits_by_feature(forest: Forest) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the features in use, and for each the nodes that split by it."""
    splits = np.flatnonzero(forest.feature >= 0)
    ordered = splits[np.argsort(forest.feature[splits], kind="stable")]
    used, first = np.unique(forest.feature[ordered], return_index=True)
    return used.astype(np.int64), np.split(ordered, first[1:]) if used.size else []


def with_codes(forest: Forest, coding: Coding) -> Forest:
    """Return the forest on codes: features are numbered among those in use, thresholds are codes."""
    feature, threshold = forest.feature.copy(), forest.threshold.copy()
    _, of_feature = _splits_by_feature(forest)
    for k, (nodes, grid, values) in enumerate(zip(of_feature, coding.grids, coding.values, strict=True)):
        feature[nodes] = k
        threshold[nodes] = grid.threshold_codes(forest.threshold[nodes], values)
    n_features = max(coding.used.size, 1)
    return replace(forest, feature=feature, threshold=threshold, n_features=n_features, feature_names=None)


def centred(forest: Forest, *, by_class: bool) -> Forest:
    """Return the same scores with the values, or those of each column, on either side of 0: that takes a bit less."""
    is_leaf = forest.feature < 0
    column = np.repeat(forest.tree_column, np.diff(forest.offset))[:, None] + np.arange(forest.value.shape[1])
    low, high = np.full(forest.base.size, np.inf), np.full(forest.base.size, -np.inf)
    np.minimum.at(low, column[is_leaf], forest.value[is_leaf])
    np.maximum.at(high, column[is_leaf], forest.value[is_leaf])
    low, high = (np.where(np.isfinite(ends), ends, 0.0) for ends in (low, high))
    if not by_class:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    middle = (low + high) / 2.0
    # Where nearly nothing is gained, zeros stay zeros.
    middle = np.where(np.abs(middle) > NEARLY * (high - low), middle, 0.0)
    base = forest.base + middle * n_trees_of_columns(forest)
    return replace(forest, value=forest.value - middle[column], base=base)


def without_unused(walked: Forest, coding: Coding) -> tuple[Forest, Coding]:
    """Return the forest without features that no split tests any more."""
    left, number = np.unique(walked.feature[walked.feature >= 0], return_inverse=True)
    feature = walked.feature.copy()
    feature[feature >= 0] = number
    kept = replace(walked, feature=feature, n_features=max(left.size, 1))
    return kept, Coding(
        coding.used[left], [coding.grids[k] for k in left.tolist()], [coding.values[k] for k in left.tolist()]
    )


def with_whole_values(forest: Forest, rounded: Rounded, base: NDArray[np.float64]) -> Forest:
    """Return the forest with these whole numbers, times the factor of their column, and this base."""
    value, units = rounded
    new = np.zeros_like(forest.value)
    new[forest.feature < 0] = value * units.factor_of_leaves(forest)
    if np.abs(base).max() > LARGEST_SUM // 2:
        raise ValueError(
            f"the base {forest.base[np.abs(base).argmax()]:g} is too large for leaves in units of {units.scale:g}: "
            "use fewer leaf_bits"
        )
    return without_idle_splits(replace(forest, value=new, base=base))


def _loss(name: str | None, forest: Forest) -> Loss:
    known: tuple[str, ...]
    if forest.classes is None:
        known = ("poisson",) if forest.link == "exp" else ("mse",)
    elif forest.link == "identity":
        known = ("mse", "cross_entropy", "squared_hinge")
    else:
        known = ("cross_entropy", "mse", "squared_hinge")
    if name is not None and name not in known:
        raise ValueError(f"loss must be one of {', '.join(known)} for this forest, not {name!r}")
    return LOSSES[name or known[0]]


def _between(given: Any, name: str, highest: int = 16) -> int:
    number = as_int(given, name)
    if not 2 <= number <= highest:
        raise ValueError(f"{name} must be between 2 and {highest:,}, not {number:,}")
    return number
